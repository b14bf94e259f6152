/* parts.h - what the schemes share: questions to a moment, the ends of an operation, stamps.
 *
 * Never a step of an algorithm: the order of commands stands in each scheme's own file, so that it
 * can be read against its source. */
#ifndef PICKLOCK_SCHEMES_PARTS_H
#define PICKLOCK_SCHEMES_PARTS_H

#include "schemes/scheme.h"

/* The rows that go with a state struct: .fields and .fields_count of a descriptor. */
#define FIELDS_OF(table) .fields = (table), .fields_count = sizeof(table) / sizeof *(table)

/* Proves that the table of fields has a row for every member, and that members are int64_t. */
#define FIELDS_FIT(type, table)                                                                    \
    _Static_assert(sizeof(type) == sizeof(table) / sizeof *(table) * sizeof(int64_t),              \
                   #type ": a row a member, int64_t each");                                        \
    _Static_assert(sizeof(table) / sizeof *(table) <= SCHEME_FIELDS_MAX, #type ": too large")

enum { UNIT_SECOND_US = 1000000, UNIT_MILLISECOND_US = 1000 };

/* --- questions; false for a time-out and a lost connection --- */

static inline bool moment_is_reply(const struct moment *in, enum reply_kind kind)
{
    return in->kind == MOMENT_REPLY && in->reply.kind == kind;
}

static inline bool moment_is_ok(const struct moment *in)
{
    return moment_is_reply(in, REPLY_OK);
}

static inline bool moment_is_nil(const struct moment *in)
{
    return moment_is_reply(in, REPLY_NIL);
}

static inline bool moment_is_integer(const struct moment *in, int64_t value)
{
    return moment_is_reply(in, REPLY_INTEGER) && in->reply.value == value;
}

static inline bool moment_is_value(const struct moment *in, int64_t value)
{
    return moment_is_reply(in, REPLY_VALUE) && in->reply.value == value;
}

static inline bool moment_is_error(const struct moment *in, enum reply_error error)
{
    return moment_is_reply(in, REPLY_ERROR) && in->reply.error == error;
}

static inline bool moment_is_unsupported(const struct moment *in)
{
    return moment_is_error(in, ERROR_UNSUPPORTED);
}

/* Is it how one command of that kind ended, be it by a reply, a time-out or a lost connection? */
static inline bool moment_ends(const struct moment *in, enum verb verb)
{
    return in->verb == verb &&
           (in->kind == MOMENT_REPLY || in->kind == MOMENT_TIMEOUT || in->kind == MOMENT_LOST);
}

/* --- the ends of an operation: exactly one report each --- */

/* No answer, or one that the scheme cannot use: unsupported when the server said so, else failed.
 */
static inline void out_no_answer(struct outbox *out, const struct moment *in)
{
    if (moment_is_unsupported(in))
        out_unsupported(out);
    else
        out_failed(out);
}

/* Its name at first: schemes that were written with it are taken as they are. */
#define out_trouble out_no_answer

/* "SET .. NX" was not answered OK: nil means that somebody has it. */
static inline void out_no_set(struct outbox *out, const struct moment *in)
{
    if (moment_is_nil(in))
        out_refused(out);
    else
        out_no_answer(out, in);
}

/* SETNX (or a script that returns what it said) was not answered 1. */
static inline void out_no_setnx(struct outbox *out, const struct moment *in)
{
    if (moment_is_integer(in, 0))
        out_refused(out);
    else
        out_no_answer(out, in);
}

/* A plain DEL was answered: the code that sends it does not look at the number. */
static inline void out_deleted(struct outbox *out, const struct moment *in)
{
    if (moment_is_reply(in, REPLY_INTEGER))
        out_released(out);
    else
        out_no_answer(out, in);
}

/* A delete that compares was answered: 1 it was mine, 0 it was not (any more). */
static inline void out_compared(struct outbox *out, const struct moment *in)
{
    if (moment_is_integer(in, 1))
        out_released(out);
    else if (moment_is_integer(in, 0))
        out_not_mine(out);
    else
        out_no_answer(out, in);
}

/* --- stamps: an instant as a whole number of units, rounded down like int(time()) --- */

static inline int64_t stamp_now(const struct lease *lease, int64_t now_us)
{
    int64_t units = now_us / lease->unit_us;
    return now_us % lease->unit_us < 0 ? units - 1 : units;
}

/* What an attempt that reads the clock now writes into the key: now + ttl + 1. */
static inline int64_t stamp_of(const struct lease *lease, int64_t now_us)
{
    return stamp_now(lease, now_us) + lease->ttl_us / lease->unit_us + 1;
}

#endif
