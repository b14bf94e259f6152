/* client_state.h - a client state: one client of the explorer with its messages in flight, in a
 * normal form.
 *
 * Equal situations are equal bytes: a time is kept as what remains of it, a client's own tokens
 * carry no position, and what can no longer matter is zero. So a client state can be interned,
 * and a step of the scheme is computed once for each. The step itself is world/client.c's, with
 * the scheme's own function: nothing is modelled twice. */
#ifndef PICKLOCK_EXPLORE_MODEL_CLIENT_STATE_H
#define PICKLOCK_EXPLORE_MODEL_CLIENT_STATE_H

#include "base/bits.h"
#include "explore/model/config.h"
#include "world/client.h"

#include <string.h>

enum { CLIENT_MESSAGES_MAX = 2 * SERVERS_MAX + 2 };

#define MESSAGE_FLAGS(BIT)                                                                         \
    BIT(MESSAGE_ABANDONED) /* nobody waits for it */                                               \
    BIT(MESSAGE_LATE)      /* a fault: it need not go on before time passes */                     \
    BIT(MESSAGE_CURRENT)   /* of the attempt under way: the scheme is told of it */                \
    BIT(MESSAGE_WON)       /* its attempt was granted */                                           \
    BIT(MESSAGE_COUNTED)   /* it was the last write of the counter: once more, it is the same */   \
    BIT(MESSAGE_COPY)      /* a fault: another of these was sent, on a connection of its own */    \
    BIT(MESSAGE_TAKEN)     /* a reply of an opaque one: the lock key was there when it came, or    \
                              somebody has written it since the attempt watched it */              \
    BIT(MESSAGE_AGAIN)     /* a request, sent twice: the other one was granted the lock already */
BITS(message_flag, MESSAGE_FLAGS);

/* message.left of what was sent in an attempt before the last one: what it writes counts from its
 * execution, as in checks/. */
enum { MESSAGE_LEFT_FROM_NOW = 0xff };

/* What a command of a foreign program does to a connection. */
enum opaque_kind { OPAQUE_ORDINARY, OPAQUE_WATCH /* or UNWATCH */, OPAQUE_TRANSACTION };

/* A message in flight (struct message of scenario/world.h), packed: what remains of times, tokens
 * without a name, and in few bytes, since client states with equal messages are equal bytes. */
struct packed_message {
    uint8_t state; /* enum message_state */
    uint8_t flags;
    uint8_t server, lane, op;
    uint8_t verb; /* from VERB_COUNT on: of a foreign program, a number for each name (subject.h) */
    uint8_t key;
    uint8_t reply_kind, reply_error;
    uint8_t age;  /* of a renewal, and of a request that may win the lock: ticks since it was sent,
                     as far as that counts */
    uint8_t left; /* of a request that outlived its attempt, or is a copy, schemes with stamps: its
                     attempt's call_left */
    uint8_t attempts_ago;  /* of an access: which attempt's critical section sent it, up to
                              AGO_FORGOTTEN */
    int32_t value, number; /* of the command; number of a GETSET with left: what its GET saw */
    union {
        int32_t ttl_us;      /* of the command */
        int32_t opaque_kind; /* of a foreign program's: enum opaque_kind */
    };
    int32_t reply_value, reply_second;
};

BITS_FIT(MESSAGE_FLAGS, struct packed_message, flags);

/* How far a client has come in its critical section. */
enum section_stage {
    STAGE_OPEN,
    STAGE_READ, /* the counter is read, or being read */
    STAGE_OVER, /* no command follows */
};

/* Its lease asked for anew, in the hold that goes on: the client of a foreign program is told to.
 */
enum extend_stage { EXTEND_NOT_YET, EXTEND_UNDER_WAY, EXTEND_OVER };

/* checks/ knows the grants of a client's last two attempts. */
enum { AGO_FORGOTTEN = 2 };

#define CLIENT_FLAGS(BIT)                                                                          \
    BIT(CLIENT_STALLED)  /* it need not take a step before time passes */                          \
    BIT(CLIENT_SLOW)     /* nor end its critical section */                                        \
    BIT(CLIENT_STRUCK)   /* a fault cost this attempt an answer, or may leave a lock behind */     \
    BIT(CLIENT_SWAPPED)  /* ghost state: its GETSET has lost */                                    \
    BIT(CLIENT_TAKEN)    /* a server has told this attempt that the lock key is there; or it was,  \
                            where config.judges_guesses */                                         \
    BIT(CLIENT_WATCHES)  /* this attempt has watched the lock key */                               \
    BIT(CLIENT_HEARING)  /* it waited for all replies, and hears them now, one after the other */  \
    BIT(CLIENT_ANSWERED) /* partial_order.h: one of what it waits for was executed since its last  \
                            step */
