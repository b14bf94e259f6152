/* test_history.c - the log of a run comes back as it went in, and nothing that is not whole is
 * taken for one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/history_text.h"

static char names[3][NAME_MAX_BYTES] = {"A", "B \"quoted\" \\ \n", "Zoë"};
static char processes[3][NAME_MAX_BYTES] = {"worker 1", "worker 1", "worker 2"};

static struct history_head head(void)
{
    return (struct history_head){.program = "redis-py 4.3 Lock",
                                 .has_promises = true,
                                 .promises = PROMISE_EXPIRY | PROMISE_TOKEN,
                                 .processes = processes,
                                 .scenario = "a story",
                                 .world = "redis",
                                 .server_version = "7.0.15",
                                 .clients = 3,
                                 .servers = 5,
                                 .locks = 2,
                                 .names = names,
                                 .lease_us = 300000,
                                 .unit_us = 1000,
                                 .clock_error_us = 2000,
                                 .seed = UINT64_MAX};
}

/* What an event of a foreign program points to. */
struct foreign {
    struct opaque opaque;
    struct effects effects;
    char token_text[VALUE_TEXT_MAX];
};

static int64_t random_value(struct random *random, char *text)
{
    static const char *const bytes[] = {"", "3f2a-77", "a\\b\n#\"c", "\xc3\xab"};
    int64_t number = (int64_t)random_below(random, 100);
    size_t row = random_below(random, 4);
    value_of_bytes(bytes[row], strlen(bytes[row]), text);
    if (row > 0)
        assert_true(value_number(text, &number));
    return number;
}

/* Any effect that can be told. */
static void random_effect(struct random *random, struct foreign *foreign, enum key key)
{
    struct effects *effects = &foreign->effects;
    int at = effects->count++;
    struct key_effect *effect = &effects->on[at];
    effect->key = key;
    effect->did = (enum did)random_below(random, DID_COUNT);
    effect->before = did_before(effect->did);
    effect->wanted = (enum effect)random_below(random, EFFECT_DELETE + 1);
    bool is_write =
        effect->did == DID_CREATED || effect->did == DID_OVERWRITTEN || effect->did == DID_APPENDED;
    bool sets = effect->did == DID_EXPIRY_SET || effect->did == DID_LENGTHENED ||
                effect->did == DID_SHORTENED;
    effect->has_new = is_write;
    effect->has_ttl = sets || (is_write && random_below(random, 2));
    effect->has_fence = is_write && random_below(random, 2);
    effect->is_told = effect->did == DID_OVERWRITTEN && random_below(random, 2);
    effect->is_unlike = effect->did == DID_REFUSED && random_below(random, 2);
    effect->has_old = effect->is_unlike || effect->before == BEFORE_PRESENT;
    if (effect->has_old)
        effect->old_value = random_value(random, effects->texts[at].old_value);
    if (effect->has_new)
        effect->new_value = random_value(random, effects->texts[at].new_value);
    effect->ttl_us = effect->has_ttl ? (int64_t)random_below(random, 1000000) - 5 : 0;
    effect->fence = effect->has_fence ? (int64_t)random_below(random, 10) : 0;
}

static void random_foreign(struct random *random, struct foreign *foreign, struct event *event)
{
    static const char *const words[] = {"evalsha", "0f\x01 \"\\", "1", "lock", "3f2a-77"};
    static const size_t lengths[] = {7, 6, 1, 4, 7};
    unsigned keys = (unsigned)random_below(random, 1 << KEY_COUNT);
    bool has_command = event->kind == EVENT_SEND || event->kind == EVENT_EXECUTE ||
                       event->kind == EVENT_HEAR || event->kind == EVENT_FAULT;
    *foreign = (struct foreign){0};
    event->is_inferred =
        (event->kind == EVENT_CALL || event->kind == EVENT_RETURN || event->kind == EVENT_NOTICE) &&
        random_below(random, 2);
    if (random_below(random, 2)) {
        event->token = random_value(random, foreign->token_text);
        event->token_text = foreign->token_text[0] ? foreign->token_text : NULL;
    }
    if (!has_command || random_below(random, 2))
        return;
    opaque_of_words(&foreign->opaque, words, lengths, (int)random_below(random, 5) + 1, keys);
    event->opaque = &foreign->opaque;
    event->command = (struct command){0};
    for (int key = 0; key < KEY_COUNT && event->kind == EVENT_EXECUTE; key++)
        if (keys >> key & 1)
            random_effect(random, foreign, (enum key)key);
    event->effects = foreign->effects.count > 0 ? &foreign->effects : NULL;
}

