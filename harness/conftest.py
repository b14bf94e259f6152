"""What every test shares: the program, a way to run it, and what it leaves behind. Below, what the tests of the reports
share, and those of the proxy."""

import contextlib
import ctypes
import fcntl
import functools
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import zlib

import pytest
from pages import has_browser, make_browser

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
PICKLOCK = BUILD / "picklock"
REPORT_WRITER = BUILD / "test" / "test_report"

# Of whoever runs the tests; they name their own servers.
os.environ.pop("PICKLOCK_REDIS_URL", None)
os.environ["PICKLOCK_CACHE"] = ""  # no test rests on what another one was answered

# Generous: what takes this long hangs.
PATIENCE_S = 120


def make(*targets):
    """Builds what `make test` has not. make takes no blank in a target: the build folder is named as it is seen from ROOT."""
    build = BUILD.relative_to(ROOT) if BUILD.is_relative_to(ROOT) else BUILD
    done = subprocess.run(["make", "-s", f"BUILD={build}", *(build / target for target in targets)], cwd=ROOT, text=True,
                          capture_output=True, timeout=10 * PATIENCE_S)
    assert done.returncode == 0, done.stderr[-4000:]


def flat(results):
    """Rows in which nothing is inside another: of a cell one for each of its properties, of stress with its figures."""
    rows = []
    for row in results["results"]:
        outer = {key: value for key, value in row.items() if key not in ("search", "stress")}
        inner = {**row.get("search", {}), **row.get("stress", {})}
        if row["kind"] == "cell":
            rows += [{**inner, **outer, **found, "as_expected": False if found["failed"] else None}
                     for found in row["properties"]]
        else:
            rows.append({**inner, **outer})
    return rows


def in_a_terminal(words, columns=100, stream="stdout", term="xterm", env=os.environ, **options):
    """subprocess.run, one stream of it a terminal's, and what that was given. We let go of the terminal last: Linux may drop
    what is on its way when the last writer does, so the end is a mark of ours, behind all that was written."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    said = bytearray()

    def read():
        while not said.endswith(b"\0"):
            said.extend(os.read(ours, 1 << 16))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run([*map(str, words)], **{"stdin": subprocess.DEVNULL, "timeout": PATIENCE_S, stream: its, "env": {**env, "TERM": term}, **options})
    finally:
        os.write(its, b"\0")
        reader.join()
        os.close(its)
        os.close(ours)
    return done, said[:-1].decode().replace("\r\n", "\n")


# One that was killed is there until the system has seen to it.
DYING_S = 5


class Ran:
    """A finished picklock: status, what it printed, and the JSON when it was asked for."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return flat(self.json)

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def run(*words, env=None, cwd=ROOT, timeout=PATIENCE_S, **more):
    done = subprocess.run([PICKLOCK, *map(str, words)], cwd=cwd, text=True, capture_output=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, **more)
    return Ran(done)


@pytest.fixture
def picklock(tmp_path):
    """Runs the program with its run folders in the test's own folder."""

    def call(*words, **more):
        words = list(words)
        if words and words[0] in ("run", "stress", "replay") and "--out" not in words:
            words += ["--out", tmp_path / "runs"]
        return run(*words, **more)

    return call


