/* test_convert_random.c - random Jepsen histories there and back: what is converted for Knossos is
 * judged as what it was converted from, property by property, of every model. PICKLOCK_RUNS=N draws
 * so many, PICKLOCK_SEED=N others. And random runs of every scheme: what Knossos is told of one in
 * which nothing is violated contradicts nothing. */
#include "test/random_walk.h"

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "checks/checks.h"
#include "history/export.h"
#include "history/jepsen.h"
#include "test/sample.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2000, WORKERS = 3, OPERATIONS_MAX = 8, LEASE_US = 10000, SEEDS = 6 };

/* --- a history --- */

struct jepsen_thread {
    bool is_open, is_done; /* an operation is under way; it has had its effect */
    enum operation op;
    bool is_ok;
    int64_t process, fence;
};

struct drawn_history {
    struct random random;
    struct jepsen_options options;
    FILE *out;
    struct jepsen_thread workers[WORKERS];
    int64_t now_us, fence;
    int owner; /* -1: nobody */
};

static void put(struct drawn_history *drawn, int worker, const char *type, int64_t fence)
{
    static const char *const names[OP_COUNT] = {
        [OP_ACQUIRE] = "acquire", [OP_RELEASE] = "release", [OP_EXTEND] = "renew"};
    fprintf(drawn->out, "{:process %" PRId64 ", :type :%s, :f :%s, :time %" PRId64 ", :value ",
            drawn->workers[worker].process, type, names[drawn->workers[worker].op],
            drawn->now_us * 1000);
    if (fence)
        fprintf(drawn->out, "%" PRId64 "}\n", fence);
    else
        fputs("nil}\n", drawn->out);
}

static void begin(struct drawn_history *drawn, int number)
{
    static const enum operation ops[] = {OP_ACQUIRE, OP_ACQUIRE, OP_ACQUIRE,
                                         OP_RELEASE, OP_RELEASE, OP_EXTEND};
    const uint64_t row = random_below(&drawn->random, sizeof ops / sizeof *ops);
    drawn->workers[number] = (struct jepsen_thread){
        .is_open = true, .op = ops[row], .process = drawn->workers[number].process};
    put(drawn, number, "invoke", 0);
}

/* As a lock would do it that is now and then in error. */
static void take_effect(struct drawn_history *drawn, int number)
{
    struct jepsen_thread *worker = &drawn->workers[number];
    const bool is_anybodys = drawn->options.model == MODEL_MUTEX;
    worker->is_done = true;
    worker->is_ok = worker->op == OP_ACQUIRE ? drawn->owner < 0
                    : is_anybodys            ? drawn->owner >= 0
                                             : drawn->owner == number;
    if (random_below(&drawn->random, 12) == 0)
        worker->is_ok = !worker->is_ok;
    if (!worker->is_ok || worker->op == OP_EXTEND)
        return;
    drawn->owner = worker->op == OP_ACQUIRE ? number : -1;
    if (worker->op == OP_ACQUIRE && drawn->options.model == MODEL_FENCED)
        worker->fence = drawn->fence += 1 + (int64_t)random_below(&drawn->random, 2);
}

static void go_on(struct drawn_history *drawn, int number)
{
    struct jepsen_thread *worker = &drawn->workers[number];
    if (!worker->is_open) {
        begin(drawn, number);
    } else if (random_below(&drawn->random, 16) == 0) { /* what had its effect or had none */
        worker->is_open = false;
        put(drawn, number, "info", 0);
        worker->process += WORKERS;
    } else if (!worker->is_done) {
        take_effect(drawn, number);
    } else {
        worker->is_open = false;
        put(drawn, number, worker->is_ok ? "ok" : "fail", worker->is_ok ? worker->fence : 0);
    }
}

static void draw_options(struct drawn_history *drawn)
{
    struct jepsen_options *options = &drawn->options;
    options->language = FORM_EDN;
    options->model = (enum lock_model)random_below(&drawn->random, MODEL_COUNT);
    options->concurrency = random_below(&drawn->random, 2) ? WORKERS : 0;
    options->reads_misses = random_below(&drawn->random, 4) > 0;
    if (options->model == MODEL_LEASE ||
        (options->model == MODEL_FENCED && random_below(&drawn->random, 2)))
        options->lease_us = LEASE_US;
}

