/* protocol.c - see protocol.h. JSON by jansson. */
#include "worker/protocol.h"

#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {
#define OP(id, name, words) [WORKER_##id] = (name),
#include "worker/protocol.def"
};

static const char *const promises[] = {
#define PROMISE(id, name, words) [WORKER_PROMISES_##id] = (name),
#include "worker/protocol.def"
};

static const struct {
    const char *name, *words;
} refused[] = {
#define REFUSED(name, words) {name, words},
#include "worker/protocol.def"
};

const char *worker_op_name(enum worker_op op)
{
    return ops[op];
}

const char *worker_promises_print(unsigned set, char text[PROMISES_TEXT_MAX])
{
    size_t used = 0;
    (void)strcpy(text, "nothing");
    for (unsigned i = 0; i < WORKER_PROMISE_COUNT; i++)
        if (set & 1u << i)
            used += (size_t)snprintf(text + used, PROMISES_TEXT_MAX - used, "%s%s",
                                     used ? ", " : "", promises[i]);
    return text;
}

enum fail worker_promises_stay(unsigned before, unsigned now, enum worker_op op,
                               struct failure *failure)
{
    char said[PROMISES_TEXT_MAX], promised[PROMISES_TEXT_MAX];
    if (now == before)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT,
                       "it promises %s as it is ready (%s), and %s was promised before: what a "
                       "lock promises does not change",
                       worker_promises_print(now, said), worker_op_name(op),
                       worker_promises_print(before, promised));
}

const char *protocol_quote(const char *bytes, size_t length, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 4 < size; i++)
        text[used++] = (char)(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.');
    text[used] = '\0';
    if (used < length)
        (void)strcpy(text + used, "...");
    return text;
}

/* --- requests --- */

static void add_settings(json_t *made, const struct worker_settings *settings)
{
    json_t *servers = json_array();
    char address[32];
    for (int i = 0; i < settings->servers; i++) {
        (void)snprintf(address, sizeof address, "127.0.0.1:%d", settings->ports[i]);
        json_array_append_new(servers, json_string(address));
    }
    json_object_set_new(made, "key", json_string(settings->key));
    json_object_set_new(made, "client", json_integer(settings->client));
    json_object_set_new(made, "name", json_string(settings->name));
    json_object_set_new(made, "ttl_ms", json_integer(settings->ttl_us / 1000));
    json_object_set_new(made, "work_ms", json_integer(settings->work_us / 1000));
    json_object_set_new(made, "servers", servers);
    json_object_set_new(made, "user", json_string(WORKER_USER));
    json_object_set_new(made, "password", json_string(WORKER_PASSWORD));
}

char *protocol_print(const struct worker_request *request)
{
    json_t *made = json_object();
    json_object_set_new(made, "op", json_string(ops[request->op]));
    json_object_set_new(made, "id", json_integer(request->id));
    if (request->op == WORKER_INIT)
        add_settings(made, request->settings);
    if (request->op == WORKER_ACQUIRE)
        json_object_set_new(made, "wait_ms", json_integer(request->wait_us / 1000));
    if (request->op == WORKER_CANCEL)
        json_object_set_new(made, "of", json_integer(request->of));
    char *text = json_dumps(made, JSON_COMPACT);
    char *line = memory_format("%s\n", text ? text : "");
    json_decref(made);
    free(text);
    return line;
}

/* --- answers --- */

struct answer_reading {
    const char *line;
    size_t length;
    struct failure *failure;
};

static enum fail bad(const struct answer_reading *reading, const char *words, const char *about)
{
    char quoted[200];
    return failure_set(reading->failure, FAIL_INPUT, "%s%s: '%s'", words, about,
                       protocol_quote(reading->line, reading->length, quoted, sizeof quoted));
}

static enum fail unknown(const struct answer_reading *reading, const char *words, const char *name,
                         const char *const *known, size_t count)
{
    const char *nearest = suggest_nearest(name, known, count);
    char about[120];
    (void)snprintf(about, sizeof about, " '%.40s'%s%s%s", name, nearest ? ", did you mean '" : "",
                   nearest ? nearest : "", nearest ? "'" : "");
    return bad(reading, words, about);
}

static enum fail check_members(const struct answer_reading *reading, const json_t *root)
{
    static const char *const known[] = {"id",    "ok",       "ready",        "event",   "error",
                                        "fence", "promises", "monotonic_us", "wall_us", "library"};
    enum { KNOWN = sizeof known / sizeof *known };
    for (void *at = json_object_iter((json_t *)(uintptr_t)root); at;
         at = json_object_iter_next((json_t *)(uintptr_t)root, at)) {
        const char *member = json_object_iter_key(at);
        if (NAMES_FIND(known, member) < 0)
            return unknown(reading, "unknown member", member, known, KNOWN);
    }
    return FAIL_NONE;
}

