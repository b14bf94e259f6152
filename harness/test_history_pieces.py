"""Histories in pieces: `stress --history-rotate` writes them, `check` reads them as one; what is not whole is unknown, and another's is refused.
What there is of one stays, whatever ends its writer, and is judged as far as it was proved."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import time

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, run

WHOLE = ROOT / "sim/test/history1/foreign.jsonl"
CHAIN = "0123456789abcdef"


def seam(events, **more):
    return json.dumps({"events": events, "chain": CHAIN, **more}) + "\n"


def write(folder, *cuts, name="it"):
    """A whole history cut behind so many events each time; the first piece's path."""
    head, *events, end = WHOLE.read_text().splitlines(keepends=True)
    parts = [events[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, len(events)])]
    for number, part in enumerate(parts, 1):
        first = head if number == 1 else seam(cuts[number - 2], piece=number)
        last = end if number == len(parts) else seam(cuts[number - 1], next=f"{name}.{number + 1}.jsonl")
        (folder / (f"{name}.jsonl" if number == 1 else f"{name}.{number}.jsonl")).write_text(first + "".join(part) + last)
    return folder / f"{name}.jsonl"


def judged(path):
    ran = run("check", path, "--json", "-")
    return ran.status, [{**row, "history": None} for row in json.loads(ran.out)["results"]]


@pytest.mark.parametrize("cuts", [[1], [5, 6], [3, 3, 20], [0], [21]])
def test_pieces_are_judged_as_the_whole(tmp_path, cuts):
    """Cut anywhere, a piece without an event among them."""
    path = write(tmp_path, *cuts)
    assert judged(path) == judged(WHOLE)
    assert run("check", path, "--timeline").out == run("check", WHOLE, "--timeline").out
    for form in ("knossos", "porcupine", "perfetto"):
        assert run("convert", path, "--to", form).out == run("convert", WHOLE, "--to", form).out


def test_an_event_may_have_fields_of_those_names(tmp_path):
    """Fields of one's own are left alone: only a line that is no event is a seam, or a piece's first."""
    path = tmp_path / "own.jsonl"
    path.write_text(WHOLE.read_text().replace('"kind":', '"next":"x.jsonl","piece":2,"chain":"x","end":7,"kind":'))
    assert judged(path) == judged(WHOLE)


def edited(folder, name, number, old, new):
    path = write(folder, 5, 9, name=name)
    piece = folder / (f"{name}.jsonl" if number == 1 else f"{name}.{number}.jsonl")
    text = piece.read_text()
    assert old in text
    piece.write_text(text.replace(old, new))
    return path, piece


BAD = [  # the piece that is edited, how, the piece that is told, its place, the words
    (1, seam(5, next="%.2.jsonl"), seam(5, next="../%.2.jsonl"), 1, "7:44", "'next' wants the name of a file beside this one"),
    (1, seam(5, next="%.2.jsonl"), seam(5, next="."), 1, "7:44", "'next' wants the name of a file beside this one"),
    (1, seam(5, next="%.2.jsonl"), seam(4, next="%.2.jsonl"), 1, "7:2", "4 events so far are told, there are 5"),
    (1, seam(5, next="%.2.jsonl"), seam(5, next="%.2.jsonl").replace(f', "chain": "{CHAIN}"', ""), 1, "7:1", "'chain' is missing"),
    (1, seam(5, next="%.2.jsonl"), 2 * seam(5, next="%.2.jsonl"), 1, "8:1", "something stands behind the end line"),
    (1, seam(5, next="%.2.jsonl"), seam(5, next="%.jsonl"), 1, "1:1", "is no piece 2 of a history"),
    (1, seam(5, next="%.2.jsonl"), seam(5, next="%.3.jsonl"), 3, "1:", "'piece' is 3; it goes from 2 to 2"),
    (2, seam(9, next="%.3.jsonl"), seam(9, next="%.2.jsonl"), 2, "1:", "'piece' is 2; it goes from 3 to 3"),
    (2, seam(5, piece=2), seam(5, piece=2).replace(CHAIN, "f" * 16), 2, "1:15", "is a piece of another history"),
    (2, seam(5, piece=2), seam(6, piece=2), 2, "1:2", "6 events so far are told, there are 5"),
    (2, seam(5, piece=2), "[]\n", 2, "1:1", "a line of a history is a JSON object"),
]


