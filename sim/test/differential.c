/* differential.c - holds the model of a server to a real redis-server: the same random commands on
 * both, times included.
 *
 * Several connections, a clock that stands still between steps and moves by whole and broken
 * milliseconds, a server that is made to refuse (OOM, READONLY, MISCONF, NOAUTH), that forgets its
 * scripts, evicts, and restarts empty. Every reply is compared, and after every batch the value and
 * the time to live of every key. A difference is shrunk to the shortest sequence that still shows
 * it. A server that is LOADING cannot be steered from outside, and CROSSSLOT needs a cluster; the
 * model's rules for them are checked in test_model_scripts.c only. Never uses a server that it did
 * not start. */
#include "base/monotonic.h"
#include "base/units.h"
#include "test/differential_draw.h"
#include "test/differential_server.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>

enum { SEQUENCE_STEPS = 400, BATCH_MAX = 32, TEXT_MAX = 256 };
enum { ANSWERS = (int)REPLY_ERROR + (int)ERROR_COUNT }; /* the kinds, the errors one by one */

/* --- running one on both sides --- */

struct difference {
    int step; /* -1: none */
    char words[TEXT_MAX * 4];
};

struct trial {
    struct compared_server *server;
    const struct model_plant *plant;
    struct model_side side;
    struct difference difference;
    int first, batched; /* steps sent on one connection, whose replies have not been read */
    struct reply expected[BATCH_MAX];
    const struct drawn_step *steps;
    int64_t answers[VERB_COUNT][ANSWERS]; /* how often each was seen */
    int64_t met[STEP_COUNT];              /* and each step that is no command */
    FILE *trace;                          /* NULL, or where each step is told */
};

static struct wire_reply wire_of(const redisReply *reply, struct wire_reply *elements)
{
    static const char types[] = {
        [REDIS_REPLY_STRING] = '$', [REDIS_REPLY_ARRAY] = '*',  [REDIS_REPLY_INTEGER] = ':',
        [REDIS_REPLY_NIL] = '$',    [REDIS_REPLY_STATUS] = '+', [REDIS_REPLY_ERROR] = '-'};
    struct wire_reply wire = {.type = types[reply->type],
                              .text = reply->str,
                              .length = (size_t)reply->len,
                              .integer = reply->integer};
    if (reply->type != REDIS_REPLY_ARRAY)
        return wire;
    assert(reply->elements <= REQUESTS_MAX);
    for (size_t i = 0; i < reply->elements; i++)
        elements[i] = wire_of(reply->element[i], NULL);
    wire.elements = elements;
    wire.count = reply->elements;
    return wire;
}

static enum fail read_reply(redisContext *context, enum verb verb, struct reply *reply,
                            struct failure *failure)
{
    redisReply *replies[REQUESTS_MAX] = {NULL};
    struct wire_reply wires[REQUESTS_MAX], elements[REQUESTS_MAX];
    int count = verb_requests(verb), got = 0;
    while (got < count && redisGetReply(context, (void **)&replies[got]) == REDIS_OK) {
        wires[got] = wire_of(replies[got], elements);
        got++;
    }
    /* A nil array comes as a plain nil: EXEC is the one that has them. */
    if (got == count && count > 1 && replies[got - 1]->type == REDIS_REPLY_NIL)
        wires[got - 1].type = '*';
    if (got == count)
        *reply = command_decode(verb, wires, (size_t)count);
    for (int i = 0; i < got; i++)
        freeReplyObject(replies[i]);
    return got == count ? FAIL_NONE : server_lost(context, failure);
}

static bool is_same(const struct reply *a, const struct reply *b)
{
    return a->kind == b->kind && a->error == b->error && a->value == b->value &&
           a->second == b->second;
}

static void differs(struct trial *trial, int step, const char *what, const char *real,
                    const char *model)
{
    if (trial->difference.step >= 0)
        return;
    trial->difference.step = step;
    snprintf(trial->difference.words, sizeof trial->difference.words,
             "%s: redis-server says %s, the model %s", what, real, model);
}

