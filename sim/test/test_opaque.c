/* test_opaque.c - a command is judged by what it did to its keys and not by its name: random runs
 * of every scheme are judged as they are, and with every command rewritten as an opaque one with
 * the same effects, through a file. Verdicts, causes, counts and sentences are the same. */
#include "base/random.h"
#include "checks/change.h"
#include "checks/checks.h"
#include "world/simulated.h"

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/history_text.h"
#include "test/trace.h"

enum { CLIENTS = 3, LEASE_US = 300000, WALK = 250, SEEDS = 30 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};

struct opaque_walk {
    struct run run;
    struct world *world;
    struct event_trace trace;
    struct random random;
};

static int draw(struct opaque_walk *walk, int bound)
{
    return (int)random_below(&walk->random, (uint64_t)bound);
}

/* Mostly a message goes one stop further. */
static struct choice draw_of_message(struct opaque_walk *walk, const struct message *message)
{
    static const enum choice_kind kinds[] = {CHOICE_DUPLICATE, CHOICE_ANSWER_ERROR,
                                             CHOICE_GIVE_UP,   CHOICE_LOSE_REQUEST,
                                             CHOICE_RESEND,    CHOICE_LOSE_REPLY};
    struct choice choice = {.kind = CHOICE_GIVE_UP,
                            .client = message->client,
                            .server = message->server,
                            .verb = message->command.verb};
    if (message->state == MESSAGE_REQUEST)
        choice.kind = message->is_abandoned ? CHOICE_ARRIVE_LATE : CHOICE_ARRIVE;
    if (message->state == MESSAGE_REPLY)
        choice.kind = CHOICE_HEAR;
    if (draw(walk, 6) == 0)
        choice.kind = kinds[draw(walk, sizeof kinds / sizeof *kinds)];
    if (choice.kind == CHOICE_ANSWER_ERROR)
        choice.error = (enum reply_error)(1 + draw(walk, ERROR_COUNT - 1));
    return choice;
}

static struct choice draw_of_client(struct opaque_walk *walk, int client)
{
    static const enum choice_kind works[] = {CHOICE_WRITE, CHOICE_READ_COUNTER,
                                             CHOICE_WRITE_COUNTER};
    struct client_view view = walk->world->ops->client(walk->world, client);
    struct choice choice = {.kind = CHOICE_WAKE, .client = client, .server = -1};
    if (view.phase == PHASE_IDLE)
        choice.kind = CHOICE_ACQUIRE;
    if (view.phase == PHASE_HOLDING)
        choice.kind = draw(walk, 3) ? CHOICE_RELEASE : works[draw(walk, 3)];
    if (draw(walk, 20) == 0)
        choice.kind = draw(walk, 2) ? CHOICE_CRASH : CHOICE_CLIENT_CLOCK;
    if (choice.kind == CHOICE_CLIENT_CLOCK)
        choice.amount_us = 1000000 * (draw(walk, 5) - 2);
    return choice;
}

static struct choice draw_of_server(struct opaque_walk *walk)
{
    static const enum choice_kind kinds[] = {CHOICE_RESTART, CHOICE_EVICT, CHOICE_CUT_REPLICA,
                                             CHOICE_FAILOVER, CHOICE_SERVER_CLOCK};
    struct choice choice = {.kind = kinds[draw(walk, sizeof kinds / sizeof *kinds)],
                            .client = -1,
                            .server = draw(walk, walk->run.servers)};
    if (choice.kind == CHOICE_SERVER_CLOCK)
        choice.amount_us = 100000 * (draw(walk, 5) - 2);
    return choice;
}

static struct choice draw_choice(struct opaque_walk *walk)
{
    int client = draw(walk, CLIENTS), dice = draw(walk, 80);
    struct message all[MESSAGES_MAX];
    int count = walk->world->ops->messages(walk->world, client, all);
    if (dice < 5)
        return (struct choice){.kind = CHOICE_TIME,
                               .client = -1,
                               .server = -1,
                               .amount_us = 1000 * (1 + draw(walk, 1200))};
    if (dice == 5)
        return draw_of_server(walk);
    return count == 0 || dice < 8 ? draw_of_client(walk, client)
                                  : draw_of_message(walk, &all[draw(walk, count)]);
}

