/* projections.h - per-server projections of a client state, and its number after a permutation
 * of the servers. For the canonical form of a quorum (reduce/symmetry.h).
 *
 * Each client state has a row: the number of its projection on every server, and its own number
 * after any one server has moved to another place. So a step that moves one server looks at one
 * place of each client's row. */
#ifndef PICKLOCK_EXPLORE_GRAPH_PROJECTIONS_H
#define PICKLOCK_EXPLORE_GRAPH_PROJECTIONS_H

#include "base/limits.h"
#include "explore/store/intern.h"

#include <stdbool.h>
#include <stddef.h>

struct state_space;

/* A row begins with the projections; so many, that two rows are compared at one go. */
enum { ROW_PROJECTIONS = SERVERS_MAX + 1 };

struct projections {
    uint32_t
        *rows; /* by client state, UNKNOWN_ID where nobody asked yet; NULL: there is one server */
    uint32_t rows_size;
    int row_bits; /* a row is 1 << row_bits numbers */
    int servers;
    /* [from][to][old]: the new number when the column in place from moves to place to, and those
     * between move up. */
    uint8_t moved[SERVERS_MAX][SERVERS_MAX][ROW_PROJECTIONS];
};

void projections_init(struct projections *projections, int servers);
void projections_close(struct projections *projections);
size_t projections_bytes(const struct projections *projections);

/* An empty row for a client state that is new. */
void projections_add(struct projections *projections, uint32_t client_state);

static inline uint32_t *projections_row(const struct projections *projections,
                                        uint32_t client_state)
{
    return projections->rows + ((size_t)client_state << projections->row_bits);
}

/* A projection is a number for what the client has in flight with that server; equal for equal. */
void projections_make(struct state_space *space, uint32_t client_state, int server);

static inline void projections_ask(const struct projections *projections, struct state_space *space,
                                   uint32_t client_state, int server)
{
    if (projections_row(projections, client_state)[server] == UNKNOWN_ID)
        projections_make(space, client_state, server);
}

/* Were all its projections asked for? They are so together. */
static inline bool projections_has_all(const struct projections *projections, uint32_t client_state)
{
    return projections_row(projections, client_state)[projections->servers - 1] != UNKNOWN_ID;
}

/* The servers where the projections of two client states that have them differ, as bits. */
static inline unsigned projections_differ(const struct projections *projections, uint32_t a,
                                          uint32_t b)
{
    const uint32_t *of_a = projections_row(projections, a), *of_b = projections_row(projections, b);
    unsigned bits = 0;
#pragma GCC unroll 8
    for (int s = 0; s < ROW_PROJECTIONS; s++)
        bits |= (unsigned)(of_a[s] != of_b[s]) << s;
    return bits;
}

/* The client state, which has its projections, after one column has moved, and after any
 * permutation. */
uint32_t projections_make_moved(struct state_space *space, uint32_t client_state, int from, int to);
uint32_t projections_renumber(struct state_space *space, uint32_t client_state,
                              const uint8_t *new_number);

static inline int projections_move_at(const struct projections *projections, int from, int to)
{
    return ROW_PROJECTIONS + from * (projections->servers - 1) + to - (to > from);
}

/* to is not from. */
static inline uint32_t projections_move(const struct projections *projections,
                                        struct state_space *space, uint32_t client_state, int from,
                                        int to)
{
    uint32_t known =
        projections_row(projections, client_state)[projections_move_at(projections, from, to)];
    return known != UNKNOWN_ID ? known : projections_make_moved(space, client_state, from, to);
}

#endif
