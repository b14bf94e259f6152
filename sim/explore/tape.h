/* tape.h - records of a few numbers each, one after the other, for as long as memory lasts.
 *
 * They lie in pieces of equal size that never move: growing costs neither a copy nor memory for old
 * and new at once, and what was read for the last time is given back piece by piece. */
#ifndef PICKLOCK_EXPLORE_TAPE_H
#define PICKLOCK_EXPLORE_TAPE_H

#include <stddef.h>
#include <stdint.h>

enum { TAPE_PIECE_BITS = 12, TAPE_PIECE = 1 << TAPE_PIECE_BITS }; /* records */

struct tape {
    uint32_t **pieces;   /* NULL: dropped */
    size_t pieces_count; /* ever begun */
    size_t pieces_size;
    size_t pieces_dropped; /* the first so many of them */
    uint64_t count;        /* records, with those that were dropped */
    int width;             /* numbers of a record */
};

void tape_init(struct tape *tape, int width);
void tape_close(struct tape *tape);
size_t tape_bytes(const struct tape *tape);

/* Room for one more piece: tape_push() calls it. */
void tape_grow(struct tape *tape);

/* Records before that one will not be read again. */
void tape_drop(struct tape *tape, uint64_t before);

/* A record that is there still. */
static inline uint32_t *tape_at(const struct tape *tape, uint64_t at)
{
    return tape->pieces[at >> TAPE_PIECE_BITS] + (at & (TAPE_PIECE - 1)) * (size_t)tape->width;
}

/* One more record, to be filled in. The word after it may be written, too: the next record's. */
static inline uint32_t *tape_push(struct tape *tape)
{
    if (tape->count >> TAPE_PIECE_BITS == tape->pieces_count)
        tape_grow(tape);
    return tape_at(tape, tape->count++);
}

#endif
