"""The C unit tests (cmocka), a test each; `make test` has built them."""

import os
import subprocess

import pytest
from conftest import BUILD, PATIENCE_S, ROOT

# Searches of many cells each: a share of them here, all in `make check-long`. So chosen that each scheme and each fault is
# among them; most assert that what they drew is enough.
SAMPLED = {"test_asking": 3, "test_asking_classes": 3, "test_asking_ends": 3, "test_live": 3, "test_explore_reductions": 6,
           "test_explore_sections": 8, "test_mutants": 8, "test_random": 8,
           "test_bfs": 10, "test_explore_walks": 10, "test_fallback": 10, "test_lower_bound": 10, "test_partial_order": 10, "test_sleep_sets": 10}
FIRST = (ROOT / "harness" / "units_first.txt").read_text().split()  # what lasts longest: what waits does so while the others compute
TESTS = FIRST + sorted({path.stem for path in (ROOT / "sim" / "test").glob("test_*.c")} - set(FIRST))


@pytest.mark.parametrize("name", TESTS)
def test_unit(name):
    sample = {"PICKLOCK_SAMPLE": os.environ.get("PICKLOCK_SAMPLE", str(SAMPLED[name]))} if name in SAMPLED else {}
    done = subprocess.run([BUILD / "test" / name], cwd=ROOT, text=True, capture_output=True,
                          timeout=4 * PATIENCE_S, env={**os.environ, **sample, "CMOCKA_MESSAGE_OUTPUT": "stdout"})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