@pytest.fixture(autouse=True)
def no_server_is_left(request):
    """Every server that a test's picklock started is gone when the test ends. A picklock that a failed test left running is
    ended here, so that it disturbs no other test."""
    before = ours("redis-server", "picklock")
    yield
    has_failed = request.node.stash.get(HAS_FAILED, False)
    deadline = time.monotonic() + (PATIENCE_S if has_failed else DYING_S)
    if has_failed:
        for pid in ours("picklock") - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    while (left := servers() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"redis-server processes were left behind: {left}"


HAS_FAILED = pytest.StashKey()


def printed_by_programs(held):
    """What the finished programs that a failed test holds have printed, whole: an assertion shows its first 240 characters."""
    return [(f"printed by `{name}`", repr(done if isinstance(done, Ran) else Ran(done)))
            for name, done in held.items() if isinstance(done, (Ran, subprocess.CompletedProcess))]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        report = outcome.get_result()
        item.stash[HAS_FAILED] = report.failed
        if report.failed and call.excinfo is not None:
            report.sections += printed_by_programs(call.excinfo.traceback[-1].frame.f_locals)


def name_and_stat_of(pid):
    """Its program's name (15 bytes), and what stat_of() says."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, fields = file.read().split(b"(", 1)[1].rsplit(b") ", 1)
    except OSError:
        return "", None
    state, parent, _ = fields.split(b" ", 2)
    return os.fsdecode(name), (state.decode(), int(parent))


def stat_of(pid):
    """State and parent of a process, or None when it is gone."""
    return name_and_stat_of(pid)[1]


PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(adopt):
    """Whose parent dies becomes a child of this test run, not of process 1: so what descends from us is ours, and
    nothing else is. Of a server's own it bears nothing that could be read: it overwrites its environment."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


adopt_orphans(True)
os.stat("/proc/thread-self/children")  # a kernel that does not tell them would hide what is left behind


def children_of(pid):
    """Of all its threads; none when it is gone."""
    children = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                children += map(int, file.read().split())
    return children


def servers():
    """Pids of the redis-servers of this test run."""
    return ours("redis-server")


def ours(*programs):
    """Pids of the processes of this test run that run one of those programs. Every test asks, so nobody else's process is looked at."""
    found, look = set(), children_of(os.getpid())
    while look:
        pid = look.pop()
        name, stat = name_and_stat_of(pid)
        if not stat or stat[0] == "Z":
            continue  # what it leaves behind is ours by now
        if name.startswith(programs):
            found.add(pid)
        look += children_of(pid)
    return found


def listed(section):
    done = run("list", section, "--json")
    assert done.status == 0, done
    return done.json[section]


def verdicts(row):
    """{property: (verdict, cause)} of a row of results."""
    return {p["property"]: (p["verdict"], p["cause"]) for p in row["properties"]}


# `make test` has its turn of the slow tests: one of TURNS, for other sources another one (PICKLOCK_TURN=drawn), or the one that PICKLOCK_TURN
# names; that says, too, which part of the matrix is searched. All slow tests with PICKLOCK_TURN=all, and whenever pytest is called without
# it. Slow is what computes for longer than 0.6 s, the slowest stand first.
SLOW = {line: at for at, line in enumerate((ROOT / "harness" / "slow_tests.txt").read_text().splitlines())}
TURNS = 10
TURN = os.environ.get("PICKLOCK_TURN", "all")
LONG = bool(os.environ.get("PICKLOCK_LONG"))  # `make check-long`


@functools.cache
def drawn(of):
    """A number below `of`: the same wherever the same sources are tested."""
    if TURN.isdigit():
        return (int(TURN) - 1) % of
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted((ROOT / "sim").rglob("*.[ch]")))) % of


def takes_turns():
    return TURN != "all" and not LONG


def pytest_configure():
    if TURN not in ["all", "drawn", *map(str, range(1, TURNS + 1))]:
        raise pytest.UsageError(f"PICKLOCK_TURN={TURN}: all, drawn, or 1 to {TURNS}")


def place_among_slow(item):
    """None: it is not. A test's cases share its line where they have none of their own."""
    name = f"{item.path.name}::{item.name}"
    return SLOW.get(name, SLOW.get(name.split("[")[0]))