/* Time to live and value of every key, on both sides. at: the step that was the last one. */
static enum fail compare_keys(struct trial *trial, int at, struct failure *failure)
{
    redisContext *control = trial->server->control;
    char bytes[COMMAND_BYTES_MAX], what[TEXT_MAX], real_text[TEXT_MAX], model_text[TEXT_MAX];
    for (int i = 0; i < KEY_COUNT; i++) {
        struct command get = {.verb = VERB_GET, .key = (enum key)i};
        redisAppendFormattedCommand(control, bytes, command_encode(&get, "", bytes));
        redisAppendCommand(control, "PTTL %s", key_name(get.key));
    }
    struct model copy = trial->side.model;
    copy.refuses = ERROR_NONE;
    for (int i = 0; i < KEY_COUNT; i++) {
        struct command get = {.verb = VERB_GET, .key = (enum key)i};
        struct model_watch none = {0};
        struct reply model = model_execute(&copy, &none, &get, trial->side.now_us), real;
        redisReply *ttl = NULL;
        if (read_reply(control, VERB_GET, &real, failure) != FAIL_NONE)
            return FAIL_UNAVAILABLE;
        if (redisGetReply(control, (void **)&ttl) != REDIS_OK)
            return server_lost(control, failure);
        int64_t real_ms = ttl->integer, model_ms = model_ttl(&copy, get.key, trial->side.now_us);
        freeReplyObject(ttl);
        model_ms = model_ms > 0 ? model_ms / 1000 : model_ms;
        if (!is_same(&real, &model)) {
            snprintf(what, sizeof what, "then GET %s", key_name(get.key));
            differs(trial, at, what, reply_print(&real, real_text, TEXT_MAX),
                    reply_print(&model, model_text, TEXT_MAX));
        } else if (real_ms != model_ms) {
            snprintf(what, sizeof what, "then PTTL %s", key_name(get.key));
            snprintf(real_text, TEXT_MAX, "%" PRId64, real_ms);
            snprintf(model_text, TEXT_MAX, "%" PRId64, model_ms);
            differs(trial, at, what, real_text, model_text);
        }
    }
    return FAIL_NONE;
}

static void tell(struct trial *trial, const struct drawn_step *step, const struct reply *real)
{
    char text[TEXT_MAX], reply[TEXT_MAX];
    if (!trial->trace)
        return;
    switch (step->kind) {
    case STEP_COMMAND:
        fprintf(trial->trace, "  connection %d: %-44s -> %s\n", step->connection + 1,
                command_print(&step->command, text, sizeof text),
                reply_print(real, reply, sizeof reply));
        break;
    case STEP_TIME:
        fprintf(trial->trace, "  time passes: %s\n", units_print_duration(step->us, text));
        break;
    case STEP_REFUSE:
        fprintf(trial->trace, "  the server refuses: %s\n", reply_error_name(step->refuses));
        break;
    case STEP_FLUSH_SCRIPTS:
        fprintf(trial->trace, "  SCRIPT FLUSH\n");
        break;
    case STEP_RESTART:
        fprintf(trial->trace, "  the server restarts empty\n");
        break;
    case STEP_EVICT:
        fprintf(trial->trace, "  the server evicts every key%s\n",
                step->spares_lasting ? " that expires" : "");
        break;
    case STEP_COUNT:
        break;
    }
}

