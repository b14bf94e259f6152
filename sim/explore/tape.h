/* tape.h - records of a few numbers each, one after the other, for as long as memory lasts.
 *
 * They lie in pieces that never move: growing costs neither a copy nor memory for old and new at
 * once, and what was read for the last time is given back piece by piece. */
#ifndef PICKLOCK_EXPLORE_TAPE_H
#define PICKLOCK_EXPLORE_TAPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TAPE_PIECE_BITS = 14, TAPE_PIECE = 1 << TAPE_PIECE_BITS, TAPE_SPARES = 2 }; /* numbers */

struct tape {
    uint32_t **pieces;   /* NULL: dropped */
    size_t pieces_count; /* ever begun */
    size_t pieces_size;
    size_t pieces_dropped; /* the first so many of them */
    uint64_t count;        /* records, with those that were dropped */
    uint32_t *next;        /* where the next one goes; at piece_end: into a new piece */
    uint32_t *piece_end;
    /* Pieces that were dropped, for the next ones: in a queue no page is fetched anew. */
    uint32_t *spares[TAPE_SPARES];
    int spares_count;
    int width_bits; /* a record has room for 1 << width_bits numbers */
};

/* width: numbers of a record, at most TAPE_PIECE. */
void tape_init(struct tape *tape, int width);
void tape_close(struct tape *tape);
size_t tape_bytes(const struct tape *tape);

/* One more piece: tape_push() calls it. */
void tape_grow(struct tape *tape);

/* Records before that one will not be read again. */
void tape_drop(struct tape *tape, uint64_t before);

/* A record that is there still. */
static inline uint32_t *tape_at(const struct tape *tape, uint64_t at)
{
    uint64_t number = at << tape->width_bits;
    return tape->pieces[number >> TAPE_PIECE_BITS] + (number & (TAPE_PIECE - 1));
}

/* Records that there is room for at tape->next, without one more piece. */
static inline uint64_t tape_room(const struct tape *tape)
{
    return (uint64_t)(tape->piece_end - tape->next) >> tape->width_bits;
}

/* So many records were filled in there. */
static inline void tape_add(struct tape *tape, uint64_t count)
{
    tape->next += count << tape->width_bits;
    tape->count += count;
}

/* One more record, to be filled in. */
static inline uint32_t *tape_push(struct tape *tape)
{
    if (tape->next == tape->piece_end)
        tape_grow(tape);
    uint32_t *record = tape->next;
    tape->next += (size_t)1 << tape->width_bits;
    tape->count++;
    return record;
}

/* Two at a time: an even number of them. */
static inline void words_copy(uint32_t *to, const uint32_t *from, int words)
{
    for (int i = 0; i < words; i += 2) {
        uint64_t pair;
        memcpy(&pair, from + i, sizeof pair);
        memcpy(to + i, &pair, sizeof pair);
    }
}

#endif
