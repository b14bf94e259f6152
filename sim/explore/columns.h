/* columns.h - what a client has to do with each server of a quorum, and what becomes of its record
 * when servers change places.
 *
 * Beside each local lies a row: a number for its part of every server's column, and its own number
 * after any one column has moved. So a step that moves one column looks at one place for each
 * client. */
#ifndef PICKLOCK_EXPLORE_COLUMNS_H
#define PICKLOCK_EXPLORE_COLUMNS_H

#include "base/limits.h"
#include "explore/pool.h"

#include <stdbool.h>
#include <stddef.h>

struct space;

/* A row begins with the slices; so many, that two rows are compared at one go. */
enum { ROW_SLICES = SERVERS_MAX + 1 };

struct columns {
    uint32_t *rows; /* by local, UNKNOWN_ID where nobody asked yet; NULL: there is one server */
    uint32_t rows_size;
    int row_bits; /* a row is 1 << row_bits numbers */
    int servers;
    /* [from][to][old]: the new number when the column in place from moves to place to, and those
     * between move up. */
    uint8_t moved[SERVERS_MAX][SERVERS_MAX][ROW_SLICES];
    struct memo renumbered; /* by any other permutation */
};

void columns_init(struct columns *columns, int servers);
void columns_close(struct columns *columns);
size_t columns_bytes(const struct columns *columns);

/* An empty row for a local that is new. */
void columns_add(struct columns *columns, uint32_t local);

static inline uint32_t *columns_row(const struct columns *columns, uint32_t local)
{
    return columns->rows + ((size_t)local << columns->row_bits);
}

/* A slice is a number for what the client has in flight with that server; equal for equal. */
void columns_make_slice(struct space *space, uint32_t local, int server);

static inline void columns_ask_slice(const struct columns *columns, struct space *space,
                                     uint32_t local, int server)
{
    if (columns_row(columns, local)[server] == UNKNOWN_ID)
        columns_make_slice(space, local, server);
}

/* Were all its slices asked for? They are so together. */
static inline bool columns_has_slices(const struct columns *columns, uint32_t local)
{
    return columns_row(columns, local)[columns->servers - 1] != UNKNOWN_ID;
}

/* The servers where the slices of two locals that have them differ, as bits. */
static inline unsigned columns_differ(const struct columns *columns, uint32_t a, uint32_t b)
{
    const uint32_t *of_a = columns_row(columns, a), *of_b = columns_row(columns, b);
    unsigned bits = 0;
#pragma GCC unroll 8
    for (int s = 0; s < ROW_SLICES; s++)
        bits |= (unsigned)(of_a[s] != of_b[s]) << s;
    return bits;
}

/* The local, which has its slices, after one column has moved, and after any permutation. */
uint32_t columns_make_moved(struct space *space, uint32_t local, int from, int to);
uint32_t columns_renumber(struct space *space, uint32_t local, const uint8_t *new_number);

static inline int columns_move_at(const struct columns *columns, int from, int to)
{
    return ROW_SLICES + from * (columns->servers - 1) + to - (to > from);
}

/* to is not from. */
static inline uint32_t columns_move(const struct columns *columns, struct space *space,
                                    uint32_t local, int from, int to)
{
    uint32_t known = columns_row(columns, local)[columns_move_at(columns, from, to)];
    return known != UNKNOWN_ID ? known : columns_make_moved(space, local, from, to);
}

#endif
