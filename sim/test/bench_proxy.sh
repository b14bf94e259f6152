#!/bin/sh
# bench_proxy.sh - what the proxy costs: redis-benchmark directly, through picklock proxy, and through HAProxy where it
# is installed; interleaved, so that a noisy machine is noisy for all.
#
#   sim/test/bench_proxy.sh [ROUNDS [REQUESTS]]     BUILD=DIR names another build folder
#
# Prints, for each number of commands in a pipeline: the median of requests per second (and its share of direct), and
# the CPU seconds that the relay spent on a million requests, which is the steadier figure.
set -eu
rounds=${1:-5} requests=${2:-200000} build=${BUILD:-build}
picklock=$build/picklock
[ -x "$picklock" ] || { echo "bench_proxy.sh: no $picklock; run make first" >&2; exit 69; }
for tool in redis-server redis-benchmark; do
    command -v $tool >/dev/null || { echo "bench_proxy.sh: no $tool" >&2; exit 69; }
done
folder=$(mktemp -d)
pids=
finish() {
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

free_port() {
    /usr/bin/python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'
}
until_it_answers() {
    for _ in $(seq 100); do
        redis-cli -p "$1" PING 2>/dev/null | grep -q PONG && return
        sleep 0.05
    done
    echo "bench_proxy.sh: nothing answers on port $1" >&2
    exit 69
}
its_port() { # FILE PID: waits until that proxy has printed its port there
    for _ in $(seq 200); do
        [ ! -s "$1" ] || return 0
        kill -0 "$2" 2>/dev/null || break
        sleep 0.05
    done
    cp "$1.err" "$folder/out"
    failed "picklock proxy"
}
failed() { # WHAT: shows what it printed
    echo "bench_proxy.sh: $1 failed:" >&2
    tail -n 20 "$folder/out" >&2
    exit 70
}
# user + system time of a process, in ticks
ticks() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$1/stat"; }
hertz=$(getconf CLK_TCK)

direct=$(free_port)
redis-server --port "$direct" --bind 127.0.0.1 --save "" --appendonly no >/dev/null &
pids="$pids $!"
until_it_answers "$direct"

"$picklock" proxy --upstream 127.0.0.1:"$direct" >"$folder/port" 2>"$folder/port.err" &
picklock_pid=$!
pids="$pids $picklock_pid"
its_port "$folder/port" "$picklock_pid"
picklock_port=$(cat "$folder/port")
until_it_answers "$picklock_port"
paths="direct picklock"

# The same with every request shown to a rule, which matches none: what matching costs.
echo 'never: command=NOSUCH -> drop-request' >"$folder/rules"
"$picklock" proxy --upstream 127.0.0.1:"$direct" --rules "$folder/rules" >"$folder/rules.port" 2>"$folder/rules.port.err" &
rules_pid=$!
pids="$pids $rules_pid"
its_port "$folder/rules.port" "$rules_pid"
rules_port=$(cat "$folder/rules.port")
paths="$paths rules"

if command -v haproxy >/dev/null; then
    haproxy_port=$(free_port)
    cat >"$folder/haproxy.cfg" <<EOF
global
    nbthread 1
    maxconn 4000
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend in
    bind 127.0.0.1:$haproxy_port
    default_backend out
backend out
    server redis 127.0.0.1:$direct
EOF
    haproxy -q -db -f "$folder/haproxy.cfg" 2>/dev/null &
    haproxy_pid=$!
    pids="$pids $haproxy_pid"
    until_it_answers "$haproxy_port"
    paths="$paths haproxy"
else
    echo "no haproxy here: compared with direct only"
fi

# One run: appends "requests/s cpu-s/million" to $folder/PATH.DEPTH
measure() {
    path=$1 depth=$2
    eval "port=\${${path}_port:-$direct} pid=\${${path}_pid:-}"
    before=0
    [ -z "$pid" ] || before=$(ticks "$pid")
    # redis-benchmark ends with 0, too, when it gives up half-way: both lines must be there
    redis-benchmark -p "$port" -t set,get -c 50 -P "$depth" -n "$requests" --csv >"$folder/out" 2>&1 ||
        failed "redis-benchmark on the path '$path'"
    rate=$(awk -F'"' '/^"(SET|GET)"/ && $4 > 0 {inverse += 1 / $4; n++} END {if (n == 2) printf "%.0f", n / inverse}' "$folder/out")
    [ -n "$rate" ] || failed "redis-benchmark on the path '$path'"
    cpu=0
    [ -z "$pid" ] || cpu=$(awk -v t=$(($(ticks "$pid") - before)) -v hz="$hertz" -v n="$requests" \
        'BEGIN {printf "%.2f", t / hz / (2 * n) * 1e6}')
    echo "$rate $cpu" >>"$folder/$path.$depth"
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

for depth in 1 16; do
    for _ in $(seq "$rounds"); do
        for path in $paths; do measure "$path" "$depth"; done
    done
done
printf '%-10s %5s %12s %8s %22s\n' path -P "requests/s" direct "CPU-s per million"
for depth in 1 16; do
    base=$(cut -d' ' -f1 "$folder/direct.$depth" | median)
    for path in $paths; do
        rate=$(cut -d' ' -f1 "$folder/$path.$depth" | median)
        cpu=$(cut -d' ' -f2 "$folder/$path.$depth" | median)
        [ "$path" != direct ] || cpu=-
        printf '%-10s %5s %12s %7s%% %22s\n' "$path" "$depth" "$rate" \
            "$(awk -v a="$rate" -v b="$base" 'BEGIN {printf "%.0f", 100 * a / b}')" "$cpu"
    done
done
