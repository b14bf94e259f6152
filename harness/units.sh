#!/usr/bin/env bash
# C unit tests as they are, more at a time than there are processors (those in real time mostly wait), those of units_first.txt first:
# BUILD=DIR harness/units.sh TEST...
# What fails is printed; at the end stand the five that took longest, how many passed, and in what time.
set -uo pipefail
build=${BUILD:-build}
first=$(cat "$(dirname "$0")/units_first.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
export build folder CMOCKA_MESSAGE_OUTPUT=stdout

one() {
    local began=$SECONDS
    if ! timeout 900 "$build/test/$1" >"$folder/$1" 2>&1; then
        echo "$1" >>"$folder/failed"
        echo "FAILED $1"
        grep -v '^\[ *\(RUN\|OK\)' "$folder/$1" >"$folder/$1.said"
        head -n 40 "$folder/$1.said"
        tail -n +41 "$folder/$1.said" | tail -n 20
    fi
    echo "$((SECONDS - began)) s $1" >>"$folder/times"
}
export -f one
order=$(for name in $first; do printf '%s\n' "$@" | grep -x "$name"; done; printf '%s\n' "$@" | grep -vxF "$(printf '%s\n' $first)")
began=$SECONDS
echo "$order" | xargs -P "$((2 * $(nproc)))" -I{} bash -c 'one {}'
failed=$(cat "$folder/failed" 2>/dev/null | wc -l)
sort -rn "$folder/times" | head -n 5
echo "C unit tests in $build: $(($# - failed)) passed, $failed failed, $((SECONDS - began)) s"
[ "$failed" = 0 ] && [ $# -gt 0 ]