# The suite runs in several processes (Makefile). What is prepared for all tests of these modules is prepared once: they stay together.
TOGETHER = (["test_matrix"], ["test_spin"], ["test_shards"], ["test_page", "test_page_explored", "test_page_plots"], ["test_model"], ["test_output"],
            ["test_proxy_bytes"], ["test_install"], ["test_bad_places"], ["test_layers"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """What lasts longest first: modules that stay together, then the C unit tests. Before xdist, which reads the marks."""
    if takes_turns():
        slow = sorted((item for item in items if place_among_slow(item) is not None), key=place_among_slow)
        others_turn = {item for at, item in enumerate(slow) if at % TURNS != drawn(TURNS)}
        config.hook.pytest_deselected(items=others_turn)
        items[:] = [item for item in items if item not in others_turn]
    groups = {module: group[0] for group in TOGETHER for module in group}
    order = [*groups, "test_units"]
    items.sort(key=lambda item: order.index(item.module.__name__) if item.module.__name__ in order else len(order))
    for item in items:
        if item.module.__name__ in groups:
            item.add_marker(pytest.mark.xdist_group(groups[item.module.__name__]))
        if item.get_closest_marker("long") and not LONG:
            item.add_marker(pytest.mark.skip(reason=f"{item.get_closest_marker('long').args[0]}: make check-long"))


# --- the folders that the tests of the reports read ---

def write_sample(folder, **more):
    return subprocess.run([REPORT_WRITER, "--sample", folder], cwd=ROOT, text=True, capture_output=True, **more)


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    done = write_sample(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """The run folder of one real run, in the simulated world."""
    out = tmp_path_factory.mktemp("real")
    ran = run("run", "--on", "sim", "--out", out, "scenarios/expired-lease-double-delete.yaml")
    assert ran.status == 0, ran
    return out / "latest"


@pytest.fixture(scope="session")
def explored(tmp_path_factory):
    """The run folder of the explorer: safe, overrun, broken, stuck, not searched to the end, a failure."""
    out = tmp_path_factory.mktemp("explored")
    ran = run("explore", "--scheme", "set-nx-ex-del,set-nx-px-cad,setnx-del,redlock",
              "--fault", "none,stall,slow-work,crash", "--states", "4000", "--fail-on", "bug", "--out", out)
    assert ran.status == 1, ran
    return out / "latest"


@pytest.fixture(scope="session")
def browser():
    driver = make_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def without_scripts():
    """A browser that runs none."""
    driver = make_browser(scripts=False)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, sample):
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get((sample / "index.html").as_uri())
    return browser


# --- servers of the tests' own ---

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, *words):
    return subprocess.run(["redis-cli", "-p", str(port), *words], text=True, capture_output=True,
                          timeout=PATIENCE_S).stdout.strip()


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def server(*options, program="redis-server"):
    """A redis-server of the test's own; ends with the block."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:  # where a replica leaves what it was sent
        process = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
             "no", *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda: ask(port, "PING") in ("PONG", "NOAUTH Authentication required."),
                  "the server answers")
            yield port
        finally:
            process.kill()
            process.wait()


# --- the proxy ---

# A rule that looks at every request and strikes none.
NEVER = "never: command=NO-SUCH-COMMAND -> drop-request\n"


@contextlib.contextmanager
def proxy(upstream, *more):
    """A `picklock proxy` of the test's own; yields its port and its process."""
    process = subprocess.Popen([PICKLOCK, "proxy", "--upstream", upstream if isinstance(upstream, str) else f"127.0.0.1:{upstream}", *map(str, more)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield int(line), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, (process.returncode, out, err)


def connect(port):
    sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_all(sock):
    got = bytearray()
    while piece := sock.recv(1 << 16):
        got += piece
    return bytes(got)


def pytest_terminal_summary(terminalreporter):
    if takes_turns():
        terminalreporter.write_line(f"slow tests: turn {drawn(TURNS) + 1} of {TURNS}; all of them: make test PICKLOCK_TURN=all")
    if not shutil.which("spin"):
        terminalreporter.write_line("left out: the second opinion on the explorer (no spin here; "
                                    "`harness/setup.sh opinion` installs it)")
    if not has_browser():
        terminalreporter.write_line("left out: the tests of the HTML report in a browser "
                                    "(no chromium and chromedriver here; "
                                    "`harness/setup.sh browser` installs them)")


@pytest.fixture(scope="session")
def mended(tmp_path_factory):
    """One lock, broken and mended: explored each, and the mended one to no end."""
    here = tmp_path_factory.mktemp("diff")
    skeleton = (ROOT / "sim/schemes/skeleton.c").read_text().replace("skeleton", "my_lock")
    naive = skeleton.replace("out_compare_and_delete(out, SERVER_ONE, lease)", "out_del(out, SERVER_ONE)")
    assert naive != skeleton
    made = {}
    for name, source, words in [("naive", naive, []), ("safe", skeleton, []), ("cut", skeleton, ["--states", "1000"])]:
        (here / "my_lock.c").write_text(source)
        subprocess.run(["cc", "-std=c17", f"-I{ROOT}/sim", "-shared", "-fPIC", "-o", "my_lock.so", "my_lock.c"], cwd=here, check=True)
        searched = run("explore", "--scheme", "./my_lock.so", "--fault", "none,slow-work,crash", *words, "--out", here / name, cwd=here)
        assert searched.status == {"naive": 1, "safe": 0, "cut": 2}[name], searched
        made[name] = here / name / "latest"
    return made
