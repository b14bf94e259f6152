/* shell.c - see shell.h. */
#include "base/shell.h"

#include "base/memory.h"

#include <string.h>

/* Whatever stands here means nothing to a shell. */
static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

char *shell_word(const char *word)
{
    if (*word && !word[strspn(word, plain)])
        return memory_text(word);
    size_t quotes = 0;
    for (const char *at = word; *at; at++)
        quotes += *at == '\'';
    char *made = memory_new(strlen(word) + 3 * quotes + 3, 1), *to = made;
    *to++ = '\'';
    for (const char *at = word; *at; at++) {
        if (*at == '\'') { /* ends, a quote by itself, begins again */
            memcpy(to, "'\\'", 3);
            to += 3;
        }
        *to++ = *at;
    }
    *to++ = '\'';
    *to = 0;
    return made;
}
