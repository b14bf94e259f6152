/* names.c - see names.h. */
#include "base/names.h"

#include <string.h>

int names_row(const char *const *names, size_t stride, size_t count, const char *name)
{
    const char *at = (const char *)names;
    for (size_t i = 0; i < count; i++, at += stride) {
        const char *one = *(const char *const *)at;
        if (one && strcmp(one, name) == 0)
            return (int)i;
    }
    return -1;
}
