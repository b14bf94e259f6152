#!/bin/sh
# `make deb`: a copy of the sources with debian/ (harness/debian) at its top, built into BUILD/picklock_VERSION_ARCH.deb.
set -eu
cd "$(dirname "$0")/.."
: "${BUILD:=build}"
version=$(sed -n 's/.*PICKLOCK_VERSION "\(.*\)".*/\1/p' sim/base/version.h)
[ -n "$version" ] || { echo "deb.sh: sim/base/version.h has no version" >&2; exit 70; }

stage=$BUILD/deb
rm -rf "$stage"
mkdir -p "$stage/picklock"
tar -c --exclude=./build --exclude=./.git --exclude="./$BUILD" --exclude=./reports/runs --exclude=__pycache__ . | tar -x -C "$stage/picklock"
cp -r harness/debian "$stage/picklock/debian"
cat > "$stage/picklock/debian/changelog" <<LOG
picklock ($version) unstable; urgency=low

  * As of the sources of this version.

 -- the picklock authors <picklock@picklock.invalid>  $(date -uR -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y sim/base/version.h)}")
LOG
(cd "$stage/picklock" && env -u MAKEFLAGS -u MAKELEVEL -u BUILD dpkg-buildpackage -b -us -uc) > "$stage/log" 2>&1 ||
    { tail -20 "$stage/log" >&2; echo "deb.sh: the package was not built; all of it is in $stage/log" >&2; exit 70; }
mv "$stage"/picklock_*.deb "$BUILD/"
rm -rf "$stage"
ls "$BUILD"/picklock_"$version"_*.deb
