#!/usr/bin/env bash
# bare_root.sh package|demo|test [FOLDER]: what picklock's pages promise of a fresh machine, in a bare Debian root that debootstrap makes.
#
#   package   the package that `make deb` makes, alone: apt installs it, and somebody's project of a worker, a scenario, a baseline and
#             pytest runs from nothing
#   demo      this tree, copied: make demo
#   test      this tree, copied: make test
#
# FOLDER holds the root, and is kept if it is there already; else it is made, and removed at the end. As root only.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?bare_root.sh package|demo|test [FOLDER]}
[ "$(id -u)" = 0 ] || { echo "bare_root.sh: a root folder is made by root" >&2; exit 69; }
command -v debootstrap >/dev/null || { echo "bare_root.sh needs debootstrap" >&2; exit 69; }

# What is mounted goes with this process, whatever ends it.
if [ -z "${BARE_ROOT_UNSHARED:-}" ]; then
    BARE_ROOT_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
root=${2:-$(mktemp -d)/debian}
if [ ! -d "$root/usr" ]; then
    [ -n "${2:-}" ] || trap 'umount -l "$root/proc" "$root/dev" 2>/dev/null; rm -rf --one-file-system "$(dirname "$root")"' EXIT
    mkdir -p "$root"
    debootstrap --variant=minbase bookworm "$root" > /dev/null
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/"
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" # no service starts in it
chmod 755 "$root/usr/sbin/policy-rc.d"

inside() { # what a fresh machine has of an environment; all that is ours lies in /srv there
    env -i HOME=/srv PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" /bin/bash -euo pipefail -c "$1"
}

copy_tree() {
    rm -rf "$root/srv/picklock"
    mkdir -p "$root/srv/picklock"
    git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$root/srv/picklock"
}

case $what in
demo | test)
    copy_tree
    inside "apt-get update -q > /dev/null && apt-get install -y -q --no-install-recommends make > /dev/null; cd /srv/picklock && make $what" ;;
package)
    make deb
    rm -f "$root"/srv/picklock_*.deb
    cp "${BUILD:-build}"/picklock_*.deb "$root/srv/"
    rm -rf "$root/srv/action" && cp -r harness/action "$root/srv/"
    # shellcheck disable=SC2016 # it is expanded in there
    inside '
        apt-get update -q > /dev/null
        dpkg --purge picklock > /dev/null 2>&1 || true # of an earlier turn
        cd /srv && action/install.sh > /dev/null # the step of a pipeline that has the package beside it
        apt-get install -y -q python3-redis > /dev/null
        picklock --version && picklock doctor
        rm -rf /srv/project && mkdir /srv/project && cd /srv/project
        cp /usr/share/picklock/workers/redis_py_lock.py my_lock.py
        cp /usr/share/picklock/scenarios/expired-lease-double-delete.yaml .
        play() { picklock test "/usr/bin/python3 my_lock.py" expired-lease-double-delete.yaml --fault none,slow-work,stall --clients 2 --rounds 1 "$@"; }
        echo "== its known violations are accepted, and nothing else"
        play --baseline known.txt --update-baseline > /dev/null
        grep -v "^#" known.txt
        play --baseline known.txt | sed -n "/^Verdict/,/^$/p"
        printf "[pytest]\npicklock_lock = my_lock.py\n" > pytest.ini
        printf "import picklock\n\ndef test_lock():\n    picklock.explore(\"my_lock.py\", fault=[\"none\", \"slow-work\"], clients=2).assert_safe(except_for=[\"overrun\"])\n" > test_lock.py
        echo "== pytest: a scenario and a test"
        /usr/bin/python3 -m pytest -q
        echo "== the same with a naive lock is refused by all three"
        cp /usr/share/picklock/workers/naive_lock.py my_lock.py
        if play --baseline known.txt > /dev/null; then echo "the naive lock passed"; exit 1; fi
        if /usr/bin/python3 -m pytest -q > pytest.out; then echo "the naive lock passed"; exit 1; fi
        grep "removes B" pytest.out | tail -1
        [ "$(grep -c "^FAILED" pytest.out)" = 2 ]
        echo "== all as promised"' ;;
*) echo "bare_root.sh: package, demo or test, not '$what'" >&2; exit 64 ;;
esac
