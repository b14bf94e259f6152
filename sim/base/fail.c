/* fail.c - see fail.h. Never prints, never exits. */
#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks a text that did not fit: nothing is cut in silence. */
static void mark_cut(char *text, int wanted)
{
    if (wanted >= FAILURE_TEXT_MAX)
        memcpy(text + FAILURE_TEXT_MAX - 4, "...", 4);
}

enum fail failure_set(struct failure *failure, enum fail code, const char *format, ...)
{
    if (!failure)
        return code;
    va_list words;
    va_start(words, format);
    failure->code = code;
    mark_cut(failure->text, vsnprintf(failure->text, sizeof failure->text, format, words));
    va_end(words);
    return code;
}

enum fail failure_wrap(struct failure *failure, const char *format, ...)
{
    if (!failure)
        return FAIL_INTERNAL;
    char inner[FAILURE_TEXT_MAX];
    memcpy(inner, failure->text, sizeof inner);
    va_list words;
    va_start(words, format);
    int used = vsnprintf(failure->text, sizeof failure->text, format, words);
    va_end(words);
    if (used >= 0 && used < FAILURE_TEXT_MAX)
        used += snprintf(failure->text + used, sizeof failure->text - (size_t)used, ": %s", inner);
    mark_cut(failure->text, used);
    return failure->code;
}

const char *fail_of_temporary(int error)
{
    return error == ENOSPC || error == EDQUOT
               ? "no space is left on that disk: make room there, or set TMPDIR to a folder on "
                 "another one"
               : strerror(error);
}
