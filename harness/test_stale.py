"""What an earlier run left at the place of a result is gone before any work: what stands there is of this run, or nothing does."""

import json
import os
import resource
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, run, server, until

ONE = "scenarios/expired-lease-double-delete.yaml"
FORMATS = {"--json": "results.json", "--junit": "junit.xml", "--markdown": "report.md", "--html": "index.html"}
GONE = ["--redis", "redis://127.0.0.1:1"]  # nobody listens there
BAD_ENDS = {
    "run": (69, ["run", ONE, *GONE]),
    "run, bad scenario": (64, ["run", "README.md"]),
    "run, worker": (64, ["run", ONE, "--worker", "false"]),
    "explore": (64, ["explore", "--scheme", "nobodys"]),
    "explore, worker": (64, ["explore", "--worker", "false"]),
    "stress": (69, ["stress", "--scheme", "set-nx-px-cad", "--duration", "50ms", *GONE]),
    "stress, worker": (64, ["stress", "--worker", "false", "--duration", "50ms"]),
    "replay": (69, ["replay", "SCHEDULE", *GONE]),
    "replay, bad schedule": (64, ["replay", "README.md"]),
    "test": (64, ["test", "false"]),
    "watch": (69, ["watch", "--key", "lock:*", *GONE, "--", "true"]),
    "report": (64, ["report", "README.md"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    ran = run("run", "--on", "sim", ONE, "--scheme", "set-nx-px-cad", "--out", out)
    assert ran.status == 0, ran
    return out / "latest"


def old(folder, *names):
    """Words that name a file of an earlier run for each of these options; and the files."""
    files = [folder / FORMATS[name] for name in names or FORMATS]
    for file in files:
        file.write_text("of an earlier run")
    return [word for pair in zip(names or FORMATS, files, strict=True) for word in pair], files


@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_bad_end_leaves_no_older_result(name, folder, tmp_path):
    status, words = BAD_ENDS[name]
    schedule = next((folder / "schedules").iterdir())
    options, files = old(tmp_path)
    words = [schedule if word == "SCHEDULE" else word for word in words]
    at = words.index("--") if "--" in words else len(words)
    if words[0] != "report":
        options += ["--out", tmp_path / "runs"]
    ran = run(*words[:at], *options, *words[at:])
    assert ran.status == status and not [file for file in files if file.exists()], ran


@pytest.mark.parametrize("words", [["check", "README.md", "--json"], ["check", "none.jsonl", "--json"],
                                   ["convert", "README.md", "--to", "perfetto", "--out"],
                                   ["explore", "--worker", "false", "--learn", "--model"]])
def test_nor_where_there_is_one_place(words, tmp_path):
    _, (file,) = old(tmp_path, "--json")
    ran = run(*words, file)
    assert ran.status in (64, 69) and not file.exists(), ran


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_ended_leaves_no_older_result(number, tmp_path):
    """Killed, it wrote nothing; told to end, it says how far it came."""
    options, files = old(tmp_path)
    process = subprocess.Popen([PICKLOCK, "run", "--on", "sim", ONE, "--repeat", "1000000", "--out", tmp_path / "runs", *options],
                               cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: any((tmp_path / "runs").glob("*/histories/*.jsonl")), "the first run is done")
    process.send_signal(number)
    process.wait(PATIENCE_S)
    if number == signal.SIGKILL:
        assert not [file for file in files if file.exists()]
    else:
        assert all("nterrupted" in file.read_text() for file in files)


def test_a_server_that_dies_under_stress_leaves_no_older_result(tmp_path):
    """In the middle: a result that says so."""
    options, files = old(tmp_path)
    with server() as port:
        process = subprocess.Popen([PICKLOCK, "stress", "--scheme", "set-nx-px-cad", "--duration", "60s", "--redis",
                                    f"redis://127.0.0.1:{port}", "--out", tmp_path / "runs", *options], cwd=ROOT, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stderr.readline()
        process.stderr.readline()  # clients work
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, (out, err)
    assert all("nterrupted" in file.read_text() for file in files)


def test_a_full_disk_leaves_no_older_result(folder, tmp_path):
    options, files = old(tmp_path)
    done = subprocess.run([PICKLOCK, "report", folder, *options], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert done.returncode == 70 and not [file for file in files if file.exists()], done


def test_a_line_that_is_refused_as_such_touches_nothing(tmp_path):
    options, files = old(tmp_path)
    for words in (["--nonsense"], ["--repeat", "0"], ["--markdown", files[0]]):
        ran = run("run", "--on", "sim", ONE, *options, *words)
        assert ran.status == 64 and all(file.exists() for file in files), ran


@pytest.mark.parametrize("words", ["run --on sim FILE --json FILE", "replay FILE --json FILE", "check FILE --json FILE",
                                   "convert FILE --to perfetto --out FILE", "report FOLDER --json FOLDER/results.json",
                                   "report OTHER --diff FOLDER --html FOLDER/results.json", "test FILE --json FILE",
                                   "run --on sim --baseline FILE --json FILE", "proxy --upstream 127.0.0.1:1 --rules FILE --key lock --history FILE",
                                   "run --scheme set-nx-px-cad,FILE.so --json FILE.so",
                                   "explore --worker false --learn --depends FILE --model FILE", "explore --worker FILE --fault none --html FILE",
                                   "stress --worker FILE --junit FILE", "watch --key lock --junit FILE -- /usr/bin/python3 FILE"])
def test_what_is_read_is_not_written_over(words, folder, tmp_path):
    file = folder / "results.json" if "FOLDER" in words else tmp_path / ("read.so" if "FILE.so" in words else "read")
    if "FOLDER" not in words:
        file.write_text("# picklock-baseline 1\n" if "--baseline" in words else "mine")
    before = file.read_bytes()
    ran = run(*(word.replace("FOLDER", str(folder)).replace("OTHER", str(folder.parent)).replace("FILE.so", str(file)).replace("FILE", str(file))
                for word in words.split()))
    assert ran.status == 64 and "would be replaced by a result" in ran.err and file.read_bytes() == before, ran


@pytest.mark.parametrize("lock", ["'/usr/bin/python3' 'LOCK'", "/usr/bin/env python3 -u LOCK --fair"])
def test_the_program_of_a_worker_is_not_written_over(lock, tmp_path):
    """Wherever it stands in the command, and by whatever way it is named."""
    (tmp_path / "lock.py").write_text("mine")
    ran = run("test", lock.replace("LOCK", "./lock.py"), "--html", tmp_path / "lock.py", cwd=tmp_path)
    assert ran.status == 64 and "would be replaced by a result" in ran.err and (tmp_path / "lock.py").read_text() == "mine", ran


OPTIONS = ["--json", "--junit", "--markdown", "--html"]
PAIRS = [(command, one, other) for command in ("run --on sim", "stress", "test false", "explore --worker false --learn", "watch --key lock", "report FOLDER", "replay X")
         for one, other in [("--json", "--html"), ("--markdown", "--junit")]] + \
        [("explore --worker false --learn", "--model", option) for option in OPTIONS] + \
        [(f"{command} --update-baseline", "--baseline", option) for command, option in zip(
            ("run --on sim", "stress", "test false", "explore --scheme set-nx-ex-del", "watch --key lock"), [*OPTIONS, "--json"])] + \
        [("explore --worker false --learn --update-baseline", "--model", "--baseline")] + \
        [("proxy --upstream 127.0.0.1:1 --key lock", "--history", "--log"), ("proxy --upstream 127.0.0.1:1", "--log", "--control")]


@pytest.mark.parametrize("command, one, other", PAIRS)
def test_two_results_do_not_go_to_one_place(command, one, other, folder, tmp_path):
    """Through a link, through another way to its folder, there already or not; and what is there stays."""
    (tmp_path / "link").symlink_to("place")
    words = command.replace("FOLDER", str(folder)).split()
    for there in (False, True):
        if there:
            (tmp_path / "place").write_text("# picklock-baseline 1: or whatever else an earlier run made\n")
        for way in (tmp_path / "place", "./place", f"../{tmp_path.name}/place", "link"):
            ran = run(*words, one, "place", other, way, cwd=tmp_path)
            assert ran.status == 64 and "both go to " in ran.err and one in ran.err and other in ran.err, ran
            assert (tmp_path / "place").exists() == there


@pytest.mark.parametrize("words", ["run --on sim ours", "run --on sim", "test false ours", "test false", "run --on sim --baseline B --update-baseline"])
def test_a_scenario_that_is_read_is_not_written_over(words, tmp_path):
    """One that is named by its name, or not at all."""
    (tmp_path / "scenarios").mkdir()
    file = tmp_path / "scenarios" / "ours.yaml"
    file.write_text("mine")
    options = [] if "--baseline" in words else ["--json", file]
    ran = run(*words.replace("B", str(file)).split(), *options, cwd=tmp_path)
    assert ran.status == 64 and (not options or "would be replaced by a result" in ran.err) and file.read_text() == "mine", ran


def test_a_new_baseline_and_a_result_have_a_place_each(tmp_path):
    """That is not refused; nor is a result beside the scenarios that are read."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "ours.yaml").write_text((ROOT / "scenarios" / "hand-over.yaml").read_text().replace("name: hand-over", "name: ours"))
    words = "--on", "sim", "--scheme", "set-nx-px-cad", "--baseline", "known", "--update-baseline", "--json", "scenarios/theirs.json"
    for _ in range(2):
        ran = run("run", "ours", *words, "--out", "runs", cwd=tmp_path)
        assert ran.status == 0 and (tmp_path / "known").read_text().startswith("# picklock-baseline"), ran
        assert json.loads((tmp_path / "scenarios" / "theirs.json").read_text())["results"]


def test_what_is_read_from_stdin_is_not_written_over_either(tmp_path):
    (tmp_path / "read").write_text("mine")
    with open(tmp_path / "read") as stdin:
        ran = run("check", "-", "--json", tmp_path / "read", stdin=stdin)
    assert ran.status == 64 and (tmp_path / "read").read_text() == "mine", ran


def test_what_is_no_file_stays(folder, tmp_path):
    """A pipe, and the file that a link leads to by name: the link stays."""
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real").write_text("of an earlier run")
    os.mkfifo(tmp_path / "pipe")
    ran = run("report", "README.md", "--json", tmp_path / "link", "--markdown", tmp_path / "pipe")
    assert ran.status == 64 and (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo(), ran
    assert not (tmp_path / "real").exists()
    ran = run("report", folder, "--json", tmp_path / "link")
    assert ran.status == 0 and (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text().startswith("{"), ran
