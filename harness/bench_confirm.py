#!/usr/bin/python3
"""How many witnesses `picklock explore --confirm` replays a second on real redis-servers, which it starts: one row.

`make bench` runs it. One search at a time, so that what is not the searches' time is the replays'; their CPU is what the same
searches take less without --confirm. On a busy machine only that CPU can be compared. A schedule that is the witness of several properties,
or begins that of another one, takes no replay of its own."""

import json

from bench import measured, row

# Searched within a second or two each; between them they have witnesses of every fault.
SCHEMES = "setnx-del,set-nx-ex-del,set-nx-px-cad,set-nx-px-evalsha,watch-multi-del,stamp-getset,fenced,watchdog"
SEARCHES = ("explore", "--scheme", SCHEMES, "--jobs", "1", "--json", "-")


def main():
    _, searched_s, _ = measured(*SEARCHES)
    out, cpu_s, _ = measured(*SEARCHES, "--confirm")
    made = json.loads(out)
    seconds = made["seconds"] - sum(cell["seconds"] for cell in made["results"])
    confirmed = sum(found.get("confirmed") is True for cell in made["results"] for found in cell["properties"])
    row("explore --confirm", "witnesses a second", 300, confirmed / seconds,
        f"{confirmed} in {seconds:.2f} s, {(cpu_s - searched_s) / confirmed * 1000:.2f} ms of CPU each")


if __name__ == "__main__":
    main()
