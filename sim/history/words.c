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
    return names_read(NAMES_FIND(lanes, name), lane);
}

bool reply_kind_read(const char *name, enum reply_kind *kind)
{
    return names_read(NAMES_FIND(reply_kinds, name), kind);
}
