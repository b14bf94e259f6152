#!/usr/bin/env bash
# Makes the program run.sh calls: one that is installed; else a package picklock_*.deb that lies where the job runs; else it is built from the
# tree that the action lies in. Where there is none of them, it ends with 69 and says so.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v picklock >/dev/null; then
    shopt -s nullglob
    packages=("$PWD"/picklock_*.deb)
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    case ${#packages[@]} in
    0)
        if ! [ -e "$tree/sim/base/version.h" ]; then
            echo "::error title=picklock::no picklock: install it in a step before, put its package (picklock_*.deb) into $PWD, or have its whole tree as a submodule"
            exit 69
        fi
        cd "$tree"
        make setup
        make -j"$(nproc)"
        build/picklock doctor
        exit ;;
    1)
        "${as_root[@]}" apt-get update -q
        "${as_root[@]}" apt-get install -y -q "${packages[0]}" ;;
    *)
        echo "::error title=picklock::${#packages[@]} packages in $PWD, which want to be one: ${packages[*]##*/}"
        exit 64 ;;
    esac
fi
picklock doctor
