/* jepsen.c - see jepsen.h. */
#include "history/jepsen.h"

#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"
#include "history/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 64, PLACE_BYTES = 48, FIRST_SLOTS = 64 };

/* A process at a lock, which is a client of ours. */
struct jepsen_client {
    int64_t process; /* -1: it is over, the place is free */
    int lock, attempt;
    bool is_open; /* an operation without its end */
    enum operation op;
    bool has_lock, is_taken_over;
    int acts_for; /* in the operation that is open: itself, or whose lock it releases */
    int64_t first_process;
};

struct jepsen_reader {
    struct jepsen_options options;
    struct form_reader form;
    FILE *file;
    struct jepsen_client *clients;
    int clients_count, clients_size;
    int *left, left_count; /* places of clients that are over */
    json_t *places;        /* "PROCESS LOCK": which client */
    struct jepsen_lock {
        char key[KEY_BYTES];
        int holder; /* the client that was granted it last and has not released it; -1: none */
    } * locks;
    int locks_count, locks_size;
    json_t *lock_numbers; /* by key */
    int64_t last_us, events, operations;
    char (*names)[NAME_MAX_BYTES];
};

static const struct {
    const char *name;
    enum operation op;
} functions[] = {{"acquire", OP_ACQUIRE},     {"lock", OP_ACQUIRE},    {"try-lock", OP_ACQUIRE},
                 {"try-acquire", OP_ACQUIRE}, {"release", OP_RELEASE}, {"unlock", OP_RELEASE},
                 {"renew", OP_EXTEND},        {"extend", OP_EXTEND},   {"refresh", OP_EXTEND},
                 {"keep-alive", OP_EXTEND}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

enum op_type { TYPE_INVOKE, TYPE_OK, TYPE_FAIL, TYPE_INFO, TYPE_COUNT };
static const char *const types[] = {"invoke", "ok", "fail", "info"};

static const char *const models[] = {
#define MODEL(id, name, words) name,
#include "history/models.def"
#undef MODEL
};

bool lock_model_read(const char *name, enum lock_model *model)
{
    return names_read(NAMES_FIND(models, name), model);
}

const char *lock_model_name(enum lock_model model)
{
    return models[model];
}

/* --- clients and locks --- */

/* The number that stands under that name, or -1. */
static int number_of(const json_t *names, const char *name)
{
    const json_t *found = json_object_get(names, name);
    return found ? (int)json_integer_value(found) : -1;
}

static enum fail find_lock(struct jepsen_reader *reader, const char *key, int *lock,
                           struct failure *failure)
{
    *lock = number_of(reader->lock_numbers, key);
    if (*lock >= 0)
        return FAIL_NONE;
    if (reader->locks_count == LOCKS_MAX)
        return form_refuses(&reader->form, failure, "more than %d locks", LOCKS_MAX);
    if (reader->locks_count == reader->locks_size) {
        reader->locks_size = reader->locks_size ? 2 * reader->locks_size : FIRST_SLOTS;
        reader->locks =
            memory_resize(reader->locks, (size_t)reader->locks_size, sizeof *reader->locks);
    }
    *lock = reader->locks_count++;
    reader->locks[*lock].holder = -1;
    snprintf(reader->locks[*lock].key, KEY_BYTES, "%s", key);
    json_object_set_new_nocheck(reader->lock_numbers, key, json_integer(*lock));
    return FAIL_NONE;
}

static const char *print_place(int64_t process, int lock, char name[PLACE_BYTES])
{
    snprintf(name, PLACE_BYTES, "%" PRId64 " %d", process, lock);
    return name;
}

/* A place that a process has left, or a new one; -1: there are too many. */
static int take_place(struct jepsen_reader *reader)
{
    if (reader->left_count > 0)
        return reader->left[--reader->left_count];
    if (reader->clients_count == CLIENTS_MAX)
        return -1;
    if (reader->clients_count == reader->clients_size) {
        reader->clients_size = reader->clients_size ? 2 * reader->clients_size : FIRST_SLOTS;
        size_t size = (size_t)reader->clients_size;
        reader->clients = memory_resize(reader->clients, size, sizeof *reader->clients);
        reader->left = memory_resize(reader->left, size, sizeof *reader->left);
    }
    reader->clients[reader->clients_count] = (struct jepsen_client){.first_process = -1};
    return reader->clients_count++;
}

/* The one of that process at that lock. */
static enum fail find_client(struct jepsen_reader *reader, int64_t process, int lock, int *number,
                             struct failure *failure)
{
    char name[PLACE_BYTES];
    *number = number_of(reader->places, print_place(process, lock, name));
    if (*number >= 0)
        return FAIL_NONE;
    *number = take_place(reader);
    if (*number < 0)
        return form_refuses(&reader->form, failure, "more than %d processes at once", CLIENTS_MAX);
    struct jepsen_client *client = &reader->clients[*number];
    client->is_taken_over = client->first_process >= 0;
    if (!client->is_taken_over)
        client->first_process = process;
    client->process = process;
    client->lock = lock;
    client->has_lock = client->is_open = false;
    json_object_set_new_nocheck(reader->places, name, json_integer(*number));
    return FAIL_NONE;
}

/* A process that ends so is over, at every lock. */
static void retire(struct jepsen_reader *reader, int64_t process)
{
    char name[PLACE_BYTES];
    for (int i = 0; i < reader->clients_count; i++) {
        struct jepsen_client *client = &reader->clients[i];
        if (client->process != process)
            continue;
        json_object_del(reader->places, print_place(process, client->lock, name));
        client->process = -1;
        reader->left[reader->left_count++] = i;
    }
}

/* --- an operation --- */

struct jepsen_op {
    int64_t process, time_us, fence;
    enum op_type type;
    enum operation op;
    char key[KEY_BYTES];
    bool is_nemesis;
};

static enum fail read_type(struct jepsen_reader *reader, const json_t *form, struct jepsen_op *op,
                           struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *type = json_string_value(json_object_get(form, "type"));
    if (!type)
        return form_refuses(&reader->form, failure, "an operation wants ':type'");
    if (names_read(NAMES_FIND(types, type), &op->type))
        return FAIL_NONE;
    const char *nearest = suggest_nearest(type, types, TYPE_COUNT);
    return form_refuses(&reader->form, failure, "no operation is of ':type' '%.40s'%s", type,
                        suggest_words(nearest, "; it is invoke, ok, fail or info", suggestion));
}

static enum fail read_function(struct jepsen_reader *reader, const json_t *form,
                               struct jepsen_op *op, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *names[FUNCTIONS], *name = json_string_value(json_object_get(form, "f"));
    if (!name)
        return form_refuses(&reader->form, failure, "an operation wants ':f'");
    for (int i = 0; i < FUNCTIONS; i++) {
        names[i] = functions[i].name;
        if (!strcmp(name, names[i])) {
            op->op = functions[i].op;
            return FAIL_NONE;
        }
    }
    const char *nearest = suggest_nearest(name, names, FUNCTIONS);
    return form_refuses(&reader->form, failure, "a lock has no ':f' '%.40s'%s", name,
                        suggest_words(nearest, "; it has acquire, release and renew", suggestion));
}

static void print_key(const json_t *value, char *key)
{
    if (json_is_string(value))
        snprintf(key, KEY_BYTES, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(key, KEY_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static void read_value(const json_t *value, struct jepsen_op *op)
{
    if (json_is_array(value) && json_array_size(value) == 2) {
        print_key(json_array_get(value, 0), op->key);
        value = json_array_get(value, 1);
    }
    if (json_is_object(value)) {
        print_key(json_object_get(value, "key"), op->key);
        value = json_object_get(value, "fence");
    }
    op->fence = json_is_integer(value) ? json_integer_value(value) : 0;
}

static enum fail read_time(struct jepsen_reader *reader, const json_t *form, struct jepsen_op *op,
                           struct failure *failure)
{
    const json_t *time = json_object_get(form, "time");
    if (!time && reader->options.lease_us)
        return form_refuses(&reader->form, failure,
                            "an operation wants ':time' (ns), where there is a lease");
    if (time && !json_is_integer(time))
        return form_refuses(&reader->form, failure, "':time' wants a whole number of nanoseconds");
    op->time_us = time ? json_integer_value(time) / 1000 : reader->operations;
    if ((time && json_integer_value(time) < 0) || op->time_us > HISTORY_LONGEST_US)
        return form_refuses(&reader->form, failure,
                            "':time' is %" PRId64 " us; it goes from 0 to %" PRId64, op->time_us,
                            (int64_t)HISTORY_LONGEST_US);
    if (op->time_us < reader->last_us)
        return form_refuses(&reader->form, failure,
                            "':time' is %" PRId64 " us, earlier than %" PRId64
                            " us of the operation before: time runs forwards",
                            op->time_us, reader->last_us);
    reader->last_us = op->time_us;
    return FAIL_NONE;
}

static enum fail read_op(struct jepsen_reader *reader, const json_t *form, struct jepsen_op *op,
                         struct failure *failure)
{
    const json_t *process = json_object_get(form, "process");
    *op = (struct jepsen_op){.is_nemesis = json_is_string(process)};
    if (!json_is_object(form))
        return form_refuses(&reader->form, failure, "an operation is a map");
    if (op->is_nemesis)
        return FAIL_NONE;
    if (!json_is_integer(process) || json_integer_value(process) < 0)
        return form_refuses(&reader->form, failure,
                            "an operation wants ':process', a number from 0 or :nemesis");
    op->process = json_integer_value(process);
    reader->operations++;
    if (read_type(reader, form, op, failure) || read_function(reader, form, op, failure) ||
        read_time(reader, form, op, failure))
        return failure->code;
    read_value(json_object_get(form, "value"), op);
    return FAIL_NONE;
}

/* --- operation to event --- */

/* Where anybody may release, it is the holder's release. */
static int acts_for(const struct jepsen_reader *reader, const struct jepsen_op *op, int number)
{
    const struct jepsen_client *client = &reader->clients[number];
    int holder = reader->locks[client->lock].holder;
    bool is_other = reader->options.model == MODEL_MUTEX && op->op == OP_RELEASE &&
                    !client->has_lock && holder >= 0;
    return is_other ? holder : number;
}

static enum result result_of(const struct jepsen_reader *reader, const struct jepsen_op *op)
{
    static const enum result good[OP_COUNT] = {
        [OP_ACQUIRE] = RESULT_GRANTED, [OP_RELEASE] = RESULT_RELEASED, [OP_EXTEND] = RESULT_DONE};
    if (op->type == TYPE_OK)
        return good[op->op];
    if (op->type == TYPE_INFO)
        return RESULT_FAILED;
    if (!reader->options.reads_misses)
        return RESULT_UNSUPPORTED;
    return op->op == OP_ACQUIRE ? RESULT_REFUSED : RESULT_NOT_MINE;
}

static enum fail invoke(struct jepsen_reader *reader, int number, const struct jepsen_op *op,
                        struct failure *failure)
{
    struct jepsen_client *client = &reader->clients[number];
    if (client->is_open)
        return form_refuses(&reader->form, failure,
                            "process %" PRId64 " begins an operation within another one",
                            op->process);
    client->attempt += op->op == OP_ACQUIRE || client->attempt == 0;
    client->is_open = true;
    client->op = op->op;
    client->acts_for = acts_for(reader, op, number);
    return FAIL_NONE;
}

static enum fail complete(struct jepsen_reader *reader, int number, const struct jepsen_op *op,
                          struct failure *failure)
{
    struct jepsen_client *client = &reader->clients[number];
    int *holder = &reader->locks[client->lock].holder;
    if (!client->is_open || client->op != op->op)
        return form_refuses(&reader->form, failure,
                            "process %" PRId64 " ends an operation that it has not begun",
                            op->process);
    client->is_open = false;
    if (op->op == OP_ACQUIRE && op->type == TYPE_OK) {
        client->has_lock = true;
        *holder = number;
    }
    if (op->op == OP_RELEASE && op->type != TYPE_FAIL) {
        reader->clients[client->acts_for].has_lock = false;
        if (*holder == client->acts_for)
            *holder = -1;
    }
    return FAIL_NONE;
}

static enum fail take_op(struct jepsen_reader *reader, const struct jepsen_op *op,
                         struct event *event, struct failure *failure)
{
    int lock, number;
    if (find_lock(reader, op->key, &lock, failure) ||
        find_client(reader, op->process, lock, &number, failure))
        return failure->code;
    enum fail fail = op->type == TYPE_INVOKE ? invoke(reader, number, op, failure)
                                             : complete(reader, number, op, failure);
    if (fail)
        return fail;
    int who = reader->clients[number].acts_for;
    *event = (struct event){.index = reader->events++,
                            .time_us = op->time_us,
                            .from_us = op->time_us,
                            .kind = op->type == TYPE_INVOKE ? EVENT_CALL : EVENT_RETURN,
                            .client = who,
                            .server = -1,
                            .lock = lock,
                            .attempt = reader->clients[who].attempt,
                            .op = op->op};
    if (op->type != TYPE_INVOKE)
        event->result = result_of(reader, op);
    if (op->type == TYPE_OK && op->op == OP_ACQUIRE && reader->options.model == MODEL_FENCED)
        event->fence = op->fence;
    if (op->type == TYPE_INFO)
        retire(reader, op->process);
    return FAIL_NONE;
}

enum fail jepsen_reader_next(struct jepsen_reader *reader, struct event *event, bool *is_end,
                             struct failure *failure)
{
    struct jepsen_op op = {.is_nemesis = true};
    *is_end = false;
    while (op.is_nemesis) {
        json_t *form;
        enum fail fail = form_next(&reader->form, &form, failure);
        if (fail)
            return fail;
        if (!form) {
            *is_end = true;
            return FAIL_NONE;
        }
        fail = read_op(reader, form, &op, failure);
        json_decref(form);
        if (fail)
            return fail;
    }
    return take_op(reader, &op, event, failure);
}

/* --- contract --- */

static void start(struct jepsen_reader *reader, const char *path)
{
    form_init(&reader->form, reader->file, path, reader->options.language);
    reader->clients_count = reader->locks_count = reader->left_count = 0;
    json_decref(reader->places);
    json_decref(reader->lock_numbers);
    reader->places = json_object();
    reader->lock_numbers = json_object();
    reader->last_us = reader->events = reader->operations = 0;
}

static void name_clients(struct jepsen_reader *reader)
{
    reader->names = memory_new((size_t)reader->clients_count + 1, sizeof *reader->names);
    for (int i = 0; i < reader->clients_count; i++) {
        const struct jepsen_client *client = &reader->clients[i];
        const char *key = reader->locks[client->lock].key;
        snprintf(reader->names[i], NAME_MAX_BYTES, "process %" PRId64 "%s%s%.24s",
                 client->first_process, client->is_taken_over ? " or a successor" : "",
                 *key && !client->is_taken_over ? " at " : "", client->is_taken_over ? "" : key);
    }
}

static void fill_head(struct jepsen_reader *reader, struct history_head *head)
{
    const struct jepsen_options *options = &reader->options;
    *head = (struct history_head){.scenario = "history",
                                  .world = "redis",
                                  .clients = reader->clients_count ? reader->clients_count : 1,
                                  .servers = 1,
                                  .locks = reader->locks_count ? reader->locks_count : 1,
                                  .names = reader->names,
                                  .lease_us = options->lease_us,
                                  .unit_us = 1,
                                  .has_promises = true};
    snprintf(head->program, sizeof head->program, "a Jepsen test of a %s",
             lock_model_name(options->model));
    if (options->lease_us)
        head->promises |= PROMISE_EXPIRY;
    if (options->model == MODEL_FENCED)
        head->promises |= PROMISE_FENCE;
}

enum fail jepsen_reader_new(struct jepsen_reader **reader, FILE *file, const char *path,
                            const struct jepsen_options *options, struct history_head *head,
                            struct failure *failure)
{
    struct jepsen_reader *made = memory_new(1, sizeof *made);
    struct event event;
    bool is_end = false;
    enum fail fail = FAIL_NONE;
    made->options = *options;
    made->file = file;
    start(made, path);
    while (!fail && !is_end)
        fail = jepsen_reader_next(made, &event, &is_end, failure);
    if (!fail && fseek(file, 0, SEEK_SET))
        fail = failure_set(failure, FAIL_INPUT, "%.600s: cannot be read twice", path);
    if (fail) {
        jepsen_reader_free(made);
        return fail;
    }
    name_clients(made);
    fill_head(made, head);
    start(made, path);
    *reader = made;
    return FAIL_NONE;
}

void jepsen_reader_free(struct jepsen_reader *reader)
{
    (void)fclose(reader->file); /* only read from */
    free(reader->clients);
    free(reader->locks);
    free(reader->left);
    json_decref(reader->places);
    json_decref(reader->lock_numbers);
    free(reader->names);
    free(reader);
}
