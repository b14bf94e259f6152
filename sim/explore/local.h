/* local.h - one client of the explorer with its messages in flight, in a normal form.
 *
 * Equal situations are equal bytes: times are what remains, own tokens carry no position, what can
 * no longer matter is zero. So that a record can be interned, and a step of the scheme is computed
 * once for each of them. The step itself is world/client.c's, with the scheme's own function:
 * nothing is modelled twice. */
#ifndef PICKLOCK_EXPLORE_LOCAL_H
#define PICKLOCK_EXPLORE_LOCAL_H

#include "base/bits.h"
#include "explore/setting.h"
#include "world/client.h"

#include <string.h>

enum { PARCELS_MAX = 2 * SERVERS_MAX + 2 };

#define PARCEL_FLAGS(BIT)                                                                          \
    BIT(PARCEL_ABANDONED) /* nobody waits for it */                                                \
    BIT(PARCEL_LATE) /* a fault: it need not go on before time passes */                           \
    BIT(PARCEL_CURRENT) /* of the attempt under way: the scheme is told of it */                   \
    BIT(PARCEL_WON) /* its attempt was granted */                                                  \
    BIT(PARCEL_COUNTED) /* it was the last write of the counter: once more, it is the same */      \
    BIT(PARCEL_COPY) /* a fault: another of these was sent, on a connection of its own */
BITS(parcel_flag, PARCEL_FLAGS);

/* parcel.left of what was sent in an attempt before the last one: what it writes counts from its
 * execution, as in checks/. */
enum { PARCEL_LEFT_FROM_NOW = 0xff };

/* A message in flight. */
struct parcel {
    uint8_t state; /* enum message_state */
    uint8_t flags;
    uint8_t server, lane, op, verb, key;
    uint8_t reply_kind, reply_error;
    uint8_t age;  /* of a renewal: ticks since it was sent, at most the lease */
    uint8_t left; /* of a request that outlived its attempt, or is a copy, schemes with stamps: its
                     attempt's call_left */
    uint8_t attempts_ago; /* of an access: which attempt's critical section sent it, up to
                             AGO_FORGOTTEN */
    int32_t value, number,
        ttl_us; /* of the command; number of a GETSET with left: what its GET saw */
    int32_t reply_value, reply_second;
};

BITS_FIT(PARCEL_FLAGS, struct parcel, flags);

/* How far a client has come in its critical section. */
enum section_stage {
    STAGE_OPEN,
    STAGE_READ, /* the counter is read, or being read */
    STAGE_OVER, /* no command follows */
};

/* checks/ knows the grants of a client's last two attempts. */
enum { AGO_FORGOTTEN = 2 };

#define LOCAL_FLAGS(BIT)                                                                           \
    BIT(LOCAL_STALLED) /* it need not take a step before time passes */                            \
    BIT(LOCAL_SLOW) /* nor end its critical section */                                             \
    BIT(LOCAL_STRUCK) /* a fault cost this attempt an answer, or may leave a lock behind */        \
    BIT(LOCAL_SWAPPED) /* its GETSET was judged to have lost */                                    \
    BIT(LOCAL_TAKEN) /* a server has told this attempt that the lock key is there */               \
    BIT(LOCAL_HEARING) /* it waited for all replies, and hears them now, one after the other */    \
    BIT(LOCAL_ANSWERED) /* order.h: one of what it waits for was executed since its last step */
BITS(local_flag, LOCAL_FLAGS);

struct local {
    uint8_t phase;
    uint8_t rounds; /* attempts left */
    uint8_t flags;
    uint8_t
        call_left; /* since the call: LEASE_OVER and below when the own lease is over; see below */
    int16_t wake;  /* ticks to the timer, or NO_TIME */
    int8_t skew;   /* own clock - world clock, in ticks */
    uint8_t count; /* parcels */
    uint8_t deleted;   /* bit a server: its release has removed its own lock there */
    uint8_t refused;   /* bit a server: this attempt was refused there because of its own key */
    uint8_t overtaken; /* bit a server: what is granted there comes behind the answer: its refusal,
                          or its release */
    uint8_t stage;     /* of the critical section: enum section_stage */
    int32_t token;     /* of the attempt, position POSITION_SELF; 0: no attempt */
    int32_t fence;
    int32_t counter; /* STAGE_READ: what the critical section has read, see access.h */
    int32_t seen; /* the stamp that its GET was answered with, while it acquires; 0: none. For the
                     judge */
    int32_t fields[SCHEME_FIELDS_MAX];
    struct parcel parcels[PARCELS_MAX]; /* by server, oldest first; only count of them count */
};

