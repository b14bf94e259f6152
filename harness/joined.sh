#!/usr/bin/env bash
# joined.sh TEST...: the main() of the program that all of those are (JOINED in the Makefile), written out.
set -euo pipefail
printf '#include <stdio.h>\n#include <string.h>\n\n'
printf 'int main_%s(void);\n' "$@"
printf '\nstatic const struct {\n    const char *name;\n    int (*main)(void);\n} tests[] = {\n'
for test; do printf '    {"%s", main_%s},\n' "$test" "$test"; done
cat <<'END'
};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    for (size_t i = 0; slash && i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(tests[i].name, slash + 1))
            return tests[i].main();
    fprintf(stderr, "%s: not the name of a test\n", argc > 0 ? argv[0] : "");
    return 64;
}
END
