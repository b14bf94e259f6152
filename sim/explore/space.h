/* space.h - states as a few numbers, and what follows from each: the compiled form of clients and
 * servers.
 *
 * A state is an array of words: a local's number for each client, a post's number for each server,
 * the roll's where critical sections write the resource, and what is left of the budgets. A
 * record's moves, ageing and renaming are computed once, by the code that steps it, and looked up
 * from then on. */
#ifndef PICKLOCK_EXPLORE_SPACE_H
#define PICKLOCK_EXPLORE_SPACE_H

#include "explore/columns.h"
#include "explore/heirs.h"
#include "explore/judge.h"
#include "explore/moves.h"
#include "explore/pool.h"
#include "explore/roll.h"
#include "explore/tape.h"

/* Even: words are copied two at a time, and a 0 follows an odd number of them. */
enum { WORDS_MAX = (EXPLORE_CLIENTS_MAX + SERVERS_MAX + 3) / 2 * 2 };

/* Budgets share one word: four bits a fault; FAULT_OF_RUN has none. */
enum { BUDGET_BITS = 4 };
#define BUDGET_MASK ((1u << BUDGET_BITS) - 1)
_Static_assert(EXPLORE_FAULTS_MAX < 1 << BUDGET_BITS, "a fault's budget has no room");
_Static_assert(EXPLORE_FAULTS_MAX * BUDGET_BITS <= 32, "the budgets have no room in a word");

struct move {
    uint32_t to;  /* number of the local, not of MOVE_ARRIVE; or of the post */
    uint16_t did; /* enum effect_bit */
    uint8_t kind; /* enum move_kind */
    int8_t parcel;
    int8_t server;
    int8_t fault; /* enum fault, or NO_FAULT */
    int8_t ticks;
    bool is_urgent;
    bool is_awaited; /* MOVE_ARRIVE: the client waits for the answer */
    uint8_t hearing; /* enum hearing */
};

BITS_FIT(EFFECT_BITS, struct move, did);
_Static_assert(BREACH_COUNT <= (UINT16_MAX + 1) / DID_BREACH, "a breach has no room beside them");

/* What is kept of a local beside its record. */
struct place {
    uint32_t moves_start;
    uint16_t moves_count;
    int16_t newest_past;
    bool is_known;   /* the moves are listed */
    bool is_urgent;  /* one of them must happen before time passes */
    bool is_hearing; /* LOCAL_HEARING */
    uint8_t phase, rounds, call_left;
    uint8_t deleted, refused, overtaken; /* of struct local */
    bool can_begin, has_mentions;
    bool has_swapped;                 /* LOCAL_SWAPPED */
    bool knows_counter;               /* has read it, or is about to write it */
    bool may_write, may_write_before; /* the resource: its last attempt, and the one before */
    int32_t fence;
    uint32_t aged[2]; /* by a tick; [1]: stamps kept */
    /* For order.h. */
    uint32_t arrivals; /* four bits a server: how many can arrive there */
    uint8_t asked,
        asked_late;   /* bit a server: what is awaited can arrive; it must not before time passes */
    uint8_t strays;   /* bit a server: what nobody waits for can arrive */
    uint8_t unheard;  /* bit a server: an answer that is awaited is there, and was not heard */
    bool has_lost;    /* a message that is void */
    bool is_acting;   /* it must act itself before time passes, but for what it only counts */
    bool is_held_up;  /* by a fault: it may act after time has passed */
    uint32_t counted; /* with its replies counted; UNKNOWN_ID: not looked at yet */
    /* For distance.h: events of its own at least, until it holds the lock; until it has the counter
     * read or written; until it has it written. */
    uint8_t hold_in, access_in, write_in;
    bool has_count; /* it has read the counter, which was this then */
    int32_t count;
};

BITS_FIT_COUNT(SERVERS_MAX, struct place, asked);
BITS_FIT_COUNT(SERVERS_MAX, struct place, asked_late);
BITS_FIT_COUNT(SERVERS_MAX, struct place, strays);
BITS_FIT_COUNT(SERVERS_MAX, struct place, unheard);
BITS_FIT_COUNT(4 * SERVERS_MAX, struct place, arrivals);

struct post_note {
    uint32_t moves_start;
    uint16_t moves_count;
    int16_t newest_past;
    uint32_t aged[2];
    uint16_t mentions[EXPLORE_CLIENTS_MAX];
    struct claim claim; /* whose the lock is; nobody's when the key is gone */
    struct claim kept;  /* and whose it is for a replica that was cut off */
    bool is_known;      /* the moves are listed */
    bool has_follow;    /* one of them follows an earlier fault */
    uint32_t strikes;   /* faults that it may be struck by: bits */
    bool is_watched;
    bool is_there;       /* the lock key exists */
    bool is_endless;     /* and never expires */
    int32_t count;       /* the guarded counter, */
    bool is_count_known; /* if the judge knows it */
};

BITS_FIT_COUNT(FAULT_COUNT, struct post_note, strikes);

