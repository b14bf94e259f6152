#!/bin/sh
# Spreads a campaign over N shards on this machine and merges their reports: campaign.sh N DIR COMMAND [OPTION...]
#
#   harness/campaign.sh 4 reports/runs/campaign explore --confirm
#
# COMMAND is explore, run or stress. GNU parallel keeps one shard a core busy; where it is missing (or PARALLEL=no), a plain
# loop starts them all. A CI matrix or a job array does the same: each job `picklock COMMAND ... --shard K/N --out DIR/K`, and
# one behind them `picklock report DIR/*/latest`. Exit status: that of the merged report.
set -u
picklock=${BUILD:-build}/picklock
[ -n "${BUILD:-}" ] || [ -x "$picklock" ] || picklock=picklock # installed

if [ $# -lt 3 ] || [ "$1" -lt 1 ] 2>/dev/null; then
    echo "usage: harness/campaign.sh SHARDS DIR explore|run|stress [OPTION...]" >&2
    exit 64
fi
# Who ends this script, with whatever signal, ends the shards that it has started.
alone=
! setpriv --pdeathsig TERM true 2>/dev/null || alone="setpriv --pdeathsig TERM"

count=$1 folder=$2
shift 2
if [ -e "$folder" ]; then
    echo "campaign.sh: $folder is there already: a campaign wants a new folder, so that nothing old is merged" >&2
    exit 64
fi

if [ "${PARALLEL:-yes}" != no ] && parallel --version 2>/dev/null | grep -q GNU; then
    seq "$count" | $alone parallel --will-cite -q "$picklock" "$@" --shard "{}/$count" --out "$folder/{}" >/dev/null
else
    for number in $(seq "$count"); do
        $alone "$picklock" "$@" --shard "$number/$count" --out "$folder/$number" >/dev/null &
    done
    wait
fi

# A shard that made no report is told as missing.
set --
for number in $(seq "$count"); do
    [ ! -e "$folder/$number/latest" ] || set -- "$@" "$folder/$number/latest"
done
if [ $# = 0 ]; then
    echo "campaign.sh: no shard came to its end" >&2
    exit 70
fi
"$picklock" report "$@" --html "$folder/index.html" --json "$folder/results.json" --junit "$folder/junit.xml" \
    --markdown "$folder/report.md"
exec "$picklock" report "$@"
