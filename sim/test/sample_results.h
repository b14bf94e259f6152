/* sample_results.h - results as a run could leave them, with every kind of row, for the tests of
 * the reports.
 *
 * Two directed histories are written by hand: A outlives its lease, B gets the lock, A releases, C
 * comes. */
#ifndef PICKLOCK_TEST_SAMPLE_RESULTS_H
#define PICKLOCK_TEST_SAMPLE_RESULTS_H

#include "base/memory.h"
#include "base/version.h"
#include "history/history.h"
#include "run/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a witness or a story may try on whoever prints it. */
#define HOSTILE                                                                                    \
    "<script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\"> `|*_\\ \033[31m \xff "  \
    "]]>"

/* --- histories --- */

struct sample_history {
    struct event_sink sink;
    int64_t index, time_us;
    int attempts[100];
};

static void sample_event(struct sample_history *history, struct event event)
{
    event.index = history->index++;
    event.time_us = event.from_us = history->time_us;
    if (event.client >= 0)
        event.attempt = history->attempts[event.client];
    history->sink.take(history->sink.context, &event);
}

/* A command from its request to its reply, each 0.1 ms after the other. */
static void sample_command(struct sample_history *history, int client, enum operation op,
                           struct command command, struct reply reply)
{
    struct event event = {.client = client, .server = 0, .op = op, .command = command};
    event.kind = EVENT_SEND;
    sample_event(history, event);
    history->time_us += 100;
    event.kind = EVENT_EXECUTE;
    event.reply = reply;
    sample_event(history, event);
    history->time_us += 100;
    event.kind = EVENT_HEAR;
    sample_event(history, event);
}

static void sample_operation(struct sample_history *history, int client, enum operation op,
                             struct command command, struct reply reply, enum result result)
{
    history->time_us += 100;
    history->attempts[client] += op == OP_ACQUIRE;
    sample_event(
        history,
        (struct event){
            .kind = EVENT_CALL, .client = client, .server = -1, .op = op, .token = command.value});
    sample_command(history, client, op, command, reply);
    sample_event(
        history,
        (struct event){
            .kind = EVENT_RETURN, .client = client, .server = -1, .op = op, .result = result});
}

static void sample_acquire(struct sample_history *history, int client)
{
    struct command set = {.verb = VERB_SET_NX_PX, .value = 17 + client, .ttl_us = 300000};
    sample_operation(history, client, OP_ACQUIRE, set, (struct reply){.kind = REPLY_OK},
                     RESULT_GRANTED);
}

/* The story of expired-lease-double-delete; the release is a DEL, or compares first. Returns the
 * index of C's grant. */
static int64_t sample_history(const char *path, const char *scheme, bool compares)
{
    char names[3][NAME_MAX_BYTES] = {"A", "B", "C"};
    struct history_head head = {.world = "sim",
                                .clients = 3,
                                .servers = 1,
                                .locks = 1,
                                .names = names,
                                .lease_us = 300000,
                                .unit_us = 1000,
                                .seed = 1};
    struct history_writer *writer;
    struct failure failure;
    snprintf(head.scheme, sizeof head.scheme, "%s", scheme);
    snprintf(head.scenario, sizeof head.scenario, "expired-lease-double-delete");
    if (history_writer_new(&writer, path, &head, &failure))
        return -1;
    struct sample_history history = {.sink = history_writer_sink(writer)};
    sample_acquire(&history, 0);
    history.time_us += 301000;
    sample_event(
        &history,
        (struct event){.kind = EVENT_TIME, .client = -1, .server = -1, .amount_us = 301000});
    sample_acquire(&history, 1);
    struct command del = {.verb = compares ? VERB_COMPARE_DELETE : VERB_DEL, .value = 17};
    sample_operation(&history, 0, OP_RELEASE, del,
                     (struct reply){.kind = REPLY_INTEGER, .value = compares ? 0 : 1},
                     compares ? RESULT_NOT_MINE : RESULT_RELEASED);
    if (!compares)
        sample_acquire(&history, 2);
    int64_t last = history.index - 1;
    return history_writer_close(writer, &failure) ? -1 : last;
}

/* --- rows --- */

static struct result_row *sample_row(struct results *results, const char *scenario,
                                     const char *scheme, bool is_naive, enum verdict verdict,
                                     int as_expected)
{
    struct result_row *row = results_add(results);
    snprintf(row->subject, sizeof row->subject, "%s", scenario);
    snprintf(row->scheme, sizeof row->scheme, "%s", scheme);
    row->is_naive = is_naive;
    row->verdict = verdict;
    row->as_expected = (unsigned)as_expected == AS_EXPECTED_YES  ? AS_EXPECTED_YES
                       : (unsigned)as_expected == AS_EXPECTED_NO ? AS_EXPECTED_NO
                                                                 : AS_EXPECTED_NONE;
    row->elapsed_us = 123456;
    return row;
}

