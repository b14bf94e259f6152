#!/usr/bin/python3
"""Writes the tables of README.md anew from a run: harness/readme.py [RUN-FOLDER]

Without a folder: reports/runs/latest, which should be a run of every scenario. The explorer's table is that of
scenarios/matrix.yaml (harness/matrix.py). test_readme.py holds the committed README to what the program says."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MATRIX = ROOT / "scenarios" / "matrix.yaml"
NOBODY = {"overrun", "leftover"}
DEPLOYMENT = {"early-expiry", "lost-grant"}


def causes(row):
    """The causes of a row, the scheme's own before the deployment's before nobody's."""
    found = {p["cause"] for p in row["properties"] if p["verdict"] == "violated" and p["cause"]}
    for kind in (found - NOBODY - DEPLOYMENT, found & DEPLOYMENT, found & NOBODY):
        if kind:
            return sorted(kind), kind
    return [], set()


def table(results):
    """A row a scheme: what breaks it, by whose doing."""
    schemes = {}
    for row in results["results"]:
        own, deployed, inherent, held = schemes.setdefault(row["scheme"], ([], [], [], []))
        names, kind = causes(row)
        text = f"{row['scenario']}"
        if row.get("unsupported"):
            continue
        if not kind:
            held.append(text)
        elif kind <= NOBODY:
            inherent.append(text)
        elif kind <= DEPLOYMENT:
            deployed.append(text)
        else:
            own.append(f"{text} ({', '.join(names)})")
    lines = ["| scheme | broken by its own doing | broken by the deployment | inherent in leases | holds |",
             "|---|---|---|---|---|"]
    for name, (own, deployed, inherent, held) in schemes.items():
        if not own + deployed + inherent + held:
            lines.append(f"| `{name}` | not supported by redis-server {results['server']} | | | |")
            continue
        lines.append(f"| `{name}` | {'<br>'.join(own)} | {'<br>'.join(deployed)} | "
                     f"{'<br>'.join(inherent)} | {len(held)} |")
    return "\n".join(lines)


def matrix():
    """A row a scheme of scenarios/matrix.yaml: the faults by what they do to it."""
    lines = ["| scheme | safe | nobody's fault | broken, by the fewest steps | stuck |", "|---|---|---|---|---|"]
    for text in re.split(r"\n(?=\S)", MATRIX.read_text()):
        head, *cells = text.splitlines()
        if head.startswith("#"):
            continue
        safe, inherent, broken, stuck = [], [], [], []
        for fault, word in (re.fullmatch(r"  ([\w-]+): +(.+)", cell).groups() for cell in cells if cell.strip()):
            if word == "safe":
                safe.append(fault)
            elif word.endswith(" only"):
                inherent.append(f"{fault} ({word.removesuffix(' only')})")
            elif found := re.fullmatch(r"(broken|stuck) \((?:([\w-]+), )?(\d+) steps\)", word):
                said = ", ".join(filter(None, found.groups()[1:]))
                (broken if found[1] == "broken" else stuck).append(f"{fault} ({said})")
            else:
                raise ValueError(f"{head} {fault}: {word}")
        scheme, _, servers = head.rstrip(":").partition(", ")
        lines.append(f"| `{scheme}`{servers and ', ' + servers} | " + " | ".join(map(", ".join, (safe, inherent, broken, stuck))) + " |")
    return "\n".join(lines)


def block(name):
    return re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)


def with_tables(text, results):
    text = block("table").sub(lambda m: m[1] + table(results) + "\n" + m[2], text)
    return block("matrix").sub(lambda m: m[1] + matrix() + "\n" + m[2], text)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "reports/runs/latest")
    found = json.loads((folder / "results.json").read_text())
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text(), found))
