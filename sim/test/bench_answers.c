/* bench_answers.c - what the black-box engine takes for a million operations of 64 clients at one
 * lock, and what all of `picklock check` takes for them: valid, with a violation at 98 %, with 1 %
 * without an answer, and with both; and the same as a Jepsen test's EDN. Not a test: it prints
 * figures. What is judged wrongly fails it.
 *
 *     make build/test/bench_answers && build/test/bench_answers [FOLDER] */
#include "base/memory.h"
#include "base/random.h"
#include "checks/answers.h"
#include "checks/checks.h"
#include "history/history.h"
#include "history/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CLIENTS = 64, OPERATIONS = 1000000, EVENTS = 2 * OPERATIONS, LEASE_US = 100000 };

struct bench_lock {
    struct random random;
    struct event *events;
    int64_t count, now_us, ends_us;
    int owner, owner_attempt;
    bool has_unanswered;
    struct {
        enum { IDLE, CALLED, EXECUTED, HOLDING } at;
        enum operation op;
        enum result result;
        int attempt;
    } clients[CLIENTS];
};

static void put(struct bench_lock *bench, enum event_kind kind, int client, enum result result)
{
    bench->events[bench->count] = (struct event){.index = bench->count,
                                                 .time_us = bench->now_us,
                                                 .from_us = bench->now_us,
                                                 .kind = kind,
                                                 .client = client,
                                                 .server = -1,
                                                 .attempt = bench->clients[client].attempt,
                                                 .op = bench->clients[client].op,
                                                 .result = result};
    bench->count++;
}

static void execute(struct bench_lock *bench, int client)
{
    bool is_own = bench->owner == client && bench->owner_attempt == bench->clients[client].attempt;
    bench->clients[client].at = EXECUTED;
    if (bench->clients[client].op == OP_RELEASE) {
        bench->clients[client].result = is_own ? RESULT_RELEASED : RESULT_NOT_MINE;
        bench->owner = is_own ? -1 : bench->owner;
    } else if (bench->owner < 0) {
        bench->clients[client].result = RESULT_GRANTED;
        bench->owner = client;
        bench->owner_attempt = bench->clients[client].attempt;
        bench->ends_us = bench->now_us + LEASE_US;
    } else {
        bench->clients[client].result = RESULT_REFUSED;
    }
}

static void answer(struct bench_lock *bench, int client)
{
    bool is_lost = bench->has_unanswered && random_chance(&bench->random, 10000);
    bool is_held = bench->clients[client].result == RESULT_GRANTED && !is_lost;
    put(bench, EVENT_RETURN, client, is_lost ? RESULT_FAILED : bench->clients[client].result);
    bench->clients[client].at = is_held ? HOLDING : IDLE;
}

/* About nine operations are under way at a time. */
static void step(struct bench_lock *bench)
{
    int client = (int)random_below(&bench->random, CLIENTS);
    bench->now_us += 2;
    if (bench->owner >= 0 && bench->now_us >= bench->ends_us)
        bench->owner = -1;
    switch (bench->clients[client].at) {
    case IDLE:
        if (random_below(&bench->random, 6) > 0)
            return;
        bench->clients[client].op = OP_ACQUIRE;
        bench->clients[client].attempt++;
        bench->clients[client].at = CALLED;
        put(bench, EVENT_CALL, client, RESULT_NONE);
        return;
    case HOLDING:
        bench->clients[client].op = OP_RELEASE;
        bench->clients[client].at = CALLED;
        put(bench, EVENT_CALL, client, RESULT_NONE);
        return;
    case CALLED:
        execute(bench, client);
        return;
    case EXECUTED:
        answer(bench, client);
        return;
    }
}

/* The first refusal from there on becomes a grant. */
static void violate(struct bench_lock *bench, int64_t from)
{
    for (; from < EVENTS; from++)
        if (bench->events[from].result == RESULT_REFUSED) {
            bench->events[from].result = RESULT_GRANTED;
            return;
        }
}

/* CPU time: others may use the machine. */
static int64_t used_us(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec +
           used.ru_stime.tv_usec;
}

static double seconds_since(int64_t began_us)
{
    return 1e-6 * (double)(used_us() - began_us);
}

static int64_t by_engine(const struct bench_lock *bench, double *seconds)
{
    int64_t began_us = used_us(), contradictions = 0;
    struct answers_engine *engine =
        answers_new((struct answers_rules){.lease_us = LEASE_US}, CLIENTS, 1);
    for (int i = 0; i < EVENTS; i++)
        contradictions += answers_event(engine, &bench->events[i]) == ANSWERS_CONTRADICT;
    answers_free(engine);
    *seconds = seconds_since(began_us);
    return contradictions;
}

static enum fail write_down(const struct bench_lock *bench, const struct history_head *head,
                            const char *path, struct failure *failure)
{
    struct history_writer *writer;
    if (history_writer_new(&writer, path, head, failure))
        return failure->code;
    struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < EVENTS; i++)
        sink.take(sink.context, &bench->events[i]);
    return history_writer_close(writer, failure);
}

