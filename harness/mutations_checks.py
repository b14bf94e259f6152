#!/usr/bin/python3
"""How many small slips in the checks do their own tests notice? Every slip that the rules below make of sim/checks/*.c is held
against sim/test/test_checks_*.c: noticed is what fails, crashes or does not end.

    BUILD=build harness/mutations_checks.py [--sample N]    --survivors lists those that nobody noticed
    BUILD=build harness/mutations_checks.py --match 'extend|renew'     only those; told, not held to a figure

All slips are compiled into one program, under address and undefined sanitizers, as `make sanitised` runs these tests. Each slip
is a copy of its function's body behind a switch, and a number chooses it when the program runs. The quick tests come first, and the
first failure ends a run; of the random histories a fifth is played.

What is known to be noticed stands in harness/mutations.txt, in tenths of a percent: fewer is a failure. A sample takes the slips
with the lowest hashes of their own text, so that it stays the same while other lines change."""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import queue
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
CHECKS = ROOT / "sim" / "checks"
COUNTS = ROOT / "harness" / "mutations.txt"
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-w", f"-I{ROOT / 'sim'}", "-isystem", "/usr/include/hiredis"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LIBS = shlex.split("-lhiredis -luv -lyaml -ljansson -lm -lpthread -ldl -lcmocka")
ASAN = {"ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=0:quarantine_size_mb=4:hard_rss_limit_mb=1000"}
# Thousands of histories each.
RANDOM = {"test_checks_random", "test_checks_senseless", "test_checks_engines"}
# No verdict depends on them: words for people, and what draws and shrinks random histories.
WORDS = {"explanation.c", "names.c", "selftest.c"}
# Nor what only gives memory back.
SAYING = re.compile(r"^\s*((\w+_)?free|finding_say|(\w+_)?say_\w+|grant_explain|explain\w*)\(")

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), ("(!", "("), (" !", " "),
         ("return true;", "return false;"), ("return false;", "return true;"), ("++;", "--;")]
GONE = re.compile(r"^\s+(?!return|else|case|goto)[\w\[\]>.()*-]+( [|&+-]?= .*|\+\+|--|\(.*\));$|^\s+(return|continue|break);$")

# Runs the tests once for each number that it reads, in a process of its own. A test that takes 20 times as long as without a slip,
# and a second, does not end.
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

%(declared)s
static int (*const tests[])(void) = {%(names)s};
enum { TESTS = sizeof tests / sizeof *tests };
static int order[TESTS];
static long cost_us[TESTS];
int slip_planted;

static long children_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static int ended(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Without a slip: does it pass, and how long does it take? */
static void look_at(int test)
{
    long before_us = children_us();
    pid_t pid = fork();
    if (pid == 0)
        exit(tests[test]());
    if (!ended(pid)) {
        fprintf(stderr, "%%s fails without a slip\\n", (const char *[]){%(quoted)s}[test]);
        exit(2);
    }
    cost_us[test] = children_us() - before_us;
    int at = test;
    for (; at > 0 && cost_us[order[at - 1]] > cost_us[test]; at--)
        order[at] = order[at - 1];
    order[at] = test;
}

static int all_pass(void)
{
    for (int i = 0; i < TESTS; i++) {
        long most_us = 1000000 + 20 * cost_us[order[i]];
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {most_us / 1000000, most_us %% 1000000}}, NULL);
        if (tests[order[i]]())
            return 0;
    }
    return 1;
}

