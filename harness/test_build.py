"""What the Makefile promises of a build: whatever flags a user brings, the asserts stay in it."""

import os
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


def test_asserts_stay_with_ndebug(tmp_path):
    made = make(tmp_path, "base/timers.o", "CFLAGS=-O2 -DNDEBUG")
    undefined = subprocess.run(["nm", "-u", made], text=True, capture_output=True, check=True).stdout
    assert "__assert_fail" in undefined


@pytest.mark.parametrize("source", ["base/units", "base/memory", "proxy/link"])
@pytest.mark.parametrize("flags", ["-O1 -g", "-O2 -DNDEBUG", "-O0", "-O3"])
def test_any_optimisation_compiles_without_a_warning(tmp_path, source, flags):
    """All of it with gcc and clang: a part of CI (.ci/run)."""
    make(tmp_path, f"{source}.o", f"CFLAGS={flags}", "SANITIZE=address,undefined")
