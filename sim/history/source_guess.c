/* source_guess.c - which format a file seems to have, for who named another one. */
#include "history/source.h"

#include "base/infile.h"

#include <string.h>

enum { LOOKED_AT_BYTES = 4096 };

static const char *past_comments(const char *at, bool *is_edn)
{
    for (;;) {
        at += strspn(at, " \t\r\n,");
        if (*at != ';')
            return at;
        *is_edn = true;
        at += strcspn(at, "\n");
    }
}

/* Of what the text begins with: a list and tags are passed over. */
static enum source_format guess(const char *text)
{
    bool is_edn = false;
    const char *at = past_comments(text, &is_edn);
    if (*at == '[' || *at == '(')
        at = past_comments(at + 1, &is_edn);
    if (*at == '#')
        at = past_comments(at + strcspn(at, "{ \n"), &is_edn);
    if (*at != '{')
        return SOURCE_COUNT;
    at = past_comments(at + 1, &is_edn);
    if (*at == ':')
        return SOURCE_JEPSEN_EDN;
    if (*at != '"' || is_edn)
        return SOURCE_COUNT;
    if (strstr(at, "\"picklock.history/"))
        return SOURCE_OURS;
    return strstr(at, "\"process\"") && strstr(at, "\"type\"") ? SOURCE_JEPSEN_JSON : SOURCE_COUNT;
}

enum source_format history_source_guess(const char *path)
{
    char text[LOOKED_AT_BYTES + 1];
    infile_beginning(path, text, sizeof text);
    return guess(text);
}
