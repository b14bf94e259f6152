/* tape.c - see tape.h. */
#include "explore/tape.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_FIRST = 16 };

void tape_init(struct tape *tape, int width)
{
    memset(tape, 0, sizeof *tape);
    tape->width = width;
}

void tape_close(struct tape *tape)
{
    for (size_t i = tape->pieces_dropped; i < tape->pieces_count; i++)
        free(tape->pieces[i]);
    free(tape->pieces);
    memset(tape, 0, sizeof *tape);
}

static size_t piece_words(const struct tape *tape)
{
    return TAPE_PIECE * (size_t)tape->width;
}

size_t tape_bytes(const struct tape *tape)
{
    return (tape->pieces_count - tape->pieces_dropped) * piece_words(tape) * sizeof(uint32_t) +
           tape->pieces_size * sizeof *tape->pieces;
}

void tape_grow(struct tape *tape)
{
    if (tape->pieces_count == tape->pieces_size) {
        tape->pieces_size = tape->pieces_size ? 2 * tape->pieces_size : PIECES_FIRST;
        tape->pieces = memory_resize(tape->pieces, tape->pieces_size, sizeof *tape->pieces);
    }
    tape->next = memory_resize(NULL, piece_words(tape), sizeof *tape->next);
    tape->piece_end = tape->next + piece_words(tape);
    tape->pieces[tape->pieces_count++] = tape->next;
}

void tape_drop(struct tape *tape, uint64_t before)
{
    for (; tape->pieces_dropped < before >> TAPE_PIECE_BITS; tape->pieces_dropped++) {
        free(tape->pieces[tape->pieces_dropped]);
        tape->pieces[tape->pieces_dropped] = NULL;
    }
}