/* A process that is not answered is over, and the next one of its worker takes its place. */
static enum fail write_edn(const struct bench_lock *bench, const char *path,
                           struct failure *failure)
{
    static const char *const types[] = {"fail", "ok", "info"};
    int64_t processes[CLIENTS];
    FILE *file = fopen(path, "w");
    if (!file)
        return failure_set(failure, FAIL_INPUT, "%s: cannot be written", path);
    for (int i = 0; i < CLIENTS; i++)
        processes[i] = i;
    for (int i = 0; i < EVENTS; i++) {
        const struct event *event = &bench->events[i];
        const enum outcome outcome = result_outcome(event->result);
        const char *type = event->kind == EVENT_CALL ? "invoke"
                                                     : types[outcome == OUTCOME_OK     ? 1
                                                             : outcome == OUTCOME_INFO ? 2
                                                                                       : 0];
        fprintf(file, "{:type :%s, :f :%s, :value nil, :time %lld, :process %lld, :index %d}\n",
                type, operation_name(event->op), (long long)event->time_us * 1000,
                (long long)processes[event->client], i);
        if (event->kind == EVENT_RETURN && outcome == OUTCOME_INFO)
            processes[event->client] += CLIENTS;
    }
    return fclose(file) ? failure_set(failure, FAIL_INPUT, "%s: cannot be written", path)
                        : FAIL_NONE;
}

/* Reads and judges, as `picklock check` does; contradictions are those of truthful. */
static enum fail by_checks(const char *path, enum source_format format, double *seconds,
                           struct failure *failure)
{
    const struct source_options options = {.format = format,
                                           .jepsen = {.model = MODEL_LEASE,
                                                      .lease_us = LEASE_US,
                                                      .concurrency = CLIENTS,
                                                      .reads_misses = true,
                                                      .is_judged = true}};
    struct history_source *reader;
    struct history_head head;
    struct event event;
    bool is_end = false;
    int64_t began_us = used_us(), last_us = 0;
    enum fail fail = history_source_new(&reader, path, &options, &head, failure);
    if (fail)
        return fail;
    struct checks *checks = checks_new(&head);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    while (!(fail = history_source_next(reader, &event, &is_end, failure)) && !is_end) {
        checks_event(checks, &event);
        last_us = event.time_us;
    }
    if (!fail)
        checks_finish(checks, last_us, findings, NULL);
    checks_free(checks);
    history_source_free(reader);
    free(findings);
    *seconds = seconds_since(began_us);
    return fail;
}

static int bench_one(const char *name, bool is_violated, bool has_unanswered, const char *path)
{
    struct bench_lock *bench = memory_new(1, sizeof *bench);
    char(*names)[NAME_MAX_BYTES] = memory_new(CLIENTS, sizeof *names);
    struct history_head head = {.scenario = "bench",
                                .world = "redis",
                                .clients = CLIENTS,
                                .servers = 1,
                                .locks = 1,
                                .names = names,
                                .lease_us = LEASE_US,
                                .unit_us = 1,
                                .has_promises = true,
                                .promises = PROMISE_EXPIRY | PROMISE_TOKEN};
    struct failure failure = {0};
    double engine_s, checks_s = 0, edn_s = 0;
    bench->random.seed = 1;
    bench->owner = -1;
    bench->has_unanswered = has_unanswered;
    bench->events = memory_new(EVENTS, sizeof *bench->events);
    for (int i = 0; i < CLIENTS; i++)
        snprintf(names[i], NAME_MAX_BYTES, "c%d", i + 1);
    while (bench->count < EVENTS)
        step(bench);
    if (is_violated)
        violate(bench, EVENTS / 100 * 98);
    int64_t contradictions = by_engine(bench, &engine_s);
    if (write_down(bench, &head, path, &failure) ||
        by_checks(path, SOURCE_OURS, &checks_s, &failure) || write_edn(bench, path, &failure) ||
        by_checks(path, SOURCE_JEPSEN_EDN, &edn_s, &failure))
        fprintf(stderr, "bench_answers: %s\n", failure.text);
    printf("answers  %-24s 1 M operations, CPU: engine %.2f s, check with reading %.2f s, of EDN "
           "%.2f s\n",
           name, engine_s, checks_s, edn_s);
    free(bench->events);
    free(bench);
    free(names);
    if (!is_violated == !contradictions && !failure.code)
        return 0;
    fprintf(stderr, "bench_answers: %s: %d contradictions\n", name, (int)contradictions);
    return 1;
}

int main(int argc, char **argv)
{
    char *path = memory_format("%s/picklock-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || close(fd)) {
        perror(path);
        return 1;
    }
    int status = bench_one("valid", false, false, path) |
                 bench_one("a violation at 98 %", true, false, path) |
                 bench_one("1 % without an answer", false, true, path) |
                 bench_one("both", true, true, path);
    (void)unlink(path);
    free(path);
    return status;
}