/* Any value of every field; the bounds of fields.def and of the head. */
static struct event random_event(struct random *random, int64_t index, enum event_kind kind)
{
    static const int64_t values[] = {0, 1, -1, 17, INT64_MAX, VALUE_NIL, VALUE_EMPTY};
    static const int64_t durations[] = {0, 300000, -1, 1000000000000000};
    struct event event = {.index = index, .kind = kind};
#define ANY_VALUE values[random_below(random, sizeof values / sizeof values[0])]
    event.time_us = index * 1000 + (int64_t)random_below(random, 1000);
    event.from_us = event.time_us - (int64_t)random_below(random, 3);
    bool may_be_nobodys = kind == EVENT_WAKE || kind == EVENT_TIME || kind == EVENT_FAULT;
    event.client = (int)random_below(random, 3) - (may_be_nobodys && random_below(random, 2));
    event.server = (int)random_below(random, 5);
    if ((may_be_nobodys || kind == EVENT_CALL || kind == EVENT_RETURN || kind == EVENT_STRAND) &&
        random_below(random, 2))
        event.server = -1;
    event.lock = (int)random_below(random, 2);
    event.attempt = (int)random_below(random, 3);
    if (kind == EVENT_CALL) /* it stands once */
        event.attempt = (int)index + 3;
    event.op = (enum operation)random_below(random, OP_COUNT);
    event.lane = (enum lane)random_below(random, LANE_COUNT);
    event.command.verb = (enum verb)random_below(random, VERB_COUNT);
    event.command.key = (enum key)random_below(random, KEY_COUNT);
    event.command.value = ANY_VALUE;
    event.command.number = ANY_VALUE;
    event.command.ttl_us = durations[random_below(random, 4)];
    event.reply.kind = (enum reply_kind)random_below(random, REPLY_ERROR + 1);
    event.reply.error = (enum reply_error)random_below(random, ERROR_COUNT);
    event.reply.value = ANY_VALUE;
    event.reply.second = ANY_VALUE;
    do
        event.result = (enum result)random_below(random, RESULT_COUNT);
    while (!result_is_of(event.result, event.op));
    event.token = ANY_VALUE;
    event.fence = ANY_VALUE;
    event.amount_us = durations[random_below(random, 4)];
    event.fault = (enum fault)random_below(random, FAULT_ROWS);
    return event;
}

static void assert_same_effects(const struct effects *one, const struct effects *two)
{
    assert_int_equal(one->count, two->count);
    for (int i = 0; i < one->count; i++) {
        const struct key_effect *a = &one->on[i], *b = &two->on[i];
#define SAME(member) assert_int_equal(a->member, b->member)
        SAME(key), SAME(did), SAME(before), SAME(wanted), SAME(has_old), SAME(is_unlike);
        SAME(is_told), SAME(has_new), SAME(has_ttl), SAME(has_fence), SAME(old_value);
        SAME(new_value), SAME(ttl_us), SAME(fence);
#undef SAME
        assert_string_equal(one->texts[i].old_value, two->texts[i].old_value);
        assert_string_equal(one->texts[i].new_value, two->texts[i].new_value);
    }
}

static void assert_same_foreign(const struct event *one, const struct event *two)
{
    assert_int_equal(one->is_inferred, two->is_inferred);
    assert_int_equal(!one->opaque, !two->opaque);
    assert_int_equal(!one->effects, !two->effects);
    assert_int_equal(!one->token_text, !two->token_text);
    if (one->token_text)
        assert_string_equal(one->token_text, two->token_text);
    if (one->effects)
        assert_same_effects(one->effects, two->effects);
    if (!one->opaque)
        return;
    assert_string_equal(one->opaque->name, two->opaque->name);
    assert_string_equal(one->opaque->text, two->opaque->text);
    assert_int_equal(one->opaque->digest, two->opaque->digest);
    assert_int_equal(one->opaque->keys, two->opaque->keys);
}

