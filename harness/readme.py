#!/usr/bin/python3
"""Writes the tables of README.md and of reports/TABLES.md anew from a run, and the reports under reports/example anew from their
results: harness/readme.py [RUN-FOLDER]

Without a folder: reports/runs/latest, which should be a run of every scenario. The explorer's table is that of
scenarios/matrix.yaml (harness/matrix.py). test_readme.py compares the committed pages with what the program says."""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README, TABLES = ROOT / "README.md", ROOT / "reports" / "TABLES.md"
EXAMPLES = ["reports/example", "reports/example/redis-py"]  # folders, as their commands name them
PROGRAM = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "picklock"
MATRIX = ROOT / "scenarios" / "matrix.yaml"
LINE_MAX = 150

# {cause: whose fault}, from the program's own table: the gravest cause first
CAUSES = re.findall(r'^CAUSE\(\w+,\s*"([^"]+)",\s*BLAME_(\w+),\s*HARM_(\w+)', (ROOT / "sim/checks/causes.def").read_text(), re.M)
BLAME = {name: blame.lower() for name, blame, _ in CAUSES}
# The scheme's own doing, but nobody's lock is taken and nobody waits for ever: its client is told too late, or wrongly.
MILD = {name for name, _, harm in CAUSES if harm == "WORD"}


def gravity(outcome):
    """The gravest cause is first; what is no cause comes behind all of them."""
    return [*BLAME, outcome].index(outcome), outcome


def causes(row):
    """The causes of a row of results, of the gravest kind only."""
    found = sorted({p["cause"] for p in row["properties"] if p["verdict"] == "violated" and p["cause"]}, key=gravity)
    return [cause for cause in found if BLAME[cause] == BLAME[found[0]]]


def causes_in(word):
    """[(cause, steps)] of a cell's words, "stuck (3 steps; no-expiry, 1 step)", the gravest first; [] of what names none, or no steps."""
    told = re.fullmatch(r"(broken|stuck) \((.+)\)", word)
    parts = [re.fullmatch(r"(?:([\w-]+), )?(\d+) steps?", part) for part in told[2].split("; ")] if told else []
    return [(part[1] or "stuck", part[2]) for part in parts] if all(parts) else []


def explored():
    """{scheme: {fault: [(outcome, steps)]}} of scenarios/matrix.yaml, the gravest first; an outcome is a cause, "safe", or "unknown (why)"."""
    found = {}
    for text in re.split(r"\n(?=\S)", MATRIX.read_text()):
        head, *cells = text.splitlines()
        if head.startswith("#"):
            continue
        row = found.setdefault(head.rstrip(":"), {})
        for fault, word in (re.fullmatch(r"  ([\w-]+): +(.+)", cell).groups() for cell in cells if cell.strip()):
            row[fault] = causes_in(word) or [(word.removesuffix(" only"), None)]
            if not row[fault][0][1] and not re.fullmatch(r"safe|unknown \(.+\)|[\w-]+ only", word):
                raise ValueError(f"{head} {fault}: {word}")
    return found


def rows_of(name, outcomes):
    """Rows of one scheme; outcomes: {outcome: [text]}. What is too long for a line goes on in the next one."""
    lines, first = [], name
    for outcome in sorted(outcomes, key=gravity):
        head = f"| {first} | {outcome} | {BLAME.get(outcome, '')} | "
        line = head + outcomes[outcome][0]
        for text in outcomes[outcome][1:]:
            if len(line) + len(text) + 4 > LINE_MAX:
                lines.append(line + ", |")
                line = "| | | | " + text
            else:
                line += ", " + text
        lines.append(line + " |")
        first = ""
    return [re.sub(r"\|  +(?=\|)", "| ", line) for line in lines]


def scenario_table(results):
    """What breaks each scheme in the scenarios, and whose fault it is."""
    schemes = {}
    for row in results["results"]:
        outcomes = schemes.setdefault(row["scheme"], {})
        if not row["unsupported"] and row["verdict"] != "not_applicable":
            for word in causes(row) or ["holds"]:
                outcomes.setdefault(word, []).append(row["scenario"])
    lines = ["| scheme | outcome | whose fault | scenarios |", "|---|---|---|---|"]
    for name, outcomes in schemes.items():
        if "holds" in outcomes:
            count = len(outcomes["holds"])
            outcomes["holds"] = [f"{count} scenario{'s'[:count != 1]}"]
        unsupported = {f"not supported by redis-server {results['server']}": [""]}
        lines += rows_of(f"`{name}`", outcomes or unsupported)
    return "\n".join(lines)


