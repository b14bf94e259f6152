#!/usr/bin/python3
"""Writes the names of properties, causes, commands and events into reports/*.schema.json anew, from the tables of sim/.

sim/test/test_results_json.c holds the schemas to the same tables."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def names(table, row):
    """The first group of each row of a .def file."""
    found = re.findall(row, (ROOT / "sim" / table).read_text(), re.M)
    assert found, table
    return found


def main():
    causes = [cause for cause in names("checks/causes.def", r'^CAUSE\(\w+,\s*"([^"]+)"') if cause != "none"]
    enums = [
        ("results", "property", "property", names("checks/properties.def", r'^PROPERTY\(\w+,\s*\w+,\s*"([^"]+)"')),
        ("results", "property", "cause", causes + [None]),
        ("history", "event", "verb", names("redis/commands.def", r"^VERB\((\w+),")),
        ("history", "event", "kind", names("history/events.def", r'^EVENT\(\w+,\s*"([^"]+)"')),
    ]
    for schema in ("results", "history"):
        path = ROOT / "reports" / f"{schema}.schema.json"
        document = json.loads(path.read_text())
        for _, definition, field, words in (enum for enum in enums if enum[0] == schema):
            document["$defs"][definition]["properties"][field]["enum"] = words
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