/* sentence NULL: no witness. */
static void sample_property(struct result_row *row, enum property property, enum verdict verdict,
                            int expected, enum cause cause, const char *sentence)
{
    size_t count = (size_t)row->properties_count;
    row->properties = memory_resize(row->properties, count + 1, sizeof *row->properties);
    struct result_property *made = &row->properties[row->properties_count++];
    *made = (struct result_property){.property = property,
                                     .verdict = verdict,
                                     .expected = expected,
                                     .count = verdict == VERDICT_VIOLATED,
                                     .cause = cause,
                                     .first_index = -1,
                                     .witness_lines = sentence ? 2 : 0};
    if (!sentence)
        return;
    made->witness = memory_new(2, sizeof *made->witness);
    made->witness[0] = memory_text("B got the lock at 301.5 ms for 300.0 ms.");
    made->witness[1] = memory_text(sentence);
}

static void sample_double_delete(struct results *results, const char *folder)
{
    static const char name[] = "expired-lease-double-delete";
    struct result_row *row =
        sample_row(results, name, "set-nx-px-cad", false, VERDICT_HOLDS, AS_EXPECTED_YES);
    sample_property(row, PROPERTY_RELEASE_OWN, VERDICT_HOLDS, VERDICT_HOLDS, CAUSE_NONE, NULL);
    row->story = memory_text("A stalls for longer than its lease; B gets the lock;\nA wakes and "
                             "deletes B's key.");
    row->source = memory_text("Redis documentation, SET");
    row->history = memory_text("histories/a.jsonl");
    row->schedule = memory_text("schedules/a.schedule");

    row = sample_row(results, name, "set-nx-ex-del", true, VERDICT_VIOLATED, AS_EXPECTED_YES);
    sample_property(row, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED, VERDICT_VIOLATED,
                    CAUSE_UNLOCK_BUG, "B and C both held it.");
    sample_property(
        row, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED, VERDICT_VIOLATED, CAUSE_UNLOCK_BUG,
        "A sent DEL at 301.8 ms; its own lease had ended at 300.1 ms. Unlock bug in A.");
    row->story = memory_text("A stalls for longer than its lease; B gets the lock;\nA wakes and "
                             "deletes B's key.");
    row->source = memory_text("Redis documentation, SET");
    row->history = memory_text("histories/b.jsonl");
    if (!folder)
        return;
    char *histories = memory_format("%s/histories", folder);
    char *safe = memory_format("%s/a.jsonl", histories),
         *naive = memory_format("%s/b.jsonl", histories);
    if (mkdir(histories, 0777) == 0) {
        sample_history(safe, "set-nx-px-cad", true);
        row->properties[1].first_index = sample_history(naive, "set-nx-ex-del", false);
    }
    free(histories);
    free(safe);
    free(naive);
}

static void sample_stress(struct results *results)
{
    struct result_row *row =
        sample_row(results, "stress", "set-nx-ex-del", true, VERDICT_VIOLATED, AS_EXPECTED_NO);
    sample_property(row, PROPERTY_NO_LOST_UPDATE, VERDICT_VIOLATED, EXPECTED_NOTHING,
                    CAUSE_UNLOCK_BUG, "The counter went from 41 to 42 twice.");
    row->stress = memory_new(1, sizeof *row->stress);
    *row->stress = (struct stress_figures){
        .clients = 200,
        .operations = 123456,
        .grants = 4321,
        .refusals = 119000,
        .errors = 135,
        .overruns = 12,
        .foreign_releases = 7,
        .lost_updates = 3,
        .operations_per_second = 12345,
        .latency_us = {.p50 = 850, .p99 = 12400, .p999 = 80100, .max = 501000},
        .faults = 900,
        .struck = {[FAULT_PAUSE] = 20, [FAULT_DELAY] = 880},
        .faults_in_hold = 45,
        .contended = 110000,
        .cpu_us = 4500000,
        .injected_wait_us = 24100000,
        .series = {.part_us = 200000,
                   .parts_count = 3,
                   .parts = {{50000, 2000, 0, 300, 840, 12000},
                             {3456, 21, 4, 600, 900, 480000},
                             {70000, 2300, 0, 0, 840, 9000}},
                   .memory_kb = {5120, 7168, 7168},
                   .holders = {8, 12, 7},
                   .held_us = {1300000, 2400000, 1000000},
                   .waits = {[9] = 119000, [13] = 4000, [18] = 456},
                   .holds = {[0] = 1, [12] = 4320}}};
}

/* A lock in another language, watched at its commands: opaque ones, and a token that is a text. */
static void sample_worker(struct results *results)
{
    struct result_row *row =
        sample_row(results, "hand-over", "", false, VERDICT_VIOLATED, AS_EXPECTED_NO);
    row->worker = memory_text("python3 locks/redis_py.py --key 'a b'");
    row->is_inferred = true;
    row->is_unrated = true;
    row->fail_on = FAIL_ON_SCHEME;
    sample_property(row, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED, EXPECTED_NOTHING, CAUSE_UNLOCK_BUG,
                    "A sent EVALSHA 3f2a… lock \"8c3f-11\": it removed B's lock.");
}

