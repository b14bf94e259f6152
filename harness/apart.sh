#!/bin/sh
# apart.sh OBJECT UNIT COMPILER FLAG...: where the compiler does not take the files of a unit (unity.awk) as one, each is compiled for
# itself, and one object is made of them, which rests on the same headers. Said is what is wrong with a file, or else with the unit.
set -eu
made=$1
unit=$2
shift 2
parts=
for file in $(sed 's/#include "\(.*\)"/\1/' "$unit"); do
    part=${made%.o}-$(basename "$file" .c).o
    "$@" -c -o "$part" "sim/$file"
    parts="$parts $part"
done
"$@" -fsyntax-only "$unit" 2>&1 | sed -n '/error:/{s/^/not as one: /;p;q;}' >&2
"$@" -E -o /dev/null -MF "${made%.o}.d" -MT "$made" "$unit"
ld -r -o "$made" $parts
