/* replay_memo.h - what the checks said of replays: one way is replayed once, whatever it violates,
 * and in however many cells it is found. */
#ifndef PICKLOCK_EXPLORE_RESULT_REPLAY_MEMO_H
#define PICKLOCK_EXPLORE_RESULT_REPLAY_MEMO_H

#include "explore/search/explore.h"

struct replay_memo;

struct replay_memo *replay_memo_new(void);
void replay_memo_free(struct replay_memo *memo); /* NULL is fine */

/* The PROPERTY_COUNT findings (borrowed until it is freed) of the same choices in the same run: so
 * many clients and servers, that lease, that seed. NULL: not replayed yet. One scheme a memo.
 * *lacks_command (NULL: nobody asks): as it was put. */
const struct finding *replay_memo_find(const struct replay_memo *memo, const struct run *run,
                                       const struct explore_finding *way, bool *lacks_command);
/* Copies. lacks_command: the server did not know one. Takes file: its history is there; NULL:
 * nobody wrote it. */
void replay_memo_put(struct replay_memo *memo, const struct run *run,
                     const struct explore_finding *way, const struct finding *findings,
                     bool lacks_command, char *file);

/* The file of the same choices in the same run (borrowed); NULL: there is none. */
const char *replay_memo_file(const struct replay_memo *memo, const struct run *run,
                             const struct explore_finding *way);

/* The same of ways that were made to find the times of their timers (retime.h): the choices of one
 * that was made so (how: enum retime). */
struct retimed_way {
    struct choice *choices; /* borrowed */
    int choices_count;
    bool is_other; /* than the way's own */
};
/* False: it was not made yet. */
bool replay_memo_find_retimed(const struct replay_memo *memo, const struct run *run,
                              const struct explore_finding *way, int how,
                              struct retimed_way *retimed);
/* Copies. */
void replay_memo_put_retimed(struct replay_memo *memo, const struct run *run,
                             const struct explore_finding *way, int how,
                             const struct retimed_way *retimed);

/* All that was put since the last time, for a memo of another process of this program: *size bytes,
 * which the caller frees. */
char *replay_memo_pack(struct replay_memo *memo, size_t *size);
/* Puts that. False: it is nothing of the kind, and nothing was put. */
bool replay_memo_unpack(struct replay_memo *memo, const char *bytes, size_t size);

#endif