static struct history_head head_of(const struct run *run)
{
    struct history_head head = {.clients = run->clients,
                                .servers = run->servers,
                                .locks = 1,
                                .names = names,
                                .lease_us = run->lease_us,
                                .unit_us = run->scheme->unit_us};
    snprintf(head.scheme, sizeof head.scheme, "%s", run->scheme->name);
    return head;
}

static void walk_make(struct opaque_walk *walk, const struct scheme *scheme, uint64_t seed)
{
    struct failure why;
    *walk = (struct opaque_walk){.random = {.seed = seed}};
    walk->run = (struct run){.scheme = scheme,
                             .clients = CLIENTS,
                             .servers = scheme->needs_quorum ? 3 : 1,
                             .names = names,
                             .lease_us = scheme_lease_us(scheme, LEASE_US),
                             .seed = seed,
                             .has_replica = true,
                             .has_delex = true,
                             .sink = {.take = trace_take, .context = &walk->trace}};
    walk->world = world_simulated_new(&walk->run);
    for (int i = 0; i < WALK; i++) {
        struct choice choice = draw_choice(walk);
        (void)walk->world->ops->apply(walk->world, &choice, &why);
    }
    walk->world->ops->free(walk->world);
}

/* --- the same, opaque --- */

static bool has_command(const struct event *event)
{
    static const struct command none;
    if (event->kind == EVENT_FAULT)
        return event->client >= 0 && event->server >= 0 &&
               memcmp(&event->command, &none, sizeof none) != 0;
    return event->kind == EVENT_SEND || event->kind == EVENT_EXECUTE || event->kind == EVENT_HEAR;
}

/* All of them, as an opaque command's would be told; *effects: those that are not DID_NOTHING, and
 * the one on the command's own key. */
static void tell_effects(const struct event *event, struct effects *effects)
{
    *effects = (struct effects){0};
    for (int key = 0; key < KEY_COUNT; key++) {
        struct key_effect effect = change_on(event, (enum key)key);
        if (effect.did != DID_NOTHING || event_is_on(event, (enum key)key))
            effects->on[effects->count++] = effect;
    }
}

/* Written as a foreign program's: its name says nothing that the checks could know. */
static void write_opaque(const struct event_sink *sink, const struct event *typed,
                         bool is_disguised)
{
    struct event event = *typed;
    struct opaque opaque = {0};
    struct effects effects;
    if (has_command(typed)) {
        snprintf(opaque.name, sizeof opaque.name, "%s",
                 is_disguised ? "EVALSHA" : verb_name(typed->command.verb));
        command_print(&typed->command, opaque.text, sizeof opaque.text);
        opaque.keys = 1u << typed->command.key;
        if (typed->command.verb == VERB_SET_MINT)
            opaque.keys |= 1u << KEY_FENCE;
        event.opaque = &opaque;
        event.command = (struct command){0};
    }
    if (event.kind == EVENT_EXECUTE) {
        tell_effects(typed, &effects);
        event.effects = &effects;
    }
    sink->take(sink->context, &event);
}

static void write_file(const struct opaque_walk *walk, bool is_disguised)
{
    struct history_head head = head_of(&walk->run);
    struct history_writer *writer;
    struct failure why;
    assert_int_equal(history_writer_new(&writer, path, &head, &why), FAIL_NONE);
    const struct event_sink sink = history_writer_sink(writer);
    for (size_t i = 0; i < walk->trace.count; i++)
        write_opaque(&sink, &walk->trace.events[i], is_disguised);
    assert_int_equal(history_writer_close(writer, &why), FAIL_NONE);
}

