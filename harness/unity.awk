# unity.awk FOLDER FILE...: groups files of sim/ that the compiler may read one behind the other, as one: at most eight of one
# folder, of which no two have a name of their own in common (what is static, a macro, a type, a constant). FOLDER/PART/N.c
# includes them; it is left alone where it says so already. The groups are printed.
BEGIN {
    folder = ARGV[1]
    ARGV[1] = ""
}

function place(    part, group, name, free) {
    part = file
    sub(/\/[^\/]*$/, "", part)
    for (group = 1; group <= groups[part]; group++) {
        free = size[part, group] < 8
        for (name in names) if ((part, group, name) in taken) free = 0
        if (free) break
    }
    if (group > groups[part]) groups[part] = group
    size[part, group]++
    text[part "/" group] = text[part "/" group] "#include \"" file "\"\n"
    for (name in names) {
        taken[part, group, name]
        delete names[name]
    }
}

FNR == 1 {
    if (file) place()
    file = FILENAME
    sub(/^sim\//, "", file)
    constants = 0
}
/^static / && match($0, /[A-Za-z0-9_]+ ?(\[|\(|=|;|$)/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/[^A-Za-z0-9_].*/, "", name)
    names[name]
}
/^#define / {
    sub(/\(.*/, "", $2)
    names[$2]
}
/^(static )?(const )?(struct|union|enum) [a-z0-9_]+ \{/ { names[$0 ~ /^(static|const)/ ? $3 : $2] }
/^(static )?(const )?enum .*\{/ { constants = 1 }
constants {
    rest = $0
    while (match(rest, /[A-Z][A-Z0-9_]+/)) {
        names[substr(rest, RSTART, RLENGTH)]
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (/\}/) constants = 0
}

END {
    place()
    for (part in groups) folders = folders " '" folder "/" part "'"
    system("mkdir -p" folders)
    for (group in text) {
        made = folder "/" group ".c"
        there = ""
        while ((getline line < made) > 0) there = there line "\n"
        close(made)
        if (there != text[group]) printf "%s", text[group] > made
        close(made)
        print made
    }
}