/* Its text, to be freed. */
static char *draw(struct drawn_history *drawn)
{
    static const int64_t steps_us[] = {0, 0, 1, 1, 100, 3000, LEASE_US - 1, LEASE_US};
    char *text = NULL;
    size_t size = 0;
    int begun = 0;
    drawn->out = open_memstream(&text, &size);
    assert_non_null(drawn->out);
    drawn->owner = -1;
    for (int i = 0; i < WORKERS; i++)
        drawn->workers[i].process = i;
    draw_options(drawn);
    while (begun < OPERATIONS_MAX) {
        const int number = (int)random_below(&drawn->random, WORKERS);
        drawn->now_us += steps_us[random_below(&drawn->random, sizeof steps_us / sizeof *steps_us)];
        if (drawn->options.lease_us && random_below(&drawn->random, 10) == 0)
            drawn->owner = -1;
        begun += !drawn->workers[number].is_open;
        go_on(drawn, number);
    }
    assert_int_equal(fclose(drawn->out), 0);
    return text;
}

/* --- its verdicts, and what it is converted to --- */

static struct jepsen_reader *read_text(char *text, const struct jepsen_options *options,
                                       struct history_head *head)
{
    struct jepsen_reader *reader;
    struct failure failure = {0};
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    if (jepsen_reader_new(&reader, file, "drawn", options, head, &failure))
        fail_msg("%s\n%s", failure.text, text);
    return reader;
}

/* *is_whole: it was judged to its end: nobody may go on for another one. */
static struct finding *judge(char *text, struct jepsen_options options, bool *is_whole)
{
    struct history_head head;
    struct event event;
    struct failure failure = {0};
    bool is_end = false;
    int64_t last_us = 0;
    options.is_judged = true;
    struct jepsen_reader *reader = read_text(text, &options, &head);
    struct checks *checks = checks_new(&head);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    while (!jepsen_reader_next(reader, &event, &is_end, &failure) && !is_end) {
        checks_event(checks, &event);
        last_us = event.time_us;
    }
    assert_true(is_end || failure.code == FAIL_UNKNOWN);
    *is_whole = is_end;
    checks_finish(checks, last_us, findings, NULL);
    checks_free(checks);
    jepsen_reader_free(reader);
    return findings;
}

static char *convert(char *text, const struct jepsen_options *options)
{
    struct history_head head;
    struct export export;
    struct event event;
    struct failure failure = {0};
    char *converted = NULL;
    size_t size = 0;
    bool is_end = false;
    FILE *out = open_memstream(&converted, &size);
    assert_non_null(out);
    struct jepsen_reader *reader = read_text(text, options, &head);
    export_start(&export, &export_knossos, out, &head);
    while (!jepsen_reader_next(reader, &event, &is_end, &failure) && !is_end) {
        export.process = jepsen_reader_process(reader);
        export_event(&export, &export_knossos, &event);
    }
    assert_true(is_end);
    export_finish(&export, &export_knossos);
    jepsen_reader_free(reader);
    assert_int_equal(fclose(out), 0);
    return converted;
}

static bool is_same(const struct finding *one, const struct finding *other)
{
    return one->verdict == other->verdict && one->is_unproved == other->is_unproved &&
           one->count == other->count && one->causes == other->causes;
}

/* How many of the properties are violated. */
static int there_and_back(struct drawn_history *drawn)
{
    char *text = draw(drawn), *converted = convert(text, &drawn->options);
    bool was_whole, is_whole;
    struct finding *before = judge(text, drawn->options, &was_whole);
    struct finding *after = judge(converted, drawn->options, &is_whole);
    int violated = 0;
    if (was_whole != is_whole)
        fail_msg("%s, the other one not\n%s%s", was_whole ? "judged to its end" : "given up", text,
                 converted);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        violated += before[i].verdict == VERDICT_VIOLATED;
        if (!is_same(&before[i], &after[i]))
            fail_msg("%s: %d times (%d) before, %d (%d) after; model %s, seed %" PRIu64 "\n%s%s",
                     property_name((enum property)i), (int)before[i].count, before[i].verdict,
                     (int)after[i].count, after[i].verdict, lock_model_name(drawn->options.model),
                     drawn->random.seed, text, converted);
    }
    free(before);
    free(after);
    free(text);
    free(converted);
    return violated;
}