/* Reads the replies of the batch and compares them. */
static enum fail flush_batch(struct trial *trial, struct failure *failure)
{
    int count = trial->batched;
    trial->batched = 0;
    for (int i = 0; i < count; i++) {
        const struct drawn_step *step = &trial->steps[trial->first + i];
        const struct reply *model = &trial->expected[i];
        redisContext *client = trial->server->clients[step->connection];
        struct reply real;
        if (read_reply(client, step->command.verb, &real, failure) != FAIL_NONE)
            return FAIL_UNAVAILABLE;
        tell(trial, step, &real);
        trial->answers[step->command.verb][(int)real.kind + (int)real.error]++;
        char what[TEXT_MAX], real_text[TEXT_MAX], model_text[TEXT_MAX];
        if (!is_same(&real, model))
            differs(trial, trial->first + i, command_print(&step->command, what, TEXT_MAX),
                    reply_print(&real, real_text, TEXT_MAX),
                    reply_print(model, model_text, TEXT_MAX));
    }
    return count > 0 ? compare_keys(trial, trial->first + count - 1, failure) : FAIL_NONE;
}

static enum fail begin(struct trial *trial, struct failure *failure)
{
    struct compared_server *server = trial->server;
    enum fail fail = server_refuse(server, ERROR_NONE, failure);
    for (int i = 0; fail == FAIL_NONE && i < CONNECTIONS; i++) {
        redisReply *reply = redisCommand(server->clients[i], "UNWATCH");
        fail = reply ? FAIL_NONE : server_lost(server->clients[i], failure);
        freeReplyObject(reply);
    }
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure, "FLUSHDB"); /* FLUSHALL would save */
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure, "SCRIPT FLUSH");
    side_init(&trial->side, atomic_load(&server->clock->frozen_us));
    /* Sequences are drawn at the epoch: only the place within the millisecond can matter. */
    int64_t to_ms_us = GRANULE_US - trial->side.now_us % GRANULE_US;
    trial->side.now_us += to_ms_us;
    clock_advance(server->clock, to_ms_us);
    trial->difference.step = -1;
    trial->batched = 0;
    return fail;
}

/* What a step that is no command does to the real server. */
static enum fail strike(struct compared_server *server, const struct model_side *side,
                        const struct drawn_step *step, struct failure *failure)
{
    switch (step->kind) {
    case STEP_TIME:
        clock_advance(server->clock, step->us);
        return FAIL_NONE;
    case STEP_REFUSE:
        return server_refuse(server, step->refuses, failure);
    case STEP_FLUSH_SCRIPTS:
        return server_control(server, NULL, 0, failure, "SCRIPT FLUSH");
    case STEP_RESTART:
        return server_restart(server, side->model.refuses, failure);
    default:
        return FAIL_NONE;
    }
}

static enum fail take_step(struct trial *trial, int i, struct failure *failure)
{
    const struct drawn_step *step = &trial->steps[i];
    bool is_command = step->kind == STEP_COMMAND;
    bool fits =
        trial->batched < BATCH_MAX && trial->steps[trial->first].connection == step->connection;
    if (trial->batched > 0 && !(is_command && fits) && flush_batch(trial, failure) != FAIL_NONE)
        return FAIL_UNAVAILABLE;
    if (is_command) {
        char bytes[COMMAND_BYTES_MAX];
        if (trial->batched == 0)
            trial->first = i;
        redisAppendFormattedCommand(trial->server->clients[step->connection], bytes,
                                    command_encode(&step->command, "", bytes));
        trial->expected[trial->batched++] = trial->plant->says(&trial->side, step);
        return FAIL_NONE;
    }
    tell(trial, step, NULL);
    bool evicts = step->kind == STEP_EVICT && can_evict(&trial->side);
    trial->met[step->kind] += evicts || step->kind != STEP_EVICT;
    plant_taker *takes = trial->plant->takes ? trial->plant->takes : side_take;
    takes(&trial->side, step);
    enum fail fail = evicts ? server_evict(trial->server, step->spares_lasting, failure)
                            : strike(trial->server, &trial->side, step, failure);
    return fail || step->kind == STEP_TIME ? fail : compare_keys(trial, i, failure);
}

