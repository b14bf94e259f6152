"""Lock programs under load: many processes in real time, faults drawn, every command looked at while a server executes it."""

import json
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import time

import jsonschema
import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT
from workers import PYTHON, example, plain_worker

SCHEMA = json.loads((ROOT / "reports" / "results.schema.json").read_text())
FAULTS = ("--pause", "30%", "--crash", "2%", "--lose-reply", "2%", "--lose-request", "2%", "--delay", "4%", "--delay-time", "20ms")

worker = pytest.fixture(plain_worker)


def of_scheme(name):
    """A scheme of the table over a socket of its own: its processes begin in a third of redis-py's time."""
    return f"{PYTHON} {shlex.quote(str(ROOT / 'sim' / 'test' / 'scheme_worker.py'))} {name}"


def stress(picklock, tmp_path, command, *more):
    """(what ran, {property: its row}, the row)"""
    out = tmp_path / "results.json"
    usual = [word for option in (("--clients", 4), ("--lease", "100ms")) if option[0] not in more for word in option]
    ran = picklock("stress", "--worker", command, "--json", out, *usual, *more)
    results = json.loads(out.read_text())
    jsonschema.validate(results, SCHEMA)
    [row] = results["results"]
    return ran, {one["property"]: one for one in row["properties"]}, row


def stalls_us(history, end_us):
    """At least that long clients were stalled up to then."""
    events = [event for event in map(json.loads, history.read_text().splitlines()) if event.get("fault") == "pause"]
    return sum(max(0, min(event["amount"], end_us - event["t"])) for event in events)


def test_a_plain_delete_is_found(picklock, tmp_path, worker):
    """Holders are stopped for longer than their lease; then they delete the next one's lock, and write over what he wrote. A history
    tells the same."""
    ran, found, row = stress(picklock, tmp_path, worker(), "--no-faults", "--lease", "200ms", "--duration", "4s", "--pause", "60%",
                             "--pause-time", "300ms", "--history", "--out", tmp_path / "out")
    assert ran.status == 1 and found["release-own"]["cause"] == "unlock-bug", ran
    assert found["no-lost-update"]["verdict"] == "violated" and row["stress"]["foreign_releases"] > 0, ran
    [history] = (tmp_path / "out" / "latest" / "histories").glob("*.jsonl")
    assert stalls_us(history, round(row["seconds"] * 1e6)) <= row["stress"]["injected_wait_us"] <= 4e6 * row["seconds"], row
    checked = picklock("check", history, "--fail-on", "scheme")
    assert checked.status == 1 and "is violated (unlock-bug)" in checked.out, checked


def test_a_correct_lock_is_blamed_for_nothing_but_what_leases_are(picklock, tmp_path):
    """With all faults. Commands that are late may be granted late, and nobody of this lock asks for the time; answers that were lost
    leave the key behind."""
    ran, found, row = stress(picklock, tmp_path, of_scheme("set-nx-px-cad"), "--duration", "2s", "--silence", "0.5%", "--silence-time", "20ms",
                             "--refuse", "0.5%", "--refuse-time", "20ms", *FAULTS)
    causes = {one["cause"] for one in found.values() if one["verdict"] == "violated"}
    assert causes <= {"overrun", "late-grant", "leftover"}, ran
    assert found["release-own"]["verdict"] == "holds" or "no server" in ran.out, ran
    assert row["stress"]["faults"] > 0 and row["stress"]["grants"] > 0, ran


