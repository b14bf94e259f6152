/* memory.c - see memory.h. */
#include "base/memory.h"

#include "base/fail.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void end_without_memory(size_t count, size_t size)
{
    fprintf(stderr, "picklock: out of memory (asked for %zu x %zu bytes)\n", count, size);
    _Exit(FAIL_INTERNAL);
}

/* What is so small is zeroed here: calloc() of glibc up to 2.40 passes by the pieces that were
 * freed last, and which malloc() has at hand. */
enum { SMALL = 1024 };

void *memory_new(size_t count, size_t size)
{
    const size_t bytes = count <= SMALL && size <= SMALL ? count * size : SIZE_MAX;
    const bool is_small = bytes > 0 && bytes <= SMALL;
    void *made = is_small ? malloc(bytes) : calloc(count ? count : 1, size ? size : 1);
    if (!made)
        end_without_memory(count, size);
    return is_small ? memset(made, 0, bytes) : made;
}

void *memory_resize(void *old, size_t count, size_t size)
{
    void *made = reallocarray(old, count ? count : 1, size ? size : 1);
    if (!made)
        end_without_memory(count, size);
    return made;
}

/* --- what grows large --- */

/* LARGE: half a huge page, for what has grown so far will soon fill one. */
enum {
    HUGE_PAGE = 2 << 20,
    LARGE = HUGE_PAGE / 2,
    COLLAPSE = 25 /* MADV_COLLAPSE: now, not some time; Linux 6.1, and not in older headers */
};

static size_t pages(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

/* Where malloc() has its small pieces, as the system says; false: it does not. */
static bool small_pieces_lie(uintptr_t *begin, uintptr_t *end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool is_heap = false;
    while (maps && !is_heap && fgets(line, sizeof line, maps))
        is_heap = strstr(line, "[heap]") && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, begin, end) == 2;
    if (maps)
        (void)fclose(maps);
    return is_heap;
}

void memory_use_huge_pages(void)
{
    uintptr_t begin, end;
    if (!small_pieces_lie(&begin, &end))
        return;
    begin = (begin + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    end &= ~(uintptr_t)(HUGE_PAGE - 1);
    if (begin >= end)
        return;
    madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* wishes, both */
    madvise((void *)begin, end - begin, COLLAPSE);
}

static void unmap_pages(unsigned char *made, size_t bytes)
{
    if (bytes == 0)
        return;
    int failed = munmap(made, bytes);
    assert(!failed);
}

static void *map(size_t bytes, int how)
{
    void *made =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
    if (made == MAP_FAILED)
        end_without_memory(bytes, 1);
    return made;
}

/* It will soon be written, all of it: its pages come in one go, not one by one. */
void *memory_piece(size_t bytes)
{
    return map(bytes, MAP_POPULATE);
}

void memory_piece_drop(void *piece, size_t bytes)
{
    unmap_pages(piece, piece ? bytes : 0);
}

/* Fresh pages that begin where a huge one can. */
static unsigned char *map_pages(size_t bytes)
{
    unsigned char *made = map(bytes + HUGE_PAGE, 0);
    size_t before = (HUGE_PAGE - (uintptr_t)made % HUGE_PAGE) % HUGE_PAGE;
    unmap_pages(made, before);
    unmap_pages(made + before + bytes, HUGE_PAGE - before);
    madvise(made + before, bytes, MADV_HUGEPAGE); /* a wish: without it, it is only slower */
    return made + before;
}

static size_t product(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        end_without_memory(count, size);
    return bytes;
}

void *memory_extend(void *old, size_t old_count, size_t count, size_t size)
{
    size_t was = old ? product(old_count, size) : 0, bytes = product(count, size);
    assert(bytes >= was);
    if (bytes < LARGE) {
        unsigned char *made = memory_resize(old, count, size);
        memset(made + was, 0, bytes - was);
        return made;
    }
    if (was >= LARGE && pages(was) == pages(bytes))
        return old;
    unsigned char *made = map_pages(pages(bytes));
    if (was >= LARGE) {
        int how = MREMAP_MAYMOVE | MREMAP_FIXED;
        if (mremap(old, pages(was), pages(bytes), how, made) == MAP_FAILED)
            end_without_memory(count, size);
        madvise(made, pages(bytes), MADV_HUGEPAGE);
    } else if (was > 0) {
        memcpy(made, old, was);
        free(old);
    }
    return made;
}

void memory_drop(void *old, size_t count, size_t size)
{
    if (!old || product(count, size) < LARGE)
        free(old);
    else
        unmap_pages(old, pages(product(count, size)));
}

char *memory_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        end_without_memory(strlen(text) + 1, 1);
    return copy;
}

char *memory_bytes(const char *bytes, size_t length)
{
    char *copy = memory_new(length + 1, 1);
    memcpy(copy, bytes, length);
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
