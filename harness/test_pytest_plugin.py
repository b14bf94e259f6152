"""The Python package and the pytest plug-in that people install: in a project of theirs, with a real pytest, locks and servers."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import picklock
import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, ask, run, servers
from workers import PLAIN, RUN

PROJECT = '''
import redis

import picklock
import pytest


def test_a_lease_ends_when_the_clock_says_so(picklock_redis):
    client = redis.Redis.from_url(picklock_redis.url)
    assert client.set("lock", "x", nx=True, px=30000)
    picklock_redis.advance("29s")
    assert client.get("lock") == b"x"
    picklock_redis.advance(1.001)
    assert client.get("lock") is None
    client.set("left", 1)


def test_each_test_has_an_empty_server(picklock_redis):
    assert redis.Redis.from_url(picklock_redis.url).keys() == []


def test_a_wrong_time(picklock_redis):
    with pytest.raises(picklock.PicklockError, match="unknown unit 'x'"):
        picklock_redis.advance("1x")
    picklock_redis.advance("1s")


def test_faults_come_and_go(picklock_proxy, picklock_redis):
    client = redis.Redis.from_url(picklock_proxy.url, socket_timeout=0.5, retry_on_timeout=False)
    assert client.set("lock", "x", nx=True)
    silence = picklock_proxy.add("timeout", timeout=0)
    with pytest.raises(redis.exceptions.TimeoutError):
        client.delete("lock")  # executed, and nobody says so
    assert redis.Redis.from_url(picklock_redis.url).get("lock") is None
    picklock_proxy.remove(silence)
    assert client.ping()
    with pytest.raises(picklock.PicklockError, match="invalid toxic type"):
        picklock_proxy.add("latencies")
    with pytest.raises(picklock.PicklockError, match="latency has no latncy; did you mean 'latency'"):  # it would strike nothing
        picklock_proxy.add("latency", latncy=300)
    picklock_proxy.down()
    with pytest.raises(redis.exceptions.ConnectionError):
        client.ping()
    picklock_proxy.add("reset_peer")  # and left so: the next test finds no fault


def test_each_test_has_a_proxy_without_faults(picklock_proxy):
    assert redis.Redis.from_url(picklock_proxy.url).ping()


def test_naive():
    picklock.explore("my lock.py", fault=["none", "slow-work"], clients=2, rounds=1).assert_safe(except_for=["overrun"])


def test_naive_with_all_that_is_wrong_named():
    picklock.explore("my lock.py", fault=["slow-work"], clients=2, rounds=1).assert_safe(except_for=["overrun", "unlock-bug"])


def test_safe():
    picklock.explore("set-nx-px-cad", fault=["none", "slow-work"]).assert_safe(except_for="overrun")


def test_careful():
    report = picklock.explore("careful_lock.py", fault=["lose-reply", "evict"], clients=2, rounds=1)
    report.assert_as_expected()
    report.assert_safe(except_for=["overrun", "leftover", "early-expiry", "lost-grant"])
    picklock.explore("careful_lock.py", fault=["none", "slow-work"], clients=2, rounds=1).assert_safe(except_for=["overrun"])


def test_careful_with_a_cause_that_is_not_named():
    picklock.explore("careful_lock.py", fault=["evict"], clients=2, rounds=1).assert_safe(except_for=["overrun", "leftover", "early-expiry"])


def test_safe_but_for_nothing():
    picklock.explore("set-nx-px-cad", fault=["slow-work"]).assert_safe()


def test_cut():
    picklock.explore("set-nx-px-cad", fault=["none"], states=100).assert_safe()


def test_a_cause_that_is_none():
    picklock.explore("set-nx-px-cad", fault=["none"]).assert_safe(except_for=["overun"])


@pytest.mark.parametrize("lock", ["/usr/bin/python3 careful_lock.py", "careful_lock.py --its-own option", "/usr/bin/python3 'my lock.py'"])
def test_a_command_line(lock):
    report = picklock.explore(lock, fault=["none"], clients=2, rounds=1)
    report.assert_safe(except_for=["leftover"])
    assert report.rows[0]["worker"].endswith(lock)


def test_a_file_that_is_not_there():
    picklock.explore("nobody.py")


def test_a_file_with_options_that_is_not_there():
    picklock.explore("nobody.py --fair")


def test_an_option_that_is_none():
    picklock.explore("set-nx-px-cad", fualt="none")
'''


def call(folder, *words, **env):
    return subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "picklock.pytest_plugin", *words],
        cwd=folder, text=True, capture_output=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "harness"), "PICKLOCK": str(PICKLOCK), "LC_ALL": "C.UTF-8", **env})


def failed(done):
    return set(re.findall(r"^FAILED (.*?)(?: - |$)", done.stdout, re.M))


def section(done, name):
    """What pytest says of a failed test."""
    return re.search(rf"^__+ {re.escape(name)} __+$(.*?)(?=^__+ \S.* __+$|^==+ )", done.stdout, re.M | re.S).group(1)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "their tests"
    folder.mkdir()
    (folder / "my lock.py").write_text(PLAIN + RUN)
    shutil.copy(ROOT / "sim/worker/examples/careful_lock.py", folder)
    (folder / "test_project.py").write_text(PROJECT)
    return folder


@pytest.fixture(scope="module")
def ran(project):
    return call(project, "test_project.py")


of_that_run = pytest.mark.xdist_group("project")  # in one of the suite's processes, so that it is run once


@of_that_run
def test_only_what_is_wrong_fails(ran):
    assert failed(ran) == {f"test_project.py::test_{name}" for name in (
        "naive", "careful_with_a_cause_that_is_not_named", "safe_but_for_nothing", "cut", "a_cause_that_is_none", "a_file_that_is_not_there",
        "a_file_with_options_that_is_not_there", "an_option_that_is_none")}, ran.stdout


@of_that_run
def test_the_message_is_the_counterexample(ran):
    """The shortest one, its sentences, and its own diagram: the DEL that removes B's key is its last line."""
    said = section(ran, "test_naive")
    assert "my lock.py, slow-work: release-own is violated (unlock-bug, 10 steps)" in said
    assert "it removed B's lock; A's own lease had ended" in said
    drawn = [line for line in said.splitlines() if line.startswith("E   ▶") or "▶  " in line]
    assert len(drawn) == 1 and "A's DEL" in drawn[0] and "removes B's key" in drawn[0]
    assert "def assert_safe" not in said, "the package's own lines are no part of it"


