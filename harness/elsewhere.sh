#!/usr/bin/env bash
# The tree in a folder whose name has a blank and a colon: cloned there, built there, tested there.
#
#   harness/elsewhere.sh             the whole suite (a part of `make check-long`)
#   harness/elsewhere.sh TEST...     arguments for pytest, run in the clone (a part of CI)
#
# What is not committed yet comes along. make itself takes no blank in a target, so in the Makefile all paths are relative.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-/usr/bin/python3}
unset BUILD MAKEFLAGS MFLAGS MAKELEVEL

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT TERM
there="$kept/sp ace:co"
mkdir "$there"
git ls-files -z --cached --others --exclude-standard | # what is there of it
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    xargs -0 cp --parents -t "$there"
cd "$there"
echo "in $there:"
if [ $# = 0 ]; then
    make -s test PYTHON="$PYTHON"
else
    make -s -j2 UNITY=yes CFLAGS='-O0 -g' build/picklock build/test/test_report # it is about paths, not about speed
    PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m pytest -n "${JOBS:-3}" --dist loadgroup -c harness/pytest.ini --rootdir harness "$@"
fi