def matrix_table():
    """What every interleaving comes to: each scheme under each fault."""
    lines = ["| scheme | outcome | whose fault | faults, with the fewest steps |", "|---|---|---|---|"]
    for head, row in explored().items():
        outcomes = {}
        for fault, outcome, steps in ((fault, *one) for fault, told in row.items() for one in told):
            outcomes.setdefault(outcome, []).append(f"{fault} {steps}" if steps else fault)
        scheme, _, servers = head.partition(", ")
        lines += rows_of(f"`{scheme}`{servers and ', ' + servers}", outcomes)
    return "\n".join(lines)


def own_doing(results):
    """{scheme: {cause that is its own fault: [fault of the explorer under which it shows]}}."""
    found = {}
    for row in results["results"]:
        for cause in causes(row):
            if BLAME[cause] == "scheme":
                found.setdefault(row["scheme"], {}).setdefault(cause, [])
    for head, row in explored().items():
        for fault, outcome in ((fault, outcome) for fault, told in row.items() for outcome, _ in told):
            if BLAME.get(outcome) == "scheme":
                shown = found.setdefault(head.partition(", ")[0], {}).setdefault(outcome, [])
                shown += [fault] * (fault not in shown)
    return found


def is_fenced(row):
    """Two held the lock after an overrun, and the resource refused the stale write."""
    told = {p["property"]: (p["verdict"], p["cause"]) for p in row["properties"]}
    return told.get("mutual-exclusion") == ("violated", "overrun") and told.get("fence-order", [""])[0] == "holds"


def under(faults):
    return " under " + ", ".join(faults[:3]) + (", .." if len(faults) > 3 else "") if faults else ""


def summary_table(results, schemes):
    """A row a scheme for the README: is it safe, and what breaks it by its own doing?"""
    own, fenced = own_doing(results), {row["scheme"] for row in results["results"] if is_fenced(row)}
    lines = ["| scheme | safe? | broken by |", "|---|---|---|"]
    for scheme in schemes:
        name, found = scheme["name"], own.get(scheme["name"], {})
        safe = "within its lease" + (", and beyond it by its fence" if name in fenced else "")
        said = "; ".join(cause + under(shown) for cause, shown in sorted(found.items(), key=lambda item: gravity(item[0])))
        if scheme["naive"] or set(found) - MILD:
            safe = "no"
        if scheme["naive"] and not found:
            raise ValueError(f"{name} is called naive, and nothing breaks it by its own doing")
        lines.append(f"| `{name}` | {safe} | {scheme['weakness'] if scheme['naive'] else said} |")
    return "\n".join(lines)


def schemes():
    listed = subprocess.run([PROGRAM, "list", "schemes", "--json"], text=True, capture_output=True, check=True)
    return json.loads(listed.stdout)["schemes"]


def replaced(text, name, table):
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
    if len(block.findall(text)) != 1:
        raise ValueError(f"no place, or several, for the table '{name}'")
    return block.sub(lambda m: m[1] + table + "\n" + m[2], text)


def pages(results):
    """{path: text} of the pages that have generated tables."""
    tables = replaced(TABLES.read_text(), "scenarios", scenario_table(results))
    return {README: replaced(README.read_text(), "summary", summary_table(results, schemes())),
            TABLES: replaced(tables, "explorer", matrix_table())}


def report(folder, root=ROOT):
    """Prints the reports of a run folder under root again, where they were."""
    ran = subprocess.run([PROGRAM, "report", folder, "--html", f"{folder}/index.html", "--markdown", f"{folder}/report.md",
                          "--junit", f"{folder}/junit.xml"], cwd=root)
    if ran.returncode not in (0, 1):  # 1: of a lock that fails
        raise SystemExit(ran.returncode)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "reports/runs/latest")
    for path, text in pages(json.loads((folder / "results.json").read_text())).items():
        path.write_text(text)
    for example in EXAMPLES:
        report(example)