static void assert_same(const struct event *one, const struct event *two)
{
    assert_same_foreign(one, two);
#define SAME(member) assert_int_equal(one->member, two->member)
    SAME(index), SAME(time_us), SAME(from_us), SAME(kind), SAME(client), SAME(server), SAME(lock);
    SAME(attempt), SAME(op), SAME(lane), SAME(result), SAME(token), SAME(fence), SAME(amount_us);
    SAME(command.verb), SAME(command.key), SAME(command.value), SAME(command.number);
    SAME(command.ttl_us), SAME(reply.kind), SAME(reply.error), SAME(reply.value);
    SAME(reply.second), SAME(fault);
}

/* piece_bytes: 0: one file. */
static void write_history(const struct event *events, int count, int64_t piece_bytes)
{
    struct history_head run = head();
    struct history_writer *writer;
    struct failure failure;
    assert_int_equal(history_writer_new(&writer, path, &run, &failure), FAIL_NONE);
    if (piece_bytes)
        history_writer_rotate(writer, piece_bytes);
    struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < count; i++)
        sink.take(sink.context, &events[i]);
    if (!piece_bytes)
        assert_int_equal(access(path, F_OK), -1); /* not before it is whole */
    assert_int_equal(history_writer_close(writer, &failure), FAIL_NONE);
}

/* Removes the later pieces; how many there were. */
static int remove_pieces(void)
{
    char piece[sizeof path + 16];
    for (int number = 2;; number++) {
        snprintf(piece, sizeof piece, "%s.%d", path, number);
        if (unlink(piece) != 0)
            return number - 2;
    }
}

static void every_field_comes_back(int64_t piece_bytes)
{
    enum { EVENTS = EVENT_COUNT * 300 };
    struct random random = {.seed = 1};
    struct event *events = calloc(EVENTS, sizeof *events);
    struct foreign *foreign = calloc(EVENTS, sizeof *foreign);
    assert_non_null(events);
    assert_non_null(foreign);
    for (int i = 0; i < EVENTS; i++) {
        events[i] = random_event(&random, i, (enum event_kind)(i % EVENT_COUNT));
        random_foreign(&random, &foreign[i], &events[i]);
    }
    write_history(events, EVENTS, piece_bytes);
    struct history_reader *reader;
    struct history_head was = head(), is;
    struct failure failure;
    assert_int_equal(history_reader_new(&reader, path, &is, &failure), FAIL_NONE);
    assert_string_equal(is.scheme, was.scheme);
    assert_string_equal(is.scenario, was.scenario);
    assert_string_equal(is.world, was.world);
    assert_string_equal(is.server_version, was.server_version);
    assert_int_equal(is.clients, was.clients);
    assert_int_equal(is.servers, was.servers);
    assert_int_equal(is.locks, was.locks);
    assert_int_equal(is.lease_us, was.lease_us);
    assert_int_equal(is.unit_us, was.unit_us);
    assert_int_equal(is.clock_error_us, was.clock_error_us);
    assert_true(is.seed == was.seed);
    assert_string_equal(is.program, was.program);
    assert_true(is.has_promises);
    assert_int_equal(is.promises, was.promises);
    for (int i = 0; i < 3; i++)
        assert_string_equal(is.processes[i], processes[i]);
    for (int i = 0; i < 3; i++)
        assert_string_equal(is.names[i], names[i]);
    struct event event;
    bool is_end = false;
    for (int i = 0; i < EVENTS; i++) {
        enum fail fail = history_reader_next(reader, &event, &is_end, &failure);
        if (fail)
            fail_msg("%s", failure.text);
        assert_false(is_end);
        assert_same(&event, &events[i]);
    }
    assert_int_equal(history_reader_next(reader, &event, &is_end, &failure), FAIL_NONE);
    assert_true(is_end);
    history_reader_free(reader);
    free(foreign);
    free(events);
}

static void every_field_of_every_kind_comes_back(void **state)
{
    (void)state;
    every_field_comes_back(0);
    assert_int_equal(remove_pieces(), 0);
}

static void and_so_it_does_in_pieces(void **state)
{
    (void)state;
    every_field_comes_back(50000);
    assert_true(remove_pieces() > 10);
}

