/* reader.h - what the parts of the reader of a log file share; see history.h.
 */
#ifndef PICKLOCK_HISTORY_READER_H
#define PICKLOCK_HISTORY_READER_H

#include "base/bits.h"
#include "history/history.h"

#include <jansson.h>
#include <stdio.h>

/* What a client was asked for. */
struct client_calls {
    int attempt;   /* of its last call; -1: none */
    unsigned open; /* bit an operation of that attempt: no return yet */
};

struct history_reader {
    FILE *file;
    char *path;
    int64_t line;    /* of the one in hand, from 1 */
    int64_t last_us; /* of the event before */
    int64_t events;
    int piece; /* that is read, from 1: the first one has the head */
    bool is_over;
    bool is_cut;      /* see history_reader_was_cut() */
    bool is_streamed; /* as of the head */
    bool says_proved; /* the event in hand, of all before it */
    bool is_generic;  /* every line is read as JSON of any kind */
    int version;      /* 1 or 2 */
    int clients, servers, locks;
    struct client_calls *calls; /* by client */
    char (*names)[NAME_MAX_BYTES];
    char (*processes)[NAME_MAX_BYTES];
    struct history_doubts end;
    struct follow *follow; /* NULL: nobody writes it any more */
    char *room;            /* what was read; of that up to begin is done with */
    size_t begin, filled;
    size_t size;       /* of the line in hand */
    const char *bytes; /* within the room */
    struct place {
        const char *outer; /* NULL: the line itself is to blame, or its field */
        int nth;           /* which object of a list that is, from 1; 0: it is no list */
        const char *field; /* NULL: that object, or all of it */
        size_t column;     /* known without looking; from 1 */
    } place;               /* of what is in hand */
    /* What the event in hand points to. */
    struct opaque opaque;
    struct effects effects;
    bool says_wanted[KEY_COUNT]; /* of each effect */
    char token_text[VALUE_TEXT_MAX];
};

/* The fields that fields.def does not have: their bounds are the head's, or
 * they are always there.
 */
#define SEEN_BITS(BIT)                                                                             \
    BIT(SEEN_INDEX)                                                                                \
    BIT(SEEN_TIME) BIT(SEEN_KIND) BIT(SEEN_FROM) BIT(SEEN_CLIENT) BIT(SEEN_SERVER)
BITS(seen_bit, SEEN_BITS);

/* The next line, without its end, which has at most so many bytes; *is_there false at the end of
 * the file. The room has the longest line and READER_BYTES. */
enum { READER_BYTES = 64 * 1024 };
enum fail reader_line(struct history_reader *reader, size_t most, bool *is_there,
                      struct failure *failure);
/* FAIL_UNKNOWN: the line in hand is not whole, of a history that is there while it is written. */
enum fail reader_ends_here(const struct history_reader *reader, struct failure *failure);
/* Behind the last line: FAIL_INPUT where anything is there; of one that is followed, by now. */
enum fail reader_nothing_more(struct history_reader *reader, struct failure *failure);

/* The line in hand as JSON; the caller lets go of it. */
enum fail reader_parse(struct history_reader *reader, json_t **object, struct failure *failure);

/* A line that is no event, and not the head, has those fields and no others. names: first the one
 * that it is known by. */
enum fail reader_only(struct history_reader *reader, json_t *object, const char *const *names,
                      int count, struct failure *failure);

/* The last line of a piece is in hand: goes on with the file that it names, behind its first line.
 */
enum { READER_CHAIN_MAX = 24, READER_NAME_MAX = 256 };
enum fail reader_go_on(struct history_reader *reader, json_t *seam, struct failure *failure);

/* An event as its line says, not yet held against the one before. */
struct plain_event {
    struct event event;
    unsigned seen;   /* enum seen_bit */
    unsigned filled; /* bit a row of fields.def */
};

/* Reads the line in hand, where it is as picklock writes it. False: it is not,
 * or something is wrong with it; nothing is said. */
bool reader_plain(const struct history_reader *reader, struct plain_event *made);

/* FAIL_INPUT with "path:line: " or "path:line:column: " and the words. */
enum fail reader_refuses(struct history_reader *reader, struct failure *failure, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* The field of that name is in hand: its column goes in front of what is
 * refused. name is kept until the next line; NULL: the line. */
void reader_at(struct history_reader *reader, const char *name);
/* The same of a field within another one, or within the nth object of its list.
 */
void reader_within(struct history_reader *reader, const char *outer, int nth, const char *name);

/* Refuses a word that is none of those, and says which of them is near. what:
 * "'op' knows no". */
enum fail reader_unknown(struct history_reader *reader, const char *what, const char *word,
                         const char *const *words, int count, struct failure *failure);

/* A field of a name that nobody knows is somebody's own, and left alone: unless it may be a known
 * one misspelt, or a later version of the format knows it. names: all, those of this version first,
 * known of them. */
enum fail reader_other(struct history_reader *reader, const char *what, const char *name,
                       const char *const *names, int count, int known, struct failure *failure);

/* Is it a call that stands once, or a return with a result that such an operation has? */
enum fail reader_calls_check(struct history_reader *reader, const struct event *event,
                             struct failure *failure);

/* A value of the field of that name. */
enum fail reader_number(struct history_reader *reader, const char *name, const json_t *value,
                        int64_t least, int64_t most, int64_t *number, struct failure *failure);
enum fail reader_text(struct history_reader *reader, const char *name, const json_t *value,
                      char *text, size_t size, struct failure *failure);
enum fail reader_flag(struct history_reader *reader, const char *name, const json_t *value,
                      bool *flag, struct failure *failure);
/* A number, or a text as in opaque.h; text: VALUE_TEXT_MAX, "" of a number. */
enum fail reader_value(struct history_reader *reader, const char *name, const json_t *value,
                       int64_t *number, char *text, struct failure *failure);

/* Fills *head from the first line, parsed. */
enum fail reader_head(struct history_reader *reader, json_t *object, struct history_head *head,
                      struct failure *failure);

/* Takes a field that version 2 has added to events; *is_taken: it was one. */
enum fail reader_foreign(struct history_reader *reader, const char *name, const json_t *value,
                         struct event *event, bool *is_taken, struct failure *failure);
/* Is what those fields say of the event whole, and does it fit the rest?
 * has_typed: a field of a typed command is there, too. */
enum fail reader_foreign_check(struct history_reader *reader, struct event *event, bool has_typed,
                               struct failure *failure);

#endif
