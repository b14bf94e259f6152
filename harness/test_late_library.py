"""Libraries that few commands need are loaded by these commands alone (base/late_library.h)."""

import os
import re
import subprocess

import pytest
from conftest import PICKLOCK, ROOT, run

LATE = {"libmicrohttpd.so.12": ["proxy", "--toxiproxy-api", "127.0.0.1:0"],
        "libssl.so.3": ["proxy", "--listen", "127.0.0.1:0", "--upstream", "rediss://127.0.0.1:1"],
        "libcrypto.so.3": ["watch", "--key", "lock", "--", "true"]}


def test_a_start_loads_none_of_them():
    loaded = subprocess.run([PICKLOCK], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, text=True, capture_output=True, check=True).stdout
    assert "libhiredis" in loaded
    assert not [name for name in (*LATE, "libgnutls") if name in loaded]


@pytest.mark.parametrize("name", LATE)
def test_one_that_cannot_be_loaded_is_named(name, tmp_path):
    (tmp_path / name).write_text("no library\n")
    done = run(*LATE[name], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, cwd=tmp_path)
    assert done.status == 69 and f"a library cannot be loaded: {tmp_path / name}" in done.err, done
    assert done.err.count("\n") == 1 and not list(tmp_path.rglob("*.jsonl")), done


@pytest.mark.parametrize("name", LATE)
def test_one_without_a_function_is_named(name, tmp_path):
    (tmp_path / "empty.c").write_text("int empty;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", name, "empty.c"], cwd=tmp_path, check=True)
    done = run(*LATE[name], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, cwd=tmp_path)
    assert done.status == 69 and f"another version of a library: {tmp_path / name}: undefined symbol" in done.err, done


def test_who_needs_none_does_not_miss_them(tmp_path):
    for name in LATE:
        (tmp_path / name).write_text("no library\n")
    done = run("explore", "--scheme", "setnx-del", "--fault", "none", env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert done.status == 0 and "1 safe" in done.out, done


def test_the_package_depends_on_them():
    """Nothing is linked with them, so nobody sees that by itself. libcrypto is in libssl's."""
    depends = re.search(r"^Depends: (.*)$", (ROOT / "harness/debian/control").read_text(), re.M)[1]
    assert [name for name in ("libmicrohttpd12", "libssl3") if name in depends.replace(" ", "").replace("|", ",").split(",")] == ["libmicrohttpd12", "libssl3"]
    assert {"libmicrohttpd.so.12", "libssl.so.3"} <= LATE.keys()