@of_that_run
def test_what_was_not_decided_is_not_safe(ran):
    assert "not decided, so not safe:" in section(ran, "test_cut")
    assert "set-nx-px-cad, none: the limit of states was reached" in section(ran, "test_cut")


@of_that_run
def test_wrong_words_are_told(ran):
    assert "'overun' is no cause; there are acquire-bug, " in section(ran, "test_a_cause_that_is_none")
    for name in ("test_a_file_that_is_not_there", "test_a_file_with_options_that_is_not_there"):
        assert "nobody.py: no such file" in section(ran, name)
    assert "unknown option '--fualt'; did you mean '--fault'?" in section(ran, "test_an_option_that_is_none")


def test_scenarios_are_collected_from_any_folder(tmp_path):
    """One test for each scheme that is mentioned; what is not a scenario is left alone; what is no good fails with the place."""
    for name in ("hand-over", "expired-lease-double-delete", "matrix"):
        shutil.copy(ROOT / "scenarios" / f"{name}.yaml", tmp_path)
    (tmp_path / "other.yaml").write_text("a: b\n")
    text = (tmp_path / "hand-over.yaml").read_text()
    (tmp_path / "bad.yaml").write_text(text.replace("name: hand-over", "name: bad").replace("- A acquires", "- A aquires", 1))
    wrong = re.sub(r"(set-nx-px-cad: +)\{.*\}", r"\1{ release-own: violated }", text.replace("name: hand-over", "name: wrong"))
    (tmp_path / "wrong.yaml").write_text(wrong.split("expect:")[0] + "expect:\n" + re.search(r".*set-nx-px-cad:.*", wrong).group(0) + "\n")
    done = call(tmp_path, "--picklock-on", "sim")
    assert failed(done) == {f"bad.yaml::{name}" for name in re.findall(r"^  ([a-z0-9-]+):", text.split("expect:")[1], re.M)} | {
        "wrong.yaml::set-nx-px-cad"}
    assert "bad.yaml:10:7: no step says 'A aquires'" in done.stdout


