/* follower.h - what schedule_follow() knows while it follows a schedule. Private to it. */
#ifndef PICKLOCK_SCENARIO_FOLLOWER_H
#define PICKLOCK_SCENARIO_FOLLOWER_H

#include "scenario/schedule_follow.h"

/* What the schedule lets a client do. */
struct actor_part {
    enum choice_kind begun; /* its last operation; CHOICE_COUNT: none */
    int operation;          /* by number, from 1 */
    bool is_changed;        /* commands of it are others than they were */
    bool is_left_out;       /* it cannot be done any more */
    bool has_no_reason;     /* it was refused, and nobody had the lock */
    int64_t began_us;
};

struct counterpart;

struct follower {
    const struct schedule *schedule;
    struct world *world;
    struct choice_sink choices;
    struct followed *followed;
    struct actor_part parts[ACTORS_MAX];
    struct counterpart *counterparts; /* what commands of the schedule are now */
    int counterparts_count;
    int at; /* the choice under way */
    bool was_struck, was_granted;
    struct failure why;
};

/* --- schedule_follow.c --- */

/* FAIL_UNKNOWN, in these words. */
enum fail follower_lost(struct follower *follower, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes words; tells them once. */
void follower_tell(struct follower *follower, char *words);
const char *follower_name(const struct follower *follower, int client);
const char *follower_operation(const struct follower *follower, int client); /* "release" */

struct client_view follower_view(const struct follower *follower, int client);
/* Has the client's operation returned? */
bool follower_is_over(const struct follower *follower, int client);
/* Has it ended with an error, and no fault has struck? FAIL_UNKNOWN. */
enum fail follower_refuse_error(struct follower *follower, int client);

/* Makes a choice, and looks at what it led to. */
enum fail follower_make(struct follower *follower, const struct choice *choice);
/* The client's next choice behind *from, which becomes its place; NULL: none. */
const struct choice *follower_next(const struct follower *follower, int client, int *from);
bool follower_begins(enum choice_kind kind); /* an operation */

/* --- follower_messages.c --- */

/* A choice about a message. */
enum fail follower_message(struct follower *follower, const struct choice *choice);
/* The client's changed operation, to its end. */
enum fail follower_finish(struct follower *follower, int client);

#endif
