"""The space-time diagram on a terminal: of a run folder, a replay, a history."""

import os
import re

import pytest
from conftest import ROOT, run
from workers import REDIS_PY

COLUMNS = 100
UTF8, ASCII = {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}


@pytest.fixture
def double_delete(picklock, tmp_path):
    """A run folder with one row that a bug broke and one that was only an overrun."""
    ran = picklock("run", "--on", "sim", "--scheme", "set-nx-ex-del,set-nx-px-cad",
                   ROOT / "scenarios" / "expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    return (tmp_path / "runs" / "latest").resolve()  # a replay moves the link


def line_with(text, words):
    found = [line for line in text.splitlines() if line.endswith(words)]
    assert len(found) == 1, (words, text)
    return found[0]


def test_a_run_folder_is_drawn(picklock, double_delete):
    ran = picklock("report", double_delete, "--timeline", env=UTF8)
    assert ran.status == 0 and ran.err == ""
    assert "expired-lease-double-delete, set-nx-ex-del\n" in ran.out
    assert "expired-lease-double-delete, set-nx-px-cad\n" in ran.out
    assert max(map(len, ran.out.splitlines())) <= COLUMNS
    # A's late DEL reaches the server (▶), finds B's key there and strikes it (✗)
    assert "▶✗" in line_with(ran.out, "the server executes A's DEL → 1, removes B's key")
    # the compared delete leaves it standing
    assert "▶B" in line_with(ran.out, "the server executes A's compare-and-delete → 0")
    # what the picture calls A1 the sentences call by its value; the tokens of the other scheme are short
    value = re.search(r"A got the lock at [^(]*\(SET lock (\d+) NX PX", ran.out)[1]
    assert f"Tokens: A1 is {value}, B1 is " in ran.out and ran.out.count("Tokens: ") == 1, ran.out
    page = (double_delete / "index.html").read_text()
    assert f"Tokens: A1 is {value}, B1 is " in page and page.count("Tokens: ") == 1
    # the sentence is under the picture
    assert ran.out.index("!! two hold at once") < ran.out.index("Unlock bug in A")


def test_one_scheme_alone(picklock, double_delete):
    ran = picklock("report", double_delete, "--timeline", "--scheme", "set-nx-px-cad", env=UTF8)
    assert ran.status == 0 and "set-nx-ex-del" not in ran.out
    # an overrun only: two hold at once, one of them late, and that is where it was seen
    seen = [line for line in ran.out.splitlines() if line.startswith("▶")]
    assert len(seen) == 1 and re.search(r"░ .*▄.* !  B hears OK: it has the lock$", seen[0])
    assert "!!" not in ran.out


@pytest.mark.parametrize("locale", [ASCII, {"LC_ALL": "no-such-locale"}])
def test_a_plain_locale_gets_plain_ascii(picklock, double_delete, locale):
    ran = picklock("report", double_delete, "--timeline", env=locale)
    assert ran.status == 0 and ran.out.isascii()
    assert ">x" in line_with(ran.out, "the server executes A's DEL -> 1, removes B's key")


def test_a_replay_and_a_history_are_drawn_below_their_summary(picklock, double_delete):
    name = "expired-lease-double-delete-set-nx-ex-del"
    history = double_delete / "histories" / f"{name}.jsonl"
    whole = picklock("report", double_delete, "--timeline", "--scheme", "set-nx-ex-del", env=UTF8)
    picture = whole.out[whole.out.index("       ms"):whole.out.index("\n\n  lease-exclusion")]
    for ran in (picklock("replay", double_delete / "schedules" / f"{name}.schedule", "--on", "sim",
                         "--timeline", env=UTF8),
                picklock("check", history, "--timeline", env=UTF8)):
        assert ran.out.rstrip().endswith(picture.rstrip()), ran
        assert ran.out.index("1 run:") < ran.out.index(picture)
    assert "       ms" not in picklock("check", history, env=UTF8).out


def test_five_servers_side_by_side(picklock, tmp_path):
    scenario = ROOT / "scenarios" / "restart-empty-quorum.yaml"
    assert picklock("run", "--on", "sim", scenario).status == 0
    ran = picklock("report", tmp_path / "runs" / "latest", "--timeline", env=UTF8)
    assert ran.status == 0 and max(map(len, ran.out.splitlines())) <= COLUMNS
    assert re.search(r"ms +A +B +s1 +s2 +s3 +s4 +s5\n", ran.out)
    # A's majority was s1, s2, s3; s3 forgot it; B got s3, s4, s5
    last = next(line for line in ran.out.splitlines() if line.startswith("▶"))
    assert re.search(r"█ .*▄.*A.*A.*B.*B.*B !! B hears OK", last)


@pytest.mark.parametrize("words, says", [
    (["--scheme", "set-nx-px-cad"], "go with --timeline"),
    (["--timeline", "--json", "-"], "only one thing can go there"),
    (["--timeline", "--scheme", "redlock"], "no violated run with redlock has a history"),
    (["--timelin"], "did you mean '--timeline'?"),
])
def test_what_a_report_cannot_draw(picklock, double_delete, words, says):
    ran = picklock("report", double_delete, *words)
    assert (ran.status, ran.out) == (64, "") and says in ran.err, ran


@pytest.mark.parametrize("command", ["check", "replay"])
def test_json_on_stdout_is_alone_there(picklock, tmp_path, command):
    ran = picklock(command, tmp_path / "x", "--timeline", "--json", "-")
    assert (ran.status, ran.out) == (64, "") and ("both want stdout" in ran.err or "only one thing can go there" in ran.err)
    assert not os.path.exists(tmp_path / "runs")


@pytest.mark.parametrize("command", ["report", "check", "replay"])
def test_the_help_says_so(picklock, command):
    assert "--timeline" in picklock(command, "--help").out


def test_the_explorer_draws_its_witnesses(tmp_path):
    """Under the choices and the sentences, with a run folder or without; and nothing is left behind."""
    words = ["explore", "--scheme", "set-nx-ex-del", "--fault", "none,stall", "--witness"]
    ran = run(*words, env={**UTF8, "TMPDIR": str(tmp_path)})
    violated = ran.out.count(" is violated (")
    assert ran.status == 0 and violated >= 3, ran
    assert ran.out.count("believes that it has the lock") == violated
    assert "removes C's key" in ran.out or "removes B's key" in ran.out
    assert list(tmp_path.iterdir()) == []
    kept = run(*words, "--out", tmp_path / "kept", env=UTF8)
    assert [line for line in kept.out.splitlines() if not line.startswith("report: ")] == ran.out.splitlines()
    again = run("report", tmp_path / "kept" / "latest", "--timeline", "--scenario", "stall", env=UTF8)
    assert again.status == 0 and again.out.count("believes that it has the lock") == 1, again


@pytest.mark.parametrize("fault", ["restart-empty", "crash", "lose-reply", "server-clock"])
def test_a_fault_that_names_nobody_is_drawn_by_its_name(picklock, tmp_path, fault):
    """A history of somebody else's need not say whom it has struck."""
    head, *_ = (ROOT / "sim" / "test" / "history1" / "restart-empty-fenced.jsonl").read_text().splitlines()
    path = tmp_path / "a.jsonl"
    path.write_text(f'{head}\n{{"i":0,"t":5,"kind":"fault","fault":"{fault}"}}\n{{"end":1}}\n')
    ran = picklock("check", path, "--timeline", env=UTF8)
    assert ran.status == 2 and re.search(rf" {fault}$", ran.out, re.M), ran


@pytest.mark.parametrize("read, says, drawn", [
    ("358cb58ee19646b88fb4bffbe799a3ea", -8389069937197672863, "B1"), ("", -8389069937197672863, "a value"), ("", 42, "42")])
def test_what_was_read_is_drawn_as_it_stood_there(picklock, tmp_path, read, says, drawn):
    """A token by the name of its attempt, never by the number that it is compared by."""
    lines = (ROOT / "sim" / "test" / "history2" / "script-deletes-anothers.jsonl").read_text().splitlines()[:11]
    if read:
        lines = [line.replace("0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f", read) for line in lines]
    about = f'"client":0,"server":0,"attempt":1,"op":"acquire","reply":"value","says":{says},"opaque":{{"name":"GET","text":"GET lock","digest":"c9f9bae3105d0780","keys":["lock"]}}'
    old = f',"old":"{read}"' if read else ""
    lines += [f'{{"i":10,"t":10010300,"kind":"send",{about}}}'.replace(f'"reply":"value","says":{says},', ""),
              f'{{"i":11,"t":10010400,"kind":"execute",{about},"effects":[{{"key":"lock","did":"read","before":"present","wanted":"read"{old}}}]}}',
              f'{{"i":12,"t":10010500,"kind":"hear",{about}}}', '{"end":13}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    ran = picklock("check", tmp_path / "a.jsonl", "--timeline", env=UTF8)
    assert re.search(rf"the server executes A's GET → {drawn} \(read\)$", ran.out, re.M) and re.search(rf" A hears {drawn}$", ran.out, re.M), ran


def test_of_equal_polls_the_first_and_the_last_are_drawn(picklock, tmp_path):
    """B asks each 100 ms; the key's expiry, behind which an answer is another one, is between no two that are left out."""
    text = "# B waits.\nname: polls\nsource: none\nlease: 2s\nclients: [A, B]\nsteps:\n  - A acquires\n  - B acquires\n"
    (tmp_path / "polls.yaml").write_text(text + "expect:\n  set-nx-px-cad: { progress: holds }\n")
    for wait, more in (("1500ms", 12), ("300ms", None)):
        out = tmp_path / wait
        assert picklock("run", "--worker", REDIS_PY, "--wait", wait, tmp_path / "polls.yaml", "--out", out).status == 0
        [history], [schedule] = (out / "latest" / "histories").iterdir(), (out / "latest" / "schedules").iterdir()
        drawn = picklock("check", history, "--timeline", env=UTF8).out
        folded = re.findall(r"\.\.\. (\d+) more of these", drawn)
        assert folded == ([str(more)] if more else []), drawn
        polls = schedule.read_text().count("B's SET reaches server 1")
        assert drawn.count("the server executes B's SET → nil (refused)") + (more or 0) == polls, drawn
        assert drawn.count("B hears nil: refused") == 1, drawn
    ran = picklock("run", "--worker", REDIS_PY, "--wait", "5s", tmp_path / "polls.yaml", "--out", tmp_path / "long")
    assert ran.status == 0 and "nobody's fault" in ran.out, ran
    [history] = (tmp_path / "long" / "latest" / "histories").iterdir()
    drawn = picklock("check", history, "--timeline", env=UTF8).out
    assert re.search(r"more of these.*A's key expires.*B hears OK", drawn, re.S), drawn
