/* words.c - see words.h. */
#include "history/words.h"

#include "base/names.h"

#include <assert.h>
#include <string.h>

static const char *const lanes[LANE_COUNT] = {[LANE_MAIN] = "main", [LANE_RENEW] = "renew"};

static const char *const reply_kinds[] = {
    [REPLY_NIL] = "nil",
    [REPLY_OK] = "ok",
    [REPLY_INTEGER] = "integer",
    [REPLY_VALUE] = "value",
    [REPLY_TRANSACTION] = "transaction",
    [REPLY_ERROR] = "error",
};
enum { REPLY_KINDS = sizeof reply_kinds / sizeof reply_kinds[0] };

bool field_is_typed(const char *member)
{
    return !strncmp(member, "command.", sizeof "command." - 1);
}

const char *lane_name(enum lane lane)
{
    assert((unsigned)lane < LANE_COUNT);
    return lanes[lane];
}

const char *reply_kind_name(enum reply_kind kind)
{
    assert((unsigned)kind < REPLY_KINDS);
    return reply_kinds[kind];
}

bool lane_read(const char *name, enum lane *lane)
{
    int row = NAMES_FIND(lanes, name);
    if (row >= 0)
        *lane = (enum lane)row;
    return row >= 0;
}

bool reply_kind_read(const char *name, enum reply_kind *kind)
{
    int row = NAMES_FIND(reply_kinds, name);
    if (row >= 0)
        *kind = (enum reply_kind)row;
    return row >= 0;
}
