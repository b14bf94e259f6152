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
echo "A naive and a safe scheme, 50 clients, ten seconds each, with stalls, late and lost messages, crashes:"
$alone "$picklock" stress --scheme set-nx-ex-del,set-nx-px-cad --lease 1s --duration 10s --seed 1
status=$?
# 1: the naive scheme was caught, which is what the demonstration is about.
[ "$status" = 1 ] || exit "$status"
