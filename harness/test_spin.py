"""A second opinion: three schemes modelled by hand in Promela; SPIN's verdicts and counts against the explorer's."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, PATIENCE_S, ROOT, make

MODELS = ROOT / "sim" / "test" / "spin"
OPINION = BUILD / "test" / "opinion"
MISSING = [tool for tool in ("spin", "cc") if not shutil.which(tool)]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no {' and no '.join(MISSING)} here")

SCHEMES = ["set-nx-ex-del", "set-nx-px-cad", "stamp-getset"]
PROPERTIES = ["mutual-exclusion", "lease-exclusion", "release-own"]
STALLS = {"none": 0, "stall": 1, "stall,stall": 2}
ROUNDS = 2
# Faults and clients. Two stalls, with two clients only, are where every assertion of stamp-getset fires.
BOUNDS = [("none", 2), ("stall", 2), ("stall,stall", 2), ("none", 3), ("stall", 3)]

# What both are known to say with two clients, so that they cannot agree in nonsense; the rest holds.
# One stall is enough for a DEL that comes too late, and no number of them for a compare-and-delete. A
# dead stamp is taken over by two commands: two stalls let the second of them come late.
VIOLATED = {
    ("set-nx-ex-del", "stall", "mutual-exclusion"),
    ("set-nx-ex-del", "stall", "lease-exclusion"),
    ("set-nx-ex-del", "stall", "release-own"),
    ("set-nx-px-cad", "stall", "mutual-exclusion"),
    ("stamp-getset", "stall", "mutual-exclusion"),
    ("set-nx-ex-del", "stall,stall", "mutual-exclusion"),
    ("set-nx-ex-del", "stall,stall", "lease-exclusion"),
    ("set-nx-ex-del", "stall,stall", "release-own"),
    ("set-nx-px-cad", "stall,stall", "mutual-exclusion"),
    ("stamp-getset", "stall,stall", "mutual-exclusion"),
    ("stamp-getset", "stall,stall", "lease-exclusion"),
    ("stamp-getset", "stall,stall", "release-own"),
}

DEPTH_MAX, TABLE_LOG2 = 100_000, 18


def call(words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, text=True, capture_output=True,
                          timeout=PATIENCE_S)
    assert done.returncode == 0, f"{words}: status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


class Searched:
    """What pan printed: how often it objected and to what, and how much it visited."""

    def __init__(self, text):
        assert "max search depth too small" not in text, text[-2000:]
        assert "out of memory" not in text and "Search interrupted" not in text, text[-2000:]
        self.errors = int(re.search(r"errors: (\d+)", text)[1])
        self.states = int(re.search(r"(\d+) states, stored", text)[1])
        # SPIN counts the way into the first state as a transition, too.
        self.transitions = int(re.search(r"(\d+) transitions \(= stored\+matched\)", text)[1]) - 1
        # Each but those that repeat the one before. Nothing but an assertion may object: no deadlock, no range error.
        objections = re.findall(r"^pan:\d+: (.*)$", text, re.MULTILINE)
        assert bool(objections) == bool(self.errors), text[-2000:]
        self.violated = {re.match(r"assertion violated \(+([a-z_]+)\|\|", line)[1].replace("_", "-")
                         for line in objections}


def search(folder, scheme, fault, clients, asserted, *options):
    folder.mkdir()
    call(["spin", "-a", f"-DN={clients}", f"-DROUNDS={ROUNDS}", f"-DSTALLS={STALLS[fault]}",
          f"-DPROPERTY={asserted}", MODELS / f"{scheme}.pml"], folder)
    call(["cc", "-O0", "-w", "-DSAFETY", "-DNOFAIR", "-DNOREDUCE", "-o", "pan", "pan.c"], folder)
    return Searched(call(["./pan", f"-m{DEPTH_MAX}", f"-w{TABLE_LOG2}", *options], folder))


def search_all(root, cases):
    """Compiled and run side by side: compiling is what takes time, so nothing is optimised."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {case: pool.submit(search, root / str(number), *case)
                   for number, case in enumerate(cases)}
        return {case: future.result() for case, future in futures.items()}


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """SPIN's searches to the very end (-c0: on after a violation), by scheme, fault and clients."""
    cases = [(scheme, fault, clients, "ALL", "-c0") for scheme in SCHEMES for fault, clients in BOUNDS]
    return {case[:3]: found for case, found in search_all(tmp_path_factory.mktemp("spin"), cases).items()}


@pytest.fixture(scope="module")
def opinion():
    make("test/opinion")

    def ask(scheme, clients, fault, reductions):
        said = json.loads(call([OPINION, scheme, clients, ROUNDS, fault, reductions], ROOT))
        assert said["complete"]
        return said

    return ask


@pytest.mark.parametrize("fault, clients", BOUNDS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_verdicts_agree(searched, opinion, scheme, fault, clients):
    for reductions in ("off", "all"):
        ours = opinion(scheme, clients, fault, reductions)["properties"]
        for name in PROPERTIES:
            theirs = "violated" if name in searched[scheme, fault, clients].violated else "holds"
            assert ours[name]["verdict"] == theirs, (name, reductions)


@pytest.mark.parametrize("fault", STALLS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spin_says_what_is_known(searched, scheme, fault):
    known = {name for name in PROPERTIES if (scheme, fault, name) in VIOLATED}
    assert searched[scheme, fault, 2].violated == known


@pytest.mark.long("compiles for SPIN what is searched for all properties above")
def test_one_property_alone_is_judged_alike(tmp_path):
    """Asked for one property, SPIN stops at the first violation: the same verdict, or all states visited."""
    fault, clients = "stall,stall", 2
    found = search_all(tmp_path, [(scheme, fault, clients, name.upper().replace("-", "_"))
                                  for scheme in SCHEMES for name in PROPERTIES])
    for (scheme, _, _, asserted), one in found.items():
        name = asserted.lower().replace("_", "-")
        assert one.violated == ({name} if (scheme, fault, name) in VIOLATED else set())
        assert one.errors == len(one.violated)


@pytest.mark.parametrize("fault, clients", BOUNDS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_graphs_are_the_same(searched, opinion, scheme, fault, clients):
    ours = opinion(scheme, clients, fault, "off")
    theirs = searched[scheme, fault, clients]
    assert (ours["states"], ours["transitions"]) == (theirs.states, theirs.transitions)


def test_wrong_use_is_said(opinion):
    for words in (["no-such-scheme", 2, 2, "none", "off"], ["set-nx-px-cad", "two", 2, "none", "off"],
                  ["set-nx-px-cad", 2, 2, "no-such-fault", "off"], ["set-nx-px-cad", 2, 2, "none", "some"],
                  ["set-nx-px-cad", 2]):
        done = subprocess.run([OPINION, *map(str, words)], text=True, capture_output=True)
        assert done.returncode == 64 and done.stderr
    assert subprocess.run([OPINION, "set-nx-px-cad", "99", "2", "none", "off"],
                          capture_output=True).returncode == 65
