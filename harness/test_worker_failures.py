"""What can be wrong with a worker's process: it does not begin, says garbage, answers twice or never, computes, exits, goes past the proxy."""

import os
import re
import shlex
import shutil
import socket
import subprocess

import pytest
from conftest import LONG
from workers import needs_node, once, plain_worker

worker = pytest.fixture(plain_worker)


@pytest.mark.parametrize("more, words", [
    ("promises = 'expiry'", "promises is a text: make it a list, ['expiry']"),
    ("release = picklock_worker.Worker.release", "the worker has no method release"),
], ids=["promises", "method"])
def test_a_class_that_is_not_whole(picklock, worker, more, words):
    ran = once(picklock, worker(f"class Worker(Worker):\n    {more}"))
    assert ran.status == 64 and words in ran.err, ran


@needs_node
def test_an_object_that_has_not_all_methods(picklock, tmp_path):
    path = tmp_path / "lock.js"
    path.write_text("require('picklock-worker').run({ async init() {}, async acquire() { return true; } });\n")
    ran = once(picklock, f"node {shlex.quote(str(path))}")
    assert ran.status == 64 and "the worker has no method release" in ran.err, ran


def test_no_such_program(picklock):
    ran = once(picklock, "no-such-program my_lock.py")
    assert ran.status == 69 and "no-such-program cannot be run: No such file or directory" in ran.err, ran


def test_a_file_is_no_program_on_the_path(picklock, tmp_path):
    (tmp_path / "lock.py").write_text("")
    ran = picklock("test", "--once", "lock.py", cwd=tmp_path)
    assert ran.status == 69 and "lock.py cannot be run: it is here, but not on the PATH; name what runs it, as in 'python3 lock.py'" in ran.err, ran


def test_a_program_that_is_not_executable(picklock, tmp_path):
    (tmp_path / "lock.py").write_text("")
    ran = once(picklock, f"{tmp_path}/lock.py")
    assert ran.status == 69 and f"it is not executable; name what runs it, as in 'python3 {tmp_path}/lock.py', or chmod +x" in ran.err, ran


def test_an_assignment_before_the_program(picklock):
    ran = once(picklock, "PYTHONUNBUFFERED=1 /usr/bin/python3 my_lock.py")
    assert ran.status == 69 and "no shell reads the command; " in ran.err and "'env PYTHONUNBUFFERED=1 ..'" in ran.err, ran
    ran = once(picklock, "./a=b my_lock.py")
    assert ran.status == 69 and "./a=b cannot be run: No such file or directory" in ran.err, ran


@pytest.mark.parametrize("program, package", [("python3", "python3"), ("node", "nodejs"), ("ruby", "ruby"),
                                              ("java", "default-jre-headless"), ("go", "golang-go")])
def test_no_such_language_here(picklock, tmp_path, program, package):
    servers = tmp_path / "bin"
    servers.mkdir()
    (servers / "redis-server").symlink_to(shutil.which("redis-server"))
    ran = picklock("test", "--once", f"{program} my_lock", env={"PATH": str(servers)})
    assert ran.status == 69 and f"{program} cannot be run" in ran.err and f"the Debian package {package} has it" in ran.err, ran


@pytest.mark.parametrize("made, words", [
    ("", ": there is no folder {folder}/.venv"),
    ("mkdir -p .venv/bin", ""),
    ("mkdir -p .venv/bin; ln -s /nowhere/python3 .venv/bin/python3", ": it is a link to what is not here"),
    ("mkdir -p .venv/bin; echo '#!/nowhere/python3' > .venv/bin/python3; chmod +x .venv/bin/python3",
     ": it is here, but not what its first line says that runs it"),
], ids=["no environment", "an empty one", "a dead link", "a dead interpreter"])
def test_an_environment_that_is_not_there(picklock, tmp_path, made, words):
    """No package has what belongs into somebody's own folder."""
    subprocess.run(["sh", "-c", made], cwd=tmp_path, check=True)
    ran = once(picklock, f"{tmp_path}/.venv/bin/python3 my_lock.py")
    says = f"{tmp_path}/.venv/bin/python3 cannot be run: No such file or directory{words.format(folder=tmp_path)}"
    assert ran.status == 69 and ran.err.splitlines()[-1].endswith(says), ran


@pytest.mark.parametrize("command, words", [
    ("python3 my_lock.py | tee log", "'|' is for one; put it into quotes, or name a shell"),
    ("python3 'my_lock.py", "a quote has no end"),
    ("  ", "the command of the worker is empty"),
])
def test_what_is_no_command(picklock, command, words):
    ran = once(picklock, command)
    assert ran.status == 64 and words in ran.err, ran


