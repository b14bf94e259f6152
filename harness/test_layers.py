"""The structure of sim/: who may include whom, and which parts call no clock, no I/O and no randomness."""

import re
import subprocess

import pytest
from conftest import BUILD, ROOT

LAYERS = re.search(r"^LAYERS \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
SIM = ROOT / "sim"

# What pure objects may call outside picklock: memory and text, nothing that looks at the world.
ALLOWED = set("""
    memcpy memset memcmp memmove memchr strlen strcmp strncmp strncpy strcasecmp strncasecmp strchr strrchr
    strstr strspn strcspn strtol strtoll strtoull snprintf vsnprintf qsort bsearch free calloc
    __snprintf_chk __vsnprintf_chk __memcpy_chk __memset_chk __strcpy_chk __stack_chk_fail
    __assert_fail __ctype_b_loc tolower toupper __ctype_tolower_loc abort
""".split())
PURE = ["schemes", "checks", "world", "explore"]


def files(layer):
    return sorted((SIM / layer).glob("*.[ch]"))


def test_the_folders_are_the_layers():
    assert {path.name for path in SIM.iterdir() if path.is_dir()} == {*LAYERS, "test"}


@pytest.mark.parametrize("layer", LAYERS)
def test_includes_only_layers_above(layer):
    allowed = LAYERS[:LAYERS.index(layer) + 1]
    for path in files(layer):
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            folder = included.split("/")[0]
            assert folder in allowed, f"{path.relative_to(ROOT)} includes {included}"
            assert (SIM / included).exists() or (BUILD / included).exists(), included


def undefined(layer):
    """What the objects of a layer call that picklock itself does not define."""
    objects = sorted((BUILD / layer).glob("*.o"))
    ours = subprocess.run(["nm", "--defined-only", "-g", *BUILD.glob("*/*.o")], text=True,
                          capture_output=True, check=True).stdout
    defined = {line.split()[-1] for line in ours.splitlines() if len(line.split()) == 3}
    calls = set()
    for path in objects:
        listed = subprocess.run(["nm", "-u", path], text=True, capture_output=True, check=True)
        calls |= {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    return calls - defined - {"_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.parametrize("layer", PURE)
def test_pure_layers_call_nothing_of_the_world(layer):
    foreign = undefined(layer) - ALLOWED
    assert not foreign, f"{layer}/ calls {sorted(foreign)}"


def test_the_purity_test_sees_impure_code():
    assert {"socket", "uv_run"} & undefined("proxy") or undefined("live") - ALLOWED


def test_nothing_exits_below_cmd():
    for layer in LAYERS[:-1]:
        for path in files(layer):
            if path.name in ("memory.c", "clock_shim.c"):  # out of memory has one place
                continue
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            calls = re.findall(r"(?<![\w.>])exit\(", text)
            assert not calls, f"{path.relative_to(ROOT)} exits"


def test_every_fault_of_the_explorer_has_a_row_a_file_and_a_story():
    table = (SIM / "explore" / "faults.def").read_text()
    rows = re.findall(r'^FAULT\((\w+),\s*(\w+),\s*"([^"]+)"', table, re.M)
    assert rows and len(rows) == len(re.findall(r"^FAULT\(", table, re.M))
    files = {path.name for path in (SIM / "explore").glob("fault_*.c")}
    assert files == {f"fault_{file}.c" for _, file, _ in rows}
    for _, file, name in rows:
        assert file == name.replace("-", "_")
        text = (SIM / "explore" / f"fault_{file}.c").read_text()
        assert text.startswith(f"/* fault_{file}.c - "), file
        assert re.search(rf"^const struct fault_kind fault_{file}_kind = ", text, re.M), file