/* From empty on both sides up to the first difference, which stands in trial->difference. */
static enum fail run_sequence(struct trial *trial, const struct drawn_step *steps, int count,
                              struct failure *failure)
{
    trial->steps = steps;
    enum fail fail = begin(trial, failure);
    for (int i = 0; fail == FAIL_NONE && i < count && trial->difference.step < 0; i++)
        fail = take_step(trial, i, failure);
    return fail ? fail : flush_batch(trial, failure);
}

/* --- shrinking --- */

/* Runs steps without those from at to at + chunk; keeps what is left when it still shows a
 * difference. */
static enum fail try_without(struct trial *trial, struct drawn_step *steps, int *count, int at,
                             int chunk, bool *is_shorter, struct failure *failure)
{
    struct drawn_step rest[SEQUENCE_STEPS];
    int left = *count - chunk;
    memcpy(rest, steps, (size_t)at * sizeof *steps);
    memcpy(rest + at, steps + at + chunk, (size_t)(left - at) * sizeof *steps);
    /* Of times in a row one is left, as long as all of them. */
    if (chunk == 1 && at < left && steps[at].kind == STEP_TIME && rest[at].kind == STEP_TIME)
        rest[at].us += steps[at].us;
    enum fail fail = run_sequence(trial, rest, left, failure);
    *is_shorter = fail == FAIL_NONE && trial->difference.step >= 0;
    if (*is_shorter) {
        *count = trial->difference.step + 1;
        memcpy(steps, rest, (size_t)*count * sizeof *steps);
    }
    return fail;
}

/* Until no single step can be left out. */
static enum fail shrink(struct trial *trial, struct drawn_step *steps, int *count,
                        struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    bool is_shorter = false, has_shrunk = false;
    *count = trial->difference.step + 1;
    for (int chunk = *count / 2 + 1; chunk > 0;
         chunk = chunk > 1 || has_shrunk ? (chunk + 1) / 2 : 0) {
        has_shrunk = false;
        for (int at = 0; fail == FAIL_NONE && at + chunk <= *count;) {
            fail = try_without(trial, steps, count, at, chunk, &is_shorter, failure);
            has_shrunk = has_shrunk || is_shorter;
            at += is_shorter ? 0 : chunk;
        }
        if (fail != FAIL_NONE || (chunk == 1 && !has_shrunk))
            return fail;
    }
    return fail;
}

/* --- the program --- */

struct differential_options {
    uint64_t seed;
    int64_t commands;
    const char *server;
    const struct model_plant *plant;
    int shows_answers;
};

static enum fail usage(struct failure *failure)
{
    return failure_set(
        failure, FAIL_INPUT,
        "usage: differential [--seed N] [--commands N] [--server PATH] [--plant NAME] [--answers]; "
        "plants: none expires-early getset-keeps-ttl watch-misses-expiry "
        "script-rolls-back full-refuses-delete past-expire-ignored eval-is-not-cached "
        "restart-keeps-scripts eviction-is-not-watched eviction-takes-all");
}

static bool read_number(const char *text, int64_t *number)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0)
        return false;
    *number = value;
    return true;
}

static enum fail read_options(int argc, char **argv, struct differential_options *options,
                              struct failure *failure)
{
    static const struct option long_options[] = {
        {"seed", required_argument, NULL, 's'},   {"commands", required_argument, NULL, 'c'},
        {"server", required_argument, NULL, 'r'}, {"plant", required_argument, NULL, 'p'},
        {"answers", no_argument, NULL, 'a'},      {NULL, 0, NULL, 0}};
    int64_t seed = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        bool is_good = option != '?';
        if (option == 's')
            is_good = read_number(optarg, &seed);
        else if (option == 'c')
            is_good = read_number(optarg, &options->commands);
        else if (option == 'r')
            options->server = optarg;
        else if (option == 'a')
            options->shows_answers = 1;
        else if (option == 'p') {
            options->plant = NULL;
            for (int i = 0; i < PLANTS_COUNT; i++)
                if (strcmp(plants[i].name, optarg) == 0)
                    options->plant = &plants[i];
            is_good = options->plant != NULL;
        }
        if (!is_good)
            return usage(failure);
    }
    options->seed = (uint64_t)seed;
    return optind == argc ? FAIL_NONE : usage(failure);
}