BITS(client_flag, CLIENT_FLAGS);

/* Of a timer that is known in whole ticks and rounded down: that it is due, and what is left of it
 * is less than a tick. Where somebody may be late, by whose delay it begins anywhere within a tick,
 * that one may be over before it rings: once in an operation. */
enum timer_early { EARLY_NOT, EARLY_MAY_WAIT, EARLY_HAS_WAITED, EARLY_NO_MORE };

struct client_state {
    uint8_t phase;
    uint8_t rounds; /* attempts left */
    uint8_t flags;
    uint8_t
        call_left; /* since the call: LEASE_OVER and below when the own lease is over; see below */
    int16_t wake;  /* ticks to the timer, or NO_TIME */
    int8_t skew;   /* own clock - world clock, in ticks */
    uint8_t count; /* messages */
    uint8_t deleted;        /* bit a server: its release has removed its own lock there */
    uint8_t refused_itself; /* bit a server: it was refused there, last, because of a key of its own
                               attempt; */
    uint8_t refused_behind; /* of one that an attempt before has left */
    uint8_t refused_restored; /* of these, where the server had brought that one back */
    uint8_t overtaken; /* bit a server: what is granted there comes behind the answer: its refusal,
                          or its release */
    uint8_t stage;     /* of the critical section: enum section_stage */
    uint8_t silent;    /* bit a server: nothing passes between it and the client */
    uint8_t refusing;  /* bit a server: what is sent to it is lost at once */
    uint8_t holding;   /* bit a server: requests that may write wait there */
    uint8_t rate;      /* of its own clock: enum clock_rate */
    uint8_t is_half;   /* own clock: half a tick less than skew says */
    uint8_t extend;    /* enum extend_stage */
    uint8_t
        extended; /* bit a server: it has given its lock the lease anew, in the extend under way */
    uint8_t extended_left; /* call_left, once it is told so; 0: nothing counts yet */
    uint8_t
        wake_half; /* the timer is due half a tick before that, or more; kept where clocks drift */
    uint8_t connects; /* a connection of its broke, and until its timer rings it may have none */
    uint8_t granted;  /* while it acquires: the server has given it the lock, or a lease anew on
                         what it has left there. Where config.judges_grants */
    uint8_t early;    /* enum timer_early */
    uint8_t
        deleted_left; /* one server, and commands may be sent again: ticks in which its owner could
                         have counted yet on what it has deleted; then nothing is deleted */
    int32_t token;    /* of the attempt, position POSITION_SELF; 0: no attempt */
    int32_t fence;
    int32_t counter; /* STAGE_READ: what the critical section has read, see workload.h */
    int32_t seen;    /* the stamp that its GET was answered with, while it acquires; 0: none. Ghost
                        state */
    int32_t fields[SCHEME_FIELDS_MAX];
    struct packed_message
        messages[CLIENT_MESSAGES_MAX]; /* by server, oldest first; only count of them count */
};

BITS_FIT(CLIENT_FLAGS, struct client_state, flags);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, deleted);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, refused_itself);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, refused_behind);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, refused_restored);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, overtaken);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, extended);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, silent);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, refusing);
BITS_FIT_COUNT(SERVERS_MAX, struct client_state, holding);

/* Bytes that count: what is interned. */
static inline size_t client_state_size(const struct client_state *client_state)
{
    return offsetof(struct client_state, messages) +
           client_state->count * sizeof(struct packed_message);
}

/* call_left counts down from the lease + LEASE_OVER: stamps outlive the lease by up to two units,
 * and a notice may come a little late. */
enum { LEASE_OVER = 2 };

static inline bool client_state_is_same(const struct client_state *a, const struct client_state *b)
{
    return client_state_size(a) == client_state_size(b) && memcmp(a, b, client_state_size(a)) == 0;
}

void client_state_init(struct client_state *client_state, const struct config *config);

/* To the client that world/client.c steps, and back. What a step sent is added to the messages. */
void client_state_to_client(const struct client_state *client_state, const struct config *config,
                            struct client *client);
void client_state_take(struct client_state *client_state, const struct config *config,
                       const struct client *client, const struct step_result *step);

/* Why that cannot be taken: a limit of the explorer's; CONTRACT_NONE: it can. */
enum contract_violation client_state_violation(const struct client_state *client_state,
                                               const struct config *config,
                                               const struct client *client,
                                               const struct step_result *step);

/* Zeroes what can no longer matter. Last act of every change. */
void client_state_settle(struct client_state *client_state, const struct config *config);

/* Does it wait for a command of its critical section? It neither releases nor acquires then. */
bool client_state_is_accessing(const struct client_state *client_state);