static void an_abandoned_history_leaves_nothing(void **state)
{
    struct history_head run = head();
    struct history_writer *writer;
    struct failure failure;
    (void)state;
    (void)unlink(path);
    assert_int_equal(history_writer_new(&writer, path, &run, &failure), FAIL_NONE);
    history_writer_abandon(writer);
    assert_int_equal(rmdir(folder), 0); /* no temporary file either: the folder is empty */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void a_full_disk_is_reported(void **state)
{
    struct history_head run = head();
    struct history_writer *writer;
    struct failure failure;
    struct random random = {.seed = 2};
    (void)state;
    assert_int_equal(history_writer_new(&writer, "/dev/full", &run, &failure), FAIL_NONE);
    struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < 2000; i++) {
        struct event event = random_event(&random, i, EVENT_EXECUTE);
        sink.take(sink.context, &event);
    }
    assert_int_equal(history_writer_close(writer, &failure), FAIL_INTERNAL);
    assert_non_null(strstr(failure.text, "No space left"));
    assert_int_equal(history_writer_new(&writer, "/no/such/folder/history", &run, &failure),
                     FAIL_INPUT);
}

/* --- what is refused --- */

#define CALL "{\"i\":0,\"t\":5,\"kind\":\"call\",\"client\":0,\"op\":\"acquire\"}\n"

static void bad_files_are_refused_with_file_and_line(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *words;
    } rows[] = {
        {"", 1, "empty"},
        {"\n", 1, "not JSON"},
        {"[1]\n", 1, "JSON object"},
        {"{\"end\":0}\n", 1, "not a history"},
        {"{\"history\":\"picklock.history/9\"}\n", 1, "picklock.history/9"},
        {"{\"history\":\"picklock.history/1\"}\n", 1, "no 'scheme'"},
        {HEAD, 2, "no end line"},
        {HEAD CALL, 3, "no end line"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"call\",\"client\":0,\"op\"", 2, "cut off"},
        {HEAD "{\"end\":1}\n", 2, "counts 1"},
        {HEAD CALL "{\"end\":1}\nmore\n", 4, "behind the end"},
        {HEAD "{\"i\":1,\"t\":5,\"kind\":\"wake\"}\n", 2, "missing"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"call\",\"client\":1,\"op\":\"acquire\"}\n", 2, "client"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"call\",\"op\":\"acquire\"}\n", 2, "client"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"call\",\"client\":0}\n", 2, "wants 'op'"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"shout\",\"client\":0}\n", 2, "kind"},
        {HEAD "{\"i\":0,\"t\":\"5\",\"kind\":\"wake\"}\n", 2, "whole number"},
        {HEAD "{\"i\":0,\"t\":5.5,\"kind\":\"wake\"}\n", 2, "whole number"},
        {HEAD "{\"i\":0,\"t\":1000000000000001,\"kind\":\"wake\"}\n", 2, "'t' is 1000000000000001"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"notice\"}\n", 2, "client"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"wake\",\"lock\":1}\n", 2, "lock"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"wake\",\"from\":6}\n", 2, "later"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"wake\",\"clinet\":6}\n", 2,
         "no field 'clinet'; did you mean 'client'?"},
        {HEAD CALL "{\"i\":1,\"t\":4,\"kind\":\"wake\"}\n", 3, "'t' is 4, earlier than 5"},
        {HEAD "{\"i\":0,\"i\":0,\"t\":5,\"kind\":\"wake\"}\n", 2, "duplicate"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"send\",\"client\":0,\"server\":0,\"verb\":\"GIVE\","
              "\"key\":\"lock\"}\n",
         2, "knows no 'GIVE'"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"fault\",\"fault\":\"restart-emtpy\"}\n", 2,
         "knows no 'restart-emtpy'"},
        {HEAD "{\"i\":0,\"t\":5,\"kind\":\"fault\"}\n", 2, "wants 'fault'"},
    };
    (void)state;
    struct failure failure;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char place[sizeof path + 16];
        assert_int_equal(read_all(rows[i].text, &failure), FAIL_INPUT);
        snprintf(place, sizeof place, "%s:%d: ", path, rows[i].line);
        /* Behind the line a column stands where a field is to blame. */
        place[strlen(place) - 1] = '\0';
        if (strncmp(failure.text, place, strlen(place)) != 0 ||
            !strstr(failure.text, rows[i].words))
            fail_msg("row %zu: wanted line %d and \"%s\", got: %s", i, rows[i].line, rows[i].words,
                     failure.text);
    }
    assert_int_equal(read_all(HEAD CALL "{\"end\":1}\n", &failure), FAIL_NONE);
    /* two events may share an instant */
    assert_int_equal(
        read_all(HEAD CALL "{\"i\":1,\"t\":5,\"kind\":\"wake\"}\n{\"end\":2}\n", &failure),
        FAIL_NONE);
    struct history_reader *reader;
    struct history_head run;
    assert_int_equal(history_reader_new(&reader, folder, &run, &failure), FAIL_INPUT);
    assert_int_equal(history_reader_new(&reader, "/no/such/file", &run, &failure), FAIL_INPUT);
}