def test_a_scenario_that_is_damaged_fails(tmp_path):
    """Cut off, a colon lost, emptied beside others, or empty and named: a test that is gone would be green. What is somebody else's is none."""
    text = (ROOT / "scenarios" / "hand-over.yaml").read_text()
    (tmp_path / "hand-over.yaml").write_text(text)
    (tmp_path / "cut.yaml").write_text(text[:text.index("lease:") + 14].replace("name: hand-over", "name: cut"))
    (tmp_path / "colon.yaml").write_text(text.replace("steps:", "steps").replace("name: hand-over", "name: colon"))
    (tmp_path / "behind.yaml").write_text("name: behind\n" + text[text.index("source:"):text.index("lease:")])
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "compose.yaml").write_text("name: x\nservices:\n  a:\n    image: b\nsource: y\n")
    (tmp_path / "others" / "nothing.yaml").write_text("")
    done = call(tmp_path, "--picklock-on", "sim")
    assert {name.split("::")[0] for name in failed(done)} == {"cut.yaml", "behind.yaml", "colon.yaml", "empty.yaml"}, done.stdout
    assert failed(call(tmp_path, "--picklock-on", "sim", "others/nothing.yaml")), "it was named"


def test_a_lock_of_ones_own_plays_them(project, tmp_path):
    """By pytest.ini; a schedule that somebody keeps is a test, too, and passes once the lock is mended."""
    shutil.copy(project / "my lock.py", tmp_path / "my_lock.py")
    shutil.copy(ROOT / "scenarios/expired-lease-double-delete.yaml", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\npicklock_lock = my_lock.py\n")
    explored = run("explore", "--worker", "/usr/bin/python3 my_lock.py", "--clients", "2", "--rounds", "1", "--fault", "slow-work",
                   "--out", tmp_path / "out", cwd=tmp_path)
    assert explored.status == 1, explored
    shutil.copy(tmp_path / "out/latest/schedules/my_lock.py-slow-work-release-own.schedule", tmp_path / "kept.schedule")
    done = call(tmp_path)  # the run folder is still there: nobody's tests
    assert failed(done) == {"expired-lease-double-delete.yaml::my_lock.py", "kept.schedule::replay"}, done.stdout
    assert "removes B's key" in done.stdout


def test_a_kept_schedule_without_its_lock_says_how_to_name_it(tmp_path):
    """In the words of pytest: `--worker`, which the program advises, is no option there."""
    (tmp_path / "kept.schedule").write_text(
        "picklock schedule 1\nscheme: mine.py\nlease: 2s\nclients: A B\nservers: 1\nseed: 1\nforeign: yes\nworker: /usr/bin/python3 mine.py\n"
        "violates: release-own\n---\nA acquires\nend\n")
    done = call(tmp_path)
    assert failed(done) == {"kept.schedule::replay"}, done.stdout
    for said in ("picklock_lock in pytest.ini", "--picklock-lock", "'/usr/bin/python3 mine.py'"):
        assert said in done.stdout, done.stdout
    assert "--worker" not in done.stdout and "status 64" not in done.stdout


def first_of(done, name):
    """The message of a failed test: what leads, and all of it."""
    said = re.sub(r"^E   ", "", section(done, name), flags=re.M)
    return re.search(r"^.*is violated.*$", said, re.M).group(0), said


def test_what_makes_it_fail_leads(project):
    """Mutual exclusion is lost by an overrun in fewer steps, and that is nobody's fault; the unlock bug fails. It leads, and the overrun
    stands apart."""
    (project / "test_leads.py").write_text("import picklock\n\n\ndef test_naive():\n"
                                           "    picklock.explore('my lock.py', fault=['none', 'slow-work'], clients=2, rounds=1).assert_as_expected()\n")
    done = call(project, "test_leads.py")
    headline, said = first_of(done, "test_naive")
    assert "release-own is violated (unlock-bug" in headline and "removes B's key" in said, said
    others = said.partition("found, and not what fails:")[2]
    assert "(overrun" in others and "unlock-bug" not in others and "(overrun" not in said.partition("found, and not")[0], said


def test_what_a_scenario_does_not_state_leads(tmp_path):
    """It states lease-exclusion and release-own as violated, and so they are; that mutual-exclusion is, too, is not expected. What it
    states as violated and holds is told as well."""
    text = (ROOT / "scenarios" / "expired-lease-double-delete.yaml").read_text()
    head = text.partition("expect:")[0]
    (tmp_path / "story.yaml").write_text(
        head.replace("name: expired-lease-double-delete", "name: story") + "expect:\n  set-nx-ex-del: { lease-exclusion: violated, release-own: violated }\n  set-nx-px-cad: { release-own: violated }\n")
    done = call(tmp_path, "--picklock-on", "sim")
    assert failed(done) == {"story.yaml::set-nx-ex-del", "story.yaml::set-nx-px-cad"}, done.stdout
    headline, said = first_of(done, "story.yaml: set-nx-ex-del")
    assert "mutual-exclusion is violated" in headline and "not expected: the scenario does not state it" in said, said
    others = said.partition("found, and not what fails:")[2]
    assert "lease-exclusion" in others and "release-own" in others and "also:" not in said, said
    missed = section(done, "story.yaml: set-nx-px-cad")
    assert "release-own holds; the scenario says that it is violated" in missed, missed


# --- picklock server ---


def test_a_server_dies_with_whoever_asked_for_it():
    """SIGKILL of the Python that holds it."""
    before = servers()
    code = "import picklock, time; server = picklock.Server(); print(server.url, flush=True); time.sleep(300)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "harness"), "PICKLOCK": str(PICKLOCK)})
    assert holder.stdout.readline().startswith("redis://127.0.0.1:") and len(servers() - before) == 1
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    deadline = time.monotonic() + PATIENCE_S
    while servers() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not servers() - before


def test_a_server_that_ends_by_itself_ends_picklock_too():
    """With its standard input open, and nobody who asks for anything."""
    process = subprocess.Popen([PICKLOCK, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    pid = int(re.search(r"process_id:(\d+)", ask(port, "INFO", "server"))[1])
    os.kill(pid, signal.SIGKILL)
    try:
        assert process.wait(timeout=PATIENCE_S) == 69
        assert process.stdout.read() == "" and "redis-server" in (said := process.stderr.read()) and "signal 9" in said, said
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def test_lines_that_are_no_order():
    done = subprocess.run([PICKLOCK, "server"], input="foo\nadvance\nreset now\nadvance -1s\nadvance 1s\n", text=True, capture_output=True, timeout=60)
    url, *answers = done.stdout.splitlines()
    assert done.returncode == 0 and url.startswith("redis://127.0.0.1:")
    assert [answer.split()[0] for answer in answers] == ["error"] * 4 + ["ok"] and answers[-1] == "ok 1000000"


def test_a_server_that_cannot_be_steered_is_none(tmp_path):
    wrapper = tmp_path / "redis-server"
    wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {shutil.which("redis-server")} "$@"\n')
    wrapper.chmod(0o755)
    done = subprocess.run([PICKLOCK, "server", "--redis-server", wrapper], input="advance 1s\n", text=True, capture_output=True, timeout=60)
    assert done.returncode == 69 and done.stdout == "" and "clock" in done.stderr


def test_the_attributes_of_toxics_are_those_of_the_proxy():
    rows = re.findall(r'^TOXIC\(\w+, "(\w+)", \w+, "(\w*)", "(\w*)", "(\w*)"', (ROOT / "sim" / "toxiproxy" / "toxics.def").read_text(), re.M)
    told = {name: tuple(filter(None, attributes)) for name, *attributes in rows if name != "redis"}  # its are selectors
    assert told == picklock._TOXICS
