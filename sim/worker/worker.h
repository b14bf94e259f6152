/* worker.h - one worker: a process of somebody's, that is told what to do, and whose time is ours.
 *
 * It is started without a shell, leads a session of its own, binds nothing, and dies with this
 * process, also when this one is killed, and with it all that it has started (supervisor.h). Its
 * standard input and output are the protocol's, its standard error is read line by line. On the
 * caller's libuv loop; single-threaded.
 */
#ifndef PICKLOCK_WORKER_WORKER_H
#define PICKLOCK_WORKER_WORKER_H

#include "worker/protocol.h"
#include "worker/timekeeper.h"

#include <uv.h>

struct worker;

/* What comes from it. All borrowed until return; none may be NULL. */
struct worker_events {
    void (*answered)(void *context, struct worker *worker, const struct worker_answer *answer);
    void (*printed)(void *context, struct worker *worker, const char *line); /* on standard error */
    /* It said something that is no answer, or its process has ended: once, and nothing follows. */
    void (*failed)(void *context, struct worker *worker, const struct failure *failure);
    void *context;
};

struct worker_options {
    const char *command; /* "python3 my_lock.py": words, quotes, backslashes; no shell */
    const char *shim;    /* picklock-time.so, by a path that LD_PRELOAD takes; NULL: it lives by the
                            real time, and nothing of it is steered */
    const char *folder;  /* of its page; exists; TIME_PATH_MAX / 2 bytes at most */
    const char *helpers; /* the folder of the modules: python/ node/ ruby/ */
    struct worker_settings settings; /* texts are kept by the caller */
    uint64_t seed;
    int64_t now_us; /* world time */
    uv_loop_t *loop;
    const struct worker_events *events; /* kept */
};

enum { WORKER_WORDS_MAX = 64, WORKER_SAID_MAX = 600 };

/* Starts the process; it has said nothing yet. FAIL_INPUT: no such command line. FAIL_UNAVAILABLE:
 * no such program, and which package has it. From the main thread only. */
enum fail worker_new(struct worker **worker, const struct worker_options *options,
                     struct failure *failure);

/* Kills it. The handles close on the loop; the worker is freed there. NULL is fine. */
void worker_free(struct worker *worker);

/* Kills its process, and waits for its end: nobody is told. */
void worker_kill(struct worker *worker);

/* Sends a request, whose id is returned. To a worker that has ended it goes nowhere. */
int64_t worker_ask(struct worker *worker, struct worker_request request);

/* Its time (owned by it). */
struct timekeeper *worker_time(struct worker *worker);
const struct worker_settings *worker_settings(const struct worker *worker);
bool worker_has_ended(const struct worker *worker);
int worker_pid(const struct worker *worker);

/* Has it started processes that are still there? They live by the real time. */
bool worker_has_children(const struct worker *worker);
/* Which have not ended? The others are there until they are waited for. */
bool worker_has_living_children(const struct worker *worker);
/* Has it a ring of io_uring, past the library that tells it that there are none? */
bool worker_has_ring(const struct worker *worker);
/* The program of one of its processes, in brackets and behind a blank; "": it is not known. */
enum { WORKER_CHILD_BYTES = 24 };
const char *worker_child_name(const struct worker *worker, char text[WORKER_CHILD_BYTES]);

/* A program that catches SIGUSR1 is asked by it for its stack, as our modules for Python and Ruby
 * print it: lines of standard error with "File" in front. False: it does not. */
bool worker_ask_stack(struct worker *worker);
/* What has come of it, the latest call first, without our module's own; "": nothing. */
const char *worker_stack(const struct worker *worker);
/* Its last line is there: our module's own. */
bool worker_has_stack(const struct worker *worker);

/* What it printed last on standard error, in one line: the last error that it named since it was
 * asked for something, or the last line; "" when it printed nothing. */
const char *worker_last_words(const struct worker *worker);

/* Reads whatever it has written so far, and looks whether it lives: it is at rest. */
void worker_read(struct worker *worker);

/* Splits a command line into words (each NUL-terminated, in memory that the caller frees by freeing
 * words[0]). FAIL_INPUT: a quote without an end, a character that only a shell knows, too many
 * words. */
enum fail worker_split(const char *command, char *words[WORKER_WORDS_MAX + 1],
                       struct failure *failure);

#endif