def refused_pieces(folder):
    """(where it is to be told, what it was told) of each row of BAD, and of what needs more than an edit."""
    told = []
    for number, (piece, old, new, place_piece, place, words) in enumerate(BAD):
        name = f"bad{number}"
        path, _ = edited(folder, name, piece, old.replace("%", name), new.replace("%", name))
        where = path if place_piece == 1 else folder / f"{name}.{place_piece}.jsonl"
        told.append((f"{where}:{place}", words, run("check", path)))
    path = write(folder, 5, 9, name="followed")
    told.append((f"{path}:7:44", "a history in pieces is read when it is whole: without --follow", run("check", "--follow", path)))
    told.append((f"{folder}/followed.2.jsonl:1:", "is a later piece of a history: name the first file of it", run("check", folder / "followed.2.jsonl")))
    (folder / "followed.2.jsonl").write_text("")
    told.append((f"{folder}/followed.2.jsonl:1:1", "the file is empty: not a piece of a history", run("check", path)))
    return told


def test_what_does_not_go_on_is_refused_where_it_stands(tmp_path):
    for where, words, ran in refused_pieces(tmp_path):
        assert ran.status == 64 and where in ran.err and words in ran.err, (where, words, ran)


def streamed(path, events):
    """The same history, at its place while it is written, by a writer that was killed behind so many events."""
    head, *lines = WHOLE.read_text().splitlines(keepends=True)
    path.write_text(json.dumps({**json.loads(head), "history": "picklock.history/2", "streamed": True}) + "\n" + "".join(lines[:events]))
    return path


def verdicts(judged_rows):
    status, (row,) = judged_rows
    return status, [(found["property"], found["verdict"]) for found in row["properties"]]


@pytest.mark.parametrize("events, status", [(9, 2), (20, 1)])
def test_a_piece_that_is_not_there_is_named_and_nothing_holds(events, status, tmp_path):
    """As of a history that has no end: what was violated by then is."""
    path = write(tmp_path, 5, events)
    (tmp_path / "it.3.jsonl").rename(tmp_path / "away")
    missing = run("check", path)
    assert missing.status == status and f"it goes on in {tmp_path}/it.3.jsonl, which is not there" in " ".join(missing.out.split()), missing
    assert verdicts(judged(path)) == verdicts(judged(streamed(tmp_path / "streamed.jsonl", events)))
    (tmp_path / "it.3.jsonl").symlink_to("/dev/zero")
    assert run("check", path).status == 64


def test_a_piece_that_was_just_begun_is_no_slip(tmp_path):
    """Its writer was killed before a line of it was there."""
    path = write(tmp_path, 5, 9)
    head, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(head), "history": "picklock.history/2", "streamed": True}) + "\n" + rest)
    for begun in ("", seam(9, piece=3)[:-5]):
        (tmp_path / "it.3.jsonl").write_text(begun)
        cut = run("check", path)
        assert cut.status == 2 and "the history has no end: its writer was killed" in cut.out, cut


def marked(path, events, mark):
    """streamed(), where event `mark` says that all before it was proved."""
    head, *lines = streamed(path, events).read_text().splitlines(keepends=True)
    lines[mark] = lines[mark].replace('"kind":', '"proved":true,"kind":')
    path.write_text(head + "".join(lines))
    return path


@pytest.mark.parametrize("events, mark, status", [(21, 20, 1), (21, 9, 2), (21, 0, 2)])
def test_what_was_not_proved_counts_for_nothing_without_an_end(events, mark, status, tmp_path):
    path = marked(tmp_path / "it.jsonl", events, mark)
    ran = run("check", path)
    assert ran.status == status and "the history has no end" in ran.out, ran
    piped = subprocess.run([PICKLOCK, "check", "-"], input=path.read_bytes(), capture_output=True)
    assert piped.returncode == 64 and f"only the first {mark} events of it count".encode() in piped.stderr, piped
    with open(path, "a") as file:
        file.write(json.dumps({"end": events}) + "\n")
    assert run("check", path).status == 1, "with its end all of it counts"


STRESS = ["stress", "--scheme", "set-nx-ex-del", "--clients", "20", "--seed", "1", "--history", "--history-rotate", "1"]


def pieces_of(folder):
    return sorted(folder.rglob("stress-*.jsonl"), key=lambda path: int((re.findall(r"\.(\d+)\.jsonl", path.name) or [1])[0]))


def test_stress_writes_pieces_that_are_read_as_one(tmp_path):
    """The same verdicts and figures as of all events in one file; no piece is larger than was said, but for its last line."""
    ran = run(*STRESS, "--duration", "5s", "--fail-on", "never", "--out", tmp_path)
    assert ran.status == 0, ran
    pieces = pieces_of(tmp_path)
    assert len(pieces) >= 2 and all(path.stat().st_size < 1_003_000 for path in pieces)
    lines = [path.read_text().splitlines(keepends=True) for path in pieces]
    whole = tmp_path / "whole.jsonl"
    whole.write_text(lines[0][0] + "".join("".join(part[1:-1]) for part in lines) + lines[-1][-1])
    assert judged(pieces[0]) == judged(whole)
    said = {found["property"]: found["verdict"] for found in json.loads((tmp_path / "latest/results.json").read_text())["results"][0]["properties"]}
    assert {found["property"]: found["verdict"] for found in judged(pieces[0])[1][0]["properties"]} == said


