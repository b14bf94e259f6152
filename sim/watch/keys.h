/* keys.h - the keys that are watched, and how each stands at the server.
 *
 * A key is looked at before and behind each command that names it, over a connection of our own,
 * while no other such command is with the server: what differs is that command's doing. */
#ifndef PICKLOCK_WATCH_KEYS_H
#define PICKLOCK_WATCH_KEYS_H

#include "base/limits.h"
#include "history/effect.h"
#include "live/control.h"
#include "redis/opaque.h"
#include "watch/words.h"

enum {
    WATCHED_KEY_MAX = 256,
    KEY_BUCKET_BITS = 10,
    KEY_BUCKETS = 1 << KEY_BUCKET_BITS,
    HIDDEN_WORDS_MAX = 24, /* more is cut in a text anyway */
    NO_KEY = -1,
    REFUSALS_TOLD = 16, /* by one and the same lock, in the history: one changes nothing */
    REFUSED_MAX = 16,
    TOLD_MAX = 16,   /* connections that had the token of one and the same lock */
    TOKEN_LEAST = 8, /* bytes: a shorter value is no token */
};

/* How a key stands. */
struct key_look {
    bool is_there;
    bool is_dump, is_list;
    char value[VALUE_TEXT_MAX]; /* of a text what it says; of a hash with one field its name, of a
                                   list with one member that (who holds it); of all else its dump */
    int64_t expires_us;         /* by the server's clock, whole milliseconds; INT64_MAX: never */
    int64_t left_us;            /* until then; INT64_MAX: never */
    int64_t clock_us;           /* the server's, then */
    bool has_fence;             /* of a key that holds one: it is a whole number, or a hash with one
                                   in the field "fence" */
    int64_t fence;
    bool has_word; /* what stands in the place of a fence is none, and cannot be put in order */
};

struct watched_key {
    /* What is asked of each request, close together: */
    bool is_used, is_fence; /* is_fence: it holds the newest fence of something that is guarded */
    bool is_lock;           /* what stands there was granted as a lock, and the history knows it */
    int database, name_length;
    int next;    /* row + 1 of the next one in its bucket; 0: none */
    int evident; /* commands under way whose answer says all that they do */
    int owner;   /* the holder whose it is, while is_lock */
    int refusals_told, refused_count;
    int64_t granted;                /* which grant it is, counted, while is_lock */
    int64_t ends_us;                /* when its lease ends, while is_lock; INT64_MAX: never ... */
    int refused_last;               /* the newest of "refused", below */
    char name[WATCHED_KEY_MAX];     /* its bytes; may hold blanks, never a 0 */
    int64_t ends_later_us, left_us; /* ... or so much later; since when that is so */
    int64_t left_known;             /* in which state of knowledge */
    int refused[REFUSED_MAX];       /* processes that were refused it; of more the last */
    struct told_link {
        uint64_t link;
        bool has_sent; /* the token; else it was answered it */
    } told[TOLD_MAX];  /* since the lock was granted, while is_lock; of more the last */
    int told_count;
    bool has_left_fence;
    int64_t left_fence; /* as it was seen last */
    int64_t highest_fence;
    int64_t used;    /* the how-manieth look was the last one of it */
    uint64_t script; /* digest of the one that granted it, while is_lock ... */
    int token_at;    /* ... and which of its words was the token; 0: no script, or none was */
    struct key_look last;
    int64_t last_us, known; /* when that was so; in which state of knowledge */
};

/* Which keys are meant, as in KEYS. */
struct key_pattern {
    const char *text;    /* borrowed; NULL: none */
    const char *literal; /* its longest run without wildcards; may be empty */
    size_t literal_length;
    bool is_prefix; /* it is the literal, and a '*' behind it */
};

struct keys {
    struct key_pattern locks, fences;
    int first;             /* the byte that every match begins with; -1: there is no such byte */
    redisContext *control; /* borrowed */
    int database;          /* of the control connection */
    bool lacks_expiretime; /* the server is older than 7.0 */
    bool hides_values;     /* of values only digests are kept ... */
    uint64_t salt;         /* ... which differ from run to run */
    bool is_ours;          /* the server: nobody comes to it but through the proxy */
    int64_t knowledge; /* goes up when any key may have been changed by a command that names none */
    int64_t looks;
    int64_t reused; /* rows that were given another key */
    int count;      /* rows that were ever used: the locks of the history */
    struct watched_key rows[WATCHED_KEYS_MAX];
    int16_t buckets[KEY_BUCKETS]; /* by the hash of a name: row + 1 of the first; 0: none */
};

/* A value as text (text: VALUE_TEXT_MAX), by which it is compared: where values are hidden, of one
 * that may be a token only its digest. Returns text. */
const char *keys_value(const struct keys *keys, const char *bytes, size_t length, char *text);

/* A request as people would type it, cut to fit, and the digest of its bytes: of long words that
 * are no watched keys, and may be or hold a token, only the digest. */
void keys_hide_words(const struct keys *keys, const struct request_words *words,
                     struct opaque *opaque);

/* keys: zeroed. Keeps the patterns; fences may be NULL. */
void keys_set_patterns(struct keys *keys, const char *locks, const char *fences);

/* Can any word among these bytes match? Cheap: looks for what every match has in it. */
bool keys_may_match(const struct keys *keys, const char *bytes, size_t length);
bool keys_match(const struct keys *keys, const char *word, size_t length);
/* Most words are other ones already by their first byte. */
static inline bool keys_may_begin(const struct keys *keys, const char *word, size_t length)
{
    return keys->first < 0 || (length && (unsigned char)*word == keys->first);
}
static inline bool keys_matches(const struct keys *keys, const char *word, size_t length)
{
    return keys_may_begin(keys, word, length) && keys_match(keys, word, length);
}
bool keys_is_fence(const struct keys *keys, const char *word, size_t length);

/* The row of that key, a new one where it has none. NO_KEY: there is no room, or the name is too
 * long. */
int keys_row(struct keys *keys, int database, const char *name, size_t length);
/* The row that it has. NO_KEY: none. */
int keys_find(const struct keys *keys, int database, const char *name, size_t length);

/* FAIL_UNAVAILABLE: what the server said. */
enum fail keys_look(struct keys *keys, int row, struct key_look *look, struct failure *failure);

/* How the key stands at now_us, without a look: as it was left, on a server of ours, where it can
 * not have ended by itself meanwhile. False: it must be looked at. */
bool keys_recall(const struct keys *keys, int row, int64_t now_us, struct key_look *look);
/* It stood so at now_us. */
void keys_keep(struct keys *keys, int row, const struct key_look *look, int64_t now_us);
/* A lock was left like that, as was looked at between the two. */
void keys_leave(const struct keys *keys, struct watched_key *key, const struct key_look *look,
                int64_t from_us, int64_t till_us);
/* Does it end as it was left to? By a look between the two. */
bool key_is_as_left(const struct watched_key *key, const struct key_look *look, int64_t from_us,
                    int64_t till_us);
/* May it still be there at that time, as it was left? */
bool key_may_last(const struct watched_key *key, int64_t at_us);
/* It is gone at that time: was it left to last longer? */
bool key_is_gone_early(const struct watched_key *key, int64_t at_us);
/* A script may have changed any key. */
void keys_forget(struct keys *keys);

/* Is the expiry of both the same, for all that can be told? */
bool keys_is_same_expiry(const struct keys *keys, const struct key_look *one,
                         const struct key_look *other);

#endif