/* A cell with a violated property and one that holds. */
__attribute__((unused)) static struct result_row *sample_cell(struct results *results,
                                                              const char *faults)
{
    struct result_row *row = results_add(results);
    snprintf(row->scheme, sizeof row->scheme, "set-nx-ex-del");
    snprintf(row->subject, sizeof row->subject, "%s", faults);
    row->elapsed_us = 1234567;
    row->search = memory_new(1, sizeof *row->search);
    *row->search = (struct search_figures){.words = "broken (unlock-bug, 14 steps)",
                                           .method = "exhaustive",
                                           .end = "every state was visited",
                                           .clients = 3,
                                           .states = INT64_C(5000000000),
                                           .omissions = 1.5e-7,
                                           .is_complete = true};
    row->properties = memory_new(2, sizeof *row->properties);
    row->properties_count = 2;
    row->properties[0] = (struct result_property){.property = PROPERTY_RELEASE_OWN,
                                                  .verdict = VERDICT_VIOLATED,
                                                  .expected = EXPECTED_NOTHING,
                                                  .count = 1,
                                                  .is_failure = true,
                                                  .cause = CAUSE_UNLOCK_BUG,
                                                  .faults = 1,
                                                  .steps = 14,
                                                  .is_shortest = true,
                                                  .first_index = 40,
                                                  .is_replayed = true,
                                                  .confirmed = CONFIRMED_YES,
                                                  .witness = memory_new(1, sizeof(char *)),
                                                  .witness_lines = 1,
                                                  .choices = memory_new(1, sizeof(char *)),
                                                  .choices_count = 1,
                                                  .schedule = memory_text("schedules/a.schedule")};
    row->properties[0].witness[0] = memory_text("A removed B's lock " HOSTILE);
    row->properties[0].choices[0] = memory_text("A's EVALSHA 3f2a… reaches server 1");
    row->properties[1] = (struct result_property){.property = PROPERTY_PROGRESS,
                                                  .verdict = VERDICT_HOLDS,
                                                  .expected = EXPECTED_NOTHING,
                                                  .first_index = -1};
    result_sum_up_cell(row);
    return row;
}

/* Every kind of row. folder: histories are written there; NULL: none. Free with results_free(). */
__attribute__((unused)) static void sample_results(struct results *results, const char *folder)
{
    *results = (struct results){.picklock = PICKLOCK_VERSION,
                                .command = "run",
                                .world = "redis",
                                .server_version = "7.0.15",
                                .seed = 1,
                                .invocation = memory_text("picklock run scenarios/*.yaml"),
                                .started = "2026-01-31T12:00:00Z",
                                .elapsed_us = 4500000};
    sample_double_delete(results, folder);
    struct result_row *row =
        sample_row(results, "late-grant", "redlock", false, VERDICT_VIOLATED, AS_EXPECTED_NO);
    sample_property(row, PROPERTY_FRESH_GRANT, VERDICT_VIOLATED, VERDICT_HOLDS, CAUSE_LATE_GRANT,
                    "A was told at 310.0 ms, " HOSTILE);
    row->story = memory_text("A story with " HOSTILE);
    row = sample_row(results, "late-grant", "set-nx-px-cad", false, VERDICT_VIOLATED,
                     AS_EXPECTED_YES);
    sample_property(row, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED, VERDICT_VIOLATED,
                    CAUSE_OVERRUN, "A outlived its lease.");
    row = sample_row(results, "late-grant", "setnx-del", true, VERDICT_UNKNOWN, AS_EXPECTED_NONE);
    row->error =
        memory_text("scenarios/late-grant.yaml:9:5: A goes on: the server answered nothing");
    row = sample_row(results, "failover-loses-lock", "set-nx-px-cad", false, VERDICT_VIOLATED,
                     AS_EXPECTED_YES);
    sample_property(row, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED, VERDICT_VIOLATED,
                    CAUSE_LOST_GRANT, "The replica had not heard of it.");
    row = sample_row(results, "failover-loses-lock", "set-ifeq-delex", false, VERDICT_UNKNOWN,
                     AS_EXPECTED_YES);
    row->is_unsupported = true;
    row->error = memory_text("not supported by this server");
    row = sample_row(results, "failover-loses-lock", "redlock", false, VERDICT_NOT_APPLICABLE,
                     AS_EXPECTED_NONE);
    row->not_applicable = memory_text("the scenario does not speak about " HOSTILE);
    row = sample_row(results, "odd \"name\" & <b>", "own-scheme", false, VERDICT_HOLDS,
                     AS_EXPECTED_NONE);
    sample_property(row, PROPERTY_PROGRESS, VERDICT_HOLDS, EXPECTED_NOTHING, CAUSE_NONE, NULL);
    sample_worker(results);
    sample_stress(results);
}

#endif
