/* probe.h - for tests of the reductions' conditions: schemes that trip (no-crash) at one particular
 * thing that their client can see, so that a reduction that loses it loses a verdict. */
#ifndef PICKLOCK_TEST_PROBE_H
#define PICKLOCK_TEST_PROBE_H

#include "schemes/parts.h"
#include "test/explore_run.h"

/* The state of every probe. */
struct probe {
    int64_t at;
    int64_t seen_us;          /* an instant of the own clock */
    int64_t heard, yes, lost; /* of what was asked last: ends, good replies, no replies */
    int64_t before;           /* yes and lost of what was asked before */
    int64_t read;             /* a value of a key */
    int64_t odd;              /* something was not as it looks for */
    int64_t phase, code;      /* how often it has asked; all that was counted, as a number */
};

static const enum scheme_field probe_fields[] = {FIELD_STEP,  FIELD_TIME,  FIELD_COUNT, FIELD_COUNT,
                                                 FIELD_COUNT, FIELD_COUNT, FIELD_VALUE, FIELD_COUNT,
                                                 FIELD_COUNT, FIELD_COUNT};
FIELDS_FIT(struct probe, probe_fields);

/* One more of what was asked has ended. */
static inline void probe_count(struct probe *self, const struct lease *lease,
                               const struct moment *in)
{
    self->heard++;
    self->yes += moment_is_ok(in) || moment_is_integer(in, 1) || moment_is_value(in, lease->token);
    self->lost += in->kind != MOMENT_REPLY;
}

/* Behind AWAIT, of what all servers were asked: one more has ended, and others have not? A step
 * that returns then is resumed there. */
static inline bool probe_has_more(struct probe *self, const struct lease *lease)
{
    return ++self->heard < lease->servers;
}

/* The same, and what it was is counted. */
static inline bool probe_waits(struct probe *self, const struct lease *lease,
                               const struct moment *in)
{
    probe_count(self, lease, in);
    return self->heard < lease->servers;
}

/* The same command to every server. */
static inline void probe_ask(struct probe *self, enum verb verb, const struct lease *lease,
                             struct outbox *out)
{
    self->before = self->yes * 10 + self->lost;
    self->heard = self->yes = self->lost = 0;
    for (int server = 0; server < lease->servers; server++)
        out_send(out, LANE_MAIN, server,
                 (struct command){.verb = verb, .value = lease->token, .ttl_us = lease->ttl_us});
}

/* The probe has seen it, or not. */
static inline void probe_end(bool has_seen, struct outbox *out)
{
    if (has_seen)
        out_crashed(out);
    else
        out_failed(out);
}

/* A scheme with that step. */
static inline struct scheme probe_scheme(const char *name,
                                         void (*step)(void *state, const struct lease *lease,
                                                      const struct moment *in, struct outbox *out))
{
    return (struct scheme){.name = name,
                           .summary = "trips where it sees what it looks for",
                           .source = "sim/test/probe.h",
                           .step = step,
                           .fields = probe_fields,
                           .fields_count = sizeof probe_fields / sizeof *probe_fields,
                           .token = TOKEN_UNIQUE,
                           .unit_us = UNIT_MILLISECOND_US,
                           .needs_quorum = true,
                           .is_even_handed = true,
                           .waits_for_all = true};
}

static const enum fault NOTHING = (enum fault)NONE;

/* Two clients that ask three servers once, all reductions, and one of each of these faults. */
static inline struct explore_options probe_options(const struct scheme *scheme, enum fault one,
                                                   enum fault other)
{
    struct explore_options options = {
        .scheme = scheme, .clients = 2, .rounds = 1, .servers = 3, .lease_ticks = 2};
    options.reductions = REDUCE_ALL;
    if (one != NOTHING)
        options.budget[one]++;
    if (other != NOTHING)
        options.budget[other]++;
    return options;
}

/* It is seen, with reductions and without, at the same cost. */
static inline void probe_is_seen(const struct explore_options *given, unsigned reductions)
{
    struct explore_options options = *given;
    struct explore_outcome each, some;
    options.skips_progress = true;
    options.reductions = 0;
    run(&options, &each);
    options.reductions = reductions;
    run(&options, &some);
    assert_int_equal(each.findings[PROPERTY_NO_CRASH].verdict, VERDICT_VIOLATED);
    assert_int_equal(differences("reduced or not", &options, &each, &some), 0);
    explore_outcome_free(&each);
    explore_outcome_free(&some);
}

#endif
