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
    int row = NAMES_FIND_ROW(dids, name);
    if (row >= 0)
        *did = (enum did)row;
    return row >= 0;
}

bool before_read(const char *name, enum before *before)
{
    int row = NAMES_FIND(befores, name);
    if (row >= 0)
        *before = (enum before)row;
    return row >= 0;
}

bool did_is_expiry(enum did did)
{
    return did == DID_EXPIRY_SET || did == DID_LENGTHENED || did == DID_SHORTENED ||
           did == DID_UNEXPIRED;
}

enum effect did_wants(enum did did, enum effect by_operation)
{
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
