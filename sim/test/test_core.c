/* test_core.c - the core over a third backend and other clients: a foreign lock whose commands only
 * its own server knows; and the contract of a backend (world/backend.h), held at every step of
 * random walks through all choices. */
#include "world/scheme_clients.h"

/* Behind our own: cmocka has a macro named like our enum fail. */
#include "test/suspicious_backend.h"

enum { LEASE_US = 300000, WALK = 3000, TEXT_MAX = 4096 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};

/* --- a run of either --- */

struct core_stage {
    struct run run;
    struct world *world;
    struct suspicious backend;
    struct foreign_clients foreign;
    char told[TEXT_MAX];
};

/* "A send LOCK", "A execute LOCK created": what is known of it. */
static void take_event(void *context, const struct event *event)
{
    struct core_stage *stage = context;
    char *end = stage->told + strlen(stage->told);
    size_t room = sizeof stage->told - strlen(stage->told);
    if (event->opaque)
        assert_true(event->opaque->keys == 1U << KEY_LOCK);
    if (event->opaque && event->kind == EVENT_EXECUTE)
        assert_non_null(event->effects);
    if (room > 100)
        snprintf(end, room, "%s %s%s%s%s%s%s%s\n", event->client < 0 ? "-" : names[event->client],
                 event_name(event->kind), event->opaque ? " " : "",
                 event->opaque ? event->opaque->name : "", event->effects ? " " : "",
                 event->effects ? did_name(event->effects->on[0].did) : "",
                 event->token_text ? " " : "", event->token_text ? event->token_text : "");
}

static void stage_open(struct core_stage *stage, const struct scheme *scheme, uint64_t seed)
{
    memset(stage, 0, sizeof *stage);
    stage->run = (struct run){.scheme = scheme,
                              .clients = CLIENTS,
                              .servers = scheme && scheme->needs_quorum ? 3 : 1,
                              .names = names,
                              .lease_us = scheme ? scheme_lease_us(scheme, LEASE_US) : LEASE_US,
                              .seed = seed,
                              .has_replica = true,
                              .sink = {.take = take_event, .context = stage}};
    stage->backend.backend.ops = &suspicious_ops;
    stage->backend.random = (struct random){.seed = seed};
    stage->foreign.clients.ops = &foreign_ops;
    for (int i = 0; i < CLIENTS; i++)
        stage->foreign.views[i].wake_us = INT64_MAX;
    stage->world = core_new(&stage->run, &stage->backend.backend,
                            scheme ? scheme_clients_new(&stage->run, STEERED_EPOCH_US)
                                   : &stage->foreign.clients);
}

static void stage_close(struct core_stage *stage)
{
    int ended = backends_ended;
    stage->world->ops->free(stage->world);
    assert_int_equal(backends_ended, ended + 1);
}

/* --- a foreign lock --- */

static enum fail makes(struct core_stage *stage, enum choice_kind kind, int client,
                       const char *command, struct failure *failure)
{
    struct choice choice = {.kind = kind, .client = client};
    snprintf(choice.opaque, sizeof choice.opaque, "%s", command);
    return stage->world->ops->apply(stage->world, &choice, failure);
}

static void does(struct core_stage *stage, enum choice_kind kind, int client, const char *command)
{
    struct failure why = {0};
    if (makes(stage, kind, client, command, &why))
        fail_msg("%s", why.text);
}

static void a_foreign_lock_is_told_by_its_effects(void **state)
{
    (void)state;
    static struct core_stage stage;
    stage_open(&stage, NULL, 1);
    does(&stage, CHOICE_ACQUIRE, 0, "");
    does(&stage, CHOICE_ACQUIRE, 1, "");
    does(&stage, CHOICE_ARRIVE, 0, "LOCK");
    does(&stage, CHOICE_ARRIVE, 1, "LOCK");
    does(&stage, CHOICE_HEAR, 1, "LOCK");
    does(&stage, CHOICE_HEAR, 0, "LOCK");
    does(&stage, CHOICE_RELEASE, 0, "");
    does(&stage, CHOICE_ARRIVE, 0, "UNLOCK");
    does(&stage, CHOICE_LOSE_REPLY, 0, "UNLOCK");
    does(&stage, CHOICE_GIVE_UP, 0, "UNLOCK");
    assert_string_equal(stage.told, "A call a-token\n"
                                    "A send LOCK a-token\n"
                                    "B call a-token\n"
                                    "B send LOCK a-token\n"
                                    "A execute LOCK created a-token\n"
                                    "B execute LOCK refused a-token\n"
                                    "B hear LOCK a-token\n"
                                    "B return a-token\n"
                                    "A hear LOCK a-token\n"
                                    "A return a-token\n"
                                    "A call a-token\n"
                                    "A send UNLOCK a-token\n"
                                    "A execute UNLOCK deleted a-token\n"
                                    "A fault UNLOCK a-token\n"
                                    "A fault UNLOCK a-token\n"
                                    "A return a-token\n");
    stage_close(&stage);
}

