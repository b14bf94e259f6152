#!/bin/sh
# `make install`: install.sh DESTDIR PREFIX, from the folder that was built in (BUILD).
#
#   bin/picklock                       the program; it finds the rest by where it lies itself
#   lib/picklock/*.so                  what it preloads into servers and workers
#   share/pkgconfig/picklock.pc        and include/picklock: for a scheme of your own. Of a prefix with a blank, pkg-config --cflags
#                                      prints what make and eval understand; a script takes "$(pkg-config --variable=includedir picklock)"
#   share/picklock                     scenarios, schemas, workers to start from, the skeleton of a scheme, example histories and
#                                      reports, the action for GitHub, campaign.sh
#   lib/python3.x/dist-packages        the Python package, and the pytest plug-in
#   share/man/man1, share/doc/picklock, and what bash, zsh and fish complete
#   share/picklock/installed           what was put where, and which folders were made: `make uninstall` (uninstall.sh) reads it
#
# All of it is made in a folder of its own first: what fails has installed nothing.
set -eu
cd "$(dirname "$0")/.."
: "${BUILD:=build}"
[ $# -eq 2 ] || { echo "usage: install.sh DESTDIR PREFIX" >&2; exit 64; }
case $2 in /*) ;; *) echo "install.sh: PREFIX wants a path from the root, such as /usr/local, not '$2'" >&2; exit 64 ;; esac
destination=$1
prefix=$(realpath -sm "$2")
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3) || {
    echo "install.sh: the documents are written by a program in Python: install python3 (make setup does)" >&2
    exit 69
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/root
to=$stage$prefix
documents=$(printf '%s' "$prefix/share/doc/picklock" | sed 's/[\\&,]/\\&/g')
program=$BUILD/picklock
version=$("$program" --version)
version=${version#picklock }

put() { # MODE TARGET FILE...
    mode=$1 target=$2
    shift 2
    install -d -m 755 "$target"
    install -m "$mode" "$@" "$target"
}

# A page that could not be printed whole is not installed. The documents that it names are below the prefix.
print() { # TARGET COMMAND...
    target=$1
    shift
    install -d -m 755 "$(dirname "$target")"
    "$program" "$@" > "$target.new" || { rm -f "$target.new"; exit 1; }
    sed -i "s,sim/[A-Za-z/]*\.md,$documents/&,g" "$target.new"
    chmod 644 "$target.new"
    mv "$target.new" "$target"
}

put 755 "$to/bin" "$program"
put 644 "$to/lib/picklock" "$BUILD/picklock-clock.so" "$BUILD/picklock-time.so"

# The headers that a scheme includes, and those that they include.
for header in $(${CC:-cc} -MM -Isim sim/schemes/skeleton.c | tr -d '\\' | tr ' ' '\n' | grep '^sim/.*\.\(h\|def\)$'); do
    put 644 "$to/include/picklock/$(dirname "${header#sim/}")" "$header"
done
install -d -m 755 "$to/share/pkgconfig"
cat > "$to/share/pkgconfig/picklock.pc" <<PC
prefix=$(printf '%s' "$prefix" | sed 's/#/\\#/g')
includedir=\${prefix}/include/picklock

Name: picklock
Description: the step interface of lock schemes that picklock loads from a shared object
Version: $version
Cflags: -I"\${includedir}"
PC
chmod 644 "$to/share/pkgconfig/picklock.pc"

put 644 "$to/share/doc/picklock" LICENSE
"$python" harness/install_pages.py "$to" "$prefix"

print "$to/share/man/man1/picklock.1" man
for command in $("$program" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    print "$to/share/man/man1/picklock-$command.1" man "$command"
done
print "$to/share/bash-completion/completions/picklock" completion bash
zsh=site-functions
[ "$prefix" != /usr ] || zsh=vendor-completions # Debian's own place
print "$to/share/zsh/$zsh/_picklock" completion zsh
print "$to/share/fish/vendor_completions.d/picklock.fish" completion fish

# The Python package, and that pytest finds its plug-in by itself: where Debian's Python looks.
python=$prefix/lib/python3/dist-packages
[ "$prefix" = /usr ] || python=$prefix/lib/$(basename "$(readlink -f "$(command -v /usr/bin/python3 || command -v python3 || echo python3)")")/dist-packages
info=$stage$python/picklock-$version.dist-info
put 644 "$stage$python/picklock" harness/picklock/*.py
install -d -m 755 "$info"
printf 'Metadata-Version: 2.1\nName: picklock\nVersion: %s\nSummary: pytest plug-in and package of the tester of Redis locks\n' "$version" > "$info/METADATA"
printf '[pytest11]\npicklock.pytest_plugin = picklock.pytest_plugin\n' > "$info/entry_points.txt"
chmod 644 "$info"/*

# What an earlier version put there stays known.
list=$destination$prefix/share/picklock/installed
new=$work/new
[ ! -e "$list" ] || cat "$list" > "$new"
install -d -m 755 "$destination/"
(cd "$stage" && find . -mindepth 1 -type d | LC_ALL=C sort) | while read -r folder; do
    folder=${folder#.}
    [ -d "$destination$folder" ] || { install -d -m 755 "$destination$folder" && echo "$folder/" >> "$new"; }
done
(cd "$stage" && find . -type f) | sed 's/^\.//' >> "$new"
tar -C "$stage" -c . | tar -C "$destination/" -x -p --no-same-owner --keep-directory-symlink --no-overwrite-dir
LC_ALL=C sort -u "$new" > "$list"
chmod 644 "$list"

echo "picklock $version is in $destination$prefix; \`picklock doctor\` looks at this machine"
