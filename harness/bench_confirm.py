#!/usr/bin/python3
"""How many witnesses `picklock explore --confirm` replays a second on real redis-servers, which it starts: one row.

`make bench` runs it. One search at a time, so that what is not the searches' time is the replays'."""

import json

from bench import measured

# Searched within a second or two each; between them they have witnesses of every fault.
SCHEMES = "setnx-del,set-nx-ex-del,set-nx-px-cad,set-nx-px-evalsha,watch-multi-del,stamp-getset,fenced,watchdog"


def main():
    out, cpu_s, _ = measured("explore", "--scheme", SCHEMES, "--jobs", "1", "--confirm", "--json", "-")
    made = json.loads(out)
    seconds = made["seconds"] - sum(row["seconds"] for row in made["results"])
    confirmed = sum(found.get("confirmed") is True for row in made["results"] for found in row["properties"])
    print("witnesses replayed on real redis-servers:")
    print("confirmed  seconds  a second  CPU s, searches included")
    print(f"{confirmed:>9} {seconds:>8.2f} {confirmed / seconds:>9.0f} {cpu_s:>8.2f}")


if __name__ == "__main__":
    main()
