/* worker_scheme.c - see worker_scheme.h. */
#include "run/worker_scheme.h"

#include "base/memory.h"
#include "worker/worker.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A worker is a process: nobody takes its steps here. */
static void no_step(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    (void)state;
    (void)lease;
    (void)in;
    (void)out;
    assert(false && "a worker takes its own steps");
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The first word with an ending ("my_lock.py"), else the first: what a person would call it. */
static const char *program_name(char *const *words)
{
    for (int i = 0; words[i]; i++) {
        const char *name = file_name(words[i]), *dot = strrchr(name, '.');
        if (words[i][0] != '-' && dot && dot != name && dot[1])
            return name;
    }
    return file_name(words[0]);
}

enum fail worker_scheme_init(struct worker_scheme *made, const char *command,
                             const char *redis_server, struct failure *failure)
{
    char *words[WORKER_WORDS_MAX + 1];
    *made = (struct worker_scheme){.program = {.command = command, .redis_server = redis_server}};
    if (worker_split(command, words, failure))
        return FAIL_INPUT;
    (void)snprintf(made->name, sizeof made->name, "%s", program_name(words));
    free(words[0]);
    made->scheme = (struct scheme){.name = made->name,
                                   .summary = "a user's worker",
                                   .source = "a user's program",
                                   .step = no_step,
                                   .unit_us = 1000};
    if (scheme_named(made->name) || !scheme_add(&made->scheme))
        return failure_set(failure, FAIL_INPUT, "a scheme is called '%s' already", made->name);
    return FAIL_NONE;
}

void worker_scheme_note_promises(const struct worker_program *program, struct results *results)
{
    const unsigned promises = worker_program_promises(program);
    char *list = NULL;
    for (int i = 0; i < PROPERTY_COUNT && program->is_known; i++) {
        const unsigned promise = property_promise((enum property)i);
        if (!promise || promises & promise)
            continue;
        char *longer =
            memory_format("%s%s%s (%s)", list ? list : "", list ? ", " : "",
                          property_name((enum property)i), promise_name((enum promise)promise));
        free(list);
        list = longer;
    }
    if (list)
        results_note(results, memory_format("Not judged, since the worker does not promise what "
                                            "is in brackets: %s.",
                                            list));
    free(list);
}

const char *worker_scheme_command(const struct scheme *scheme)
{
    const char *place = (const char *)scheme - offsetof(struct worker_scheme, scheme);
    return scheme->step == no_step
               ? ((const struct worker_scheme *)(const void *)place)->program.command
               : NULL;
}
