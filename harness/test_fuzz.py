"""The driver of the fuzz targets (sim/test/fuzz.h): what it must find it finds, keeps and shows again. `make fuzz` runs the targets."""

import os
import re
import subprocess

import pytest
from conftest import PATIENCE_S, ROOT

TARGET = """
#include "test/fuzz.h"
static bool fuzz_one(const uint8_t *data, size_t size)
{
    %s
    return size > 2 && data[0] == 'g';
}
"""


@pytest.fixture
def fuzz(tmp_path):
    """Builds a target with that body; runs it."""
    (tmp_path / "seed").write_text("good seed, 12 lines\nsecond line 345\n")
    (tmp_path / "other").write_text("good: another one\n")

    def call(body, *words, patience="60"):
        source, made = tmp_path / "fuzz_it.c", tmp_path / "fuzz_it"
        source.write_text(TARGET % body)
        subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-g", f"-DFUZZ_PATIENCE={patience}", "-Isim", "-o", made, source,
                        *(ROOT / "sim" / "base" / f"{name}.c" for name in ("memory", "fail", "random"))], cwd=ROOT, check=True)
        return subprocess.run([made, *words], cwd=tmp_path, text=True, capture_output=True, timeout=PATIENCE_S,
                              env={name: text for name, text in os.environ.items() if name != "BUILD"})

    return call


def test_nothing_is_found_where_nothing_is(fuzz):
    done = fuzz("", "--inputs", "500", "seed", "other")
    assert done.returncode == 0, done
    taken, refused = map(int, re.search(r"(\d+) taken, (\d+) refused; 2 of 2 seeds", done.stdout).groups())
    assert taken + refused == 500 and taken > 100
    assert fuzz("", "--inputs", "500", "seed", "other").stdout == done.stdout, "the same seed, the same inputs"
    assert fuzz("", "--inputs", "500", "--seed", "2", "seed", "other").stdout != done.stdout


@pytest.mark.parametrize("body, words", [
    ('fuzz_must(!memmem(data, size, "9223372036854775807", 19), "planted");', "fails"),
    ("if (size > 60) raise(SIGSEGV);", "fails"),
    ("while (size == 0) continue;", "takes too long"),
])
def test_what_is_planted_is_found_kept_and_shown_again(fuzz, tmp_path, body, words):
    done = fuzz(body, "--inputs", "20000", "seed", "other", patience="1")
    assert done.returncode == 1 and words in done.stderr, done
    kept, = tmp_path.glob("fuzz_it-1-*.input")
    assert str(kept) in done.stderr
    if words == "fails":
        assert subprocess.run([tmp_path / "fuzz_it", "--one", kept], capture_output=True, timeout=PATIENCE_S).returncode < 0


def test_a_refused_seed_is_told(fuzz, tmp_path):
    (tmp_path / "bad").write_text("no seed\n")
    done = fuzz("", "seed", "bad")
    assert done.returncode == 70 and "a seed is refused" in done.stderr, done


def test_every_reader_has_its_target():
    """The list of harness/fuzz.sh is that of sim/test/fuzz_*.c."""
    made = {path.stem.removeprefix("fuzz_") for path in (ROOT / "sim" / "test").glob("fuzz_*.c")}
    script = (ROOT / "harness" / "fuzz.sh").read_text()
    assert {*re.search(r"^for target in (.*); do$", script, re.M)[1].split(), "resp"} == made