static enum fail read_promise(const struct answer_reading *reading, const char *name, unsigned *set)
{
    int row = NAMES_FIND_ROW(refused, name);
    if (row >= 0)
        return failure_set(reading->failure, FAIL_INPUT,
                           "it promises '%s' (%s), which picklock cannot check yet; leave the "
                           "promise out to have the rest of the lock tested",
                           name, refused[row].words);
    row = NAMES_FIND(promises, name);
    if (row < 0)
        return unknown(reading, "unknown promise", name, promises, WORKER_PROMISE_COUNT);
    *set |= 1u << row;
    return FAIL_NONE;
}

static enum fail read_ready(const struct answer_reading *reading, const json_t *root,
                            struct worker_answer *answer)
{
    const json_t *list = json_object_get(root, "promises"), *row;
    const char *library = json_string_value(json_object_get(root, "library"));
    size_t i;
    answer->kind = ANSWER_READY;
    if (!json_is_true(json_object_get(root, "ready")))
        return bad(reading, "'ready' is true or not there", "");
    if (list && !json_is_array(list))
        return bad(reading, "'promises' is a list of words", "");
    json_array_foreach(list, i, row)
    {
        if (!json_is_string(row))
            return bad(reading, "'promises' is a list of words", "");
        if (read_promise(reading, json_string_value(row), &answer->promises))
            return FAIL_INPUT;
    }
    if (library)
        (void)protocol_quote(library, strlen(library), answer->library, sizeof answer->library);
    return FAIL_NONE;
}

static enum fail read_time(const struct answer_reading *reading, const json_t *root,
                           struct worker_answer *answer)
{
    const json_t *monotonic = json_object_get(root, "monotonic_us");
    const json_t *wall = json_object_get(root, "wall_us");
    if (!json_is_integer(monotonic) || !json_is_integer(wall))
        return bad(reading, "'monotonic_us' and 'wall_us' are whole numbers, and come together",
                   "");
    answer->kind = ANSWER_TIME;
    answer->monotonic_us = json_integer_value(monotonic);
    answer->wall_us = json_integer_value(wall);
    return FAIL_NONE;
}

static enum fail read_ok(const struct answer_reading *reading, const json_t *root,
                         struct worker_answer *answer)
{
    const json_t *ok = json_object_get(root, "ok"), *fence = json_object_get(root, "fence");
    if (!json_is_boolean(ok))
        return bad(reading, "'ok' is true or false", "");
    if (fence && !json_is_integer(fence) && !json_is_null(fence))
        return bad(reading, "'fence' is a whole number", "");
    answer->kind = json_is_true(ok) ? ANSWER_OK : ANSWER_NOT_OK;
    answer->has_fence = json_is_integer(fence);
    answer->fence = json_integer_value(fence);
    return FAIL_NONE;
}

static enum fail read_error(const struct answer_reading *reading, const json_t *root,
                            struct worker_answer *answer)
{
    const char *error = json_string_value(json_object_get(root, "error"));
    if (!error)
        return bad(reading, "'error' is a text", "");
    answer->kind = ANSWER_ERROR;
    (void)protocol_quote(error, strlen(error), answer->error, sizeof answer->error);
    return FAIL_NONE;
}

static enum fail read_event(const struct answer_reading *reading, const json_t *root,
                            struct worker_answer *answer)
{
    const char *event = json_string_value(json_object_get(root, "event"));
    answer->kind = ANSWER_LOST;
    if (event && strcmp(event, "lost") == 0)
        return FAIL_NONE;
    return bad(reading, "'event' is \"lost\"", "");
}

static enum fail read_kind(const struct answer_reading *reading, const json_t *root,
                           struct worker_answer *answer)
{
    static const struct {
        const char *member;
        enum fail (*read)(const struct answer_reading *reading, const json_t *root,
                          struct worker_answer *answer);
    } rows[] = {
        {"ready", read_ready}, {"error", read_error},       {"ok", read_ok},
        {"event", read_event}, {"monotonic_us", read_time}, {"wall_us", read_time},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (json_object_get(root, rows[i].member))
            return rows[i].read(reading, root, answer);
    return bad(reading, "an answer has one of ready, ok, error, event, monotonic_us", "");
}

static enum fail read_object(const struct answer_reading *reading, const json_t *root,
                             struct worker_answer *answer)
{
    const json_t *id = json_object_get(root, "id");
    if (!json_is_object(root))
        return bad(reading, "a line is a JSON object", "");
    if (check_members(reading, root) || read_kind(reading, root, answer))
        return FAIL_INPUT;
    if (id && !json_is_integer(id))
        return bad(reading, "'id' is the number of the request", "");
    if (!id && answer->kind != ANSWER_LOST)
        return bad(reading, "'id' is missing, the number of the request that is answered", "");
    answer->id = json_integer_value(id);
    return FAIL_NONE;
}

enum fail protocol_read(const char *line, size_t length, struct worker_answer *answer,
                        struct failure *failure)
{
    const struct answer_reading reading = {.line = line, .length = length, .failure = failure};
    json_error_t error;
    *answer = (struct worker_answer){0};
    json_t *root =
        json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!root)
        return bad(&reading, "this is no JSON", "");
    enum fail fail = read_object(&reading, root, answer);
    json_decref(root);
    return fail;
}
