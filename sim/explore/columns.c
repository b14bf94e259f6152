/* columns.c - see columns.h. */
#include "explore/columns.h"

#include "base/memory.h"
#include "explore/space.h"

#include <string.h>

enum { ROWS_FIRST = 1024 };

static size_t row_bytes(const struct columns *columns)
{
    return sizeof *columns->rows << columns->row_bits;
}

static uint8_t moved(int number, int from, int to)
{
    if (number == from)
        return (uint8_t)to;
    return (uint8_t)(number + (to <= number && number < from) - (from < number && number <= to));
}

void columns_init(struct columns *columns, int servers)
{
    memset(columns, 0, sizeof *columns);
    columns->servers = servers;
    memo_init(&columns->renumbered);
    if (servers == 1)
        return;
    for (int from = 0; from < SERVERS_MAX; from++)
        for (int to = 0; to < SERVERS_MAX; to++)
            for (int i = 0; i < ROW_SLICES; i++)
                columns->moved[from][to][i] = moved(i, from, to);
    while (1 << columns->row_bits < ROW_SLICES + servers * (servers - 1))
        columns->row_bits++;
    columns->rows_size = ROWS_FIRST;
    columns->rows = memory_extend(NULL, 0, columns->rows_size, row_bytes(columns));
}

void columns_close(struct columns *columns)
{
    memory_drop(columns->rows, columns->rows_size, row_bytes(columns));
    memo_close(&columns->renumbered);
}

size_t columns_bytes(const struct columns *columns)
{
    return columns->rows_size * row_bytes(columns) + memo_bytes(&columns->renumbered);
}

void columns_add(struct columns *columns, uint32_t local)
{
    if (!columns->rows)
        return;
    uint32_t size = columns->rows_size;
    while (local >= columns->rows_size)
        columns->rows_size *= 2;
    if (columns->rows_size > size)
        columns->rows = memory_extend(columns->rows, size, columns->rows_size, row_bytes(columns));
    memset(columns_row(columns, local), 0xff, row_bytes(columns));
}

/* --- slices --- */

static struct local sliced(const struct local *whole, int server)
{
    struct local slice;
    memset(&slice, 0, sizeof slice);
    for (int i = 0; i < whole->count; i++) {
        if (whole->parcels[i].server != server)
            continue;
        slice.parcels[slice.count] = whole->parcels[i];
        slice.parcels[slice.count++].server = 0;
    }
    slice.deleted = whole->deleted >> server & 1;
    slice.overtaken = whole->overtaken >> server & 1;
    slice.refused = whole->refused >> server & 1;
    /* Interned among the locals; its phase is none of theirs, so no two are confused. */
    slice.phase = 0xff;
    return slice;
}

void columns_make_slice(struct space *space, uint32_t local, int server)
{
    struct local whole, slice;
    space_read_local(space, local, &whole);
    slice = sliced(&whole, server);
    uint32_t number = space_number_local(space, &slice);
    columns_row(&space->columns, local)[server] = number;
}

/* --- renumbering --- */

/* Its part of the columns that change places may be the same: then nothing becomes of it. */
static bool is_same(const struct columns *columns, uint32_t local, const uint8_t *new_number)
{
    const uint32_t *row = columns_row(columns, local);
    for (int s = 0; s < columns->servers; s++)
        if (row[new_number[s]] != row[s])
            return false;
    return true;
}

static uint32_t make_renumbered(struct space *space, uint32_t local, const uint8_t *new_number)
{
    struct columns *columns = &space->columns;
    if (is_same(columns, local, new_number))
        return local;
    struct local after;
    space_read_local(space, local, &after);
    local_rename_servers(&after, new_number);
    uint32_t number = space_number_local(space, &after);
    for (int s = 0; s < columns->servers; s++)
        columns_row(columns, number)[new_number[s]] = columns_row(columns, local)[s];
    return number;
}

uint32_t columns_make_moved(struct space *space, uint32_t local, int from, int to)
{
    struct columns *columns = &space->columns;
    uint32_t number = make_renumbered(space, local, columns->moved[from][to]);
    columns_row(columns, local)[columns_move_at(columns, from, to)] = number;
    columns_row(columns, number)[columns_move_at(columns, to, from)] = local;
    return number;
}

uint32_t columns_renumber(struct space *space, uint32_t local, const uint8_t *new_number)
{
    struct columns *columns = &space->columns;
    uint64_t key = local;
    for (int s = 0; s < columns->servers; s++)
        key = key << 3 | new_number[s];
    const uint64_t *known = memo_find(&columns->renumbered, key);
    if (known)
        return (uint32_t)*known;
    uint32_t number = make_renumbered(space, local, new_number);
    memo_put(&columns->renumbered, key, number);
    return number;
}
