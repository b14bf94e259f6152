"""What the Makefile promises of a build: whatever flags a user brings, the asserts stay in it; and what the compiler refuses."""

import os
import re
import subprocess

import pytest
from conftest import ROOT


def make(folder, target, *words):
    """Builds one object in a folder of its own; what a caller's make handed down is not meant."""
    env = {name: text for name, text in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    done = subprocess.run(["make", "-s", f"BUILD={folder}", *words, f"{folder}/{target}"], cwd=ROOT, env=env,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / target


def test_before_setup_one_message_says_what_to_do(tmp_path):
    """No header but our own is there. Nothing is compiled; so it is whichever object is wanted, and next time again."""
    for target in ("base/timers.o", "live/control.o"):
        done = subprocess.run(["make", "-s", "-j2", f"BUILD={tmp_path}", "CC=cc -nostdinc", tmp_path / target], cwd=ROOT,
                              env={name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}, text=True,
                              capture_output=True)
        assert done.returncode == 2 and "`make setup` installs it" in done.stderr and "`make demo`" in done.stderr, done
        assert done.stderr.count(" error: ") == 1 and "sim/" not in done.stderr, done


def test_asserts_stay_with_ndebug(tmp_path):
    made = make(tmp_path, "base/timers.o", "CFLAGS=-O2 -DNDEBUG")
    undefined = subprocess.run(["nm", "-u", made], text=True, capture_output=True, check=True).stdout
    assert "__assert_fail" in undefined


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_small_piece_of_memory_is_of_malloc(tmp_path, compiler):
    """Both make one calloc() of malloc() and memset(), unless they are told not to: it costs several times as much."""
    made = make(tmp_path, "base/memory.o", f"CC={compiler}")
    listed = subprocess.run(["nm", "-u", made], text=True, capture_output=True, check=True).stdout.split()
    assert "malloc" in listed and "memset" in listed


@pytest.mark.parametrize("source", ["base/units", "base/memory", "proxy/link"])
@pytest.mark.parametrize("flags", ["-O1 -g", "-O2 -DNDEBUG", "-O0", "-O3"])
def test_any_optimisation_compiles_without_a_warning(tmp_path, source, flags):
    """All of it with gcc and clang: a part of CI (.ci/run)."""
    make(tmp_path, f"{source}.o", f"CFLAGS={flags}", "SANITIZE=address,undefined")


def test_an_option_whose_target_has_another_type_does_not_compile(tmp_path):
    kinds = {"FLAG": "flag", "TEXT": "text", "NUMBER": "number", "DURATION": "number", "LENGTHS": "lengths", "RATE": "rate"}
    bounds = {"NUMBER": ", 0, 9", "DURATION": ", 0, 9", "LENGTHS": ", 9"}
    head = """#include "cmd/options.h"
        #include "base/distribution.h"
        static int flag; static const char *text; static int64_t number; static struct distribution lengths; static uint32_t rate;
        """

    def refused(*pairs):
        """The lines of those rows that are refused, the first row being 0."""
        rows = "\n".join(f'OPTION_{kind}("--option", &{target}{bounds.get(kind, "")}),' for kind, target in pairs)
        (tmp_path / "rows.c").write_text(head + f"const struct option_row rows[] = {{\n#line 1\n{rows}\n}};\n")
        done = subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                               f"-I{ROOT / 'sim'}", tmp_path / "rows.c"], text=True, capture_output=True)
        assert bool(done.returncode) == bool(done.stderr)
        return {int(line) - 1 for line in re.findall(r"rows\.c:(\d+):\d+: (?:error|note):", done.stderr)}

    assert refused(*kinds.items()) == set()
    wrong = [(kind, target) for kind, right in kinds.items() for target in sorted(set(kinds.values())) if target != right]
    assert refused(*wrong) == set(range(len(wrong)))