@pytest.mark.parametrize("is_stopped", [True, False])
def test_what_picklock_holds_up_itself_is_no_late_grant(tmp_path, is_stopped):
    """It is stopped for longer than a lease, over and over: its own delay, told in the history, and no fault of a lock that looks at no
    clock. Commands that a fault delays for as long are."""
    delays = () if is_stopped else ("--delay", "30%", "--delay-time", "500ms")
    out = tmp_path / "out"
    stressed = subprocess.Popen([PICKLOCK, "stress", "--worker", of_scheme("set-nx-px-cad"), "--clients", "4", "--lease", "300ms", "--duration", "3s",
                                 "--no-faults", *delays, "--history", "--out", out, "--json", "-", "--progress", "json"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert any('"grants":' in line for line in stressed.stderr)  # it runs
        for _ in range(4 * is_stopped):
            stressed.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            stressed.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        said, _ = stressed.communicate(timeout=PATIENCE_S)
    finally:
        stressed.kill()
    found = {p["property"]: p for p in json.loads(said)["results"][0]["properties"]}
    if not is_stopped:
        assert found["fresh-grant"]["cause"] == "late-grant", found
        return
    assert {p["cause"] for p in found.values() if p["verdict"] == "violated"} <= {"overrun"}, found
    [history] = (out / "latest" / "histories").glob("*.jsonl")
    events = list(map(json.loads, history.read_text().splitlines()))
    assert max(event.get("amount", 0) for event in events if event.get("kind") == "wake") > 400000


@pytest.mark.long("a minute: as of schemes, which is tested in C")
def test_the_guarded_list_does_not_grow_without_end(picklock, tmp_path):
    ran, found, _ = stress(picklock, tmp_path, of_scheme("set-nx-px-cad"), "--no-faults", "--clients", 1, "--lease", "30s", "--think", "0ms",
                           "--duration", "60s", "--history", "--out", tmp_path / "out")
    [history] = (tmp_path / "out" / "latest" / "histories").glob("*.jsonl")
    lengths = [event["says"] for event in map(json.loads, history.read_text().splitlines()) if event.get("kind") == "execute" and event.get("verb") == "RPUSH"]
    assert len(lengths) > 1500 and 1000 <= max(lengths) <= 1001, lengths
    assert found["no-lost-update"]["verdict"] == "holds", ran


def test_nothing_happens_without_faults(picklock, tmp_path):
    """One client of each lock, so that not even a busy machine makes two of them meet."""
    ran, found, row = stress(picklock, tmp_path, of_scheme("set-nx-px-cad"), "--no-faults", "--locks", 4, "--lease", "30s", "--duration", "500ms")
    assert not [one for one in found.values() if one["verdict"] == "violated"], ran
    assert row["stress"]["grants"] > 0 and row["stress"]["errors"] == row["stress"]["faults"] == 0, ran
    assert "injected_wait_us" not in row["stress"], row


@pytest.mark.parametrize("attempts, is_told", [(20, True), (10 ** 6, False)])
def test_nobody_is_granted_a_lock_any_more(picklock, tmp_path, worker, attempts, is_told):
    """As under too much load: no violation, and told of while it lasts and in the end."""
    command = worker(f"""
class Worker(Worker):
    count = 0

    def acquire(self, wait_ms):
        self.count += 1
        return self.count <= {attempts} and super().acquire(wait_ms)
""")
    ran, found, row = stress(picklock, tmp_path, command, "--no-faults", "--lease", "300ms", "--think", "1ms", "--duration", "4s",
                             "--progress", "json")
    notes = [note for note in json.loads((tmp_path / "results.json").read_text())["notes"] if "nor was granted one" in note]
    lines = list(map(json.loads, ran.err.splitlines()))
    assert len(notes) == is_told and row["stress"]["contended"] > 0, (notes, ran)
    assert (lines[-1]["ungranted"] > 5) == is_told and lines[-1]["grants"] > 0, lines


@pytest.mark.parametrize("fault, name", [("silence", "silent-server"), ("refuse", "refusing-server")])
def test_a_server_out_of_reach(picklock, tmp_path, fault, name):
    """Each second command finds it so; who cannot connect is told so, and nothing of it is taken for a command that nobody saw."""
    ran, found, row = stress(picklock, tmp_path, of_scheme("set-nx-px-cad"), "--no-faults", f"--{fault}", "30%", f"--{fault}-time", "20ms",
                             "--lease", "30s", "--duration", "1s", "--history", "--out", tmp_path / "out")
    [history] = (tmp_path / "out" / "latest" / "histories").glob("*.jsonl")
    faults = [event["fault"] for event in map(json.loads, history.read_text().splitlines()) if event.get("kind") == "fault"]
    assert faults.count(name) > 1 and faults.count("reachable") == faults.count(name), faults
    assert found["release-own"]["verdict"] == "holds", ran
    assert (row["stress"]["errors"] > 0) == (fault == "refuse"), ran
    assert fault == "refuse" or row["stress"]["injected_wait_us"] > 0, row  # who cannot connect is told so


def test_fences_are_written_with(picklock, tmp_path):
    """What the lock guards refuses an old fence; where fences do not go up, a stale write is taken."""
    pauses = ("--pause", "60%", "--duration", "2s")
    _, good, _ = stress(picklock, tmp_path, of_scheme("fenced"), *pauses)
    assert good["fence-order"]["verdict"] == "holds", good
    _, none, _ = stress(picklock, tmp_path, of_scheme("set-nx-px-cad"), "--no-faults", "--duration", "300ms")
    assert "fence-order" not in none


def test_fences_that_do_not_go_up_are_found(picklock, tmp_path, worker):
    command = worker("""
class Worker(Worker):
    promises = ["expiry", "fence"]

    def acquire(self, wait_ms):
        return super().acquire(wait_ms) and 7
""")
    ran, found, _ = stress(picklock, tmp_path, command, "--no-faults", "--duration", "500ms")
    assert ran.status == 1 and found["fence-order"]["verdict"] == "violated", ran


def test_a_key_that_ends_before_it_can_be_looked_at_is_said_to_be_so(picklock, tmp_path, worker):
    """Whose doing that is is not known, and what may have been is told: of a millisecond most is over when somebody looks."""
    command = worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        self.settings.ttl_ms = 1
        return super().acquire(wait_ms)
""")
    ran, _, row = stress(picklock, tmp_path, command, "--no-faults", "--duration", "60s")
    assert ran.status == 2 and re.search("the key '.*' was over before it could be looked at .* it was given less time to live", row["trouble"]), ran


def test_a_worker_that_ends_leaves_the_run_undecided(picklock, tmp_path, worker):
    command = worker("""
class Worker(Worker):
    count = 0

    def acquire(self, wait_ms):
        self.count += 1
        if self.count == 3:
            print("the end", file=sys.stderr)
            os._exit(3)
        return super().acquire(wait_ms)
""")
    ran, _, row = stress(picklock, tmp_path, command, "--no-faults", "--duration", "60s")
    assert ran.status == 2 and "ended with status 3" in row["trouble"] and "the end" in row["trouble"], ran


def test_a_worker_that_never_is_ready_ends_the_program(picklock, worker):
    ran = picklock("stress", "--worker", worker(text="raise SystemExit('no lock here')"), "--duration", "60s")
    assert ran.status == 64 and "ended with status 1" in ran.err and "no lock here" in ran.err, ran


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_all_processes_end(tmp_path, worker, end):
    """Whatever ends the program; also those that stand still, and what they have started."""
    pids = tmp_path / "pids"
    command = worker(f"""
import subprocess
class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        child = subprocess.Popen(["sleep", "100"])
        with open({str(pids)!r}, "a") as file:
            print(os.getpid(), child.pid, file=file)
""")
    with subprocess.Popen([PICKLOCK, "stress", "--worker", command, "--clients", "3", "--pause", "100%", "--pause-time", "60s",
                           "--duration", "100s", "--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and (not pids.exists() or len(pids.read_text().splitlines()) < 3):
            time.sleep(0.02)
        process.stderr.readline()
        process.send_signal(end)
        process.communicate(timeout=60)
    assert process.returncode == (-end if end == signal.SIGKILL else 2)
    started = pids.read_text().split()
    until = time.monotonic() + 20
    while any(is_alive(pid) for pid in started) and time.monotonic() < until:
        time.sleep(0.02)
    assert len(started) == 6 and not [pid for pid in started if is_alive(pid)]


def test_there_must_be_room(tmp_path, worker):
    """Told by the first worker, before the others begin."""
    ran = subprocess.run([PICKLOCK, "stress", "--worker", worker(), "--clients", "200", "--out", tmp_path], capture_output=True, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000)), timeout=60)
    assert ran.returncode == 69 and "open files" in ran.stderr and "--clients 88 fits" in " ".join(ran.stderr.split()), ran


@pytest.mark.parametrize("options, words", [
    (("--scheme", "redlock"), "--scheme does not go with --worker"),
    (("--drift", "5%"), "--drift does not go with --worker"),
    (("--redis", "redis://127.0.0.1:1"), "--redis does not go with --worker"),
    (("--clients", "1001"), "of workers there are at most 1000"),
])
def test_options_that_do_not_go_together(picklock, options, words):
    ran = picklock("stress", "--worker", "true", *options)
    assert ran.status == 64 and words in ran.err, ran


@pytest.mark.long("a minute")
@pytest.mark.parametrize("name", ["redis_py_lock.py", "naive_lock.py"])
def test_libraries_under_load(picklock, tmp_path, name):
    ran, found, _ = stress(picklock, tmp_path, example(PYTHON, name), "--clients", 20, "--lease", "1s", "--duration", "20s", *FAULTS)
    causes = {one["cause"] for one in found.values() if one["verdict"] == "violated"}
    assert ("unlock-bug" in causes) == (name == "naive_lock.py"), ran
    assert name == "naive_lock.py" or causes <= {"overrun", "late-grant", "leftover"}, ran


@pytest.mark.parametrize("method, faults, words", [
    pytest.param("acquire(self, wait_ms)", [], "2 of 2 workers did not answer any more in the end: c{0}, asked to acquire the lock, had not for",
                 marks=pytest.mark.long("what is on its way is waited for")),
    ("release(self)", ["--no-faults"], "2 of 2 workers did not answer any more in the end: c{0}, asked to release the lock, had not for"),
    (None, ["--no-faults"], None),
], ids=["acquire", "release", "answers"])
def test_who_never_answers_is_told(picklock, tmp_path, worker, method, faults, words):
    """And not that no fault has struck. Who never acquires has a lock of its own, so that nobody waits for another."""
    command = worker(f"class Worker(Worker):\n    def {method}:\n        threading.Event().wait()\n" if method else "")
    ran, found, _ = stress(picklock, tmp_path, command, "--clients", 2, "--locks", 2 if "acquire" in (method or "") else 1, "--lease", "50ms" if method else "30s", "--duration", "700ms", *faults)
    assert (ran.status, found["lease-exclusion"]["verdict"]) == ((2, "unknown") if words else (0, "holds")), ran
    assert ("did not answer" in ran.out) == bool(words) and (not words or any(words.format(number) in " ".join(ran.out.split()) for number in (1, 2))), ran


GIVES_UP = """
class Worker(Worker):
    has_failed = False

    def acquire(self, wait_ms):
        if self.has_failed:
            raise RuntimeError("the connection was gone")
        try:
            return super().acquire(wait_ms)
        except OSError:
            self.has_failed = True
            raise
"""
TRIES_ON = """
class Worker(Worker):
    def acquire(self, wait_ms):
        try:
            return super().acquire(wait_ms)
        except OSError:
            super().init(self.settings)
            raise
"""


@pytest.mark.parametrize("how", ["tries on", "gives up"])
def test_behind_all_faults_a_lock_must_be_granted_again(picklock, tmp_path, worker, how):
    """No command gets through while faults strike, so whatever is granted is granted behind them."""
    command = worker((TRIES_ON if how == "tries on" else GIVES_UP) + """
    def ask(self, *words):
        answer = super().ask(*words)
        if not answer:
            raise ConnectionError("the connection is gone")
        return answer
""")
    ran, _, row = stress(picklock, tmp_path, command, "--no-faults", "--lose-request", "100%", "--lease", "50ms", "--duration", "500ms",
                             "--heal", "800ms", "--clients", 2, "--history", "--out", tmp_path / "out")
    [history] = (tmp_path / "out" / "latest" / "histories").glob("*.jsonl")
    kinds = [event.get("fault", event["kind"]) for event in map(json.loads, history.read_text().splitlines()) if "kind" in event]
    assert "lose-request" in kinds and "lose-request" not in kinds[kinds.index("execute") if "execute" in kinds else len(kinds):], kinds
    said = " ".join(ran.out.split())
    assert (row["stress"]["grants"] > 0) == (how == "tries on"), ran
    assert ("1 of 1 lock that they asked for was granted again" in said) == (how == "tries on"), ran
    words = "faults had ended, and 1 of 1 lock that was asked for then was granted to nobody"
    assert how == "tries on" or (ran.status == 2 and row["verdict"] == "unknown" and words in said), ran


def test_who_goes_past_its_servers_is_told(picklock, tmp_path):
    """A lock of its own, in a file: no server has seen anything, so nothing that it did under faults of the network is known."""
    (tmp_path / "my_lock.py").write_text(f"""
import os
import picklock_worker

class Worker(picklock_worker.Worker):
    def init(self, settings):
        pass

    def acquire(self, wait_ms):
        try:
            os.close(os.open({str(tmp_path / 'lock')!r}, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def release(self):
        os.unlink({str(tmp_path / 'lock')!r})
        return True

picklock_worker.run(Worker)
""")
    ran, found, _ = stress(picklock, tmp_path, f"{PYTHON} {shlex.quote(str(tmp_path / 'my_lock.py'))}", "--no-faults", "--duration", "500ms",
                           "--clients", 2, "--lease", "10s")
    assert ran.status == 2 and found["lease-exclusion"]["verdict"] == "unknown", ran
    assert "sent no command to the servers that it was given" in " ".join(ran.out.split()), ran


def test_a_promise_that_changes_is_told(picklock, tmp_path, worker):
    """From one process to the next: what is not promised is not judged, and what is judged was not promised by all."""
    changes = """
class Worker(Worker):
    def init(self, settings):
        Worker.promises = ["expiry", "token"] if settings.name == "c2" else ["expiry"]
        super().init(settings)
"""
    ran = picklock("stress", "--worker", worker(changes), "--clients", "2", "--duration", "1s")
    assert ran.status == 64 and "worker c2: it promises expiry, token as it is ready (init), and expiry was promised before" in ran.err, ran
    ran, _, row = stress(picklock, tmp_path, worker(changes.replace("c2", "c9")), "--no-faults", "--clients", "2", "--duration", "1s")
    assert ran.status == 0 and not row["trouble"], ran
