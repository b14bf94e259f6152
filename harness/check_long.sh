#!/usr/bin/env bash
# `make check-long`: the long forms of what CI does in short, some hours. BUILD=DIR names another build folder.
set -uo pipefail
cd "$(dirname "$0")/.."
. harness/parts.sh

part "setup"            harness/setup.sh build test browser opinion edn clang format package lintian
part "clang"            make clang
part "sanitizers"       make sanitised SANITISED_RUNS=300 SANITISED_SAMPLE=1 SANITISED_SKIPS=
for turn in 1 2 3 4 5 6 7 8 9 10; do
    part "tests, turn $turn" make test PICKLOCK_TURN=$turn
done
part "asked: C steps"    env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking"
part "asked: clocks"     env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking_clocks"
part "asked: extends"    env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking_extend"
part "asked: classes"    env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking_classes"
part "asked: replays"    env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking_replay"
part "asked: ends"       env PICKLOCK_LONG=1 "${BUILD:-build}/test/test_asking_ends"
part "stress: both ways in" env PICKLOCK_LONG=1 harness/units.sh test_live_stress_strikes test_live_stress test_live_stress_outages
part "tests, long forms" env PICKLOCK_LONG=1 PICKLOCK_EXAMPLES=1000 "${PYTHON:-python3}" -m pytest -q -s -c harness/pytest.ini --rootdir harness --ignore harness/test_units.py harness
# Every cell, and ten times the walks of `make test`.
part "explorer"         env PICKLOCK_SAMPLE=1 PICKLOCK_RUNS=1500 harness/units.sh test_explore_walks test_partial_order test_explore_reductions test_explore_sections test_mutants test_random \
    test_bfs test_fallback test_lower_bound test_sleep_sets test_live
part "random schemes"   env PICKLOCK_RUNS=30000 PICKLOCK_SEED="$(date +%s)" harness/units.sh test_random_schemes
part "selftest"         "${BUILD:-build}/picklock" selftest --histories 20000000
part "checks, random"   env PICKLOCK_RUNS=1000000 PICKLOCK_SEED="$(date +%s)" harness/units.sh test_checks_random
part "checks, engines"  env PICKLOCK_RUNS=1000000 PICKLOCK_SEED="$(date +%s)" harness/units.sh test_checks_engines
part "blank in path"    harness/elsewhere.sh
part "package, bare root" harness/bare_root.sh package
part "demo, bare root"  harness/bare_root.sh demo
part "determinism"      make determinism
for seed in 1 2 3; do
    part "fuzz, seed $seed"  make fuzz FUZZ_INPUTS=50000 FUZZ_SEED=$seed
done
part "libFuzzer"        make libfuzzer FUZZ_SECONDS=300
part "mutations"        make mutations
part "10 000 clients"   harness/many_clients.sh "${BUILD:-build}/picklock"
part "falsealarm"       make falsealarm FALSEALARM="--verdicts 10000 --seed $(date +%s)"
part "falsealarm, short" make falsealarm FALSEALARM="--verdicts 10000 --short --seed $(date +%s)"
parts_end 0
