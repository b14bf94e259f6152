"""A scheme that a user brings along: built with one command, named where a scheme is asked for."""

import subprocess

import pytest
from conftest import ROOT, run

SKELETON = (ROOT / "sim" / "schemes" / "skeleton.c").read_text()
SCENARIO = "scenarios/expired-lease-double-delete.yaml"


def build(folder, text, name="my_lock"):
    source = folder / f"{name}.c"
    source.write_text(text)
    made = folder / f"{name}.so"
    # The command of skeleton.c, as it stands there.
    subprocess.run(["cc", "-std=c17", "-Isim", "-shared", "-fPIC", "-o", made, source], cwd=ROOT,
                   check=True)
    return made


def mine(name="my_lock"):
    return SKELETON.replace("scheme_skeleton", f"scheme_{name}").replace('"skeleton"', '"my-lock"')


def verdicts(row):
    return {p["property"]: (p["verdict"], p["cause"]) for p in row["properties"]}


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_users_scheme_runs_like_one_of_the_table(tmp_path, picklock, world):
    made = build(tmp_path, mine())
    ran = picklock("run", "--on", world, "--scheme", f"{made},set-nx-px-cad", SCENARIO, "--json", "-")
    guest, known = ran.json["results"]
    assert guest["scheme"] == "my-lock" and verdicts(guest) == verdicts(known)
    assert ran.status == 0, "an overrun is no bug"


def test_a_users_bug_is_found(tmp_path, picklock):
    """The same scheme with a plain DEL: its own doing, exit 1."""
    broken = mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);")
    assert broken != mine()
    ran = picklock("run", "--scheme", build(tmp_path, broken), SCENARIO, "--json", "-")
    assert ran.status == 1, ran
    assert verdicts(ran.json["results"][0])["release-own"] == ("violated", "unlock-bug")


@pytest.mark.parametrize("change, says", [
    (("scheme_my_lock", "scheme_other"), "does not define 'const struct scheme scheme_my_lock'"),
    ((".step = step,", ""), "has no .step"),
    (('"my-lock"', '"set-nx-px-cad"'), "has the .name of another scheme"),
])
def test_what_is_no_scheme_is_said(tmp_path, change, says):
    text = mine().replace(*change)
    assert text != mine()
    # an unused step() is a warning only
    ran = run("run", "--on", "sim", "--scheme", build(tmp_path, text), SCENARIO)
    assert ran.status == 64 and says in ran.err and ran.out == "", ran


def test_what_is_no_shared_object(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("not a shared object")
    ran = run("run", "--scheme", path, SCENARIO)
    assert ran.status == 64 and str(path) in ran.err, ran
    ran = run("run", "--scheme", "missing.so", SCENARIO)
    assert ran.status == 64 and "missing.so" in ran.err, ran
