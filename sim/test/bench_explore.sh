#!/bin/sh
# bench_explore.sh - the explorer against SPIN on the same protocol and the same state graph:
# set-nx-px-cad, one stall, no reductions on either side, one core each, one after the other in
# pairs so that a noisy machine is noisy for both.
#
#   sim/test/bench_explore.sh [PAIRS]     BUILD=DIR names another build folder
#
# SPIN runs twice in a pair: as one process, which keeps its states smallest, and with a process for each
# client, as one would write it first. It has no partial-order reduction to lose (every step touches
# what all can see), exact states (hash compaction lost 4 % of them here), its faster hash, no bound
# checks, and a table sized to the states. Compile time is left out on both sides.
#
# The explorer runs once more with the property progress, which keeps edges: what they cost.
#
# Both count every transition. SPIN, without a reduction, looks each of them up in its table; of the explorer's, one
# that commutes with an earlier one is counted without a look (explore/graph/fast_path.h), 33 % and 42 % of them here. With the
# property progress all are looked up.
#
# In favour of SPIN: nothing is asserted in its models, while the explorer judges its properties (but
# progress) as it goes, and starts with a small table that grows.
#
# Prints medians: seconds as they passed, and seconds of a core (user and system, the whole process), which others
# on the machine disturb less; of these the spread, and states and transitions a second; memory a state (SPIN's as it says
# itself; the explorer's as the system saw the whole process at its largest); and whether the counts are equal.
# When they are not, the rates do not compare: status 1.
#
# Then how long the search for one race takes to its shortest witness, what the default matrix costs, and how long a quorum of
# five takes with every set of up to two faults (one search a time), against limits of 10 ms, of 60 s and 2 GB, of 1 s and 10 s.
set -eu
pairs=${1:-3} build=${BUILD:-build}
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
for tool in spin cc make; do
    command -v $tool >/dev/null || { echo "bench_explore.sh: no $tool" >&2; exit 69; }
