#!/usr/bin/python3
"""What a stress run costs at 10, 1 000 and 10 000 clients, or as many as the limit of open files lets connect, and a check
at 1 k and 1 M events: one row each.

`make bench` runs it. Figures of a shared machine: compare rows of one run with each other, not with yesterday's."""

import json
import pathlib
import resource
import tempfile

from bench import measured


def stress(clients, folder):
    out, cpu_s, peak_mb = measured("stress", "--scheme", "set-nx-px-cad", "--clients", clients, "--no-faults",
                                   "--duration", "5s", "--timeout", "10s", "--out", folder, "--json", "-")
    row = json.loads(out)["results"][0]["stress"]
    per = cpu_s / max(row["operations"], 1) * 1e6
    print(f"{clients:>8} {row['operations']:>11} {row['operations_per_second']:>8} {per:>12.1f} {peak_mb:>9.0f}")


def check(events, folder):
    """A history of about so many events: a stress run's, kept. Whether it earned a verdict does not matter here."""
    measured("stress", "--scheme", "set-nx-px-cad", "--clients", "20", "--no-faults", "--history",
             "--duration", "300ms" if events < 10_000 else "12s", "--think", "100ms" if events < 10_000 else "1us",
             "--out", folder, good=(0, 2))
    history = next((pathlib.Path(folder) / "latest" / "histories").iterdir())
    count = sum(1 for _ in history.open()) - 2
    _, cpu_s, peak_mb = measured("check", history, good=(0, 2))
    print(f"{count:>8} {cpu_s:>11.2f} {cpu_s / count * 1e6:>8.2f} {peak_mb:>22.0f}")


if __name__ == "__main__":
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = 10_000 if files == resource.RLIM_INFINITY else min(10_000, (files - 200) * 9 // 30)
    with tempfile.TemporaryDirectory() as made:
        print("stress, set-nx-px-cad, no faults, 5 s:")
        print(" clients  operations    ops/s  CPU us each   peak MB")
        for clients in (10, 1000, most):
            stress(clients, made)
        print("check of a history file, reading included:")
        print("  events  CPU s       us each               peak MB")
        for events in (1000, 1_000_000):
            check(events, made)
