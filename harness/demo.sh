#!/bin/sh
# What `make demo` shows: every scenario on a real redis-server, then a naive and a safe scheme under stress.
# Ends with 0 when the scenarios are as expected and the stress has found the naive scheme's bug.
set -u
picklock=${1:-build/picklock}

echo "Every scenario, on a real redis-server:"
"$picklock" run || exit $?

echo
echo "A naive and a safe scheme, 50 clients, ten seconds each, with stalls, late and lost messages, crashes:"
"$picklock" stress --scheme set-nx-ex-del,set-nx-px-cad --lease 1s --duration 10s --seed 1
status=$?
# 1: the naive scheme was caught, which is what the demonstration is about.
[ "$status" = 1 ] || exit "$status"
