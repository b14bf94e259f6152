# Sourced by .ci/run and check_long.sh: parts one after the other, each timed; one that fails does not keep the others from running.
parts_table='' parts_failed=0 parts_began=$SECONDS

part() { # NAME COMMAND...
    local name=$1 began=$SECONDS status
    shift
    echo "== $name: $*"
    "$@"
    status=$?
    parts_table+=$(printf '%-18s %6d s   %s' "$name" $((SECONDS - began)) "$([ $status = 0 ] && echo passed || echo "FAILED ($status)")")$'\n'
    [ $status = 0 ] || parts_failed=1
}

parts_end() { # BUDGET: seconds, 0 for none; ends the script
    local took=$((SECONDS - parts_began))
    echo "== parts"
    printf '%s' "$parts_table"
    printf '%-18s %6d s   %s\n' "all" $took "$([ "$1" = 0 ] || echo "budget: $1 s on two idle cores$([ $took -le "$1" ] || echo ', EXCEEDED')")"
    exit $parts_failed
}
