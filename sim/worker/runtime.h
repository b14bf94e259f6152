/* runtime.h - what is known of the programs that run lock programs: the Debian package of each, and
 * the flags that make one of them steady. */
#ifndef PICKLOCK_WORKER_RUNTIME_H
#define PICKLOCK_WORKER_RUNTIME_H

#include "worker/worker.h"

enum { RUNTIME_FLAGS = 6, RUNTIME_FLAG_BYTES = 48 };

/* Words with flags between the program and what it is told. */
struct runtime_words {
    char *words[WORKER_WORDS_MAX + RUNTIME_FLAGS + 1];
    char flags[RUNTIME_FLAGS][RUNTIME_FLAG_BYTES];
};

/* words are borrowed for as long as made is used. */
void runtime_add_flags(struct runtime_words *made, char *const *words, uint64_t seed);

/* program: as in a command line. NULL: none is known, or none has that path. */
const char *runtime_package(const char *program);

/* Does the program of that process read the monotonic clock whenever it goes on, for itself? */
bool runtime_reads_clock(int pid);

/* The name of the program of that process, where a signal asks it for no stack: Node.js opens its
 * inspector at SIGUSR1, and the JVM keeps that for itself. NULL: another one. */
const char *runtime_without_stack(int pid);

/* Does the process run a program that wants flags, and has it not got them? Its name; NULL: no. */
const char *runtime_lacks_flags(int pid);

#endif