struct space {
    struct setting setting;
    int words; /* of a state */
    struct pool locals, posts, rolls;
    struct place *places;
    struct post_note *notes;
    uint32_t places_size, notes_size;
    struct move *moves;
    uint32_t moves_count, moves_size;
    enum breach breach;       /* the first that was met: nothing of the search counts then */
    unsigned breach_slip;     /* of which field (declared.h); 0: none */
    int64_t breach_at;        /* the step that the scheme went on from */
    bool is_hasty;            /* the scheme did not wait for all, as it promises */
    bool can_states_be_wrong; /* the scheme promises what a state alone can break, and one may */
    struct memo arrivals, breaks, renamed_locals, renamed_posts, renamed_rolls, disconnects,
        returns, recounts, heard, forgotten;
    struct columns columns;
    struct heirs heirs;
    struct draft *drafts; /* of the record in hand */
    struct server_draft server_drafts[SERVER_MOVES_MAX];
};

void space_init(struct space *space, const struct explore_options *options);
void space_close(struct space *space);
size_t space_bytes(const struct space *space);

/* FAIL_INPUT: says which rule the scheme broke. */
enum fail space_fail(const struct space *space, struct failure *failure);

/* Lists the moves of a local or of a post: space_place() and space_post() call them once for each.
 */
void space_list_place(struct space *space, uint32_t local);
void space_list_post(struct space *space, uint32_t post);

/* The words of the first state, without a budget. */
void space_start(struct space *space, uint32_t *words);

static inline bool space_has_roll(const struct space *space)
{
    return space->setting.section == SECTION_WRITE;
}

static inline int space_words(const struct space *space)
{
    return space->words;
}

static inline uint32_t *space_roll_of(const struct space *space, uint32_t *words)
{
    return &words[space->setting.clients + space->setting.servers];
}

/* The moves of a local or a post, listed. The pointer is good until another one is looked at. */
static inline const struct place *space_place(struct space *space, uint32_t local)
{
    if (!space->places[local].is_known)
        space_list_place(space, local);
    return &space->places[local];
}

static inline const struct post_note *space_post(struct space *space, uint32_t post)
{
    if (!space->notes[post].is_known)
        space_list_post(space, post);
    return &space->notes[post];
}

/* What is known of a post without its moves. */
static inline const struct post_note *space_note(const struct space *space, uint32_t post)
{
    return &space->notes[post];
}

/* A request of a client executes: local and post become what they are then; returns enum judged. */
unsigned space_arrive(struct space *space, uint32_t *local, int parcel, uint32_t *post,
                      int position);

/* An acquire ended (scheme with stamps): the post with its claims put right. */
uint32_t space_return(struct space *space, uint32_t local, int position, enum judge_return how,
                      uint32_t post);

/* Connections break: of a client, as its server sees it; to a server, as the client sees it. */
uint32_t space_disconnect(struct space *space, uint32_t post, int position);
uint32_t space_break(struct space *space, uint32_t local, int server);

/* A refused attempt that was to be made again for nothing counts after all. */
uint32_t space_spend_round(struct space *space, uint32_t local);

/* The counter was written by another client, or the server that keeps it forgot its keys: what a
 * client knows of it. */
enum recount { RECOUNT_WRITTEN, RECOUNT_FORGOTTEN };
uint32_t space_recount(struct space *space, uint32_t local, enum recount recount);

/* All but the one who wrote it, at that position. */
void space_recount_others(struct space *space, uint32_t *locals, int position);

/* The roll follows a step; true: fence-order is violated by it. */
bool space_follow(struct space *space, uint32_t *roll, const struct roll_step *step);

/* A tick passes. */
uint32_t space_make_local_older(struct space *space, uint32_t local, bool are_stamps_kept);
uint32_t space_make_post_older(struct space *space, uint32_t post, bool are_stamps_kept);

static inline uint32_t space_age_local(struct space *space, uint32_t local, bool are_stamps_kept)
{
    uint32_t known = space_place(space, local)->aged[are_stamps_kept];
    return known != UNKNOWN_ID ? known : space_make_local_older(space, local, are_stamps_kept);
}

static inline uint32_t space_age_post(struct space *space, uint32_t post, bool are_stamps_kept)
{
    uint32_t known = space_note(space, post)->aged[are_stamps_kept];
    return known != UNKNOWN_ID ? known : space_make_post_older(space, post, are_stamps_kept);
}

uint32_t space_rename_local(struct space *space, uint32_t local, const uint8_t *new_position);
uint32_t space_rename_post(struct space *space, uint32_t post, const uint8_t *new_position);
uint32_t space_rename_roll(struct space *space, uint32_t roll, const uint8_t *new_position);
/* What the roll has of the client at a position; equal for equal. */
uint64_t space_roll_mentions(const struct space *space, uint32_t roll, int position);

/* Records in, numbers out. */
void space_read_local(const struct space *space, uint32_t number, struct local *local);
uint32_t space_number_local(struct space *space, const struct local *local);
void space_read_post(const struct space *space, uint32_t number, struct post *post);

#endif
