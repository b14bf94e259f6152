/* jepsen.c - see jepsen.h. */
#include "history/jepsen.h"

#include "base/memory.h"
#include "base/names.h"
#include "history/jepsen_op.h"
#include "history/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_BYTES = 48, FIRST_SLOTS = 64 };

/* A process at a lock, which is a client of ours. */
struct jepsen_client {
    int64_t process; /* -1: it is over, the place is free */
    int lock, attempt;
    bool is_open; /* an operation without its end */
    enum operation op;
    bool has_lock, is_taken_over;
    bool is_other;   /* it is a release of who has it not, where anybody may */
    bool is_void;    /* the operation that is open did not happen: it ends in :fail */
    int64_t invoked; /* number of the operation that is open */
    int acts_for;    /* in the operation that is open: itself, or whose lock it releases */
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
        char key[JEPSEN_KEY_BYTES];
        int holder; /* the client that was granted it last and has not released it; -1: none */
        int open;   /* operations that may still take effect */
        int others; /* releases of those among them who had it not */
    } * locks;
    int locks_count, locks_size;
    json_t *lock_numbers; /* by key */
    struct jepsen_ops ops;
    int64_t events, invocations;
    bool is_first_pass;
    uint8_t *voids; /* a bit an operation, from the first pass: it did not happen */
    int64_t voids_bytes;
    char (*names)[NAME_MAX_BYTES];
};

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
    reader->locks[*lock].open = reader->locks[*lock].others = 0;
    snprintf(reader->locks[*lock].key, JEPSEN_KEY_BYTES, "%s", key);
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
    if (!reader->options.reads_misses || op->was_not_done)
        return RESULT_UNSUPPORTED;
    return op->op == OP_ACQUIRE ? RESULT_REFUSED : RESULT_NOT_MINE;
}

/* In the first pass it becomes known which operations did not happen; in the second they are left
 * out, since an acquire that did not happen ends nobody's lock. */
static void note_void(struct jepsen_reader *reader, int64_t number)
{
    if (number / 8 >= reader->voids_bytes) {
        int64_t size = 2 * (number / 8) + 64;
        reader->voids = memory_resize(reader->voids, (size_t)size, 1);
        memset(reader->voids + reader->voids_bytes, 0, (size_t)(size - reader->voids_bytes));
        reader->voids_bytes = size;
    }
    reader->voids[number / 8] |= (uint8_t)(1 << number % 8);
}

static bool is_void(const struct jepsen_reader *reader, int64_t number)
{
    return !reader->is_first_pass && number / 8 < reader->voids_bytes &&
           reader->voids[number / 8] >> number % 8 & 1;
}

/* Who releases what another one has: which lock that was is known only when nothing else is under
 * way. A guess would accuse the innocent. */
static enum fail check_other(struct jepsen_reader *reader, struct jepsen_lock *lock, bool is_other,
                             const struct jepsen_op *op, struct failure *failure)
{
    if (reader->is_first_pass || !reader->options.is_judged)
        return FAIL_NONE;
    bool is_clear = lock->others == 0 && (!is_other || (lock->open == 0 && lock->holder >= 0));
    lock->open++;
    lock->others += is_other;
    return is_clear ? FAIL_NONE
                    : failure_set(failure, FAIL_UNKNOWN,
                                  "process %" PRId64 " releases, or meets the release of, a lock "
                                  "that somebody else acquired, while other operations are under "
                                  "way: which lock that was cannot be told, so nothing is "
                                  "concluded; where only the owner may release, --model "
                                  "owner-mutex judges that",
                                  op->process);
}

static enum fail invoke(struct jepsen_reader *reader, int number, const struct jepsen_op *op,
                        struct failure *failure)
{
    struct jepsen_client *client = &reader->clients[number];
    if (client->is_open)
        return form_refuses(&reader->form, failure,
                            "process %" PRId64 " begins an operation within another one",
                            op->process);
    client->is_open = true;
    client->op = op->op;
    client->invoked = reader->invocations++;
    client->is_void = is_void(reader, client->invoked);
    client->acts_for = number;
    if (client->is_void)
        return FAIL_NONE;
    client->attempt += op->op == OP_ACQUIRE || client->attempt == 0;
    client->acts_for = acts_for(reader, op, number);
    client->is_other =
        reader->options.model == MODEL_MUTEX && op->op == OP_RELEASE && !client->has_lock;
    return check_other(reader, &reader->locks[client->lock], client->is_other, op, failure);
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
    if (op->type == TYPE_FAIL && reader->options.is_judged &&
        (!reader->options.reads_misses || op->was_not_done) && reader->is_first_pass)
        note_void(reader, client->invoked);
    if (client->is_void)
        return FAIL_NONE;
    if (op->type != TYPE_INFO && !reader->is_first_pass && reader->options.is_judged) {
        reader->locks[client->lock].open--;
        reader->locks[client->lock].others -= client->is_other;
    }
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

/* *is_event: it happened, or may have. */
static enum fail take_op(struct jepsen_reader *reader, const struct jepsen_op *op,
                         struct event *event, bool *is_event, struct failure *failure)
{
    int lock, number;
    if (find_lock(reader, op->key, &lock, failure) ||
        find_client(reader, op->process, lock, &number, failure))
        return failure->code;
    enum fail fail = op->type == TYPE_INVOKE ? invoke(reader, number, op, failure)
                                             : complete(reader, number, op, failure);
    *is_event = !reader->clients[number].is_void;
    if (fail || !*is_event)
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
    bool is_event = false;
    *is_end = false;
    while (!is_event) {
        struct jepsen_op op = {.is_nemesis = true};
        json_t *form;
        enum fail fail = form_next(&reader->form, &form, failure);
        if (fail)
            return fail;
        if (!form) {
            *is_end = true;
            return FAIL_NONE;
        }
        fail = jepsen_op_read(&reader->ops, form, &op, failure);
        json_decref(form);
        if (!fail && !op.is_nemesis)
            fail = take_op(reader, &op, event, &is_event, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
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
    reader->events = reader->invocations = 0;
    reader->ops =
        (struct jepsen_ops){.form = &reader->form, .wants_time = reader->options.lease_us != 0};
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
    snprintf(head->program, sizeof head->program, "the Jepsen test (%s)",
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
    made->is_first_pass = true;
    while (!fail && !is_end)
        fail = jepsen_reader_next(made, &event, &is_end, failure);
    if (!fail && made->events == 0)
        fail = form_refuses(&made->form, failure, "there is no operation of a process in it");
    if (!fail && fseek(file, 0, SEEK_SET))
        fail = failure_set(failure, FAIL_INPUT, "%.600s: cannot be read twice", path);
    if (fail) {
        jepsen_reader_free(made);
        return fail;
    }
    name_clients(made);
    fill_head(made, head);
    start(made, path);
    made->is_first_pass = false;
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
    free(reader->voids);
    free(reader);
}