done
opinion=$build/test/opinion
(cd "$root" && make -s BUILD="$build" "$opinion") || exit 70
case $opinion in /*) ;; *) opinion=$root/$opinion ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# clients rounds log2(slots of SPIN's table)
cases='3 7 20
4 4 22
4 5 23'
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "set-nx-px-cad, one stall, nothing asserted, every state visited; medians of $pairs; $(nproc) x ${cpu:-?}"

build_pan() { # NAME CLIENTS ROUNDS MORE
    mkdir "$folder/$1"
    (cd "$folder/$1" &&
        spin -a -DN="$2" -DROUNDS="$3" -DSTALLS=1 $4 "$root/sim/test/spin/set-nx-px-cad.pml" &&
        cc -O3 -w -DSAFETY -DNOFAIR -DNOREDUCE -DSFH -DNOBOUNDCHECK -DMEMLIM=8000 -o pan pan.c)
}
failed() { # WHAT: shows what it printed
    echo "bench_explore.sh: $1 failed:" >&2
    cat "$folder/out" "$folder/err" | tail -n 20 >&2
    exit 70
}
# Runs a command; its seconds of a core, start and end of the process included, go to $folder/cpu.
on_a_core() {
    : >"$folder/err"
    bash -c 'TIMEFORMAT="%3U %3S"; { time "$@" 2>&3; } 3>&2 2>"$0"' "$folder/times" "$@" 2>"$folder/err" || return
    awk '{print $1 + $2}' "$folder/times" >"$folder/cpu"
}
# A run appends "seconds states transitions megabytes core-seconds" to $folder/NAME.runs. SPIN counts the way
# into the first state as a transition, too.
run_pan() { # NAME LOG2
    (cd "$folder/$1" && on_a_core ./pan -m100000 -w"$2") >"$folder/out" || failed SPIN
    grep -q 'errors: 0$' "$folder/out" || failed SPIN
    ! grep -q 'max search depth too small\|out of memory' "$folder/out" ||
        { echo "bench_explore.sh: SPIN did not visit everything" >&2; exit 70; }
    awk '/states, stored/ {states = $1} /transitions \(=/ {moves = $1 - 1} /total actual memory/ {mb = $1}
         /elapsed time/ {s = $4} END {print s, states, moves, mb, cpu}' cpu="$(cat "$folder/cpu")" "$folder/out" >>"$folder/$1.runs"
}
run_explorer() { # NAME CLIENTS ROUNDS [PROPERTY]
    on_a_core "$opinion" set-nx-px-cad "$2" "$3" stall off $4 >"$folder/out" || failed "the explorer"
    sed 's/.*"states": \([0-9]*\), "transitions": \([0-9]*\),.*"seconds": \([0-9.]*\),.*"resident_bytes": \([0-9]*\),.*/\3 \1 \2 \4/' \
        "$folder/out" | awk '{print $1, $2, $3, $4 / 1048576, cpu}' cpu="$(cat "$folder/cpu")" >>"$folder/$1.runs"
}
run_witness() { # SCHEME FAULT PROPERTY
    "$opinion" "$1" 3 2 "$2" all "$3" >"$folder/out" 2>"$folder/err" || failed "the explorer"
    grep -q "\"$3\": {\"verdict\": \"violated\"" "$folder/out" ||
        { echo "bench_explore.sh: $1 with $2: no witness of $3" >&2; exit 70; }
    sed "s/.*\"states\": \([0-9]*\),.*\"seconds\": \([0-9.]*\),.*\"$3\": {[^}]*\"events\": \([0-9]*\)}.*/\2 \1 \3/" \
        "$folder/out" >>"$folder/witness.runs"
}
# Appends "seconds 0 0 megabytes"; the jobs are threads of one process.
run_matrix() {
    "${PYTHON:-python3}" - "$picklock" <<'END' >>"$folder/matrix.runs"
import resource, subprocess, sys, time
start = time.monotonic()
done = subprocess.run([sys.argv[1], "explore", "--json", "-"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
if done.returncode:
    sys.exit(f"bench_explore.sh: picklock explore ended with status {done.returncode}:\n{done.stderr[-2000:]}")
print(f"{time.monotonic() - start:.3f} 0 0 {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.1f}")
END
}
# Every set of up to two faults, one search a time.
run_pairs() {
    "${PYTHON:-python3}" - "$picklock" <<'END'
import json, subprocess, sys, time
picklock = sys.argv[1]
def run(*words):
    done = subprocess.run([picklock, *words, "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 2): # 2: a cell that is too large stays open
        sys.exit(f"bench_explore.sh: picklock {words[0]} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)
def explore(sets, *jobs):
    return {row["fault"]: row for row in run("explore", "--scheme", "redlock", "--servers", "5", "--fault", ",".join(sets), *jobs)["results"]}
def wall(name):
    began = time.monotonic()
    explore([name])
    return time.monotonic() - began
faults = [fault["name"] for fault in run("list", "faults")["faults"]]
cells = explore(["none", *faults, *(f"{one}+{other}" for i, one in enumerate(faults) for other in faults[i:])], "--jobs", "1")
slow = sorted(cells, key=lambda name: -cells[name]["seconds"])[:4]
print(f"redlock, 5 servers, 2 clients, 2 rounds, every property: no fault {cells['none']['seconds']:.2f} s, at most 1;"
      f" {len(cells) - 1} sets of up to two faults, at most 10 s each: {sum(row['complete'] for row in cells.values()) - 1} to the end;"
      " the slowest, on one core and on all: " + ", ".join(f"{name} {cells[name]['seconds']:.1f} {wall(name):.1f}" for name in slow))
END
}
median() { # NAME FIELD
    sort -n -k"$2,$2" "$folder/$1.runs" | awk -v f="$2" '{v[NR] = $f} END {print v[int((NR + 1) / 2)]}'
}
spread() { # NAME FIELD
    cut -d' ' -f"$2" "$folder/$1.runs" | sort -n | awk '{v[NR] = $1} END {printf "%.2f-%.2f", v[1], v[NR]}'
}
row() { # NAME WORDS
    awk -v words="$2" -v spread="$(spread "$1" 5)" -v wall="$(median "$1" 1)" -v s="$(median "$1" 5)" \
        -v states="$(median "$1" 2)" -v moves="$(median "$1" 3)" -v mb="$(median "$1" 4)" 'BEGIN {
            printf "  %-24s %10d %11d %7.2f %7.2f  %-11s %8.2f %8.2f %7.0f %6.0f\n", words, states, moves, wall, s, spread,
                   states / s / 1e6, moves / s / 1e6, mb, mb * 1048576 / states}'
}

status=0
echo "$cases" >"$folder/cases"
while read -r clients rounds log2; do
    rm -rf "$folder"/*.runs "$folder/one" "$folder/each"
    build_pan one "$clients" "$rounds" ""
    build_pan each "$clients" "$rounds" -DEACH
    for _ in $(seq "$pairs"); do
        run_explorer ours "$clients" "$rounds" ""
        run_explorer edges "$clients" "$rounds" progress
        run_pan one "$log2"
        run_pan each "$log2"
    done
    echo "$clients clients, $rounds rounds"
    printf '  %-24s %10s %11s %7s %7s  %-11s %8s %8s %7s %6s\n' '' states transitions wall-s core-s spread Mstates/s Mtrans/s MB B/state
    row ours explorer
    row edges 'explorer, with progress'
    row one 'SPIN, one process'
    row each 'SPIN, a process each'
    awk -v a="$(median ours 5)" -v b="$(median one 5)" -v c="$(median each 5)" 'BEGIN {
        printf "  the explorer is %.1f times as fast as SPIN with one process, %.1f times as with a process each\n", b / a, c / a}'
    counts=$(cut -d' ' -f2,3 "$folder/ours.runs" "$folder/edges.runs" "$folder/one.runs" "$folder/each.runs" | sort -u | wc -l)
    if [ "$counts" = 1 ]; then
        echo "  equal states and transitions in every run: the same graph"
    else
        echo "  the counts differ: model and explorer no longer walk the same graph (harness/test_spin.py says where);" \
            "the rates do not compare"
        status=1
    fi
done <"$folder/cases"

echo "shortest witness of one race, 3 clients, 2 rounds; ms, at most 10"
while read -r scheme fault property; do
    rm -f "$folder/witness.runs"
    for _ in $(seq "$pairs"); do run_witness "$scheme" "$fault" "$property"; done
    awk -v what="$scheme, $fault: $property" -v s="$(median witness 1)" -v states="$(median witness 2)" \
        -v events="$(median witness 3)" -v most="$(sort -n "$folder/witness.runs" | tail -1 | cut -d' ' -f1)" 'BEGIN {
            printf "  %-44s %6.2f (at most %.2f), %d states, %d events%s\n", what, s * 1e3, most * 1e3, states, events,
                   (s > 0.01 ? ": TOO SLOW" : "")}'
done <<'END'
set-nx-ex-del stall release-own
set-nx-ex-del slow-work release-own
stamp-getset none no-crash
stamp-getset stall extend-own
stamp-getset stall mutual-exclusion
END

picklock=$build/picklock
(cd "$root" && make -s BUILD="$build" "$picklock") || exit 70
case $picklock in /*) ;; *) picklock=$root/$picklock ;; esac
for _ in $(seq "$pairs"); do run_matrix; done
awk -v s="$(median matrix 1)" -v spread="$(spread matrix 1)" -v mb="$(sort -n -k4,4 "$folder/matrix.runs" | tail -1 | cut -d' ' -f4)" 'BEGIN {
    printf "the default matrix: %.1f s (%s), at most 60; %.0f MB at its largest, at most 2048\n", s, spread, mb}'
run_pairs
exit $status
