"""`picklock report --diff OLD NEW`: what is new, gone, or not decided any more, in words and in every format; and its status."""

import subprocess

import pytest
from conftest import ROOT, run

ASK = ["--fault", "none,slow-work,crash"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One lock, broken and mended: explored each, and the mended one to no end."""
    here = tmp_path_factory.mktemp("diff")
    skeleton = (ROOT / "sim/schemes/skeleton.c").read_text().replace("skeleton", "my_lock")
    naive = skeleton.replace("out_compare_and_delete(out, SERVER_ONE, lease)", "out_del(out, SERVER_ONE)")
    assert naive != skeleton
    made = {}
    for name, source, words in [("naive", naive, []), ("safe", skeleton, []), ("cut", skeleton, ["--states", "1000"])]:
        (here / "my_lock.c").write_text(source)
        subprocess.run(["cc", "-std=c17", f"-I{ROOT}/sim", "-shared", "-fPIC", "-o", "my_lock.so", "my_lock.c"], cwd=here, check=True)
        searched = run("explore", "--scheme", "./my_lock.so", *ASK, *words, "--out", here / name, cwd=here)
        assert searched.status == {"naive": 1, "safe": 0, "cut": 2}[name], searched
        made[name] = here / name / "latest"
    return made


def test_what_is_new_fails(folders):
    told = run("report", "--diff", folders["safe"], folders["naive"])
    assert told.status == 1
    title, words = told.out.split("\n\n")[1].split("\n", 1)
    assert title == "New violations"
    assert "  my_lock, slow-work: release-own: violated (unlock-bug, 10 steps), was holds\n" in words + "\n"


def test_what_is_gone_does_not(folders):
    told = run("report", "--diff", folders["naive"], folders["safe"])
    assert told.status == 0 and "New violations" not in told.out
    assert "\nGone\n" in told.out and "release-own: holds, was violated (unlock-bug, 10 steps)" in told.out


def test_what_is_not_decided_any_more_is_no_success(folders):
    told = run("report", "--diff", folders["safe"], folders["cut"])
    assert told.status == 2 and "\nNot decided any more\n" in told.out and "the whole" in told.out
    back = run("report", "--diff", folders["cut"], folders["safe"])
    assert back.status == 0 and "\nDecided now\n" in back.out


def test_the_same_is_the_same(folders):
    told = run("report", "--diff", folders["naive"], folders["naive"])
    assert told.status == 0 and told.out == f"Compared with {folders['naive']}: 3 runs or cells, all the same\n"


def test_every_format_tells_it(folders, tmp_path):
    files = {name: tmp_path / name for name in ("json", "markdown", "html")}
    words = [word for name, path in files.items() for word in (f"--{name}", path)]
    assert run("report", "--diff", folders["safe"], folders["naive"], *words).status == 1
    for path in files.values():
        text = path.read_text()
        assert "New violations: " in text and "unlock-bug, 10 steps" in text, path


def test_nothing_in_common_is_unknown(folders, tmp_path):
    other = run("explore", "--scheme", "set-nx-px-cad", "--fault", "none", "--out", tmp_path)
    assert other.status == 0
    told = run("report", "--diff", tmp_path / "latest", folders["safe"])
    assert told.status == 2 and "Compared with" in told.out and ": 0 runs or cells" in told.out
    assert "\nNot there any more\n  set-nx-px-cad, none\n" in told.out and "\nNot there before\n  my_lock, crash\n" in told.out


def test_a_folder_that_is_none_is_refused(folders, tmp_path):
    assert run("report", "--diff", tmp_path, folders["safe"]).status == 64
