#!/bin/sh
# What `make demo` shows: every scenario on a real redis-server, then a naive and a safe scheme under stress.
# Ends with 0 when the scenarios are as expected, the naive scheme was caught and the safe one was not.
set -u
picklock=${1:-build/picklock}

echo "Every scenario, on a real redis-server:"
"$picklock" run || exit $?

echo
echo "A naive and a safe scheme, 50 clients each, ten seconds in all, with stalls, late and lost messages, crashes:"
"$picklock" stress --scheme set-nx-ex-del --duration 5s --seed 1
naive=$?
"$picklock" stress --scheme set-nx-px-cad --lease 1s --duration 5s --seed 1
safe=$?
if [ "$naive" != 1 ] || [ "$safe" != 0 ]; then
    echo "demo: expected the naive scheme to be caught (1, got $naive) and the safe one to hold (0, got $safe)" >&2
    exit 1
fi
