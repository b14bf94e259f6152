/* effect.h - what one execution did to a key, and what it proves about how the key was before.
 *
 * Checks judge by this and never by a command's name, so that a script of a foreign program is
 * judged like a SET. Of a typed command it follows from the reply (effects_of in checks/change.h);
 * of an opaque one whoever wrote the history says it: a server executes one command at a time, so a
 * key can be looked at before and behind it. An execution has at most one effect on a key: the
 * difference between before and behind. */
#ifndef PICKLOCK_HISTORY_EFFECT_H
#define PICKLOCK_HISTORY_EFFECT_H

#include "redis/command.h"
#include "redis/opaque.h"

enum did {
#define DID(id, name, before, words) DID_##id,
#include "history/effects.def"
#undef DID
    DID_COUNT
};

enum before { BEFORE_UNKNOWN, BEFORE_ABSENT, BEFORE_PRESENT, BEFORE_COUNT };

struct key_effect {
    enum key key;
    enum did did;
    enum before before;
    enum effect wanted; /* what the command was to do, had it been able to */
    bool has_old;       /* the value before is known; or, is_unlike, one that it was not */
    bool is_unlike;     /* REFUSED: it was absent, or not `old` */
    bool is_told;   /* OVERWRITTEN: the answer says what was there, and whoever asked must judge */
    bool has_new;   /* the key holds `new_value` now; of APPENDED: that is what was added */
    bool has_ttl;   /* it expires ttl_us later; REFUSED, FAILED: it was to */
    bool has_fence; /* the writer carried this fencing token */
    int64_t old_value, new_value; /* numbers as of command.h; of a text its value_number() */
    int64_t ttl_us, fence;
};

/* The effects of an execution that somebody states. */
struct effects {
    int count;
    struct key_effect on[KEY_COUNT]; /* no two on the same key */
    struct {
        char old_value[VALUE_TEXT_MAX]; /* the value's text; "": a number of ours */
        char new_value[VALUE_TEXT_MAX];
    } texts[KEY_COUNT];
};

const char *did_name(enum did did);
const char *did_words(enum did did);
enum before did_before(enum did did);
const char *before_name(enum before before); /* "unknown", "absent", "present" */
bool did_read(const char *name, enum did *did);
bool before_read(const char *name, enum before *before);

/* A key before an execution and behind it, and what the command came to. */
struct key_difference {
    bool was_there, is_there;
    bool is_other;                              /* it has another value */
    int64_t ttl_before, ttl_behind;             /* in any unit; INT64_MAX: it does not expire */
    enum effect by_operation;                   /* what its client's operation wants of the key */
    bool has_written_value, has_written_expiry; /* told by the server, whatever differs */
    bool is_error, is_refusal; /* the answer: an error; nil, or no positive number */
};

/* What it did, told by what differs. */
enum did did_between(const struct key_difference *change);

/* Does it change how long the key lives, and nothing else of it? */
bool did_is_expiry(enum did did);

/* What an opaque command was to do, where nobody says it: by its effect, else by what its client is
 * doing (by_operation: it acquires, releases, ...). A command has one effect on a key; one that was
 * to take the lock, was refused, and yet touched the key (a transaction of SETNX and EXPIRE, a
 * script that clears away what it finds) says so by wanting what it was refused. */
enum effect did_wants(enum did did, enum effect by_operation, bool is_refusal);

#endif