def test_a_worker_that_does_not_begin(picklock, worker):
    ran = once(picklock, worker(text="import no_such_library\n"))
    assert ran.status == 64, ran
    assert "its process ended with status 1; its last words: \"ModuleNotFoundError: No module named 'no_such_library'\"" in ran.err


def test_garbage_is_quoted(picklock, worker):
    ran = once(picklock, worker(text="print('starting up ...', flush=True); import time; time.sleep(1000)\n"))
    assert ran.status == 64 and "where only answers may stand: this is no JSON: 'starting up ...'" in ran.err, ran


def test_a_line_without_an_end(picklock, worker):
    ran = once(picklock, worker(text="import sys\nwhile True: sys.stdout.write('x' * 65536)\n"))
    assert ran.status == 64 and "this is no JSON: 'xxxx" in ran.err, ran


@pytest.mark.parametrize("answer, words", [
    ('{"id": 1, "ready": true, "promises": ["expiri"]}', "unknown promise 'expiri', did you mean 'expiry'"),
    ('{"id": 1, "ready": true, "promises": ["reentrant"]}', "which picklock cannot check yet"),
    ('{"id": 1, "redy": true}', "unknown member 'redy', did you mean 'ready'"),
    ('{"ready": true}', "'id' is missing"),
    ('[1]', "a line is a JSON object"),
    ('{"id": 1, "ok": true}', "answered request 1 (init) with what is an answer to something else"),
    ('{"id": 9, "ok": true}', "answered request 9, which was never asked"),
])
def test_answers_that_are_none(picklock, worker, answer, words):
    ran = once(picklock, worker(text=f"input()\nprint('''{answer}''', flush=True)\ninput()\n"))
    assert ran.status == 64 and words in ran.err, ran


def test_a_worker_that_answers_twice(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        picklock_worker._say({"id": 4, "ok": True})
        return super().acquire(wait_ms)
"""))
    assert ran.status == 64 and "answered request 4 (acquire) twice" in ran.err, ran


def test_a_promise_that_changes_is_told_with_both(picklock, worker, tmp_path):
    """From one client to the next; and behind a reset, when something was judged by it: no verdict."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def init(self, settings):
        Worker.promises = ["expiry", "token"] if settings.name == "B" else ["expiry"]
        super().init(settings)
"""))
    assert ran.status == 64 and "worker B: it promises expiry, token as it is ready (init), and expiry was promised before" in ran.err, ran
    ran = picklock("test", worker("""
class Worker(Worker):
    begun = 0

    def init(self, settings):
        Worker.begun += 1
        Worker.promises = ["expiry"] if Worker.begun == 1 else ["expiry", "token"]
        super().init(settings)
"""), "hand-over", "--fault", "none", "--budget", "2s", "--no-cache", "--out", tmp_path / "out")
    said = " ".join((ran.out + ran.err).split())
    assert ran.status == 2 and "it promises expiry, token as it is ready (reset), and expiry was promised before" in said, ran


def test_a_worker_that_answers_again_much_later(picklock, worker):
    """From a timer of its own, while it is asked for something else."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        granted = super().acquire(wait_ms)
        threading.Timer(2, lambda: picklock_worker._say({"id": 4, "ok": True})).start()
        return granted
    def release(self):
        time.sleep(5)
        return super().release()
"""))
    assert ran.status == 64 and "answered request 4 (acquire) twice" in ran.err, ran


@pytest.mark.parametrize("what", [
    "while True:\n            pass",
    "[0] * (1 << 62) if False else [x for x in iter(int, 1)]",
])
def test_a_worker_that_computes_for_ever_is_unknown(picklock, worker, what):
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def release(self):
        {what}
"""), "--patience", "1500ms")
    assert ran.status == 2 and "worker A is busy: it has not come to rest within 1.5 s of real time (thread " in ran.err, ran
    assert re.search(r'runs\): \S*my_lock.py", line \d+ in .*release', ran.err), ran  # its stack


@pytest.mark.long("its patience is waited for")
@pytest.mark.parametrize("megabytes, status", [(3, 0), (20, 2)])
def test_a_command_that_is_too_long_to_be_held_is_named(picklock, worker, megabytes, status):
    """It waits to write, which is not to compute."""
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        self.ask("SET", "big", "y" * ({megabytes} << 20))
        return super().acquire(wait_ms)
