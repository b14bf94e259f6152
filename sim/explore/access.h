/* access.h - what a critical section does to the data that it guards: its commands, and the judging
 * of them.
 *
 * A section writes the resource, or reads the counter and writes it back plus one; then it is over,
 * also when a command of it came to nothing. It is released when none of its commands is waited
 * for. The commands are world/client.c's, travel to the first server like any other, and can be
 * late or lost.
 *
 * Only one thing counts of the counter: is what was read still what is there? So its value is
 * COUNTER_NOW, what was read is that or COUNTER_BEFORE, and when it is written, everybody's
 * knowledge grows old (access_outdate()). Where a server may forget the counter the values are the
 * real ones. */
#ifndef PICKLOCK_EXPLORE_ACCESS_H
#define PICKLOCK_EXPLORE_ACCESS_H

#include "explore/judge.h"
#include "explore/moves.h"

enum { COUNTER_NOW = 0, COUNTER_BEFORE = -1 };

/* May the section end, as far as its commands are concerned? */
bool access_is_over(const struct local *local, const struct setting *setting);

/* The command that the section sends next: MOVE_WRITE, READ_COUNTER or WRITE_COUNTER; false: none.
 */
bool access_next(const struct local *local, const struct setting *setting, enum move_kind *kind);

/* Sends it. */
void access_begin(struct local *local, const struct setting *setting, enum move_kind kind);

/* A command that was waited for has ended: by its reply, or without one. */
void access_end(struct local *local, const struct setting *setting, const struct parcel *parcel,
                enum moment_kind how);

/* A command of a section was executed; returns enum judged. */
unsigned access_judge(const struct setting *setting, struct local *local, int parcel,
                      const struct reply *reply, const struct post *before, struct post *after);

/* Somebody else has written the counter. */
void access_outdate(struct local *local, const struct setting *setting);

/* The counter's server has forgotten its keys: checks/ no longer knows who wrote last. */
void access_forget(struct local *local);

/* A new attempt begins: what is still in flight is of an earlier one. */
void access_outlives(struct parcel *parcel);

#endif
