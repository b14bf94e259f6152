"""The C unit tests (cmocka), a test each; `make test` has built them."""

import os
import subprocess

import pytest
from conftest import BUILD, PATIENCE_S, ROOT

TESTS = sorted(path.stem for path in (ROOT / "sim" / "test").glob("test_*.c"))


@pytest.mark.parametrize("name", TESTS)
def test_unit(name):
    done = subprocess.run([BUILD / "test" / name], cwd=ROOT, text=True, capture_output=True,
                          timeout=4 * PATIENCE_S, env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "stdout"})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
