/* test_mutant_servers.c - schemes that are right on a server that is not: the model of a server
 * with a bug planted in it. The explorer must find each, and with the model as it is nothing.
 *
 * Linked with --wrap (Makefile): whoever executes a command on the model, the explorer or the
 * simulated world, comes through here. Nothing of it is in the program. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/mutant_search.h"

#include "redis/model.h"

enum slip {
    SERVER_IS_RIGHT,
    SET_IGNORES_NX,
    SET_HALVES_TTL, /* as when units are mixed up */
    SET_DOUBLES_TTL,
    SET_DROPS_TTL,
    EXEC_FORGETS_WATCH,
};

static enum slip planted;

struct reply __real_model_execute(struct model *model, struct model_watch *watch,
                                  const struct command *command, int64_t now_us);
struct reply __wrap_model_execute(struct model *model, struct model_watch *watch,
                                  const struct command *command, int64_t now_us);

struct reply __wrap_model_execute(struct model *model, struct model_watch *watch,
                                  const struct command *given, int64_t now_us)
{
    struct command command = *given;
    bool is_set = command.verb == VERB_SET_NX_PX;
    if (planted == SET_IGNORES_NX && is_set)
        __real_model_execute(model, watch, &(struct command){.verb = VERB_DEL}, now_us);
    if (planted == SET_HALVES_TTL && is_set)
        command.ttl_us /= 2;
    if (planted == SET_DOUBLES_TTL && is_set)
        command.ttl_us *= 2;
    if (planted == EXEC_FORGETS_WATCH && command.verb == VERB_MULTI_DEL)
        *watch = (struct model_watch){0};
    struct reply reply = __real_model_execute(model, watch, &command, now_us);
    if (planted == SET_DROPS_TTL && is_set && reply.kind == REPLY_OK)
        model->keys[command.key].expire_us = MODEL_NO_EXPIRY;
    return reply;
}

/* checks/ believe what a server says of NX: whom it let in found nothing, so the key before had
 * gone too early. */
static const struct {
    enum slip slip;
    const char *scheme;
    struct expected expected;
} slips[] = {
    {SET_IGNORES_NX,
     "set-nx-px-cad",
     {"SET that ignores NX", "none", "lease-exclusion mutual-exclusion no-lost-update",
      "early-expiry", 6}},
    {SET_HALVES_TTL,
     "set-nx-px-cad",
     {"SET that halves the ttl", "slow-work", "lease-exclusion", "early-expiry", 8}},
    {SET_DROPS_TTL,
     "set-nx-px-cad",
     {"SET that drops the ttl", "crash", "progress always-expires", "stuck", 3}},
    {EXEC_FORGETS_WATCH,
     "watch-multi-del",
     {"EXEC that forgets WATCH", "stall", "release-own lease-exclusion", "unlock-bug", 14}},
};

/* Bit a property: violated on the server with the slip, and not on the one without. */
static unsigned find(enum slip slip, const char *scheme, const char *faults, struct cell *found)
{
    struct cell right;
    unsigned broken = 0;
    planted = slip;
    mutant_search(found, scheme_named(scheme), faults, SECTION_NOTHING);
    planted = SERVER_IS_RIGHT;
    mutant_search(&right, scheme_named(scheme), faults, SECTION_NOTHING);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (found->outcome.findings[i].verdict == VERDICT_VIOLATED &&
            right.outcome.findings[i].verdict == VERDICT_HOLDS)
            broken |= 1u << i;
    cell_close(&right);
    return broken;
}

static void a_wrong_server_is_found(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        const struct expected *expected = &slips[i].expected;
        struct cell cell;
        unsigned broken = find(slips[i].slip, slips[i].scheme, expected->faults, &cell);
        wrong += print_difference(expected->name, expected->faults, broken_read(expected->broken),
                                  broken);
        wrong += judge_witness(expected, &cell);
        cell_close(&cell);
    }
    assert_int_equal(wrong, 0);
}

/* A key that lives too long keeps others waiting, and lets nobody in. */
static void a_key_that_lives_too_long_breaks_nothing(void **state)
{
    (void)state;
    int wrong = 0;
    for (int fault = -1; fault < FAULT_COUNT; fault++) {
        const char *faults = fault < 0 ? "none" : fault_name((enum fault)fault);
        struct cell cell;
        unsigned broken = find(SET_DOUBLES_TTL, "set-nx-px-cad", faults, &cell);
        wrong += print_difference("SET that doubles the ttl", faults, 0, broken);
        cell_close(&cell);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_server_is_found),
        cmocka_unit_test(a_key_that_lives_too_long_breaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