static void what_is_converted_is_judged_the_same(void **state)
{
    int violated[MODEL_COUNT] = {0}, not_violated[MODEL_COUNT] = {0};
    const uint64_t seed = sample_number("PICKLOCK_SEED", 20261126);
    const int runs = (int)sample_number("PICKLOCK_RUNS", RUNS);
    (void)state;
    for (int turn = 0; turn < runs; turn++) {
        struct drawn_history drawn = {.random = {.seed = seed + (uint64_t)turn}};
        const bool is_violated = there_and_back(&drawn) > 0;
        violated[drawn.options.model] += is_violated;
        not_violated[drawn.options.model] += !is_violated;
    }
    for (int i = 0; i < MODEL_COUNT && runs >= RUNS; i++) /* else it compares nothing */
        assert_true(violated[i] > 0 && not_violated[i] > 0);
}

/* --- histories of ours --- */

static bool is_any_violated(const struct finding *findings)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (findings[i].verdict == VERDICT_VIOLATED)
            return true;
    return false;
}

/* So many events of it, judged as they are; *converted: the same for Knossos, to be freed. */
static bool judge_ours(const struct random_walk *walk, size_t count, char **converted)
{
    struct history_head head = random_walk_head(walk);
    struct finding findings[PROPERTY_COUNT];
    struct checks *checks = checks_new(&head);
    struct export export;
    size_t size = 0;
    FILE *out = open_memstream(converted, &size);
    assert_non_null(out);
    export_start(&export, &export_knossos, out, &head);
    export.process = -1; /* it has none of another tool */
    for (size_t i = 0; i < count; i++) {
        checks_event(checks, &walk->trace.events[i]);
        export_event(&export, &export_knossos, &walk->trace.events[i]);
    }
    export_finish(&export, &export_knossos);
    assert_int_equal(fclose(out), 0);
    checks_finish(checks, count ? walk->trace.events[count - 1].time_us : 0, findings, NULL);
    checks_free(checks);
    return is_any_violated(findings);
}

/* A server has lost what was granted, a request was executed twice, or a clock has jumped: the
 * other format has no word for it, so there it is a bug or a loss. */
static bool is_explained_by_fault(const struct random_walk *walk, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &walk->trace.events[i];
        if (event->kind != EVENT_FAULT)
            continue;
        const enum fault_effect effect = fault_effect(event->fault);
        if (fault_keys(event->fault) != FAULT_KEYS_KEPT || effect == FAULT_COPIES ||
            effect == FAULT_SENDS_AGAIN || effect == FAULT_STEPS_CLOCK)
            return true;
    }
    return false;
}

/* Counts in [it is violated there][and here]. */
static void compare_ours(const struct random_walk *walk, size_t count, int found[2][2])
{
    const struct scheme *scheme = walk->run.scheme;
    const bool has_lease = scheme->promises_expiry || scheme->uses_client_clock;
    const struct jepsen_options options = {.language = FORM_EDN,
                                           .model = has_lease ? MODEL_LEASE : MODEL_OWNER,
                                           .lease_us = has_lease ? walk->run.lease_us : 0,
                                           .concurrency = walk->run.clients,
                                           .reads_misses = true};
    char *converted;
    bool is_whole;
    const bool is_ours = judge_ours(walk, count, &converted);
    struct finding *theirs = *converted ? judge(converted, options, &is_whole) : NULL;
    const bool is_theirs = theirs && is_any_violated(theirs);
    found[is_theirs][is_ours]++;
    if (is_theirs && !is_ours && !is_explained_by_fault(walk, count))
        fail_msg("%s, seed %" PRIu64 ", %d events: violated for Knossos only\n%s", scheme->name,
                 walk->run.seed, (int)count, converted);
    free(theirs);
    free(converted);
}

static void what_we_record_is_told_without_a_new_contradiction(void **state)
{
    int found[2][2] = {{0}};
    struct random_walk *walk = memory_new(1, sizeof *walk);
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            random_walk_make(walk, schemes[i], seed);
            for (size_t parts = 1; parts <= 8; parts++)
                compare_ours(walk, walk->trace.count * parts / 8, found);
            free(walk->trace.events);
        }
    }
    free(walk);
    assert_true(found[0][0] > 0 && found[0][1] > 0 && found[1][1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_we_record_is_told_without_a_new_contradiction),
        cmocka_unit_test(what_is_converted_is_judged_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
