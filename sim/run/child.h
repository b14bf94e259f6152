/* child.h - a child of ours that works on the other processors, beside a search.
 *
 * A search of a worker keeps one processor busy (live/processor.h). The child is forked before
 * anything runs, has no terminal, and dies with its parent, and what it runs with it. Both are one
 * program: bytes of a struct are what they were, and so are pointers into memory from before the
 * fork. No verdict may hang on it: it may end at any time. Sources: fork(2), unix(7),
 * SOCK_SEQPACKET. */
#ifndef PICKLOCK_RUN_CHILD_H
#define PICKLOCK_RUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Either end. */
struct child_process {
    int pid; /* in the parent; 0: it has ended */
    int socket;
};

/* What the child does; it ends behind that. */
typedef void child_work(void *context);

/* name: as ps(1) has it. False: there is one processor alone, or it cannot be started. No other
 * thread of ours runs yet. */
bool child_start(struct child_process *it, const char *name, child_work *work, void *context);
/* Ends it, and waits for that. */
void child_end(struct child_process *it);
/* The same, in the middle: it has said what makes no sense, or is gone. */
void child_kill(struct child_process *it);

/* From either end to the other one. False: it was not said, for its end, or, where it must not be
 * waited for, since the child is far behind. */
enum child_wait { CHILD_WAITS, CHILD_DOES_NOT_WAIT };
bool child_say(const struct child_process *it, const void *bytes, size_t size,
               enum child_wait wait);

/* In the child: how many bytes it was told; 0: there is nothing more to do. */
size_t child_heed(const struct child_process *it, void *bytes, size_t size,
                  const volatile int *stop);

/* In the parent: how many bytes it has said; 0: nothing so far; where that takes long, should
 * somebody have stopped it, it goes on. One that has ended is none any more (pid). */
enum { CHILD_LOOK_MS = 100 };
bool child_has_news(const struct child_process *it, int within_ms);
size_t child_hear(struct child_process *it, void *bytes, size_t size, int within_ms);

#endif