def test_what_a_run_wrote_until_it_was_killed_is_judged(tmp_path):
    """Whole pieces, and the last one without an end. Nothing of it holds."""
    stress = subprocess.Popen([PICKLOCK, *STRESS, "--duration", "60s", "--out", tmp_path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while len(pieces_of(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        stress.send_signal(signal.SIGKILL)
        stress.wait()
    pieces = pieces_of(tmp_path)
    assert len(pieces) >= 2 and len(list(pieces[0].parent.iterdir())) == len(pieces), "no temporary file"
    for path in pieces[:-1]:
        assert '"next"' in path.read_text().splitlines()[-1]
    cut = run("check", pieces[0], "--json", "-")
    assert cut.status in (1, 2) and "the history has no end" in cut.out and '"verdict": "holds"' not in cut.out, cut


@pytest.mark.skipif(os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
                    reason="mounting a small file system needs root")
def test_on_a_full_disk_what_was_written_stays_and_the_report_fits(tmp_path):
    """Up to three quarters of it are given back for that."""
    words = [str(PICKLOCK), *STRESS[:-2], "--duration", "2s", "--no-faults", "--out", str(tmp_path / "small" / "out")]
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o size=200k none {tmp_path}/small && {shlex.join(words)}; echo $?; cp -rL {tmp_path}/small/out/latest {tmp_path}/kept"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.stdout.splitlines()[-1] == "70" and "No space left on device; `picklock check` judges what is there of it" in done.stderr, done
    row, = json.loads((tmp_path / "kept/results.json").read_text())["results"]
    assert row["verdict"] == "unknown" and not row.get("history") and (tmp_path / "kept/index.html").exists(), row
    history, = (tmp_path / "kept/histories").iterdir()
    cut = run("check", history)
    assert cut.status == 2 and "the history has no end" in cut.out, cut


def test_a_piece_that_can_not_be_put_there_fails_the_run(tmp_path):
    """What takes its place is a folder."""
    stress = subprocess.Popen([PICKLOCK, *STRESS, "--duration", "5s", "--fail-on", "never", "--out", tmp_path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE_S
    while not (folders := list(tmp_path.glob("*/histories"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    (folders[0] / "stress-set-nx-ex-del.2.jsonl").mkdir()
    said, complaint = stress.communicate(timeout=PATIENCE_S)
    assert stress.returncode == 64 and "stress-set-nx-ex-del.2.jsonl: cannot be written" in complaint, complaint
    assert run("check", folders[0] / "stress-set-nx-ex-del.jsonl").status == 64
    assert {path.name for path in folders[0].iterdir()} == {"stress-set-nx-ex-del.jsonl", "stress-set-nx-ex-del.2.jsonl"}, "none behind it"
    row, = json.loads((tmp_path / "latest/results.json").read_text())["results"]
    assert not row.get("history")


def test_rotation_goes_with_a_history():
    refused = run("stress", "--history-rotate", "5")
    assert refused.status == 64 and "--history-rotate goes with --history" in refused.err


def resident_kb(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.mark.long("ten minutes")
def test_ten_minutes_take_no_more_memory_than_one(tmp_path):
    """With faults, every event kept, in pieces; and all of them are judged in as little."""
    ran = subprocess.Popen([PICKLOCK, "stress", "--scheme", "set-nx-px-cad", "--clients", "100", "--duration", "10m", "--think", "exponential:200ms",
                            "--history", "--history-rotate", "20", "--out", tmp_path], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sizes = []
    while len(sizes) < 59:
        time.sleep(10)
        sizes.append(resident_kb(ran))
    said = ran.communicate(timeout=300)[0].decode()
    print(f"resident after 1, 2, 5 and 10 minutes: {sizes[5]}, {sizes[11]}, {sizes[29]}, {sizes[-1]} kB\n{said}")
    assert ran.returncode == 0, said
    assert sizes[-1] < 1.02 * sizes[11] + 512
    first = min((tmp_path / "latest" / "histories").iterdir(), key=lambda path: len(path.name))
    check = subprocess.Popen([PICKLOCK, "check", first], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    judged_by = check.communicate()[0]
    most_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of the largest child
    print(f"all its programs: at most {most_kb} kB\n{judged_by}")
    assert check.returncode == 0 and most_kb < 100_000
