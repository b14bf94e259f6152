/* textfile.c - see textfile.h. */
#include "scenario/textfile.h"

#include "base/infile.h"
#include "base/text_place.h"

#include <stdlib.h>

/* Length of the well-formed UTF-8 character at at, 0: none. */
static int character_length(const unsigned char *at, size_t left)
{
    int length = at[0] < 0x80                    ? 1
                 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                 : 0;
    if (length == 0 || (size_t)length > left)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, and what lies behind U+10FFFF */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

enum fail textfile_check(const char *path, const char *bytes, size_t size, struct failure *failure)
{
    for (size_t i = 0; i < size;) {
        const char *at = bytes + i;
        const int length = character_length((const unsigned char *)at, size - i);
        if (length == 0 || *at == 0) {
            const struct text_place place = text_place_of(bytes, at);
            return failure_set(failure, FAIL_INPUT,
                               "%.600s:%d:%d: not a text file: the byte 0x%02x is not UTF-8 text",
                               path, place.line, place.column, (unsigned char)*at);
        }
        i += (size_t)length;
    }
    return FAIL_NONE;
}

enum fail textfile_read(const char *path, size_t bytes_max, char **bytes, size_t *size,
                        struct failure *failure)
{
    char *text;
    enum fail fail = infile_read(path, bytes_max, &text, size, failure);
    if (fail)
        return fail;
    fail = textfile_check(path, text, *size, failure);
    if (fail)
        free(text);
    else
        *bytes = text;
    return fail;
}
