/* look.h - what an execution did to the lock's key: the key before and behind it, compared.
 *
 * A server executes one command at a time, and its clock stands still meanwhile: whatever differs
 * is that command's doing, be it a SET, a script of a thousand lines, or a hash. */
#ifndef PICKLOCK_WORKER_LOOK_H
#define PICKLOCK_WORKER_LOOK_H

#include "base/bits.h"
#include "history/effect.h"
#include "worker/session.h"

enum { LOOK_KEY_MAX = 256 };

/* The lock's key as it stands at a server. */
struct key_state {
    bool is_there;
    char value[VALUE_TEXT_MAX]; /* of a text what it says; of all else its dump */
    int64_t ttl_us;             /* TIME_NEVER: it does not expire */
};

/* The name of the lock's key: the one that workers were told where they write it, else one made of
 * it ("lock:k"); a number that never ends is none (a fence that is counted). */
struct lock_key {
    char name[LOOK_KEY_MAX];
    bool is_known;
    char other[LOOK_KEY_MAX]; /* until then: a key that is there and has not that name in it; or ""
                               */
};

/* Over the connection (borrowed). FAIL_UNAVAILABLE: what the server said. */
enum fail look_at(redisContext *control, const struct lock_key *key, struct key_state *state,
                  struct failure *failure);

/* Which of these is it? names: of keys that are there; told: what workers were. While it is not
 * known, key->name is what was told. FAIL_UNKNOWN: it was taken for another one until now. */
enum fail look_choose_key(redisContext *control, const redisReply *names, const char *told,
                          struct lock_key *key, struct failure *failure);
/* The same behind an execution of an acquire, of the keys that the server has. */
enum fail look_for_key(redisContext *control, const char *told, struct lock_key *key,
                       struct failure *failure);

/* A worker was granted the lock. FAIL_UNKNOWN: no key of that name was written, but another one, so
 * that nothing can be said of the lock. One that wrote none at all is for the checks to judge. */
enum fail look_check_grant(const struct lock_key *key, const char *told, struct failure *failure);

/* A command off the wire (borrowed; of a transaction all its requests) as histories know it. */
struct opaque look_opaque(const struct lock_key *key, const char *name, const char *bytes,
                          size_t length);

bool look_has_changed(const struct key_state *before, const struct key_state *behind);

/* What was written to the key, as the server tells it. */
#define LOOK_WRITES(BIT) BIT(LOOK_WROTE_VALUE) BIT(LOOK_WROTE_EXPIRY) BIT(LOOK_WROTE_END)
BITS(look_write, LOOK_WRITES);

/* What a command did between the two. */
struct execution_seen {
    const struct key_state *before, *behind;
    unsigned writes;   /* bits enum look_write: what leaves no difference is told by these alone */
    enum worker_op op; /* that it is a part of; EXTEND: also what its library does by itself */
    bool is_error, is_refusal; /* its answer; see look_refuses() */
};
void look_compare(const struct execution_seen *seen, struct effects *effects);

/* A reply off the wire (borrowed; may be cut) as far as histories know replies. */
struct reply look_reply(const char *bytes, size_t length);

/* A request and what answered it, off the wire; borrowed. */
struct exchange_seen {
    const char *request, *reply;
    size_t request_length, reply_length;
};

/* Does it say no: nil, or no positive number? Of a transaction: does any answer in it, to a command
 * that names the key? What says no may have changed the key all the same. */
bool look_refuses(const struct exchange_seen *seen, const char *key);
bool look_is_refusal(const struct reply *reply);

/* Is that word of a command the lock's key? A library may put something before or behind the name
 * that it was told: until it is known what, a word that has it in it is the key, but not a text
 * (a script). */
bool look_is_key(const char *name, bool is_known, const char *word, size_t length);

#endif
