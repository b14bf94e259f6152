/* stress_summary.h - for test_live_stress*.c: what a free run's events come to, and the servers
 * that all tests of a file share. */
#ifndef PICKLOCK_TEST_STRESS_SUMMARY_H
#define PICKLOCK_TEST_STRESS_SUMMARY_H

#include "base/memory.h"
#include "checks/checks.h"
#include "live/stress.h"
#include "redis/model.h"
#include "test/sample.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { CLIENTS = 8, SECOND_US = 1000000 };

/* What a run's events come to. */
struct summary {
    struct checks *checks;
    int64_t events, last_us;
    int64_t kinds[EVENT_COUNT];
    int64_t sections;        /* counter writes executed */
    int64_t pushes, longest; /* of the list */
    struct model *model;     /* what each execution is held to; NULL: nothing */
    struct model_watch watches[CLIENTS_MAX];
    int64_t counter; /* as nobody read it in the end; -1: not */
    int64_t faults[CHOICE_COUNT];
    int64_t pauses, delays;
    bool is_out_of_reach[SERVERS_MAX];
    int64_t spoken;                   /* executions of such a server, of clients */
    bool holds_writes[SERVERS_MAX];   /* CLIENT PAUSE */
    int64_t read_held, written_held;  /* executions of clients there, meanwhile */
    int64_t until_read_held;          /* 0: not */
    int64_t late;                     /* executions of an attempt that was over */
    int64_t unheeded, until_unheeded; /* replies to such; ends after so many, 0: not */
    int64_t deletes;                  /* transactions around a DEL that were executed */
    int64_t aborts; /* and of these aborted within lease_us of the SET of their attempt */
    int64_t lease_us;
    int64_t until_deletes, until_sections; /* ends after so many; 0: not */
    int64_t until_reached;                 /* servers that were out of reach; 0: not */
    int64_t stop_after;                    /* events; 0: never */
    bool until_struck;                     /* ends once every fault has struck */
    volatile int stop;
    int kill_pid;   /* killed after stop_after events instead */
    int held_up_us; /* behind that, by the machine */
    int attempts[CLIENTS_MAX];
    int64_t set_us[CLIENTS_MAX], call_us[CLIENTS_MAX];
    int64_t longest_us; /* from the call of an operation to a request of it */
};

static void count_fault(struct summary *summary, const struct event *event)
{
    summary->pauses += event->fault == FAULT_PAUSE;
    summary->delays += event->fault == FAULT_DELAY;
    if (fault_effect(event->fault) == FAULT_PUTS_OUT_OF_REACH || event->fault == FAULT_REACHABLE) {
        summary->holds_writes[event->server] = event->fault == FAULT_CLIENT_PAUSE;
        summary->is_out_of_reach[event->server] =
            event->fault != FAULT_REACHABLE && event->fault != FAULT_CLIENT_PAUSE;
    }
    for (int i = 0; i < CHOICE_COUNT; i++)
        summary->faults[i] += event->fault == choice_fault((enum choice_kind)i);
    if (summary->until_reached && summary->faults[CHOICE_REACH] == summary->until_reached)
        summary->stop = SIGTERM;
}

static void count_held(struct summary *summary, const struct event *event)
{
    if (event->kind != EVENT_EXECUTE || event->client < 0 || !summary->holds_writes[event->server])
        return;
    const bool may_write = model_may_write(event->command.verb);
    summary->written_held += may_write;
    summary->read_held += !may_write;
    if (summary->until_read_held && summary->read_held == summary->until_read_held)
        summary->stop = SIGTERM;
}

static bool has_struck_all(const struct summary *summary)
{
    return summary->pauses > 0 && summary->delays > 0 && summary->late > 0 &&
           summary->faults[CHOICE_LOSE_REPLY] > 0 && summary->faults[CHOICE_LOSE_REQUEST] > 0 &&
           summary->faults[CHOICE_CRASH] > 0 && summary->faults[CHOICE_GIVE_UP] > 0;
}

static void count_release(struct summary *summary, const struct event *event)
{
    int64_t *set_us = &summary->set_us[event->client];
    if (event->command.verb == VERB_SET_NX_PX)
        *set_us = event->from_us;
    if (event->command.verb != VERB_MULTI_DEL)
        return;
    if (++summary->deletes == summary->until_deletes)
        summary->stop = SIGTERM;
    summary->aborts +=
        event->reply.kind == REPLY_NIL && event->time_us < *set_us + summary->lease_us;
}

/* A server that had executed them in this order would have answered so. */
static void hold_to_model(struct summary *summary, const struct event *event)
{
    const struct reply reply = model_execute(summary->model, &summary->watches[event->client],
                                             &event->command, event->time_us);
    assert_int_equal(event->reply.kind, reply.kind);
    assert_int_equal(event->reply.value, reply.value);
    assert_int_equal(event->reply.second, reply.second);
}

/* Its connections break before its parent can learn how it ended. */
static void kill_server(const struct summary *summary)
{
    siginfo_t ended;
    assert_int_equal(kill(summary->kill_pid, SIGKILL), 0);
    if (!summary->held_up_us)
        return;
    assert_int_equal(waitid(P_PID, (id_t)summary->kill_pid, &ended, WEXITED | WNOWAIT), 0);
    (void)usleep((useconds_t)summary->held_up_us);
}

