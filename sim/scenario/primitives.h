/* primitives.h - what the interpreter is made of: a step under way, the client's messages moved in
 * a fixed order, time passed.
 *
 * The order in which a client's messages move is always the same: requests by server, then replies
 * by server, then what is void. So all requests of a quorum arrive before its first reply is heard.
 * Private to the interpreter; never a clock, randomness, I/O. */
#ifndef PICKLOCK_SCENARIO_PRIMITIVES_H
#define PICKLOCK_SCENARIO_PRIMITIVES_H

#include "scenario/interpreter.h"

/* A message that is not let go on until a step says so. */
struct stalled {
    bool is_set;
    int server;
    char command[OPAQUE_NAME_MAX];
};

/* What the interpreter remembers of a client. */
struct cursor {
    struct stalled stalled[LANE_COUNT];
    bool cannot_reach[SERVERS_MAX];
};

struct interpreter {
    const struct scenario *scenario;
    const struct scheme *scheme;
    struct world *world;
    struct choice_sink choices;
    struct failure *failure; /* never NULL */
    const struct step *step; /* under way */
    int made;                /* choices of this step */
    struct cursor cursors[ACTORS_MAX];
    enum server_reach reach[SERVERS_MAX]; /* whoever waits for what does not pass times out */
};

/* FAIL_UNKNOWN: "file:line:column: step: what happened instead". */
enum fail primitives_diverged(struct interpreter *interpreter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where the step has no meaning for what the scheme does (it sends no such command, has no
 * timer, was refused): of a scheme that the scenario does not speak about nobody said that it could
 * follow. FAIL_NOT_APPLICABLE; FAIL_UNKNOWN where it was said. */
enum fail primitives_cannot_follow(struct interpreter *interpreter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The world refused a choice: its words and its code behind the place. */
enum fail primitives_refused(struct interpreter *interpreter, const struct failure *why);
const char *primitives_name(const struct interpreter *interpreter, int client);

struct client_view primitives_view(struct interpreter *interpreter, int client);
int64_t primitives_now_us(struct interpreter *interpreter);
/* From here on the server is as that choice leaves it. */
void primitives_note_reach(struct interpreter *interpreter, int server, enum choice_kind kind);
int primitives_messages(struct interpreter *interpreter, int client, struct message *messages);

/* Applies a choice and hands it to the sink. A refusal of the world is wrapped like
 * primitives_diverged(). */
enum fail primitives_apply(struct interpreter *interpreter, struct choice choice);
enum fail primitives_client(struct interpreter *interpreter, enum choice_kind kind, int client);
/* Its timer rings, where one is due: time may have brought it something else. */
enum fail primitives_wake(struct interpreter *interpreter, int client);
enum fail primitives_message(struct interpreter *interpreter, enum choice_kind kind,
                             const struct message *message);

/* One stop further: executed, heard, or, where nothing will come any more, given up. */
enum fail primitives_one(struct interpreter *interpreter, const struct message *message);

/* Moves all messages of the client that are neither stalled nor abandoned. stall: the step whose
 * stall is watched for, or NULL. */
enum fail primitives_all(struct interpreter *interpreter, int client, const struct step *stall,
                         bool *is_stalled);

/* Lets time pass; timers on the way ring in their order and their messages run, but for the timer
 * of client but (-1: none). */
enum fail primitives_time(struct interpreter *interpreter, int64_t until_us, int but);

/* Moves the client's messages until its operation has returned, or stalls as the step says. */
enum fail primitives_operation(struct interpreter *interpreter, int client);

/* The step wanted a stall, and all came to the end without one. */
enum fail primitives_never_stalled(struct interpreter *interpreter, int client);

/* The message that the lane stalled at, as it is now; false: it is not stalled, or the message is
 * gone. */
bool primitives_find_stalled(struct interpreter *interpreter, int client, enum lane lane,
                             struct message *message);

#endif
