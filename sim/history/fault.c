/* fault.c - the columns of faults.def; see fault.h. The only place that compares a fault's name. */
#include "history/fault.h"

#include "base/names.h"

#include <assert.h>

static const struct row {
    const char *name, *words;
    enum fault_blame blame;
    enum fault_keys keys;
    enum fault_breaks breaks;
    enum fault_effect effect;
} rows[FAULT_ROWS] = {
#define PART(id, name, strikes, keys, breaks, effect, words)                                       \
    [FAULT_##                                                                                      \
        id] = {name,          words, FAULT_OF_##strikes, FAULT_KEYS_##keys, FAULT_BREAKS_##breaks, \
               FAULT_##effect},
#define FAULT(id, file, name, strikes, keys, breaks, effect, becomes, later, words)                \
    PART(id, name, strikes, keys, breaks, effect, words)
#include "history/faults.def"
#undef FAULT
#undef PART
};

static const struct row *row_of(enum fault fault)
{
    assert((unsigned)fault < FAULT_ROWS);
    return &rows[fault];
}

const char *fault_name(enum fault fault)
{
    return row_of(fault)->name;
}

const char *fault_words(enum fault fault)
{
    return row_of(fault)->words;
}

enum fault_blame fault_blame(enum fault fault)
{
    return row_of(fault)->blame;
}

const char *fault_struck(enum fault fault)
{
    static const char *const words[] = {
        [FAULT_OF_CLIENT] = "client", [FAULT_OF_SERVER] = "server", [FAULT_OF_RUN] = "run"};
    return words[fault_blame(fault)];
}

enum fault_keys fault_keys(enum fault fault)
{
    return row_of(fault)->keys;
}

enum fault_breaks fault_breaks(enum fault fault)
{
    return row_of(fault)->breaks;
}

enum fault_effect fault_effect(enum fault fault)
{
    return row_of(fault)->effect;
}

bool fault_may_lose(enum fault fault)
{
    switch (fault_effect(fault)) {
    case FAULT_LOSES_REQUEST:
    case FAULT_LOSES_REPLY:
    case FAULT_SENDS_AGAIN:
    case FAULT_REFUSES:
    case FAULT_GIVES_UP:
    case FAULT_CANCELS:
    case FAULT_SILENCES:
    case FAULT_HOLDS_DIALS:
    case FAULT_KILLS:
    case FAULT_MOVES_SLOT:
    case FAULT_PUTS_OUT_OF_REACH:
        return true;
    default:
        return fault_breaks(fault) != FAULT_BREAKS_NONE;
    }
}

bool fault_forgets(enum fault fault)
{
    enum fault_keys keys = fault_keys(fault);
    return keys == FAULT_KEYS_ALL_LOST || keys == FAULT_KEYS_REPLICAS ||
           keys == FAULT_KEYS_SNAPSHOT;
}

bool fault_needs_replica(enum fault fault)
{
    return fault_effect(fault) == FAULT_CUTS_REPLICA || fault_keys(fault) == FAULT_KEYS_REPLICAS;
}

bool fault_needs_cluster(enum fault fault)
{
    return fault_effect(fault) == FAULT_MOVES_SLOT || fault == FAULT_SLOT_DROP ||
           fault == FAULT_SLOT_TAKEN;
}

bool fault_is_strike(enum fault fault)
{
    switch (fault_effect(fault)) {
    case FAULT_GIVES_UP:
    case FAULT_ANSWERS_DIALS:
    case FAULT_PUTS_WITHIN_REACH:
    case FAULT_SAVES_KEYS:
        return false;
    case FAULT_MOVES_SLOT:
        return fault == FAULT_SLOT_END;
    default:
        return true;
    }
}

bool fault_ends_outage(enum fault fault)
{
    const enum fault_effect effect = fault_effect(fault);
    return effect == FAULT_PUTS_WITHIN_REACH ||
           (fault_blame(fault) == FAULT_OF_SERVER && fault_breaks(fault) == FAULT_BREAKS_ALL &&
            effect != FAULT_PUTS_OUT_OF_REACH && effect != FAULT_ENDS_CONNECTIONS);
}

bool fault_read(const char *name, enum fault *fault)
{
    int row = NAMES_FIND_ROW(rows, name);
    if (row >= 0)
        *fault = (enum fault)row;
    return row >= 0;
}
