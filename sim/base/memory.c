/* memory.c - see memory.h. */
#include "base/memory.h"

#include "base/fail.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_without_memory(size_t count, size_t size)
{
    fprintf(stderr, "picklock: out of memory (asked for %zu x %zu bytes)\n", count, size);
    _Exit(FAIL_INTERNAL);
}

void *memory_new(size_t count, size_t size)
{
    void *made = calloc(count ? count : 1, size ? size : 1);
    if (!made)
        end_without_memory(count, size);
    return made;
}

void *memory_resize(void *old, size_t count, size_t size)
{
    void *made = reallocarray(old, count ? count : 1, size ? size : 1);
    if (!made)
        end_without_memory(count, size);
    return made;
}

char *memory_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        end_without_memory(strlen(text) + 1, 1);
    return copy;
}

char *memory_format(const char *format, ...)
{
    va_list words;
    char *text = NULL;
    va_start(words, format);
    int size = vasprintf(&text, format, words);
    va_end(words);
    if (size < 0)
        end_without_memory(1, SIZE_MAX);
    return text;
}
