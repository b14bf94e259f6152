#!/bin/sh
# still.sh COMMAND...: runs it, and says every 4 s that it is still at work, whatever that says itself. Ends as it ends.
set -u
[ -z "${STILL_AT_IT:-}" ] || exec "$@" # whoever called says so already
export STILL_AT_IT=yes

# Who ends this script is not told about a command that is over.
(
    trap 'kill $! 2>/dev/null; exit' TERM
    seconds=0
    while sleep 4 > /dev/null 2>&1 & wait $!; do
        kill -0 $$ 2>/dev/null || exit
        seconds=$((seconds + 4))
        echo "  still at it, $seconds s"
    done
) &
ticker=$!
trap 'kill $ticker 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$@"