static void judge_file(struct finding *findings, struct counters *counters)
{
    struct history_reader *reader;
    struct history_head head;
    struct failure why;
    struct event event;
    int64_t end_us = 0;
    if (history_reader_new(&reader, path, &head, &why))
        fail_msg("%s", why.text);
    struct checks *checks = checks_new(&head);
    for (bool is_end = false;;) {
        if (history_reader_next(reader, &event, &is_end, &why))
            fail_msg("%s", why.text);
        if (is_end)
            break;
        assert_int_equal(event.command.verb, 0);
        checks_event(checks, &event);
        end_us = event.time_us;
    }
    checks_finish(checks, end_us, findings, counters);
    checks_free(checks);
    history_reader_free(reader);
}

static void judge_typed(const struct opaque_walk *walk, struct finding *findings,
                        struct counters *counters)
{
    struct history_head head = head_of(&walk->run);
    struct checks *checks = checks_new(&head);
    int64_t end_us = 0;
    for (size_t i = 0; i < walk->trace.count; i++) {
        checks_event(checks, &walk->trace.events[i]);
        end_us = walk->trace.events[i].time_us;
    }
    checks_finish(checks, end_us, findings, counters);
    checks_free(checks);
}

static void assert_same_finding(const struct opaque_walk *walk, enum property property,
                                bool has_words, const struct finding *typed,
                                const struct finding *opaque)
{
    bool is_same = typed->verdict == opaque->verdict && typed->cause == opaque->cause &&
                   typed->count == opaque->count && typed->blames == opaque->blames &&
                   typed->first_index == opaque->first_index &&
                   typed->witness_lines == opaque->witness_lines;
    for (int i = 0; i < typed->witness_lines && is_same && has_words; i++)
        is_same = !strcmp(typed->witness[i], opaque->witness[i]);
    if (is_same)
        return;
    for (int i = 0; i < typed->witness_lines; i++)
        print_error("  typed:  %s\n", typed->witness[i]);
    for (int i = 0; i < opaque->witness_lines; i++)
        print_error("  opaque: %s\n", opaque->witness[i]);
    fail_msg("%s, seed %llu: %s is %s (%s) typed, and %s (%s) opaque", walk->run.scheme->name,
             (unsigned long long)walk->random.seed, property_name(property),
             verdict_name(typed->verdict), cause_name(typed->cause), verdict_name(opaque->verdict),
             cause_name(opaque->cause));
}

static unsigned walk_both(const struct scheme *scheme, uint64_t seed)
{
    static struct finding typed[PROPERTY_COUNT], opaque[PROPERTY_COUNT];
    struct counters one, two;
    struct opaque_walk *walk = memory_new(1, sizeof *walk);
    unsigned causes = 0;
    walk_make(walk, scheme, seed);
    judge_typed(walk, typed, &one);
    for (int is_disguised = 0; is_disguised < 2; is_disguised++) {
        write_file(walk, is_disguised);
        judge_file(opaque, &two);
        assert_memory_equal(&one, &two, sizeof one);
        for (int i = 0; i < PROPERTY_COUNT; i++)
            assert_same_finding(walk, (enum property)i, !is_disguised, &typed[i], &opaque[i]);
    }
    for (int i = 0; i < PROPERTY_COUNT; i++)
        causes |= 1u << typed[i].cause;
    free(walk->trace.events);
    free(walk);
    return causes;
}

static void random_runs_are_judged_the_same(void **state)
{
    (void)state;
    unsigned causes = 0;
    for (int i = 0; i < schemes_count; i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            causes |= walk_both(schemes[i], seed);
    /* They go where it matters. */
    static const enum cause wanted[] = {
        CAUSE_OVERRUN,    CAUSE_UNLOCK_BUG,    CAUSE_ACQUIRE_BUG, CAUSE_FOREIGN_EXTEND,
        CAUSE_LOST_GRANT, CAUSE_LATE_GRANT,    CAUSE_STUCK,       CAUSE_NO_EXPIRY,
        CAUSE_LEFTOVER,   CAUSE_UNTRUE_ANSWER, CAUSE_STALE_WRITE, CAUSE_CLIENT_CLOCK,
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(causes >> wanted[i] & 1))
            fail_msg("no run came to %s", cause_name(wanted[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_runs_are_judged_the_same),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
