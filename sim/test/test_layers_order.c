/* test_layers_order.c - a fault may violate by itself. Such a violation is met in the layer before
 * its own, and stands before none that takes fewer faults, or as many and fewer events. */
#include "schemes/parts.h"
#include "test/explore_run.h"

struct hasty_lock {
    int64_t at; /* enum hasty_step */
};

static const enum scheme_field hasty_fields[] = {FIELD_STEP};
FIELDS_FIT(struct hasty_lock, hasty_fields);

enum hasty_step { HASTY_START, HASTY_LOOKED, HASTY_ASKED, HASTY_ENDED };
enum hasty_end { END_EXPIRES, END_LOOKS };

/* Looks before it asks. A crash between SETNX and EXPIRE leaves a key that never ends. So does an
 * answer that is an error, and sooner: then it asks at once, and waits for nothing. */
static void hasty_run(struct hasty_lock *self, enum hasty_end end, const struct lease *lease,
                      const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    out_get(out, SERVER_ONE);
    AWAIT(self, HASTY_LOOKED);
    if (moment_is_reply(in, REPLY_ERROR)) {
        out_setnx(out, SERVER_ONE, lease->token);
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_setnx(out, SERVER_ONE, lease->token);
    AWAIT(self, HASTY_ASKED);
    if (end == END_EXPIRES)
        out_expire(out, SERVER_ONE, lease->ttl_us);
    else
        out_get(out, SERVER_ONE);
    AWAIT(self, HASTY_ENDED);
    out_failed(out);

    SCRIPT_END(self);
}

#define HASTY_LOCK(id, end)                                                                        \
    static void step_##id(void *state, const struct lease *lease, const struct moment *in,         \
                          struct outbox *out)                                                      \
    {                                                                                              \
        hasty_run(state, end, lease, in, out);                                                     \
    }                                                                                              \
    static const struct scheme scheme_##id = {                                                     \
        .name = #id,                                                                               \
        .summary = "GET, SETNX, then EXPIRE or GET; after an error SETNX alone",                   \
        .source = "sim/test/test_layers_order.c",                                                  \
        .step = step_##id,                                                                         \
        FIELDS_OF(hasty_fields),                                                                   \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_SECOND_US,                                                                 \
        .promises_expiry = true,                                                                   \
    };

HASTY_LOCK(hasty, END_EXPIRES)
HASTY_LOCK(endless, END_LOOKS)

/* It acquires; GET arrives and is answered; SETNX arrives; it crashes. */
enum { EVENTS_BY_CRASH = 5 };

/* It acquires; GET is answered with an error, which it hears; SETNX arrives. */
enum { EVENTS_BY_ERROR = 4 };

/* Without EXPIRE, and without a fault: SETNX is heard; GET arrives, is heard, and it returns. */
enum { EVENTS_BY_NOTHING = 7 };

static struct explore_options hasty_options(uint8_t crashes, uint8_t errors)
{
    struct explore_options options = {.scheme = &scheme_hasty,
                                      .clients = 1,
                                      .rounds = 1,
                                      .servers = 1,
                                      .lease_ticks = 3,
                                      .skips_progress = true,
                                      .leftovers = LEFTOVERS_TOO};
    options.budget[FAULT_CRASH] = crashes;
    options.budget[FAULT_ANSWER_ERROR] = errors;
    return options;
}

static void endless_key_is_found(const struct explore_options *options, int faults, int events)
{
    struct explore_outcome outcome;
    run(options, &outcome);
    const struct explore_finding *found = &outcome.findings[PROPERTY_ALWAYS_EXPIRES];
    assert_int_equal(found->verdict, VERDICT_VIOLATED);
    assert_int_equal(found->faults, faults);
    assert_int_equal(found->events, events);
    explore_outcome_free(&outcome);
}

/* The crash is met first, the error costs as many faults and fewer events: it is told, by a search
 * of every state and by one that ends as soon as it has what it looks for. */
static void a_fault_that_violates_does_not_hide_a_sooner_one(void **state)
{
    (void)state;
    struct explore_options crash = hasty_options(1, 0), both = hasty_options(1, 1);
    endless_key_is_found(&crash, 1, EVENTS_BY_CRASH);
    endless_key_is_found(&both, 1, EVENTS_BY_ERROR);
    both.sought = 1u << PROPERTY_ALWAYS_EXPIRES;
    endless_key_is_found(&both, 1, EVENTS_BY_ERROR);
}

/* Nor does it hide what needs no fault at all, and more events. */
static void a_fault_that_violates_does_not_hide_what_needs_none(void **state)
{
    (void)state;
    struct explore_options options = hasty_options(1, 1);
    options.scheme = &scheme_endless;
    endless_key_is_found(&options, 0, EVENTS_BY_NOTHING);
    options.sought = 1u << PROPERTY_ALWAYS_EXPIRES;
    endless_key_is_found(&options, 0, EVENTS_BY_NOTHING);
}

/* A search that is cut short says of what it has found whether anything sooner can still come:
 * nothing can once more faults are at work, and before that the error may yet be met. */
static void what_is_called_the_shortest_is(void **state)
{
    struct explore_options options = hasty_options(1, 2);
    enum explore_end end = END_STATES;
    int beyond = 0, others = 0;
    (void)state;
    for (options.states_max = 1; end == END_STATES; options.states_max++) {
        struct explore_outcome outcome;
        run(&options, &outcome);
        const struct explore_finding *found = &outcome.findings[PROPERTY_ALWAYS_EXPIRES];
        const bool is_violated = found->verdict == VERDICT_VIOLATED;
        end = outcome.end;
        if (is_violated && end == END_STATES && outcome.seen_faults > 1) {
            assert_true(found->is_shortest);
            beyond++;
        }
        if (is_violated && found->events > EVENTS_BY_ERROR) {
            assert_false(found->is_shortest);
            others++;
        }
        explore_outcome_free(&outcome);
    }
    assert_true(beyond > 0);
    assert_true(others > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_that_violates_does_not_hide_a_sooner_one),
        cmocka_unit_test(a_fault_that_violates_does_not_hide_what_needs_none),
        cmocka_unit_test(what_is_called_the_shortest_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