/* Whatever version 1 of the format has ever said of a fault is still read. */
/* Fields of somebody's own change nothing: neither in the head nor in an event. */
static void other_fields_are_left_alone(void **state)
{
    static const char *const others[] = {"\"note\":\"a b\"", "\"id\":7", "\"host\":null",
                                         "\"trace\":{\"span\":[1,2]}"};
    (void)state;
    struct failure failure;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "{%s,%s{\"i\":0,%s,\"t\":5,\"kind\":\"call\",\"client\":0,"
                 "\"op\":\"acquire\"}\n{\"end\":1}\n",
                 others[i], &HEAD[1], others[i]);
        assert_int_equal(read_all(text, &failure), FAIL_NONE);
    }
}

static void the_names_of_faults_are_the_files_own(void **state)
{
    static const char *const known[] = {
        "give-up", "lose-request",  "lose-reply",   "resend",        "duplicate",   "answer-error",
        "crash",   "client-clock",  "server-clock", "restart-empty", "cut-replica", "failover",
        "evict",   "flush-scripts", "pause",        "delay",         "cancel"};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[512];
        struct failure failure;
        snprintf(text, sizeof text,
                 "%s{\"i\":0,\"t\":5,\"kind\":\"fault\",\"fault\":\"%s\"}\n{\"end\":1}\n", HEAD,
                 known[i]);
        assert_int_equal(read_all(text, &failure), FAIL_NONE);
    }
}

static void a_line_without_end_is_refused_early(void **state)
{
    struct failure failure;
    char *text = malloc(sizeof HEAD + 3 * HISTORY_LINE_MAX);
    (void)state;
    assert_non_null(text);
    strcpy(text, HEAD);
    memset(text + sizeof HEAD - 1, 'x', 3 * HISTORY_LINE_MAX);
    text[sizeof HEAD - 1 + 3 * HISTORY_LINE_MAX] = '\0';
    assert_int_equal(read_all(text, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "longer than 65536 bytes"));
    free(text);
}

/* --- names --- */

static void names_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < EVENT_COUNT; i++) {
        enum event_kind kind;
        assert_true(event_read(event_name((enum event_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    for (int i = 0; i < OP_COUNT; i++) {
        enum operation op;
        assert_true(operation_read(operation_name((enum operation)i), &op));
        assert_int_equal(op, i);
    }
    for (int i = 0; i < RESULT_COUNT; i++) {
        enum result result;
        assert_true(result_read(result_name((enum result)i), &result));
        assert_int_equal(result, i);
    }
    assert_false(result_read("perhaps", &(enum result){0}));
    assert_int_equal(result_outcome(RESULT_GRANTED), OUTCOME_OK);
    assert_int_equal(result_outcome(RESULT_REFUSED), OUTCOME_FAIL);
    assert_int_equal(result_outcome(RESULT_FAILED), OUTCOME_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_every_kind_comes_back),
        cmocka_unit_test(and_so_it_does_in_pieces),
        cmocka_unit_test(an_abandoned_history_leaves_nothing),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(bad_files_are_refused_with_file_and_line),
        cmocka_unit_test(other_fields_are_left_alone),
        cmocka_unit_test(the_names_of_faults_are_the_files_own),
        cmocka_unit_test(a_line_without_end_is_refused_early),
        cmocka_unit_test(names_read_back),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
