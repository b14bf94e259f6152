#!/usr/bin/env python3
"""annotate.py RUN-FOLDER LOCK: a line for GitHub for each cause, at the line of the lock's source that it is about. Standard library only."""

import json
import pathlib
import re
import shlex
import sys

# What a property is about: an operation of the lock.
OPERATION = {"release-own": "release", "no-orphan": "release", "extend-own": "extend"}


def source_of(lock):
    """The file that the command or scheme names, as it is named from where the job runs; None: none is there."""
    for word in shlex.split(lock):
        path = pathlib.Path(word)
        path = path.with_suffix(".c") if path.suffix == ".so" else path
        if path.suffix in (".c", ".py", ".js", ".mjs", ".rb", ".java", ".go") and path.is_file():
            return path
    return None


def line_of(path, operation):
    """Where the operation is written: a function, method or case of that name; else the first line that names it; else the first."""
    lines = path.read_text(errors="replace").splitlines()
    for pattern in (rf"(def|func|function|static|async|void|boolean|public)\b[^=;]*\b\w*{operation}\w*\s*\(", rf"\b{operation}"):
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line, re.I):
                return number
    return 1


def escaped(text, is_value=False):
    """As GitHub takes messages; in values also what would end them."""
    for char, code in [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")] + ([(":", "%3A"), (",", "%2C")] if is_value else []):
        text = text.replace(char, code)
    return text


def findings(results):
    """The shortest violation of each cause: those that count first."""
    best = {}
    for row in results["results"]:
        for found in row["properties"]:
            if found["verdict"] != "violated":
                continue
            counts = row["as_expected"] is False and not row.get("known") and found.get("failed", found["expected"] != "violated")
            key = (not counts, found.get("witness_steps") or 1 << 30)
            if found["cause"] not in best or key < best[found["cause"]][0]:
                best[found["cause"]] = (key, counts, row, found)
    return sorted(best.values(), key=lambda one: (one[0], one[3]["cause"]))


def main():
    folder, lock = sys.argv[1:]
    results = json.loads((pathlib.Path(folder) / "results.json").read_text())
    path = source_of(lock)
    for _, counts, row, found in findings(results):
        where = ""
        if path:
            line = line_of(path, OPERATION.get(found["property"], "acquire"))
            where = f"file={escaped(str(path), True)},line={line},"
        title = f"{found['cause']}: {found['property']} under {row.get('fault') or row.get('scenario')}"
        print(f"::{'error' if counts else 'notice'} {where}title={escaped(title, True)}::{escaped(chr(10).join(found['witness']))}")
    if results.get("interrupted"):
        print(f"::error title=picklock was interrupted::{escaped(results['interrupted']['why'])}")


main()