static void summary_take(void *context, const struct event *event)
{
    struct summary *summary = context;
    const struct command *command = &event->command;
    assert_int_equal(event->index, summary->events++);
    assert_true(event->from_us <= event->time_us);
    summary->last_us = event->time_us;
    summary->kinds[event->kind]++;
    if (event->kind == EVENT_FAULT)
        count_fault(summary, event);
    if (summary->model && event->kind == EVENT_FAULT &&
        fault_keys(event->fault) == FAULT_KEYS_ALL_LOST)
        model_flush_keys(summary->model);
    if (event->kind == EVENT_FAULT && fault_blame(event->fault) == FAULT_OF_SERVER &&
        fault_breaks(event->fault) == FAULT_BREAKS_ALL)
        memset(summary->watches, 0, sizeof summary->watches);
    summary->spoken += event->kind == EVENT_EXECUTE && event->client >= 0 &&
                       summary->is_out_of_reach[event->server];
    count_held(summary, event);
    if (event->kind == EVENT_CALL) {
        summary->attempts[event->client] = event->attempt;
        summary->call_us[event->client] = event->time_us;
    }
    if (event->kind == EVENT_SEND) {
        int64_t waited_us = event->time_us - summary->call_us[event->client];
        if (waited_us > summary->longest_us)
            summary->longest_us = waited_us;
    }
    if (event->kind == EVENT_HEAR && event->attempt < summary->attempts[event->client] &&
        ++summary->unheeded == summary->until_unheeded)
        summary->stop = SIGTERM;
    if (event->kind == EVENT_EXECUTE && event->client < 0) {
        summary->counter = event->reply.kind == REPLY_VALUE ? event->reply.value : 0;
    } else if (event->kind == EVENT_EXECUTE) {
        if (summary->model)
            hold_to_model(summary, event);
        bool is_section = command->key == KEY_COUNTER && command->verb == VERB_SET;
        if (is_section && ++summary->sections == summary->until_sections)
            summary->stop = SIGTERM;
        summary->pushes += command->verb == VERB_RPUSH;
        if (command->verb == VERB_RPUSH && event->reply.value > summary->longest)
            summary->longest = event->reply.value;
        summary->late += event->attempt < summary->attempts[event->client];
        if (event->attempt == summary->attempts[event->client])
            count_release(summary, event);
    }
    if (summary->checks)
        checks_event(summary->checks, event);
    if (summary->until_struck && has_struck_all(summary))
        summary->stop = SIGTERM;
    if (summary->stop_after && summary->events == summary->stop_after) {
        if (summary->kill_pid)
            kill_server(summary);
        else
            summary->stop = SIGTERM;
    }
}

static struct live *live;
static struct summary summary;

static struct stress_options options_of(const char *scheme)
{
    memset(&summary, 0, sizeof summary);
    summary.counter = -1;
    struct stress_options options = {.scheme = scheme_named(scheme),
                                     .clients = CLIENTS,
                                     .servers = 1,
                                     .locks = 1,
                                     .duration_us = SECOND_US,
                                     .seed = 1,
                                     .timeout_us = 20 * SECOND_US,
                                     .think = distribution_about(500),
                                     .sink = {.take = summary_take, .context = &summary},
                                     .stop = &summary.stop};
    options.lease_us = scheme_lease_us(options.scheme, 20 * SECOND_US);
    return options;
}

static void runs(const struct stress_options *options, struct stress_outcome *outcome)
{
    struct failure why = {0};
    if (live_stress(live, options, outcome, &why))
        fail_msg("%s", why.text);
}

/* A machine may be so busy that hardly anything happens in a run: then one more is made. */
enum { RUNS_MAX = 60 };

/* The order of executions is known so well that the checks find no fault in a scheme that has none.
 */
static inline void checks_agree(struct stress_options *options, struct finding *findings,
                                struct counters *counters)
{
    struct stress_outcome outcome;
    char(*names)[NAME_MAX_BYTES] = memory_new((size_t)options->clients, NAME_MAX_BYTES);
    struct history_head head = {.clients = options->clients,
                                .servers = options->servers,
                                .locks = options->locks,
                                .names = names,
                                .lease_us = options->lease_us,
                                .unit_us = options->scheme->unit_us,
                                .clock_error_us = live_clock_error_us(live),
                                .seed = options->seed};
    strcpy(head.scheme, options->scheme->name);
    /* It may not be the first run of its test. */
    summary.events = 0;
    memset(summary.attempts, 0, sizeof summary.attempts);
    memset(summary.is_out_of_reach, 0, sizeof summary.is_out_of_reach);
    memset(summary.holds_writes, 0, sizeof summary.holds_writes);
    summary.checks = checks_new_for(&head, options->scheme);
    runs(options, &outcome);
    checks_finish(summary.checks, summary.last_us, findings, counters);
    checks_free(summary.checks);
    free(names);
}

static inline struct stress_options short_leases(const struct scheme *scheme)
{
    struct stress_options options = options_of("set-nx-px-cad");
    options.scheme = scheme;
    options.lease_us = scheme_lease_us(scheme, 100000);
    options.timeout_us = 20000;
    return options;
}

/* The holder works for most of its lease, so that others come while it does. */
static inline struct stress_options slow_work(void)
{
    struct stress_options options = short_leases(scheme_named("set-nx-px-cad"));
    options.timeout_us = 20 * SECOND_US;
    options.pause_ppm = 900000;
    options.pause_us = options.lease_us / 2;
    return options;
}

/* On a machine that is slow enough a grant comes later than its lease ends, whatever the fault. */
static inline void expect_no_blame(const struct finding findings[PROPERTY_COUNT])
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (findings[i].verdict == VERDICT_VIOLATED && findings[i].cause != CAUSE_LATE_GRANT)
            assert_int_not_equal(cause_blame(findings[i].cause), BLAME_SCHEME);
}

static int open_live(void **state)
{
    (void)state;
    struct live_options options = {.steering = BENT_TIME};
    return live_new(&live, &options, NULL) ? -1 : 0;
}

static int close_live(void **state)
{
    (void)state;
    live_free(live);
    return 0;
}

#endif
