#!/usr/bin/env bash
# Hostile input for every reader: `make fuzz`, a bounded run under address and undefined sanitizers, the same each time.
#
#   harness/fuzz.sh [INPUTS [SEED]]        BUILD=DIR holds the targets (the Makefile makes them)
#   harness/fuzz.sh --libfuzzer SECONDS    the same targets as libFuzzer's (`make libfuzzer`)
#
# Seeds are the tree's own files, and what this build of picklock writes itself. An input that is found is kept in BUILD.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
seeds=$build/fuzz-seeds
rm -rf "$seeds"
mkdir -p "$seeds/history" "$seeds/results" "$seeds/made"

# Small ones: what is changed in a small file is found sooner. Statuses 1 and 2 are verdicts.
write() { "$build/picklock" "$@" >/dev/null 2>"$seeds/err" || [ $? -le 2 ] || { cat "$seeds/err" >&2; exit 70; }; }
one=scenarios/expired-lease-double-delete.yaml
write run --on sim --scheme set-nx-ex-del,set-nx-px-cad --out "$seeds/made/run" $one
write run --on sim --scheme redlock --out "$seeds/made/quorum" scenarios/restart-empty-quorum.yaml
write run --on sim --scheme set-nx-px-cad,fenced --out "$seeds/made/fence" scenarios/lost-update.yaml scenarios/stale-write.yaml
write stress --scheme setnx-del --clients 3 --duration 100ms --history --out "$seeds/made/stress"
for shard in 1 2; do
    write explore --scheme set-nx-ex-del,setnx-del --fault stall,crash --shard $shard/2 --out "$seeds/made/$shard"
done
for made in "$seeds"/made/*; do
    name=${made##*/}
    cp "$made/latest/results.json" "$seeds/results/$name.json"
    for file in "$made"/latest/histories/*.jsonl; do
        if [ -e "$file" ] && [ "$(stat -c %s "$file")" -le 65536 ]; then cp "$file" "$seeds/history/$name-${file##*/}"; fi
    done
done
for known in sim/test/history1/*.jsonl sim/test/history2/*.jsonl; do cp "$known" "$seeds/history/known-${known##*/}"; done
for old in sim/test/results1/*; do cp "$old/results.json" "$seeds/results/version-1-${old##*/}.json"; done
{ cat "$seeds/results/1.json"; printf '\0'; cat "$seeds/results/2.json"; } >"$seeds/results/two-shards"
{ cat "$seeds/results/run.json"; printf '\0'; cat "$seeds/results/quorum.json"; } >"$seeds/results/two-runs"
{ cat "$seeds/results/1.json"; printf '\0'; cat sim/test/results1/explore/results.json; } >"$seeds/results/two-versions"

seeds_of() { # TARGET: its seeds, a line each
    case $1 in
    history | results) ls -d "$seeds/$1"/* ;;
    scenario) ls scenarios/*.yaml | grep -v /matrix.yaml ;;
    schedule) ls -d "$seeds"/made/*/latest/schedules/*.schedule ;;
    *) ls -d "sim/test/seeds/$1"/* ;;
    esac
}

one() { # TARGET INPUTS SEED
    local files
    if [ "$1" = resp ]; then
        "$build/test/fuzz_resp" $(($2 * 20)) "$3"
    else
        mapfile -t files < <(seeds_of "$1")
        "$build/test/fuzz_$1" --inputs "$2" --seed "$3" "${files[@]}"
    fi
}
export -f one seeds_of
export build seeds

status=0
if [ "${1:-}" != --libfuzzer ]; then # the longest begins first
    printf '%s\n' history results scenario rules jepsen schedule url resp |
        xargs -P "$(nproc)" -I{} bash -c 'one {} "$@"' one "${1:-1000}" "${2:-1}" || status=1
    exit $status
fi
for target in url rules schedule scenario history results jepsen; do
    mapfile -t files < <(seeds_of $target)
    mkdir -p "$build/corpus/$target"
    cp "${files[@]}" "$build/corpus/$target"
    "$build/test/fuzz_$target" -max_total_time="${2:-60}" -max_len=65536 -timeout=60 -rss_limit_mb=4096 -verbosity=0 \
        -artifact_prefix="$build/fuzz_$target-" "$build/corpus/$target" 2>"$seeds/log" ||
        { status=1; cat "$seeds/log"; }
    echo "fuzz_$target: $(ls "$build/corpus/$target" | wc -l) inputs that differ, ${2:-60} s"
done
"$build/test/fuzz_resp" -max_total_time="${2:-60}" -verbosity=0 -artifact_prefix="$build/fuzz_resp-" 2>"$seeds/log" || { status=1; cat "$seeds/log"; }
echo "fuzz_resp: ${2:-60} s"
exit $status