static void its_commands_are_named_in_choices_and_refusals(void **state)
{
    (void)state;
    static struct core_stage stage;
    struct failure why = {0};
    char text[100];
    struct choice choice = {.kind = CHOICE_ARRIVE, .client = 0, .opaque = "LOCK"};
    stage_open(&stage, NULL, 1);
    does(&stage, CHOICE_ACQUIRE, 0, "");
    assert_int_equal(makes(&stage, CHOICE_ARRIVE, 0, "UNLOCK", &why), FAIL_UNKNOWN);
    assert_string_equal(why.text, "A has no UNLOCK at server 1 that is a request on its way");
    assert_string_equal(choice_print(&choice, (const char(*)[64])names, text, sizeof text),
                        "A's LOCK reaches server 1");
    struct choice other = choice;
    assert_true(choice_is_same(&choice, &other));
    other.opaque[0] = 'X';
    assert_false(choice_is_same(&choice, &other));
    stage_close(&stage);
}

/* The dead have no connection. */
static void check_dead(const struct core_stage *stage, int client)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        assert_int_equal(stage->backend.server_of[client][i], 0);
}

/* What is on it never comes, and whoever does not leave it waits; others go on, and so does who
 * left it. */
static void a_connection_that_falls_silent_holds_what_is_on_it(void **state)
{
    (void)state;
    static struct core_stage stage;
    struct failure why = {0};
    stage_open(&stage, NULL, 1);
    stage.foreign.has_connections = true;
    does(&stage, CHOICE_ACQUIRE, 0, "");
    does(&stage, CHOICE_ARRIVE, 0, "LOCK");
    does(&stage, CHOICE_HALF_OPEN, 0, "");
    assert_int_equal(makes(&stage, CHOICE_HEAR, 0, "LOCK", &why), FAIL_UNKNOWN);
    assert_int_equal(makes(&stage, CHOICE_LOSE_REPLY, 0, "LOCK", &why), FAIL_UNKNOWN);
    assert_string_equal(why.text, "A has no LOCK at server 1 that is a reply on its way");
    does(&stage, CHOICE_CLIENT_KILL, -1, ""); /* what the server says of it is not heard either */
    does(&stage, CHOICE_CANCEL, 0, "");
    does(&stage, CHOICE_ACQUIRE, 0, "");
    does(&stage, CHOICE_ARRIVE, 0, "LOCK");
    does(&stage, CHOICE_HEAR, 0, "LOCK");
    assert_string_equal(stage.told, "A call a-token\n"
                                    "A send LOCK a-token\n"
                                    "A execute LOCK created a-token\n"
                                    "A fault a-token\n"
                                    "A strand a-token\n"
                                    "- fault\n"
                                    "A fault a-token\n"
                                    "A fault LOCK a-token\n"
                                    "A return a-token\n"
                                    "A call a-token\n"
                                    "A send LOCK a-token\n"
                                    "A execute LOCK refused a-token\n"
                                    "A hear LOCK a-token\n"
                                    "A return a-token\n");
    stage_close(&stage);
}

/* On no wire, to nobody: an end that nobody hears of. */
static void the_dead_have_no_silent_connection(void **state)
{
    (void)state;
    static struct core_stage stage;
    stage_open(&stage, NULL, 1);
    stage.foreign.has_connections = true;
    does(&stage, CHOICE_ACQUIRE, 0, "");
    does(&stage, CHOICE_HALF_OPEN, 0, "");
    does(&stage, CHOICE_ACQUIRE, 1, "");
    does(&stage, CHOICE_HALF_OPEN, 1, "");
    does(&stage, CHOICE_CRASH, 0, "");
    check_dead(&stage, 0);
    stage_close(&stage); /* with B's */
}

/* What is known of a client's dials: one end for each beginning, and none of the dead. */
static void dials_are_held_until_they_are_answered(void **state)
{
    (void)state;
    static struct core_stage stage;
    struct failure why = {0};
    stage_open(&stage, NULL, 1);
    assert_int_equal(makes(&stage, CHOICE_ANSWER_DIALS, 0, "", &why), FAIL_UNKNOWN);
    assert_string_equal(why.text, "A can connect to server 1 already");
    does(&stage, CHOICE_HOLD_DIALS, 0, "");
    assert_int_equal(makes(&stage, CHOICE_HOLD_DIALS, 0, "", &why), FAIL_UNKNOWN);
    assert_string_equal(why.text, "A cannot connect to server 1 already");
    does(&stage, CHOICE_ANSWER_DIALS, 0, "");
    does(&stage, CHOICE_CRASH, 1, "");
    assert_int_equal(makes(&stage, CHOICE_HOLD_DIALS, 1, "", &why), FAIL_UNKNOWN);
    assert_string_equal(why.text, "B is dead");
    assert_string_equal(stage.told, "A fault\n"
                                    "A fault\n"
                                    "B fault\n");
    stage_close(&stage);
}

