/* effect.c - see effect.h. */
#include "history/effect.h"

#include "base/names.h"

#include <assert.h>

static const struct {
    const char *name, *words;
    enum before before;
} dids[DID_COUNT] = {
#define DID(id, name, before, words) {name, words, BEFORE_##before},
#include "history/effects.def"
#undef DID
};

static const char *const befores[BEFORE_COUNT] = {
    [BEFORE_UNKNOWN] = "unknown", [BEFORE_ABSENT] = "absent", [BEFORE_PRESENT] = "present"};

const char *did_name(enum did did)
{
    assert((unsigned)did < DID_COUNT);
    return dids[did].name;
}

const char *did_words(enum did did)
{
    assert((unsigned)did < DID_COUNT);
    return dids[did].words;
}

enum before did_before(enum did did)
{
    assert((unsigned)did < DID_COUNT);
    return dids[did].before;
}

const char *before_name(enum before before)
{
    assert((unsigned)before < BEFORE_COUNT);
    return befores[before];
}

bool did_read(const char *name, enum did *did)
{
    return names_read(NAMES_FIND_ROW(dids, name), did);
}

bool before_read(const char *name, enum before *before)
{
    return names_read(NAMES_FIND(befores, name), before);
}

bool did_is_expiry(enum did did)
{
    return did == DID_EXPIRY_SET || did == DID_LENGTHENED || did == DID_SHORTENED ||
           did == DID_UNEXPIRED;
}

enum effect did_wants(enum did did, enum effect by_operation, bool is_refusal)
{
    if (by_operation == EFFECT_SET && is_refusal && (did == DID_DELETED || did_is_expiry(did)))
        return EFFECT_SET;
    switch (did) {
    case DID_CREATED:
    case DID_OVERWRITTEN:
    case DID_APPENDED:
        return EFFECT_SET;
    case DID_DELETED:
        return EFFECT_DELETE;
    case DID_EXPIRY_SET:
    case DID_LENGTHENED:
    case DID_SHORTENED:
    case DID_UNEXPIRED:
        return EFFECT_EXPIRE;
    case DID_REFUSED:
    case DID_FAILED:
        return by_operation;
    case DID_NOTHING:
    case DID_READ:
    case DID_COUNT:
        break;
    }
    return EFFECT_READ;
}

static enum did expiry_between(const struct key_difference *change)
{
    if (change->ttl_behind == change->ttl_before)
        return DID_NOTHING;
    if (change->ttl_behind == INT64_MAX)
        return DID_UNEXPIRED;
    if (change->ttl_before == INT64_MAX)
        return DID_EXPIRY_SET;
    return change->ttl_behind > change->ttl_before ? DID_LENGTHENED : DID_SHORTENED;
}

/* Nothing differs: what then? */
static enum did unchanged(const struct key_difference *change)
{
    /* A lease that is set anew at the instant at which it was set before looks the same. */
    if (change->is_there && change->has_written_expiry)
        return change->ttl_behind == INT64_MAX ? DID_UNEXPIRED : DID_EXPIRY_SET;
    if (change->is_error)
        return DID_FAILED;
    return change->is_refusal ? DID_REFUSED : DID_READ;
}

/* Who acquires, and writes the very value that stands there, takes the lock all the same. */
static bool is_overwritten(const struct key_difference *change)
{
    return change->is_other || (change->by_operation == EFFECT_SET && change->has_written_value);
}

enum did did_between(const struct key_difference *change)
{
    if (!change->was_there && change->is_there)
        return DID_CREATED;
    if (change->was_there && !change->is_there)
        return DID_DELETED;
    if (change->was_there && is_overwritten(change))
        return DID_OVERWRITTEN;
    const enum did did = change->was_there ? expiry_between(change) : DID_NOTHING;
    return did == DID_NOTHING ? unchanged(change) : did;
}