/* For that, or for the end of an extend? */
static inline bool client_state_is_at_work(const struct client_state *client_state)
{
    return client_state->extend == EXTEND_UNDER_WAY || client_state_is_accessing(client_state);
}

/* A tick passes; are_stamps_kept: all past stamps are so long past that they stay where they are.
 */
void client_state_age(struct client_state *client_state, const struct config *config,
                      bool are_stamps_kept);

/* The connection of a lane breaks: what the client waits for on it is void. lane LANE_COUNT: the
 * server is another process now; so is what is in flight on every lane, and the rest is gone. */
void client_state_break(struct client_state *client_state, int server, enum lane lane);

/* The client has ended these connections itself (step_result.left): what it waits for there, nobody
 * does any more. What a critical section asked for is not on them. Mirrors core_leave_by_itself()
 * of world/core_messages.c. */
void client_state_leave(struct client_state *client_state, unsigned left);

/* Its own clock jumps, for good. */
void client_state_jump(struct client_state *client_state, const struct config *config, int ticks);

/* Its timer is due, and so is a tick before it rings, perhaps. */
static inline bool client_state_is_early(const struct client_state *client_state)
{
    return client_state->wake == 0 && client_state->early == EARLY_MAY_WAIT;
}

/* Its timer rings when its own clock has gone on by so many ticks; NO_TIME: it has none. */
void client_state_set_timer(struct client_state *client_state, int64_t own_ticks);

/* Its own clock runs so fast from here on, a timer that runs, too. */
void client_state_set_rate(struct client_state *client_state, enum clock_rate rate);

/* From here on the server is so far within its reach. Of one that refuses connections, those that
 * there were are broken before (client_state_break()). */
void client_state_reach(struct client_state *client_state, int server, enum server_reach reach);

/* Clients changed places, or servers did. */
void client_state_rename_clients(struct client_state *client_state, const uint8_t *new_position);
void client_state_rename_servers(struct client_state *client_state, const uint8_t *new_number);

/* The newest stamp that is past, in ticks before now, at least 0; -1: none. */
int client_state_newest_past(const struct client_state *client_state);

/* Does it hold a token of another client? */
bool client_state_mentions(const struct client_state *client_state);

/* Another of this one is sent, on a connection of its own; nobody waits for it. */
struct packed_message client_state_copy(const struct client_state *client_state,
                                        const struct config *config, int message);

/* Puts it behind the others of its server, so that connections to different servers keep no order
 * among them. */
void client_state_add(struct client_state *client_state, const struct packed_message *message);
void client_state_remove(struct client_state *client_state, int message);
struct command message_command(const struct packed_message *message);

/* Does only its subject know what it is? Then `number` is the subject's name for it. */
static inline bool message_is_opaque(const struct packed_message *message)
{
    return message->verb >= VERB_COUNT;
}

/* A transaction that nobody waits for any more. Of these alone it is known which WATCH they came
 * with: that of their client, who sends nothing more on that lane until they have come. */
bool message_keeps_watch(const struct packed_message *message);

/* Does it wait for anything of that server, but what its critical section asked for? */
bool client_state_waits_for(const struct client_state *client_state, int server);

/* Is there such a one in flight on the lane? */
bool client_state_keeps_watch(const struct client_state *client_state, int server, int lane);

static inline bool message_is_request(const struct packed_message *message)
{
    return message->state == MESSAGE_REQUEST;
}

static inline bool message_is_reply(const struct packed_message *message)
{
    return message->state == MESSAGE_REPLY;
}

/* Nobody waits for it: given up on, or a copy. */
static inline bool message_is_abandoned(const struct packed_message *message)
{
    return (message->flags & MESSAGE_ABANDONED) != 0;
}

/* A choice names a message by client, server and the verb's text: is this the one that it means, of
 * those wanted? The rule of scenario/naming.h. */
bool client_state_is_oldest(const struct client_state *client_state, int message,
                            bool (*is_wanted)(const struct packed_message *message));

/* Does it not pass for now? Its server is silent, or holds what may write. */
bool client_state_is_held(const struct client_state *client_state,
                          const struct packed_message *message);

/* Need it not move before time passes? It is late, or held. */
bool client_state_may_wait(const struct client_state *client_state, int message);

/* Its attempt is granted. */
static inline void message_wins(struct packed_message *message)
{
    message->flags = (uint8_t)((message->flags | MESSAGE_WON) & ~MESSAGE_AGAIN);
}

/* It is of an attempt that is over, or was another one. */
void message_forgets(struct packed_message *message);

/* Can this request be executed, this reply be heard, before any other message moves? */
bool client_state_can_arrive(const struct client_state *client_state, int message);
bool client_state_can_be_heard(const struct client_state *client_state, int message);

#endif
