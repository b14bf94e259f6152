#!/usr/bin/env python3
"""annotate.py RUN-FOLDER LOCK: a line for GitHub for each cause, at the line of the lock's source that it is about. Standard library only."""

import json
import pathlib
import re
import shlex
import sys

# What a cause or a property is about: an operation of the lock; else it is the acquire.
OPERATION = {"unlock-bug": "release", "release-own": "release", "no-orphan": "release", "extend-own": "extend"}
# What a C compiler does not run: comments; and what is in quotes.
NOT_RUN_IN_C = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
# What a Python or Ruby interpreter does not run, and what is in quotes of one line.
NOT_RUN_IN_SCRIPTS = r'"""(?:.*?)"""|\'\'\'(?:.*?)\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\#[^\n]*'


def source_of(lock):
    """The file that the command or scheme names, as it is named from where the job runs; None: none is there."""
    for word in shlex.split(lock):
        path = pathlib.Path(word)
        path = path.with_suffix(".c") if path.suffix == ".so" else path
        if path.suffix in (".c", ".py", ".js", ".mjs", ".rb", ".java", ".go") and path.is_file():
            return path
    return None


def code_of(path):
    """The lines of a source, with blanks for what is not run."""
    pattern = NOT_RUN_IN_SCRIPTS if path.suffix in (".py", ".rb") else NOT_RUN_IN_C
    text = re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), path.read_text(errors="replace"), flags=re.S)
    return text.splitlines()


def first(lines, pattern):
    return next((number for number, line in enumerate(lines, 1) if re.search(pattern, line, re.I)), None)


def line_of_step(lines, operation):
    """In a scheme in C: the first line behind SCRIPT(), where it acquires, or behind the AWAIT() of who was granted; None: it is no scheme."""
    line = 0
    for mark in [r"\bSCRIPT\("] if operation == "acquire" else [r"\bout_granted\w*\(", r"\bAWAIT\("]:
        found = first(lines[line:], mark)
        if not found:
            return None
        line += found
    return line + (first(lines[line:], r"\w") or 0)


def line_of(lines, operation):
    """Where the operation is written: a function or method of that name, or a step of a scheme; else the first line that names it.
    Who extends without an operation of that name does it in its acquire. None: nowhere."""
    words = rf"\w*{operation}\w*"
    return (first(lines, rf"\bdef {words}|\b(func|function|static|async|void|boolean|public)\b[^=;]*\b{words}\s*\(")
            or (operation != "extend" and line_of_step(lines, operation)) or first(lines, rf"\b{operation}")
            or (operation == "extend" and line_of(lines, "acquire")) or None)


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
            operation = OPERATION.get(found["cause"]) or OPERATION.get(found["property"], "acquire")
            lines = code_of(path)
            line = line_of(lines, operation) or first(lines, r"\w") or 1
            where = f"file={escaped(str(path), True)},line={line},"
        title = f"{found['cause']}: {found['property']} under {row.get('fault') or row.get('scenario')}"
        print(f"::{'error' if counts else 'notice'} {where}title={escaped(title, True)}::{escaped(chr(10).join(found['witness']))}")
    if results.get("interrupted"):
        print(f"::error title=picklock was interrupted::{escaped(results['interrupted']['why'])}")


main()
