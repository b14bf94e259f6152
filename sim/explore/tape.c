/* tape.c - see tape.h. */
#include "explore/tape.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_FIRST = 16, PIECE_BYTES = TAPE_PIECE * sizeof(uint32_t) };

void tape_init(struct tape *tape, int width)
{
    memset(tape, 0, sizeof *tape);
    while (1 << tape->width_bits < width)
        tape->width_bits++;
    assert(tape->width_bits <= TAPE_PIECE_BITS);
}

void tape_close(struct tape *tape)
{
    for (size_t i = tape->pieces_dropped; i < tape->pieces_count; i++)
        memory_piece_drop(tape->pieces[i], PIECE_BYTES);
    while (tape->spares_count > 0)
        memory_piece_drop(tape->spares[--tape->spares_count], PIECE_BYTES);
    free(tape->pieces);
    memset(tape, 0, sizeof *tape);
}

size_t tape_bytes(const struct tape *tape)
{
    size_t pieces = tape->pieces_count - tape->pieces_dropped + (size_t)tape->spares_count;
    return pieces * PIECE_BYTES + tape->pieces_size * sizeof *tape->pieces;
}

void tape_grow(struct tape *tape)
{
    if (tape->pieces_count == tape->pieces_size) {
        tape->pieces_size = tape->pieces_size ? 2 * tape->pieces_size : PIECES_FIRST;
        tape->pieces = memory_resize(tape->pieces, tape->pieces_size, sizeof *tape->pieces);
    }
    tape->next =
        tape->spares_count > 0 ? tape->spares[--tape->spares_count] : memory_piece(PIECE_BYTES);
    tape->piece_end = tape->next + TAPE_PIECE;
    tape->pieces[tape->pieces_count++] = tape->next;
}

void tape_drop(struct tape *tape, uint64_t before)
{
    size_t end = (size_t)(before << tape->width_bits >> TAPE_PIECE_BITS);
    while (tape->pieces_dropped < end) {
        uint32_t *piece = tape->pieces[tape->pieces_dropped];
        tape->pieces[tape->pieces_dropped++] = NULL;
        if (tape->spares_count < TAPE_SPARES)
            tape->spares[tape->spares_count++] = piece;
        else
            memory_piece_drop(piece, PIECE_BYTES);
    }
}
