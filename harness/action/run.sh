#!/usr/bin/env bash
# One step of a job: PICKLOCK_WORKER or PICKLOCK_SCHEME, PICKLOCK_OPTIONS, PICKLOCK_BASELINE. Prints annotations, writes the step summary
# and the outputs, and ends as picklock does.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
program=$(command -v picklock || echo "$tree/build/picklock")

# outputs STATUS FOLDER
outputs() {
    [ -z "${GITHUB_OUTPUT:-}" ] || printf 'status=%s\nfolder=%s\n' "$1" "$2" >> "$GITHUB_OUTPUT"
}

refuse() {
    echo "::error title=picklock::$1"
    outputs 64 ""
    exit 64
}

# What an earlier step has made is not this one's: a folder of its own.
temporary=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
out=$(mkdir -p "$temporary" && mktemp -d "$temporary/picklock.XXXXXX") || refuse "no folder can be made in $temporary"

# The headers that belong to the program: beside it where it is installed, in the tree that it was built in; else those of which pkg-config knows.
headers() {
    local real folder
    real=$(readlink -f "$program")
    for folder in "${real%/bin/*}/include/picklock" "${real%/*}/../sim" "$tree/sim"; do
        [ ! -e "$folder/schemes/parts.h" ] || { echo "$folder"; return; }
    done
    pkg-config --variable=includedir picklock
}

# Options are words, as a shell would split them; nothing in them is expanded or run.
options=()
while IFS= read -r -d '' word; do
    options+=("$word")
done < <(printf '%s' "${PICKLOCK_OPTIONS:-}" | xargs -r printf '%s\0')
wait $! || refuse "options: a quote is not closed"

[ -z "${PICKLOCK_BASELINE:-}" ] || options+=(--baseline "$PICKLOCK_BASELINE")
case "${PICKLOCK_WORKER:+worker}${PICKLOCK_SCHEME:+scheme}" in
worker)
    subject=$PICKLOCK_WORKER
    words=(test "$PICKLOCK_WORKER") ;;
scheme)
    subject=$PICKLOCK_SCHEME
    scheme=$PICKLOCK_SCHEME
    case $scheme in *.c)
        built=${scheme%.c}.so
        cc -std=c17 -I"$(headers)" -shared -fPIC -o "$built" "$scheme" || refuse "$scheme does not compile"
        scheme=$built ;;
    esac
    case $scheme in
    */* | *,*) ;;
    *.so) scheme=./$scheme ;;
    esac
    words=(explore --scheme "$scheme") ;;
*)
    refuse "wants worker or scheme, and not both" ;;
esac

"$program" "${words[@]}" "${options[@]}" --out "$out"
status=$?
folder=$(readlink -f "$out/latest" || true)
if [ -n "$folder" ] && [ -e "$folder/results.json" ]; then
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || head -c 900000 "$folder/report.md" >> "$GITHUB_STEP_SUMMARY" # it takes a megabyte
    "${PYTHON:-python3}" "$here/annotate.py" "$folder" "$subject" || status=70
else
    folder=
    echo "::error title=picklock::it ended with $status and has left no results: nothing is annotated"
    [ "$status" != 0 ] || status=2 # what was not run is not known
fi
outputs "$status" "$folder"
exit "$status"
