/* log_pieces.h - the files of a history that is written in pieces: for log.c alone.
 *
 * NAME.jsonl goes on in NAME.2.jsonl, that in NAME.3.jsonl. A piece stands at its path from its
 * beginning on. One that is whole is brought to the disk beside what is written next, so that
 * nobody waits for it. The first one that cannot be written is the last, and what there is of it
 * stays: a history without an end. */
#ifndef PICKLOCK_HISTORY_LOG_PIECES_H
#define PICKLOCK_HISTORY_LOG_PIECES_H

#include "base/fail.h"
#include "base/outfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_pieces;

/* first_path: of the first piece, borrowed for the call. */
struct log_pieces *log_pieces_new(const char *first_path, int64_t piece_bytes);
/* Has a piece of so many bytes enough of them? */
bool log_pieces_is_full(const struct log_pieces *pieces, uint64_t bytes);
/* The file in which it goes on, without its folder; borrowed until the next turn. */
const char *log_pieces_next_name(const struct log_pieces *pieces);
int log_pieces_number(const struct log_pieces *pieces);     /* of the piece in hand, from 1 */
uint64_t log_pieces_chain(const struct log_pieces *pieces); /* drawn, the same in all of them */

/* The piece in file (taken) is whole. Returns the next one, or NULL: there can be none. What fails
 * is kept for the close. */
struct outfile *log_pieces_turn(struct log_pieces *pieces, struct outfile *file);

/* All pieces are on the disk, the last one in file (taken; NULL: there is none). Takes pieces.
 * FAIL_..: of the first failure. */
enum fail log_pieces_close(struct log_pieces *pieces, struct outfile *file,
                           struct failure *failure);

#endif
