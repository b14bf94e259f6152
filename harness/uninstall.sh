#!/bin/sh
# `make uninstall`: uninstall.sh DESTDIR PREFIX. Removes what install.sh put there, and of the folders that it made those that are empty then.
set -eu
[ $# -eq 2 ] || { echo "usage: uninstall.sh DESTDIR PREFIX" >&2; exit 64; }
case $2 in /*) ;; *) echo "uninstall.sh: PREFIX wants a path from the root, such as /usr/local, not '$2'" >&2; exit 64 ;; esac
destination=$1
prefix=$(realpath -sm "$2")
list=$destination$prefix/share/picklock/installed
[ -e "$list" ] || { echo "uninstall.sh: $list is not there: \`make install\` with this PREFIX and DESTDIR put nothing here" >&2; exit 69; }
if grep -qv '^/' "$list" || grep -q '/\.\./' "$list"; then
    echo "uninstall.sh: $list was not written by \`make install\`" >&2
    exit 64
fi

# Python keeps what it has compiled beside a module.
grep -v '/$' "$list" | while read -r file; do
    rm -f "$destination$file"
    case $file in *.py)
        compiled=$destination${file%/*}/__pycache__
        name=${file##*/}
        rm -f "$compiled/${name%.py}".*.pyc
        rmdir "$compiled" 2>/dev/null || true ;;
    esac
done
folders=$(grep '/$' "$list" | LC_ALL=C sort -r)
rm -f "$list"
printf '%s\n' "$folders" | while read -r folder; do
    [ ! -d "$destination$folder" ] || [ -z "$folder" ] || rmdir --ignore-fail-on-non-empty "$destination$folder"
done
echo "picklock is gone from $destination$prefix"
