#!/bin/sh
# Same arguments and seed, same bytes: `make determinism` shows it. What may differ is measured time, and how many jobs were
# asked for, and is taken out first.
set -eu
picklock=${BUILD:-build}/picklock
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

timeless() {
    sed -E 's/"seconds": *[0-9.e+-]+/"seconds": 0/g; /^  "(started|invocation)": /d'
}

for turn in 1 2; do
    "$picklock" run --seed 7 --out "$kept/run$turn" >/dev/null
    (cd "$kept/run$turn/latest/" && cat histories/* schedules/*) >"$kept/live$turn"
    "$picklock" run --on sim --seed 7 --out "$kept/sim$turn" >/dev/null
    (cd "$kept/sim$turn/latest/" && cat histories/* schedules/*) >"$kept/simulated$turn"
    "$picklock" explore --jobs $turn --json - 2>/dev/null | timeless >"$kept/explored$turn"
    { # searches that reach a limit, and what they try then: status 2
        "$picklock" explore --scheme set-nx-ex-del,redlock --fault stall,restart-empty --states 3000 --jobs $turn --json - 2>/dev/null || [ $? -eq 2 ]
    } | timeless >"$kept/limited$turn"
    for search in random pct; do # leaves what it does not find unknown: status 2
        "$picklock" explore --search $search --runs 200 --seed 7 --jobs $turn --json - 2>/dev/null || [ $? -eq 2 ]
        "$picklock" explore --search $search --runs 200 --seed 7 --jobs $turn --scheme set-nx-ex-del --witness 2>/dev/null || [ $? -eq 2 ]
    done | timeless >"$kept/random$turn"
done
for what in live simulated explored limited random; do
    cmp "$kept/${what}1" "$kept/${what}2"
    printf '%-10s %9s bytes, twice the same\n' "$what" "$(wc -c <"$kept/${what}1")"
done
