/* asked_worker.h - for tests of ask/: a worker of this folder that is asked, and a search of it. */
#ifndef PICKLOCK_TEST_ASKED_WORKER_H
#define PICKLOCK_TEST_ASKED_WORKER_H

#include "ask/asking.h"

#include <stdio.h>
#include <string.h>

#include "test/explore_run.h"
#include "test/sample.h"

struct worker_asked {
    char command[160];
    struct worker_program program;
    struct scheme scheme;
    struct asking *asking;
};

enum { ASKED_LEASE_US = 2000000 };

/* The program of this folder in Python, and its words; NULL: they are the command. */
static inline void ask_as(struct worker_asked *asked, const char *program, const char *name,
                          int servers, bool merges, int learns)
{
    struct failure failure = {0};
    (void)snprintf(asked->command, sizeof asked->command,
                   program ? "/usr/bin/python3 sim/test/%s.py %s" : "%s%s", program ? program : "",
                   name);
    asked->program = (struct worker_program){
        .command = asked->command,
        .wait_us = strncmp(name, "retrying", strlen("retrying")) == 0 ? ASKED_LEASE_US : 0};
    asked->scheme = (struct scheme){.name = name, .unit_us = 1000};
    const struct asking_options options = {.program = &asked->program,
                                           .servers = servers,
                                           .merges = merges,
                                           .learns = learns,
                                           .seed = 1};
    if (asking_new(&asked->asking, &options, &asked->scheme, &failure))
        fail_msg("%s: %s", name, failure.text);
}

static inline void ask_for(struct worker_asked *asked, const char *program, const char *name,
                           int servers)
{
    ask_as(asked, program, name, servers, true, 0);
}

static inline void search(struct worker_asked *asked, const struct explore_options *own,
                          struct explore_options *options, struct explore_outcome *outcome)
{
    *options = *own;
    options->scheme = &asked->scheme;
    options->subject = asking_subject(asked->asking);
    options->lease_ticks = asking_lease_ticks(asked->asking);
    asking_expect(asked->asking, options);
    run(options, outcome);
}

/* How a search of it fails, of which so many of a hundred answers are asked for again; code
 * FAIL_NONE: it does not. */
static inline struct failure search_failure(struct worker_asked *asked,
                                            const struct explore_options *own, int again)
{
    struct explore_options options;
    struct explore_outcome outcome;
    search(asked, own, &options, &outcome);
    if (again > 0 && !asking_failure(asked->asking)->code)
        assert_true(asking_audit(asked->asking, again, 0));
    const struct failure failure = *asking_failure(asked->asking);
    explore_outcome_free(&outcome);
    asking_free(asked->asking);
    return failure;
}

/* Of a hundred answers so many are asked for again, in fresh processes; all where PICKLOCK_LONG is
 * set, and where only samples are wanted fewer, but some. */
static inline int share_again(int percent)
{
    const int share = is_long() ? 100 : percent / sample_every();
    return share > 5 ? share : 5;
}

/* A share of all, in fresh processes. */
static inline void ask_again_and_end(struct worker_asked *asked)
{
    assert_true(asking_audit(asked->asking, 5, 0));
    if (asking_failure(asked->asking)->code)
        fail_msg("%s", asking_failure(asked->asking)->text);
    asking_free(asked->asking);
}

#endif