/* --- the contract, at random --- */

/* The message goes one stop further. */
static enum choice_kind onwards(const struct message *message)
{
    if (message->state == MESSAGE_REQUEST)
        return message->is_abandoned ? CHOICE_ARRIVE_LATE : CHOICE_ARRIVE;
    return message->state == MESSAGE_REPLY ? CHOICE_HEAR : CHOICE_GIVE_UP;
}

static struct choice draw_choice(struct random *random, struct world *world)
{
    struct message all[MESSAGES_MAX];
    struct choice choice = {.kind = (enum choice_kind)random_below(random, CHOICE_COUNT),
                            .client = (int)random_below(random, CLIENTS),
                            .amount_us = (int64_t)random_below(random, 400000),
                            .error = ERROR_OOM};
    int count = world->ops->messages(world, choice.client, all);
    if (count) {
        const struct message *message = &all[random_below(random, (uint64_t)count)];
        choice.server = message->server;
        choice.verb = message->command.verb;
        memcpy(choice.opaque, message->opaque.name, sizeof choice.opaque);
        if (random_below(random, 2))
            choice.kind = onwards(message);
    }
    if (world->ops->client(world, choice.client).wake_us <= world->ops->now_us(world))
        choice.kind = CHOICE_WAKE;
    if (choice.kind == CHOICE_LEASE) /* in every scheme's unit */
        choice.amount_us = choice.amount_us / 100000 * 1000000;
    /* Of a server out of reach little is seen: it seldom is. */
    if ((choice.kind == CHOICE_SILENCE || choice.kind == CHOICE_REFUSE ||
         choice.kind == CHOICE_STOP || choice.kind == CHOICE_PAUSE_WRITES) &&
        random_below(random, 6))
        choice.kind = CHOICE_REACH;
    /* The dead do nothing more: a crash is rare. */
    if (choice.kind == CHOICE_CRASH && random_below(random, 200))
        choice.kind = CHOICE_GIVE_UP;
    return choice;
}

static void walk(const struct scheme *scheme, uint64_t seed, int64_t made[CHOICE_COUNT])
{
    static struct core_stage stage;
    struct random random = {.seed = seed, .stream = 1};
    stage_open(&stage, scheme, seed);
    for (int i = 0; i < WALK; i++) {
        struct failure why = {0};
        const struct choice choice = draw_choice(&random, stage.world);
        enum fail fail = stage.world->ops->apply(stage.world, &choice, &why);
        /* The clocks of these foreign clients keep their rate; no scheme is asked to extend, or
         * cancelled, or has connections. */
        const bool is_never =
            scheme ? choice.kind == CHOICE_EXTEND || choice.kind == CHOICE_CANCEL ||
                         choice.kind == CHOICE_HALF_OPEN || choice.kind == CHOICE_HOLD_DIALS ||
                         choice.kind == CHOICE_ANSWER_DIALS
                   : choice.kind == CHOICE_CLIENT_DRIFT;
        if (fail != FAIL_NONE && fail != (is_never ? FAIL_NOT_APPLICABLE : FAIL_UNKNOWN))
            fail_msg("%s: %s", choice_name(choice.kind), why.text);
        made[choice.kind] += fail == FAIL_NONE;
        if (stage.world->ops->client(stage.world, choice.client).phase == PHASE_DEAD)
            check_dead(&stage, choice.client);
        stage.told[0] = '\0';
    }
    stage_close(&stage);
}

static void the_core_keeps_a_backends_contract(void **state)
{
    (void)state;
    int64_t made[CHOICE_COUNT] = {0};
    for (uint64_t seed = 1; seed <= 10; seed++)
        walk(NULL, seed, made);
    for (int i = 0; i < 6 * schemes_count; i++)
        walk(schemes[i % schemes_count], 20 + (uint64_t)i, made);
    for (int kind = 0; kind < CHOICE_COUNT; kind++)
        if (made[kind] < 10 && kind != CHOICE_HALF_OPEN && /* these have none */
            !choice_needs_cluster((enum choice_kind)kind))
            fail_msg("%s was made %d times", choice_name((enum choice_kind)kind), (int)made[kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_lock_is_told_by_its_effects),
        cmocka_unit_test(its_commands_are_named_in_choices_and_refusals),
        cmocka_unit_test(a_connection_that_falls_silent_holds_what_is_on_it),
        cmocka_unit_test(the_dead_have_no_silent_connection),
        cmocka_unit_test(dials_are_held_until_they_are_answered),
        cmocka_unit_test(the_core_keeps_a_backends_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
