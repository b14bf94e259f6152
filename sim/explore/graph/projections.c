/* projections.c - see projections.h. */
#include "explore/graph/projections.h"

#include "base/memory.h"
#include "explore/graph/space.h"
#include "explore/model/subject.h"

#include <string.h>

enum { ROWS_FIRST = 1024 };

static size_t row_bytes(const struct projections *projections)
{
    return sizeof *projections->rows << projections->row_bits;
}

static uint8_t moved(int number, int from, int to)
{
    if (number == from)
        return (uint8_t)to;
    return (uint8_t)(number + (to <= number && number < from) - (from < number && number <= to));
}

void projections_init(struct projections *projections, int servers)
{
    memset(projections, 0, sizeof *projections);
    projections->servers = servers;
    if (servers == 1)
        return;
    for (int from = 0; from < SERVERS_MAX; from++)
        for (int to = 0; to < SERVERS_MAX; to++)
            for (int i = 0; i < ROW_PROJECTIONS; i++)
                projections->moved[from][to][i] = moved(i, from, to);
    while (1 << projections->row_bits < ROW_PROJECTIONS + servers * (servers - 1))
        projections->row_bits++;
    projections->rows_size = ROWS_FIRST;
    projections->rows = memory_extend(NULL, 0, projections->rows_size, row_bytes(projections));
}

void projections_close(struct projections *projections)
{
    memory_drop(projections->rows, projections->rows_size, row_bytes(projections));
}

size_t projections_bytes(const struct projections *projections)
{
    return projections->rows_size * row_bytes(projections);
}

void projections_add(struct projections *projections, uint32_t client_state)
{
    if (!projections->rows)
        return;
    uint32_t size = projections->rows_size;
    while (client_state >= projections->rows_size)
        projections->rows_size *= 2;
    if (projections->rows_size > size)
        projections->rows =
            memory_extend(projections->rows, size, projections->rows_size, row_bytes(projections));
    memset(projections_row(projections, client_state), 0xff, row_bytes(projections));
}

/* --- projections --- */

static struct client_state projected(const struct client_state *whole, int server)
{
    struct client_state projection;
    memset(&projection, 0, sizeof projection);
    for (int i = 0; i < whole->count; i++) {
        if (whole->messages[i].server != server)
            continue;
        projection.messages[projection.count] = whole->messages[i];
        projection.messages[projection.count++].server = 0;
    }
    projection.deleted = whole->deleted >> server & 1;
    projection.extended = whole->extended >> server & 1;
    projection.overtaken = whole->overtaken >> server & 1;
    projection.refused_itself = whole->refused_itself >> server & 1;
    projection.refused_behind = whole->refused_behind >> server & 1;
    projection.refused_restored = whole->refused_restored >> server & 1;
    projection.silent = whole->silent >> server & 1;
    projection.refusing = whole->refusing >> server & 1;
    projection.holding = whole->holding >> server & 1;
    /* Interned among the client states; its phase is none of theirs, so no two are confused. */
    projection.phase = 0xff;
    return projection;
}

void projections_make(struct state_space *space, uint32_t client_state, int server)
{
    struct client_state whole, projection;
    space_read_client(space, client_state, &whole);
    projection = projected(&whole, server);
    struct subject *subject = space->config.subject;
    if (subject->part_of_server)
        projection.fields[0] = subject->part_of_server(subject, &whole, server);
    uint32_t number = space_number_client(space, &projection);
    projections_row(&space->projections, client_state)[server] = number;
}

/* --- renumbering --- */

/* Its part of the columns that change places may be the same: then nothing becomes of it. */
static bool is_same(const struct projections *projections, uint32_t client_state,
                    const uint8_t *new_number)
{
    const uint32_t *row = projections_row(projections, client_state);
    for (int s = 0; s < projections->servers; s++)
        if (row[new_number[s]] != row[s])
            return false;
    return true;
}

static uint32_t make_renumbered(struct state_space *space, uint32_t client_state,
                                const uint8_t *new_number)
{
    struct projections *projections = &space->projections;
    if (is_same(projections, client_state, new_number))
        return client_state;
    struct client_state after;
    space_read_client(space, client_state, &after);
    client_state_rename_servers(&after, new_number);
    if (space->config.subject->rename_servers)
        space->config.subject->rename_servers(space->config.subject, &after, new_number);
    uint32_t number = space_number_client(space, &after);
    for (int s = 0; s < projections->servers; s++)
        projections_row(projections, number)[new_number[s]] =
            projections_row(projections, client_state)[s];
    return number;
}

uint32_t projections_make_moved(struct state_space *space, uint32_t client_state, int from, int to)
{
    struct projections *projections = &space->projections;
    uint32_t number = make_renumbered(space, client_state, projections->moved[from][to]);
    projections_row(projections, client_state)[projections_move_at(projections, from, to)] = number;
    projections_row(projections, number)[projections_move_at(projections, to, from)] = client_state;
    return number;
}

static uint64_t renumber(struct state_space *space, const struct transition *it)
{
    return make_renumbered(space, it->client_state, it->order);
}

uint32_t projections_renumber(struct state_space *space, uint32_t client_state,
                              const uint8_t *new_number)
{
    uint64_t key = client_state;
    for (int s = 0; s < space->projections.servers; s++)
        key = key << 3 | new_number[s];
    return (uint32_t)space_memoized(
        space, MEMO_RENUMBERED_SERVERS, key, renumber,
        &(struct transition){.client_state = client_state, .order = new_number});
}
