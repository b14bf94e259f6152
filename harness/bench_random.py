"""What a random search is for: cells that the exhaustive search does not get to the end of, nor to a violation.

    BUILD=$PWD/build harness/bench_random.py

For each cell what the exhaustive search has come to after some seconds; in which run a random search meets its first
violation, and how long the runs before it take by themselves; and the same with what makes the witness short. Seconds are
those of results.json, on one core.
"""

import json

from bench import measured

BUDGET, RUNS, STATES = "10s", 3000, 300000
# scheme, fault, clients, rounds, servers
CELLS = [("stamp-getset", "stall+late-request", 6, 3, 1),
         ("redlock", "restart-empty", 3, 2, 5)]


def explored(cell, *words):
    names = ("--scheme", "--fault", "--clients", "--rounds", "--servers")
    bounds = [text for pair in zip(names, map(str, cell)) for text in pair]
    # 2: what was not found is unknown
    out, _, _ = measured("explore", *bounds, "--jobs", "1", "--seed", "1", *words, "--json", "-", good=(0, 2))
    [row] = json.loads(out)["results"]
    return [{**row["search"], **found} for found in row["properties"]], row["seconds"]


def main():
    for cell in CELLS:
        print("{0}, {1}: {2} clients, {3} rounds, {4} server(s)".format(*cell))
        rows, seconds = explored(cell, "--budget", BUDGET)
        found = {row["property"] for row in rows if row["verdict"] == "violated"}
        print(f"  exhaustive {seconds:8.3f} s  {rows[0]['states']} states; complete: {rows[0]['complete']}; "
              f"violated: {', '.join(sorted(found)) or 'nothing yet'}")
        rows, _ = explored(cell, "--search", "random", "--runs", str(RUNS), "--states", str(STATES))
        met = sorted((row["found_in_run"], row["property"]) for row in rows if row["found_in_run"])
        new = [(run, name) for run, name in met if name not in found]
        if not new:
            print(f"  random     found nothing more in {rows[0]['runs']} runs")
            continue
        run, name = new[0]
        seconds = explored(cell, "--search", "random", "--runs", str(run - 1))[1] if run > 1 else 0
        print(f"  random     {seconds:8.3f} s  for the {run - 1} runs before the one that meets {name}")
        rows, seconds = explored(cell, "--search", "random", "--runs", str(run), "--states", str(STATES))
        row = next(row for row in rows if row["property"] == name)
        print(f"             {seconds:8.3f} s  with what makes it short: {row['witness_steps']} steps, "
              f"{'the shortest' if row['shortest'] else 'not proved to be the shortest'}")


if __name__ == "__main__":
    main()