int main(void)
{
    int out = dup(1);
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    setenv("PICKLOCK_SAMPLE", "5", 1);
    freopen("/dev/null", "w", stdout);
    for (int test = 0; test < TESTS; test++)
        look_at(test);
    freopen("/dev/null", "w", stderr);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    char line[32];
    while (read(0, line, sizeof line) > 0) {
        slip_planted = atoi(line);
        pid_t pid = fork();
        if (pid == 0)
            _exit(all_pass() ? 0 : 1);
        dprintf(out, "%%s\\n", ended(pid) ? "survives" : "noticed");
    }
    return 0;
}
"""


def functions_of(lines):
    """(first, last) line of each body, its braces left out; lines count from 0"""
    begun = None
    for number, line in enumerate(lines):
        if line.startswith("{"):
            begun = number + 1
        elif line.startswith("}") and begun is not None:
            yield begun, number - 1
            begun = None


def ends_switch(lines, number):
    """The break of the last case: without it nothing else happens."""
    if lines[number].strip() != "break;" or lines[number + 1].strip() != "}":
        return False
    closed = lines[number + 1].index("}")
    before = (line for line in reversed(lines[:number]) if len(line) - len(line.lstrip()) == closed)
    return next(line for line in before if not re.match(r"\s*(case |default:)", line)).lstrip().startswith("switch")


def slips_of(path):
    """(line number, line, what stands there instead)"""
    lines = path.read_text().splitlines()
    for first, last in functions_of(lines):
        in_comment = False
        for number in range(first, last + 1):
            line = lines[number]
            code = re.sub(r"/\*.*?\*/", "", line)
            if in_comment or "/*" in code:
                in_comment = "*/" not in code
                continue
            if '"' in code or SAYING.match(code) or "assert(" in code:
                continue
            for old, new in SWAPS:
                for match in re.finditer(re.escape(old) + "(?!=)", line):  # "!=" is not "!"
                    yield number, line, line[:match.start()] + new + line[match.end():]
            if GONE.match(code) and not ends_switch(lines, number):
                yield number, line, ";"


def all_slips():
    """(hash, words, file, line, what stands there instead)"""
    found = {}
    for path in sorted(CHECKS.glob("*.c")):
        if path.name in WORDS:
            continue
        for number, line, instead in slips_of(path):
            words = f"{path.name}: {' '.join(line.split())}  ->  {' '.join(instead.split())}"
            found[words, number] = (path, number, instead)
    return sorted(((hashlib.sha256(words.encode()).hexdigest(), words, *slip) for (words, _), slip in found.items()))


def planted(path, slips):
    """The file with those slips ({number that chooses it: slip}), and for each line of it the slip that it belongs to."""
    lines = path.read_text().splitlines()
    text, owners = ["extern int slip_planted;"], [None]

    def put(owner, *more):
        text.extend(more)
        owners.extend([owner] * len(more))

    done = 0
    for first, last in functions_of(lines):
        here = {chosen: slip for chosen, slip in slips.items() if first <= slip[3] <= last}
        put(None, *lines[done:first])
        if here:
            put(None, "switch (slip_planted) {")
            for chosen, (_, _, _, number, instead) in here.items():
                put(chosen, f"case {chosen}: {{", *lines[first:number], instead, *lines[number + 1:last + 1], "} break;")
            put(None, "default: {", *lines[first:last + 1], "} break; }")
        else:
            put(None, *lines[first:last + 1])
        done = last + 1
    put(None, *lines[done:])
    return "\n".join(text) + "\n", owners


def compiled(source, made, *more):
    return subprocess.run(["cc", *FLAGS, *more, "-c", "-o", made, source], text=True, capture_output=True)


def compiles(folder, path, slips):
    """The file's object, and the slips in which the compiler saw an error."""
    source, made = folder / path.name, folder / f"{path.stem}.o"
    text, owners = planted(path, slips)
    source.write_text(text)
    done = compiled(source, made, "-O1", *SANITIZE)
    lines = re.findall(rf"^{re.escape(str(source))}:(\d+):\d+: error:", done.stderr, re.M)
    wrong = {owners[int(line) - 1] for line in lines} - {None}
    if done.returncode and not wrong:
        sys.exit(done.stderr)
    return made, wrong