"""), "--patience", "8s")
    assert ran.status == status and ("it may wait to write the rest of its SET, which is held" in ran.err) == (status == 2), ran


def test_a_worker_that_is_never_run(picklock, worker):
    """Once it has answered, an end with status 0 is nothing of that kind."""
    ran = once(picklock, worker(text="import picklock_worker\n"))
    assert ran.status == 64 and 'status 0 before its first answer: is the call of "run" missing' in ran.err, ran
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        os._exit(0)
"""))
    assert ran.status == 64 and "its process ended with status 0" in ran.err and "first answer" not in ran.err, ran


@needs_node
def test_node_is_not_asked_for_a_stack(picklock, tmp_path):
    """What would ask it opens its inspector, which listens to whoever comes."""
    path = tmp_path / "lock.js"
    path.write_text("""require('picklock-worker').run({init() {}, acquire() { for (;;) ; }, release() { return true; }});""")
    ran = once(picklock, f"node {shlex.quote(str(path))}", "--patience", "1s")
    assert ran.status == 2 and "worker A is busy" in ran.err and "where it computes, node does not tell: it has no stack to show" in ran.err, ran
    assert "Debugger" not in ran.out + ran.err, ran


def test_a_worker_with_many_threads(picklock, worker):
    """Each of them waits for its own time, and the worker for all of them."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        done = []
        threads = [threading.Thread(target=lambda i=i: (time.sleep(0.01 * i), done.append(i))) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return done == list(range(40)) and super().acquire(wait_ms)
"""))
    assert ran.status == 0 and ran.out.count("time passes: 10.0 ms") == 3 * 39, ran


def test_a_worker_that_prints_very_much(picklock, worker):
    """64 MB (`make check-long`: a GB) without a line feed, and no pipe that fills up: it is read while it is written, and cut. A word before anything
    is run is told, too."""
    ran = once(picklock, worker("""
print("a greeting")
class Worker(Worker):
    def release(self):
        for _ in range(MEGABYTES if self.settings.name == "A" else 0):
            sys.stderr.write("x" * 1048576)
        return super().release()
""".replace("MEGABYTES", "1024" if LONG else "64")), "--patience", "2m")
    assert ran.status == 0 and "A  prints: xxx" in ran.out and "A  prints: a greeting" in ran.out and max(map(len, ran.out.splitlines())) < 1100, ran.out[-500:]


def test_a_worker_that_exits(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def release(self):
        sys.stderr.write("giving up\\n")
        os._exit(3)
"""))
    assert ran.status == 64 and 'worker A: its process ended with status 3; its last words: "giving up"' in ran.err, ran


def test_a_worker_that_dies_of_an_exception_in_the_search_leaves_it_unknown(picklock, worker, tmp_path):
    """No input error: it was ready, and a scenario may have found something."""
    command = worker("""
class Worker(Worker):
    def ask(self, *words):
        try:
            said = super().ask(*words)
        except OSError:
            said = b""
        if not said:
            sys.stderr.write("OSError: it is gone\\n")
            os._exit(1)
        return said
""")
    for scenarios, status, word in (["hand-over"], 2, "is not decided"), (["hand-over", "expired-lease-double-delete"], 1, "fails: "):
        ran = picklock("test", command, *(f"scenarios/{name}.yaml" for name in scenarios), "--fault", "none", "--no-cache",
                       "--clients", "2", "--rounds", "1", "--budget", "2s", "--out", tmp_path / "out")
        assert ran.status == status and f"Verdict: my_lock.py {word}" in ran.out and "INTERRUPTED" not in ran.out, ran
        assert 'its last words: "OSError: it is gone" (catch the exception, and answer "error")' in " ".join(ran.out.split()), ran


@needs_node
def test_its_last_words_are_what_is_wrong(picklock, tmp_path):
    """Not the end of a trace."""
    path = tmp_path / "my_lock"
    path.write_text("require('no-such-library')")
    ran = once(picklock, f"node {shlex.quote(str(path))}")
    assert ran.status == 64 and "its last words: \"Error: Cannot find module 'no-such-library'" in ran.err, ran


def test_its_last_words_are_no_error_of_before(picklock, worker):
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        sys.stderr.write("Error: of no account\\n")
        return super().acquire(wait_ms)

    def release(self):
        sys.stderr.write("giving up\\n")
        os._exit(3)
"""))
    assert ran.status == 64 and 'its last words: "giving up"' in ran.err, ran


@pytest.mark.parametrize("length", [100, 1 << 20])
def test_a_line_on_standard_error_is_told_once_however_long_it_is(picklock, worker, length):
    """The line behind it is told, too."""
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def release(self):
        sys.stderr.write("x" * {length} + "\\nbehind that\\n")
        sys.stderr.flush()
        return super().release()