BITS_FIT(LOCAL_FLAGS, struct local, flags);
BITS_FIT_COUNT(SERVERS_MAX, struct local, deleted);
BITS_FIT_COUNT(SERVERS_MAX, struct local, refused);
BITS_FIT_COUNT(SERVERS_MAX, struct local, overtaken);

/* Bytes that count: what is interned. */
static inline size_t local_size(const struct local *local)
{
    return offsetof(struct local, parcels) + local->count * sizeof(struct parcel);
}

/* call_left counts down from the lease + LEASE_OVER: stamps outlive the lease by up to two units,
 * and a notice may come a little late. */
enum { LEASE_OVER = 2 };

static inline bool local_is_same(const struct local *a, const struct local *b)
{
    return local_size(a) == local_size(b) && memcmp(a, b, local_size(a)) == 0;
}

void local_init(struct local *local, const struct setting *setting);

/* To the client that world/client.c steps, and back. What a step sent is added to the parcels. */
void local_to_client(const struct local *local, const struct setting *setting,
                     struct client *client);
void local_take(struct local *local, const struct setting *setting, const struct client *client,
                const struct client_news *news);

/* Why that cannot be taken: a limit of the explorer's; BREACH_NONE: it can. */
enum breach local_breach(const struct local *local, const struct setting *setting,
                         const struct client *client, const struct client_news *news);

/* Zeroes what can no longer matter. Last act of every change. */
void local_settle(struct local *local, const struct setting *setting);

/* Does it wait for a command of its critical section? It neither releases nor acquires then. */
bool local_is_accessing(const struct local *local);

/* A tick passes; are_stamps_kept: all past stamps are so long past that they stay where they are.
 */
void local_age(struct local *local, const struct setting *setting, bool are_stamps_kept);

/* The connection of a lane breaks: what the client waits for on it is void. lane LANE_COUNT: the
 * server is another process now; so is what is in flight on every lane, and the rest is gone. */
void local_break(struct local *local, int server, enum lane lane);

/* Clients changed places, or servers did. */
void local_rename_clients(struct local *local, const uint8_t *new_position);
void local_rename_servers(struct local *local, const uint8_t *new_number);

/* The newest stamp that is past, in ticks before now, at least 0; -1: none. */
int local_newest_past(const struct local *local);

/* Does it hold a token of another client? */
bool local_mentions(const struct local *local);

/* Another of this one is sent, on a connection of its own; nobody waits for it. */
struct parcel local_copy(const struct local *local, const struct setting *setting, int parcel);

/* Puts it behind the others of its server, so that connections to different servers keep no order
 * among them. */
void local_add(struct local *local, const struct parcel *parcel);
void local_remove(struct local *local, int parcel);
struct command parcel_command(const struct parcel *parcel);

/* A transaction that nobody waits for any more. Of these alone it is known which WATCH they came
 * with: that of their client, who sends nothing more on that lane until they have come. */
bool parcel_keeps_watch(const struct parcel *parcel);

/* Is there such a one in flight on the lane? */
bool local_keeps_watch(const struct local *local, int server, int lane);

/* Is there a parcel in that state before this one on its connection? What was given up on is on a
 * connection that its client has left. */
bool local_is_blocked(const struct local *local, int parcel, enum message_state state);

static inline bool parcel_is_request(const struct parcel *parcel)
{
    return parcel->state == MESSAGE_REQUEST;
}

static inline bool parcel_is_reply(const struct parcel *parcel)
{
    return parcel->state == MESSAGE_REPLY;
}

/* Nobody waits for it: given up on, or a copy. */
static inline bool parcel_is_late(const struct parcel *parcel)
{
    return (parcel->flags & PARCEL_ABANDONED) != 0;
}

/* A choice names a message by client, server and the verb's text: is this the one that it means, of
 * those wanted? The rule of scenario/naming.h. */
bool local_is_oldest(const struct local *local, int parcel,
                     bool (*is_wanted)(const struct parcel *parcel));

/* Can this request be executed, this reply be heard, before any other message moves? */
bool local_can_arrive(const struct local *local, int parcel);
bool local_can_be_heard(const struct local *local, int parcel);

#endif
