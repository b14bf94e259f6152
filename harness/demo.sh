#!/bin/sh
# What `make demo` shows: every scenario on a real redis-server, then a naive and a safe scheme under stress.
# Ends with 0 when the scenarios are as expected and the stress has found the naive scheme's bug.
set -u
picklock=${1:-build/picklock}

# Who ends this script, with whatever signal, ends what it has started; and is not told that all was well.
alone=
! setpriv --pdeathsig TERM true 2>/dev/null || alone="setpriv --pdeathsig TERM"
trap 'exit 130' INT

echo "Every scenario, on a real redis-server:"
$alone "$picklock" run || exit $?

echo
echo "A naive and a safe scheme, 50 clients, ten seconds each, with stalls, crashes,"
echo "late and lost messages:"
naive=set-nx-ex-del
safe=set-nx-px-cad
caught=
for seed in 1 2 3; do # on a busy machine little happens in ten seconds
    [ "$seed" = 1 ] || printf '\nThe bug of %s was not hit. Once more, with another seed:\n' "$naive"
    $alone "$picklock" stress --scheme "$naive,$safe" --lease 1s --duration 10s --seed "$seed"
    status=$?
    # 1: a scheme was caught, which is what the demonstration is about, if it was the naive one and only that.
    [ "$status" -le 1 ] || exit "$status"
    folder=reports/runs/$(readlink reports/runs/latest)
    caught=$(awk -F'"' '/"scheme":/ { scheme = $4 } /"as_expected": false/ { print scheme }' "$folder/results.json")
    [ -z "$caught" ] || break
done

echo
if [ -z "$caught" ]; then
    echo "Nothing was shown: the stress did not hit the bug of $naive,"
    echo "with three seeds. Try again on a less busy machine."
    exit 2
elif [ "$caught" != "$naive" ]; then
    echo "This is not what the demonstration is about: a bug of $naive was looked"
    echo "for, and one was found in:" $caught
    exit 1
fi
cat <<END
What was shown: the naive scheme, $naive, was caught, which is the
point of "NOT expected" above: its plain DEL can remove another client's lock.
The overruns of the safe scheme, $safe, are not a bug: any client can
stall past its lease, but this one then never removes another's lock.
Both are on the page $folder/index.html
END
