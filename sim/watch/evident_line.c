/* evident_line.c - a connection's evident commands on their way: a ring that grows. */
#include "watch/internal.h"

#include "base/memory.h"

#include <stdlib.h>

enum { SIZE_AT_FIRST = 16 };

void evident_line_grow(struct evident_line *line)
{
    struct evident_line larger = *line;
    larger.size = line->size ? 2 * line->size : SIZE_AT_FIRST;
    larger.rows = memory_new(larger.size, sizeof *larger.rows);
    for (uint32_t number = line->told; number != line->sent; number++)
        *evident_line_at(&larger, number) = *evident_line_at(line, number);
    free(line->rows);
    *line = larger;
}
