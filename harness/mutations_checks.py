#!/usr/bin/python3
"""How many small slips in the checks do their own tests notice? Every slip that the rules below make of sim/checks/*.c is built
into a copy, and held against sim/test/test_checks_*.c: noticed is what fails, crashes or does not end.

    BUILD=build harness/mutations_checks.py [--sample N]    --survivors lists those that nobody noticed

What is known to be noticed stands in harness/mutations.txt, in tenths of a percent: fewer is a failure. A sample takes the slips
with the lowest hashes of their own text, so that it stays the same while other lines change."""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
CHECKS = ROOT / "sim" / "checks"
COUNTS = ROOT / "harness" / "mutations.txt"
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-O1", "-w", f"-I{ROOT / 'sim'}", "-isystem", "/usr/include/hiredis"]
PATIENCE_S = 60
# Words for people: no verdict depends on them.
WORDS = {"explanation.c", "names.c"}
# Nor what only gives memory back.
SAYING = re.compile(r"^\s*(free|checks_free|finding_say|say_\w+|grant_explain|explain\w*)\(")

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), ("(!", "("), (" !", " "),
         ("return true;", "return false;"), ("return false;", "return true;"), ("++;", "--;")]
GONE = re.compile(r"^\s+(?!return|else|case|goto)[\w\[\]>.()*-]+( [|&+-]?= .*|\+\+|--|\(.*\));$|^\s+(return|continue|break);$")


def slips_of(path):
    """(line number, line, what stands there instead)"""
    in_comment = in_function = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = re.sub(r"/\*.*?\*/", "", line)
        if in_comment or "/*" in code:
            in_comment = "*/" not in code
            continue
        if code.startswith("{"):
            in_function = True
        elif code.startswith("}"):
            in_function = False
        if not in_function or '"' in code or SAYING.match(code) or "assert(" in code:
            continue
        for old, new in SWAPS:
            for match in re.finditer(re.escape(old), line):
                yield number, line, line[:match.start()] + new + line[match.end():]
        if GONE.match(code):
            yield number, line, ";"


def all_slips():
    found = {}
    for path in sorted(CHECKS.glob("*.c")):
        if path.name in WORDS:
            continue
        for number, line, instead in slips_of(path):
            words = f"{path.name}: {' '.join(line.split())}  ->  {' '.join(instead.split())}"
            found[words, number] = (path, number, instead)
    return sorted(((hashlib.sha256(words.encode()).hexdigest(), words, *slip) for (words, _), slip in found.items()))


def compiled(source, made, *more):
    return subprocess.run(["cc", *FLAGS, *more, "-c", "-o", made, source], text=True, capture_output=True)


def build_tests(folder):
    """All tests of the checks as one program, but for the slip; the quick ones first."""
    tests = sorted((ROOT / "sim" / "test").glob("test_checks_*.c"), key=lambda path: (path.stem == "test_checks_random", path))
    objects = []
    for test in tests:
        objects.append(folder / f"{test.stem}.o")
        done = compiled(test, objects[-1], f"-Dmain=main_{test.stem}")
        if done.returncode:
            sys.exit(done.stderr)
    driver = folder / "driver.c"
    names = [f"main_{test.stem}" for test in tests]
    driver.write_text("".join(f"int {name}(void);\n" for name in names) +
                      f"int main(void) {{ return ({' || '.join(f'{name}()' for name in names)}) ? 1 : 0; }}\n")
    objects.append(folder / "driver.o")
    compiled(driver, objects[-1])
    return objects


def result_of(folder, objects, slip):
    """noticed, survives, or no program (it does not compile)."""
    digest, _, path, number, instead = slip
    lines = path.read_text().splitlines()
    lines[number - 1] = instead
    source, made, program = (folder / f"{digest}-{number}{end}" for end in (".c", ".o", ""))
    source.write_text("\n".join(lines) + "\n")
    try:
        if compiled(source, made).returncode:
            return "no program"
        subprocess.run(["cc", "-o", program, *objects, made, BUILD / "parts.a", *shlex.split(
            "-lhiredis -luv -lyaml -ljansson -lm -lpthread -ldl -lcmocka")], check=True, capture_output=True)
        done = subprocess.run([program], cwd=ROOT, capture_output=True, timeout=PATIENCE_S)
        return "noticed" if done.returncode else "survives"
    except subprocess.TimeoutExpired:
        return "noticed"
    finally:
        for file in (source, made, program):
            file.unlink(missing_ok=True)


def least(what):
    """The committed share, in tenths of a percent."""
    return int(re.search(rf"^{what}\s+(\d+)", COUNTS.read_text(), re.M)[1])


def main():
    parser = argparse.ArgumentParser(description="Which slips in the checks do their tests notice?")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--survivors", action="store_true")
    asked = parser.parse_args()
    slips = all_slips()
    chosen = slips[:asked.sample] if asked.sample else slips
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(made)
        objects = build_tests(folder)
        plain = (*slips[0][:3], slips[0][3], slips[0][2].read_text().splitlines()[slips[0][3] - 1])
        if result_of(folder, objects, plain) != "survives":
            sys.exit("mutations_checks.py: the tests of the checks fail without a slip")
        results = list(pool.map(lambda slip: result_of(folder, objects, slip), chosen))
    for slip, result in sorted(zip(chosen, results), key=lambda pair: (pair[0][2].name, pair[0][3])):
        if result == "survives" and asked.survivors:
            print(f"survives  {slip[1].replace(slip[2].name, f'{slip[2].name}:{slip[3]}', 1)}")
    good = sum(result != "no program" for result in results)
    noticed = results.count("noticed")
    wanted = least("checks-sample" if asked.sample else "checks")
    print(f"checks: {good} slips{f', a sample of {len(slips)}' if asked.sample else ''}: {noticed} noticed, "
          f"{noticed / good:.1%}; at least {wanted / 10:.1f}% (harness/mutations.txt)")
    return 0 if noticed * 1000 >= wanted * good else 1


if __name__ == "__main__":
    sys.exit(main())
