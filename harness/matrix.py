#!/usr/bin/python3
"""Writes scenarios/matrix.yaml anew: what `picklock explore` finds at its default bounds.

Read a change of it like a change of the code: every cell says what it takes to break a scheme, and in how many steps."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
MATRIX = ROOT / "scenarios" / "matrix.yaml"
HEAD = """# What `picklock explore` finds at its default bounds (3 clients, 2 rounds, 1 fault; for a scheme that needs a quorum 2 clients
# on 3 servers, and once more on 5): a row a fault for every scheme. `safe` is up to these bounds. Each cause that is somebody's
# fault stands there, the gravest first (sim/checks/causes.def), with the steps of its own shortest witness.
# harness/matrix.py writes this file anew.
"""


def rows(text):
    """{scheme: {fault: cell}} of the terminal's matrix."""
    found, scheme = {}, None
    for line in text.splitlines():
        cell = re.match(r"  (\S+)\s{2,}(.*?)\s+\d+ states\s+\d+ transitions(  confirmed.*)?$", line)
        if cell:
            found[scheme][cell[1]] = cell[2]
        elif head := re.fullmatch(r"([a-z][a-z0-9-]*)  \(\d+ clients?, \d+ rounds?, (\d+) servers?, .*\)", line):
            scheme = head[1] if head[1] not in found else f"{head[1]}, {head[2]} servers"
            found[scheme] = {}
    return found


def as_yaml(found):
    lines = [HEAD]
    for scheme, cells in found.items():
        width = max(map(len, cells)) + 1
        lines.append(f"{scheme}:\n" + "".join(f"  {fault + ':':{width}} {cell}\n" for fault, cell in cells.items()))
    return "\n".join(lines)


def committed():
    """The same of the file."""
    found = {}
    for line in MATRIX.read_text().splitlines():
        if head := re.fullmatch(r"(\S.*):", line):
            cells = found[head[1]] = {}
        elif cell := re.fullmatch(r"  (\S+): +(.*)", line):
            cells[cell[1]] = cell[2]
    return found


def explored(*words):
    program = pathlib.Path(os.environ.get("BUILD", ROOT / "build")) / "picklock"
    return subprocess.run([program, "explore", *words], text=True, capture_output=True, check=True,
                          cwd=ROOT).stdout


if __name__ == "__main__":
    MATRIX.write_text(as_yaml(rows(explored())))
