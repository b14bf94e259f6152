/* words.h - the words of a history file that no other header has; for its writer and its reader. */
#ifndef PICKLOCK_HISTORY_WORDS_H
#define PICKLOCK_HISTORY_WORDS_H

#include "history/event.h"

/* What is written, and what is read besides: version 1 knows no foreign programs. */
#define HISTORY_VERSION  "picklock.history/2"
#define HISTORY_VERSION1 "picklock.history/1"

/* Times and durations of a file that is read, 31 years: whoever adds a few of them up cannot
 * overflow. */
#define HISTORY_LONGEST_US INT64_C(1000000000000000)

/* As it is written: what is longer is the longest. */
static inline int64_t history_duration_us(int64_t us)
{
    return us < HISTORY_LONGEST_US ? us : HISTORY_LONGEST_US;
}

/* Sets of kinds of events, for fields.def. */
enum {
    CALLS = 1 << EVENT_CALL,
    SENDS = 1 << EVENT_SEND,
    EXECUTES = 1 << EVENT_EXECUTE,
    HEARS = 1 << EVENT_HEAR,
    RETURNS = 1 << EVENT_RETURN,
    NOTICES = 1 << EVENT_NOTICE,
    STRANDS = 1 << EVENT_STRAND,
    FAULTS = 1 << EVENT_FAULT,
};

/* Is that member of an event, by its row of fields.def, one of a typed command? An opaque one has
 * none of them. */
bool field_is_typed(const char *member);

const char *lane_name(enum lane lane);
const char *reply_kind_name(enum reply_kind kind);

bool lane_read(const char *name, enum lane *lane);
bool reply_kind_read(const char *name, enum reply_kind *kind);

#endif