def build_checks(folder, path, slips):
    """The object of a file of the checks, and those of its slips that compile."""
    slips = dict(slips)
    while True:
        made, wrong = compiles(folder, path, slips)
        if not wrong:
            return made, set(slips)
        # Where braces are lost, the compiler sees errors in others as well.
        bad = [number for number in wrong if compiles(folder, path, {number: slips[number]})[1]]
        for number in bad or wrong:
            del slips[number]


def build_test(folder, test):
    made = folder / f"{test.stem}.o"
    done = compiled(test, made, "-O1" if test.stem in RANDOM else "-O0", f"-Dmain=main_{test.stem}")
    if done.returncode:
        sys.exit(done.stderr)
    return made


def build(folder, pool, slips):
    """One program of all tests and slips, and the numbers of those that compile."""
    tests = sorted((ROOT / "sim" / "test").glob("test_checks_*.c"))
    names = [f"main_{test.stem}" for test in tests]
    driver = folder / "driver.c"
    driver.write_text(DRIVER % {"declared": "\n".join(f"int {name}(void);" for name in names), "names": ", ".join(names),
                                "quoted": ", ".join(f'"{test.stem}"' for test in tests)})
    paths = sorted({slip[2] for slip in slips.values()})
    checks = [pool.submit(build_checks, folder, path, {number: slip for number, slip in slips.items() if slip[2] == path})
              for path in paths]
    objects = list(pool.map(lambda test: build_test(folder, test), tests))
    done = compiled(driver, folder / "driver.o")
    if done.returncode:
        sys.exit(done.stderr)
    good = set()
    for job in checks:
        made, these = job.result()
        objects.append(made)
        good |= these
    program = folder / "slips"
    subprocess.run(["cc", *SANITIZE, "-o", program, *objects, folder / "driver.o", BUILD / "parts.a", *LIBS], check=True)
    return program, good


def run_all(program, numbers):
    """{number: was it noticed}"""
    waiting, results = queue.SimpleQueue(), {}
    for number in numbers:
        waiting.put(number)

    def work():
        with subprocess.Popen([program], cwd=ROOT, env={**os.environ, **ASAN}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as driver:
            while True:
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    driver.stdin.close()
                    return
                try:
                    driver.stdin.write(f"{number:31}\n")
                    said = driver.stdout.readline().strip()
                except BrokenPipeError:
                    said = ""
                if said not in ("noticed", "survives"):
                    sys.exit("mutations_checks.py: the tests of the checks fail without a slip")
                results[number] = said == "noticed"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(work) for _ in range(os.cpu_count())]:
            job.result()
    return results


def least(what):
    """The committed share, in tenths of a percent."""
    return int(re.search(rf"^{what}\s+(\d+)", COUNTS.read_text(), re.M)[1])


def main():
    parser = argparse.ArgumentParser(description="Which slips in the checks do their tests notice?")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--match", default="")
    asked = parser.parse_args()
    everything = [slip for slip in all_slips() if re.search(asked.match, slip[1])]
    slips = dict(enumerate(everything[:asked.sample] if asked.sample else everything, 1))
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            program, good = build(folder, pool, slips)
        results = run_all(program, sorted(good))
    for number in sorted(good, key=lambda number: (slips[number][2].name, slips[number][3])):
        if asked.survivors and not results[number]:
            _, words, path, line, _ = slips[number]
            print(f"survives  {words.replace(path.name, f'{path.name}:{line + 1}', 1)}")
    noticed = sum(results.values())
    if asked.match:
        print(f"checks: {len(good)} slips that match '{asked.match}': {noticed} noticed")
        return 0
    wanted = least("checks-sample" if asked.sample else "checks")
    print(f"checks: {len(good)} slips{f', a sample of {len(everything)}' if asked.sample else ''}: {noticed} noticed, "
          f"{noticed / len(good):.1%}; at least {wanted / 10:.1f}% (harness/mutations.txt)")
    return 0 if noticed * 1000 >= wanted * len(good) else 1


if __name__ == "__main__":
    sys.exit(main())
