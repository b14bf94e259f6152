"""Measures each test and writes slow_tests.txt anew, on a machine with nothing else to do:

    PYTHONPATH=harness PYTEST_ADDOPTS='-p slow_tests' make test PICKLOCK_TURN=all

What a test costs is the CPU time of the suite's process and of all that descends from it, the browser that several tests share included."""

import collections
import contextlib
import os
import pathlib
import resource

import pytest

SLOW_S = 0.6
HZ = os.sysconf("SC_CLK_TCK")
LIST = pathlib.Path(__file__).with_name("slow_tests.txt")
BY_CASE, NEVER = "test_units.py", "test_matrix.py"  # each C test by itself; the matrix draws what it searches
began, spent = 0.0, collections.defaultdict(list)


def descendants():
    import conftest  # one module of the suite's process: importing it here first would make it another one
    found, look = [], conftest.children_of(os.getpid())
    while look:
        found.append(pid := look.pop())
        look += conftest.children_of(pid)
    return found


def cpu_s():
    ended, own = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    total = ended.ru_utime + ended.ru_stime + own.ru_utime + own.ru_stime
    for pid in descendants():
        with contextlib.suppress(OSError):
            total += sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15])) / HZ
    return total


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    global began
    os.environ.pop("PYTEST_ADDOPTS", None)  # what a test runs has other modules than these
    began = cpu_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown" and began:
        item.user_properties.append(("cpu_s", cpu_s() - began))


def pytest_runtest_logreport(report):
    """In the process that hears of all of them."""
    cost = dict(report.user_properties).get("cpu_s")
    if report.when == "teardown" and cost is not None and not os.environ.get("PYTEST_XDIST_WORKER"):
        file, _, name = report.nodeid.partition("::")
        case = name if file.endswith(BY_CASE) else name.split("[")[0].split("@")[0]  # behind @ stands with whom it stays together
        spent[f"{file.split('/')[-1]}::{case}"].append(cost)


def pytest_sessionfinish(session, exitstatus):
    if not spent:
        return
    asked = session.config.args == ["harness"] and not session.config.option.keyword and os.environ.get("PICKLOCK_TURN", "all") == "all"
    if not asked or exitstatus:
        print(f"\n{LIST.name} stays as it is: {'some tests failed' if asked else 'not all tests were run'}")
        return
    means = {name: sum(costs) / len(costs) for name, costs in spent.items()}
    slow = sorted((name for name in means if means[name] >= SLOW_S and not name.startswith(NEVER)), key=lambda name: -means[name])
    LIST.write_text("".join(f"{name}\n" for name in slow))