/* A line a command: what it was answered, and how often. */
static void print_answers(const struct trial *trial)
{
    static const char *const kinds[] = {"nil", "OK", "integer", "value", "transaction"};
    for (int verb = 0; verb < VERB_COUNT; verb++) {
        printf("%s:", verb_id((enum verb)verb));
        for (int i = 0; i < ANSWERS; i++)
            if (trial->answers[verb][i] > 0)
                printf(" %s=%" PRId64,
                       i < REPLY_ERROR ? kinds[i]
                                       : reply_error_name((enum reply_error)(i - REPLY_ERROR)),
                       trial->answers[verb][i]);
        printf("\n");
    }
    printf("restarts: %" PRId64 "\nevictions: %" PRId64 "\n", trial->met[STEP_RESTART],
           trial->met[STEP_EVICT]);
}

static enum fail report_difference(struct trial *trial, struct drawn_step *steps, uint64_t seed,
                                   uint64_t sequence, struct failure *failure)
{
    int count = 0;
    enum fail fail = shrink(trial, steps, &count, failure);
    if (fail != FAIL_NONE)
        return fail;
    printf("the model and redis-server %s disagree (seed %" PRIu64 ", sequence %" PRIu64
           "); the shortest sequence that shows it, %d steps:\n",
           trial->server->version, seed, sequence, count);
    trial->trace = stdout;
    fail = run_sequence(trial, steps, count, failure);
    trial->trace = NULL;
    if (fail != FAIL_NONE)
        return fail;
    printf("%s\n", trial->difference.words);
    return FAIL_EXPECTATION;
}

static enum fail compare(struct compared_server *server, const struct differential_options *options,
                         struct failure *failure)
{
    struct drawn_step steps[SEQUENCE_STEPS];
    struct trial trial = {.server = server, .plant = options->plant};
    const int64_t began_us = monotonic_us();
    int64_t commands = 0;
    uint64_t sequence = 0;
    for (; commands < options->commands; sequence++) {
        struct random random = {.seed = options->seed, .stream = sequence};
        draw_sequence(&random, steps, SEQUENCE_STEPS);
        for (int i = 0; i < SEQUENCE_STEPS; i++)
            commands += steps[i].kind == STEP_COMMAND;
        enum fail fail = run_sequence(&trial, steps, SEQUENCE_STEPS, failure);
        if (fail != FAIL_NONE)
            return fail;
        if (trial.difference.step >= 0)
            return report_difference(&trial, steps, options->seed, sequence, failure);
    }
    double seconds = 1e-6 * (double)(monotonic_us() - began_us);
    printf("the model and redis-server %s agree: %" PRId64 " commands, %" PRIu64
           " sequences, seed %" PRIu64 ", %.1f s\n",
           server->version, commands, sequence, options->seed, seconds);
    if (options->shows_answers)
        print_answers(&trial);
    return FAIL_NONE;
}

int main(int argc, char **argv)
{
    struct failure failure = {0};
    struct differential_options options = {
        .commands = 100000, .server = "redis-server", .plant = &plants[0]};
    enum fail fail = read_options(argc, argv, &options, &failure);
    if (fail == FAIL_NONE) {
        struct compared_server server = {0};
        fail = server_start(&server, options.server, &failure);
        if (fail == FAIL_NONE)
            fail = compare(&server, &options, &failure);
        server_stop(&server);
    }
    if (fail != FAIL_NONE && fail != FAIL_EXPECTATION)
        fprintf(stderr, "differential: %s\n", failure.text);
    return (int)fail;
}