"""))
    told = [line.split("prints: ")[1] for line in ran.out.splitlines() if "prints: " in line]
    assert ran.status == 0 and len(told) >= 2 and told[1::2] == ["behind that"] * (len(told) // 2), ran
    assert all(line.startswith("x" * 100) and len(line) < 600 for line in told[::2]), told


@pytest.mark.parametrize("caught", ["OSError", "()"], ids=["caught", "not caught"])
@pytest.mark.parametrize("when", ["init(self, settings)", "acquire(self, wait_ms)"], ids=["init", "acquire"])
def test_a_connection_past_the_proxy(picklock, worker, when, caught):
    """As that to a Sentinel; one that the library does not survive, too."""
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def {when}:
        try:
            socket.create_connection(("127.0.0.1", 26379))
        except {caught}:
            return False
"""))
    assert ran.status == 64 and "wants to connect to 127.0.0.1:26379, which is none of the servers" in ran.err, ran
    assert "a Sentinel or a Cluster, which name others, cannot be tested: give the lock plain servers" in ran.err


@pytest.mark.parametrize("seconds", ["7", "1e9"])
def test_a_worker_that_sleeps_too_long_while_it_begins(picklock, worker, seconds):
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def init(self, settings):
        time.sleep({seconds})
        super().init(settings)
"""))
    assert ran.status == 2 and "it sleeps, and while it begins, or is reset, a worker may sleep for 5 s in all" in ran.err, ran
    assert "nothing that it waits for" not in ran.err


def test_an_acquire_that_outlasts_a_lease(picklock, worker):
    """Nobody else is blamed for what its lease was over by then."""
    ran = once(picklock, worker("""
class Worker(Worker):
    def acquire(self, wait_ms):
        time.sleep(1e9)
        return super().acquire(wait_ms)
"""))
    assert ran.status == 1 and "got the lock behind the lease of A, which had ended at 10000.0 ms" in ran.err, ran
    assert "but A holds the lock" not in ran.err


@pytest.mark.parametrize("promise", ["reentrant", "fair", "semaphore", "read-write", "readwrite", "read_write", "rwlock", "shared"])
def test_a_promise_that_cannot_be_checked_is_refused_by_name(picklock, worker, promise):
    ran = once(picklock, worker(f"Worker.promises = ['expiry', {promise!r}]\n"))
    assert ran.status == 64 and f"it promises '{promise}' (" in ran.err and "which picklock cannot check yet" in ran.err, ran
    assert "only answers may stand" not in ran.err


def test_no_wait_needs_no_unit(picklock):
    for wait in ("0", "0s"):
        ran = picklock("explore", "--worker", "no-such-program", "--wait", wait)
        assert ran.status == 69 and "no unit" not in ran.err, ran
    assert picklock("explore", "--worker", "no-such-program", "--wait", "5").status == 64


def test_a_connection_past_the_proxy_over_a_local_socket(picklock, worker, tmp_path):
    """A server of somebody else's is refused, whoever listens there in the file system or without a name in it; the system's log is not, nor what the worker
    itself listens at."""
    for name, shown in ((f"{tmp_path}/r.sock", f"{tmp_path}/r.sock"[:60]), (f"\0picklock-{tmp_path.name}", f"@picklock-{tmp_path.name}")):
        with socket.socket(socket.AF_UNIX) as elsewhere:
            elsewhere.bind(name)
            elsewhere.listen()
            ran = once(picklock, worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        socket.socket(socket.AF_UNIX).connect({name!r})
        return super().acquire(wait_ms)
"""))
        assert ran.status == 64 and f"worker A wants to connect to the socket {shown}" in ran.err, ran
    ran = once(picklock, worker(f"""
class Worker(Worker):
    def acquire(self, wait_ms):
        with socket.socket(socket.AF_UNIX) as listens, socket.socket(socket.AF_UNIX) as asks, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as logs:
            listens.bind("\\0own-of-{tmp_path.name}" + self.settings.name)
            listens.listen()
            asks.connect(listens.getsockname())
            logs.connect_ex("/dev/log")
        return super().acquire(wait_ms)
"""))
    assert ran.status == 0, ran


def test_no_address_of_a_server_and_no_certificates_in_its_environment(picklock, worker, tmp_path):
    left_out = ["PICKLOCK_REDIS_URL", "REDIS_URL", "NODE_EXTRA_CA_CERTS"]
    ran = picklock("test", "--once",
                   worker(f"open({str(tmp_path / 'seen')!r}, 'w').write(str([name for name in {left_out} if name in os.environ]))\n"),
                   env={name: "redis://127.0.0.1:1" for name in left_out})
    assert ran.status == 0, ran
    assert (tmp_path / "seen").read_text() == "[]"
