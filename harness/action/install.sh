#!/usr/bin/env bash
# Makes the program run.sh calls: one that is installed, else it is built from the tree that the action lies in.
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v picklock >/dev/null; then
    picklock doctor
    exit
fi
make setup
make -j"$(nproc)"
build/picklock doctor
