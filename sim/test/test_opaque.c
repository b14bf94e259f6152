/* test_opaque.c - a command is judged by what it did to its keys and not by its name: random runs
 * of every scheme are judged as they are, and with every command rewritten as an opaque one with
 * the same effects, through a file. Verdicts, causes, counts and sentences are the same. */
#include "checks/change.h"
#include "checks/checks.h"
#include "test/random_walk.h"
#include "test/sample.h"

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/history_text.h"

/* PICKLOCK_SAMPLE=N plays an Nth of them. */
enum { SEEDS = 30 };

/* --- the same, opaque --- */

static bool has_command(const struct event *event)
{
    static const struct command none;
    if (event->kind == EVENT_FAULT)
        return event->client >= 0 && event->server >= 0 &&
               memcmp(&event->command, &none, sizeof none) != 0;
    return event->kind == EVENT_SEND || event->kind == EVENT_EXECUTE || event->kind == EVENT_HEAR;
}

static bool names_key(const struct event *typed, enum key key)
{
    return event_is_on(typed, key) && verb_names_key(typed->command.verb);
}

/* All of them, as an opaque command's would be told; *effects: those that are not DID_NOTHING, and
 * the one on the command's own key. */
static void tell_effects(const struct event *event, struct effects *effects)
{
    *effects = (struct effects){0};
    for (int key = 0; key < KEY_COUNT; key++) {
        struct key_effect effect = change_on(event, (enum key)key);
        if (effect.did != DID_NOTHING || names_key(event, (enum key)key))
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
        opaque.keys = names_key(typed, typed->command.key) ? 1u << typed->command.key : 0;
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

static void write_file(const struct random_walk *walk, bool is_disguised)
{
    struct history_head head = random_walk_head(walk);
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

static void judge_typed(const struct random_walk *walk, struct finding *findings,
                        struct counters *counters)
{
    struct history_head head = random_walk_head(walk);
    struct checks *checks = checks_new(&head);
    int64_t end_us = 0;
    for (size_t i = 0; i < walk->trace.count; i++) {
        checks_event(checks, &walk->trace.events[i]);
        end_us = walk->trace.events[i].time_us;
    }
    checks_finish(checks, end_us, findings, counters);
    checks_free(checks);
}

static void assert_same_finding(const struct random_walk *walk, enum property property,
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
    struct random_walk *walk = memory_new(1, sizeof *walk);
    unsigned causes = 0;
    random_walk_make(walk, scheme, seed);
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
            if (is_in_sample())
                causes |= walk_both(schemes[i], seed);
    if (sample_every() > 1)
        return;
    /* All of them go where it matters. */
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
