#!/bin/sh
# Installs what is missing, and nothing else: setup.sh build|test|workers|browser|opinion|edn|clang|package|lintian|format|campaign|bench ...
#
# A part counts as present when what needs it works, however it came here (apt, a source build, another compiler).
# Missing parts are installed with apt, through sudo when not root. Without apt or rights: the list, and exit 69.
set -u
# Never silent for long: who waits sees that something is done.
[ -n "${STILL_AT_IT:-}" ] || exec "$(dirname "$0")/still.sh" "$0" "$@"

# part | Debian package | a command that succeeds when it is there | why
parts() {
    case "$1" in
    build) cat <<'PARTS'
cc|gcc libc6-dev|command -v ${CC:-cc}|the C compiler
hiredis|libhiredis-dev|header hiredis/async.h|client connections to Redis
libuv|libuv1-dev|header uv.h|the event loop
libyaml|libyaml-dev|header yaml.h|scenario files
jansson|libjansson-dev|header jansson.h|JSON in and out
libmicrohttpd|libmicrohttpd-dev|header microhttpd.h|Toxiproxy's interface over HTTP
openssl|libssl-dev|header openssl/ssl.h|TLS to a server behind the proxy
redis-server|redis-server|command -v redis-server|the server under test
python3|python3|command -v python3|make install writes the documents with it
PARTS
    ;;
    test) cat <<'PARTS'
cmocka|libcmocka-dev|cmocka|the C unit tests
pytest|python3-pytest|module pytest|the test suite
xdist|python3-pytest-xdist|module xdist|the test suite in several processes
yaml|python3-yaml|module yaml|the README's CI example
hypothesis|python3-hypothesis|module hypothesis|property tests
jsonschema|python3-jsonschema|module jsonschema|results against their schema
redis-cli|redis-tools|command -v redis-cli|the tests look into a server
redis-py|python3-redis|system_module redis|an unmodified lock of a library under test
PARTS
    ;;
    workers) cat <<'PARTS'
node|nodejs|command -v node|locks of npm under test
npm|npm|command -v npm|gets them
ruby|ruby|command -v ruby|locks in Ruby under test
ruby-redis|ruby-redis|ruby -e 'require "redis"'|a lock in Ruby talks through it
PARTS
    ;;
    browser) cat <<'PARTS'
chromium|chromium|command -v chromium|the HTML report in a real browser
chromedriver|chromium-driver|command -v chromedriver|drives the browser
selenium|python3-selenium|module selenium|drives the browser
PARTS
    ;;
    opinion) cat <<'PARTS'
spin|spin|command -v spin|a second opinion on the explorer
PARTS
    ;;
    edn) cat <<'PARTS'
clojure|clojure|command -v clojure|its own reader of EDN reads what is written for Knossos
PARTS
    ;;
    clang) cat <<'PARTS'
clang|clang|command -v clang|a second compiler, and libFuzzer
sanitizers|libclang-rt-dev|sanitizers|address and undefined sanitizers
PARTS
    ;;
    package) cat <<'PARTS'
debhelper|debhelper dh-python dpkg-dev build-essential|dpkg -s build-essential && command -v dh && command -v dh_python3 && command -v dpkg-buildpackage|make deb
PARTS
    ;;
    lintian) cat <<'PARTS'
lintian|lintian|command -v lintian|looks at the package that make deb makes
PARTS
    ;;
    format) cat <<'PARTS'
clang-format|clang-format|command -v clang-format|one form for all C code
PARTS
    ;;
    campaign) cat <<'PARTS'
GNU parallel|parallel|gnu_parallel|a campaign over many processes (harness/campaign.sh also does without)
PARTS
    ;;
    bench) cat <<'PARTS'
haproxy|haproxy|PATH="$PATH:/usr/sbin" command -v haproxy|what the proxy and stress are measured against
PARTS
    ;;
    *) echo "setup.sh: unknown set of parts '$1'" >&2; exit 64 ;;
    esac
}

header() {
    printf '#include <stddef.h>\n#include <%s>\n' "$1" | ${CC:-cc} -fsyntax-only -x c - 2>/dev/null
}

cmocka() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
        ${CC:-cc} -fsyntax-only -x c - 2>/dev/null
}

sanitizers() { # of both compilers
    for compiler in cc clang; do
        echo 'int main(void) { return 0; }' | $compiler -fsanitize=address,undefined -x c -o /dev/null - || return
    done
}

gnu_parallel() { # moreutils has another one of that name
    parallel --version 2>/dev/null | grep -q GNU
}

system_module() { # workers in Python run under Debian's own
    /usr/bin/python3 -c "import $1" 2>/dev/null
}

module() {
    "${PYTHON:-/usr/bin/python3}" -c "import $1" 2>/dev/null
}

missing() {
    for set in "$@"; do
        parts "$set" | while IFS='|' read -r part packages check why; do
            eval "$check" >/dev/null 2>&1 </dev/null || echo "$part|$packages|$why"
        done
    done
}

# What comes from npm: with the hashes of package-lock.json, into the build folder, running nothing of it.
npm_libraries() {
    cd "$(dirname "$0")/.." || return
    pinned=sim/worker/examples folder=${BUILD:-build}/workers
    ! cmp -s "$pinned/package-lock.json" "$folder/installed.json" || return 0
    echo "Installing with npm into $folder: what $pinned/package.json names"
    mkdir -p "$folder" && cp "$pinned/package.json" "$pinned/package-lock.json" "$folder" &&
        npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel error >/dev/null &&
        cp "$pinned/package-lock.json" "$folder/installed.json"
}

finish() { # PARTS...
    case " $* " in *" workers "*)
        npm_libraries || { echo "npm failed; needed: the packages of sim/worker/examples/package.json" >&2; exit 69; } ;;
    esac
    exit 0
}

lacking=$(missing "$@")
[ -n "$lacking" ] || finish "$@"

packages=$(echo "$lacking" | cut -d'|' -f2 | tr '\n' ' ')
echo "picklock needs what is missing here:"
echo "$lacking" | while IFS='|' read -r part package why; do
    printf '  %-14s %-22s %s\n' "$part" "($package)" "$why"
done

root=
if [ "$(id -u)" != 0 ]; then
    root=sudo
fi
if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! command -v sudo >/dev/null; }; then
    echo "No apt-get here, or no right to use it: install the packages above, then try again." >&2
    exit 69
fi
echo "Installing with apt:${root:+ (through sudo)} $packages"
# shellcheck disable=SC2086 # several packages, several words
if ! $root apt-get update -q >/dev/null ||
    ! $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages >/dev/null; then
    echo "apt-get failed; needed: $packages" >&2
    exit 69
fi
lacking=$(missing "$@")
if [ -n "$lacking" ]; then
    echo "still missing after the installation: $(echo "$lacking" | cut -d'|' -f1 | tr '\n' ' ')" >&2
    exit 69
fi
finish "$@"
