/* bench_checks.c - how many events a second the checks take, and the log. Not a test: it prints
 * figures. What fails, or blames a history without a fault, fails the benchmark.
 *
 *     make BUILD=... build/test/bench_checks && build/test/bench_checks [FOLDER] */
#include "base/memory.h"
#include "base/monotonic.h"
#include "checks/checks.h"
#include "history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 200, EVENTS = 2000000 };

static const struct scheme scheme = {
    .name = "bench", .promises_expiry = true, .promises_token = true, .unit_us = 1000};

struct bench {
    struct event *events;
    int64_t count, now_us;
    int attempts[CLIENTS];
};

static void add(struct bench *bench, int client, enum event_kind kind, enum operation op,
                struct command command, struct reply reply, enum result result)
{
    bool is_message = kind == EVENT_SEND || kind == EVENT_EXECUTE || kind == EVENT_HEAR;
    if (bench->count == EVENTS)
        return;
    bench->now_us += 7;
    bench->events[bench->count] = (struct event){.index = bench->count,
                                                 .time_us = bench->now_us,
                                                 .from_us = bench->now_us - (is_message ? 5 : 0),
                                                 .kind = kind,
                                                 .client = client,
                                                 .server = is_message ? 0 : -1,
                                                 .attempt = bench->attempts[client],
                                                 .op = op,
                                                 .command = command,
                                                 .reply = reply,
                                                 .result = result};
    bench->count++;
}

static void message(struct bench *bench, int client, enum operation op, struct command command,
                    struct reply reply)
{
    add(bench, client, EVENT_SEND, op, command, (struct reply){0}, RESULT_NONE);
    add(bench, client, EVENT_EXECUTE, op, command, reply, RESULT_NONE);
    add(bench, client, EVENT_HEAR, op, command, reply, RESULT_NONE);
}

/* An acquire; nine of ten are refused, as under contention. */
static void round_of(struct bench *bench, int client, bool is_granted)
{
    static const struct command none;
    static const struct reply nothing;
    bench->attempts[client]++;
    int64_t token = (int64_t)client << 32 | bench->attempts[client];
    struct command set = {.verb = VERB_SET_NX_PX, .value = token, .ttl_us = 300000};
    struct command compare = {.verb = VERB_COMPARE_DELETE, .value = token};
    struct reply set_reply = {.kind = is_granted ? REPLY_OK : REPLY_NIL};
    add(bench, client, EVENT_CALL, OP_ACQUIRE, none, nothing, RESULT_NONE);
    message(bench, client, OP_ACQUIRE, set, set_reply);
    add(bench, client, EVENT_RETURN, OP_ACQUIRE, none, nothing,
        is_granted ? RESULT_GRANTED : RESULT_REFUSED);
    if (!is_granted)
        return;
    for (int i = 1; i < 10; i++)
        round_of(bench, (client + i) % CLIENTS, false);
    add(bench, client, EVENT_CALL, OP_RELEASE, none, nothing, RESULT_NONE);
    message(bench, client, OP_RELEASE, compare, (struct reply){.kind = REPLY_INTEGER, .value = 1});
    add(bench, client, EVENT_RETURN, OP_RELEASE, none, nothing, RESULT_RELEASED);
}

static double seconds(void)
{
    return 1e-6 * (double)monotonic_us();
}

static void report(const char *what, double began)
{
    double took = seconds() - began;
    printf("%-8s %d events in %.2f s: %.2f M events/s\n", what, EVENTS, took, EVENTS / took / 1e6);
}

static int failed(const char *what, const struct failure *failure)
{
    fprintf(stderr, "bench_checks: %s failed: %s\n", what, failure->text);
    return 1;
}

static int bench_the_checks(const struct bench *bench, const struct history_head *head)
{
    struct checks *checks = checks_new_for(head, &scheme);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    int wrong = 0;
    double began = seconds();
    for (int i = 0; i < EVENTS; i++)
        checks_event(checks, &bench->events[i]);
    checks_finish(checks, bench->now_us, findings, NULL);
    report("checks", began);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (findings[i].count > 0) {
            fprintf(stderr, "bench_checks: %s: %s\n", property_name((enum property)i),
                    findings[i].witness[0]);
            wrong = 1;
        }
    checks_free(checks);
    free(findings);
    return wrong;
}

static int bench_the_log(const struct bench *bench, const struct history_head *head,
                         const char *path)
{
    struct failure failure = {0};
    struct history_writer *writer;
    double began = seconds();
    if (history_writer_new(&writer, path, head, &failure))
        return failed("the log", &failure);
    struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < EVENTS; i++)
        sink.take(sink.context, &bench->events[i]);
    if (history_writer_close(writer, &failure))
        return failed("the log", &failure);
    report("log", began);
    return 0;
}

static int bench_the_reader(const char *path)
{
    struct failure failure = {0};
    struct history_head head;
    struct history_reader *reader;
    struct event event;
    bool is_end = false;
    double began = seconds();
    if (history_reader_new(&reader, path, &head, &failure))
        return failed("the reader", &failure);
    while (!is_end)
        if (history_reader_next(reader, &event, &is_end, &failure))
            return failed("the reader", &failure);
    history_reader_free(reader);
    report("reader", began);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.events = memory_new(EVENTS, sizeof *bench.events)};
    char(*names)[NAME_MAX_BYTES] = memory_new(CLIENTS, sizeof *names);
    struct history_head head = {.clients = CLIENTS,
                                .servers = 1,
                                .locks = 1,
                                .names = names,
                                .lease_us = 300000,
                                .unit_us = 1000,
                                .clock_error_us = 2000};
    for (int i = 0; i < CLIENTS; i++)
        snprintf(names[i], sizeof names[i], "c%d", i + 1);
    for (int i = 0; bench.count < EVENTS; i++)
        round_of(&bench, i % CLIENTS, true);

    char *path = memory_format("%s/picklock-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || close(fd)) {
        perror(path);
        return 1;
    }
    int status = bench_the_checks(&bench, &head) || bench_the_log(&bench, &head, path) ||
                 bench_the_reader(path);
    (void)unlink(path);
    free(path);
    free(names);
    free(bench.events);
    return status;
}
