/* jepsen.c - see jepsen.h. */
#include "history/jepsen.h"

#include "base/memory.h"
#include "history/jepsen_known.h"
#include "history/jepsen_op.h"
#include "history/jepsen_threads.h"
#include "history/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many places are taken before one is taken again: what its former process may still come to
 * have is weighed leniently then, and each costs time. */
enum { PLACE_BYTES = 48, FIRST_SLOTS = 64, PLACES_APART = 256, RECENT = 256 };

/* A place for a process at a lock, which is a client of ours. Who takes the place of one that is
 * over begins another attempt, whatever it does: nothing of the former is its own. */
struct jepsen_client {
    int64_t process; /* -1: it is over, and the place is free */
    int lock, attempt;
    bool is_over; /* its process has ended in :info */
    bool is_new;  /* no operation of it has happened yet */
    bool is_open; /* an operation without its end */
    enum operation op;
    bool has_lock, may_have_lock;
    bool is_void;    /* the operation that is open did not happen: it ends in :fail */
    int64_t invoked; /* number of the operation that is open */
    int acts_for;    /* in the operation that is open: itself, or a place of its own, from which it
                        asks in vain for what it has */
};

struct jepsen_reader {
    struct jepsen_options options;
    struct form_reader form;
    FILE *file;
    struct jepsen_client *clients;
    int clients_count, clients_size;
    int *left, left_count; /* places of clients that are over */
    int turn;              /* whose place is given up next, where all are taken */
    json_t *places;        /* "PROCESS LOCK": which client */
    int recent[RECENT]; /* the one that was asked for last, by process and lock; it may have gone */
    int recent_lock;
    struct jepsen_lock {
        char key[JEPSEN_KEY_BYTES];
        int holder; /* the client that was granted it last and has not released it; -1: none */
    } * locks;
    int locks_count, locks_size;
    json_t *lock_numbers; /* by key */
    json_t *over;         /* "PROCESS": it has ended in :info */
    struct jepsen_ops ops;
    struct jepsen_threads threads;
    int64_t events, invocations;
    int64_t process; /* of the last event */
    bool is_first_pass;
    struct jepsen_known known;
    char note[160];
    char (*names)[NAME_MAX_BYTES]; /* of who is at each place now */
};

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
    if (reader->recent_lock < reader->locks_count &&
        !strcmp(reader->locks[reader->recent_lock].key, key))
        return *lock = reader->recent_lock, FAIL_NONE;
    *lock = number_of(reader->lock_numbers, key);
    if (*lock >= 0)
        return reader->recent_lock = *lock, FAIL_NONE;
    if (reader->locks_count == LOCKS_MAX)
        return form_refuse(&reader->form, reader->form.began, failure, "more than %d locks",
                           LOCKS_MAX);
    if (reader->locks_count == reader->locks_size) {
        reader->locks_size = reader->locks_size ? 2 * reader->locks_size : FIRST_SLOTS;
        reader->locks =
            memory_resize(reader->locks, (size_t)reader->locks_size, sizeof *reader->locks);
    }
    *lock = reader->locks_count++;
    reader->locks[*lock].holder = -1;
    snprintf(reader->locks[*lock].key, JEPSEN_KEY_BYTES, "%s", key);
    json_object_set_new_nocheck(reader->lock_numbers, key, json_integer(*lock));
    return FAIL_NONE;
}

static const char *print_place(int64_t process, int lock, char name[PLACE_BYTES])
{
    snprintf(name, PLACE_BYTES, "%" PRId64 " %d", process, lock);
    return name;
}

static void leave(struct jepsen_reader *reader, int number)
{
    reader->clients[number].process = -1;
    reader->left[reader->left_count++] = number;
}

/* Where all places are taken: that of a process which has all its answers there, and was not the
 * last to be granted the lock. It takes another one when it comes back. */
static void give_up_idle(struct jepsen_reader *reader)
{
    char name[PLACE_BYTES];
    for (int i = 0; i < reader->clients_count && reader->left_count == 0; i++) {
        const int number = reader->turn++ % reader->clients_count;
        const struct jepsen_client *client = &reader->clients[number];
        if (client->is_over || client->is_open || reader->locks[client->lock].holder == number)
            continue;
        json_object_del(reader->places, print_place(client->process, client->lock, name));
        leave(reader, number);
    }
    reader->turn %= reader->clients_count;
}

/* A place that a process has left, or a new one. */
static enum fail take_place(struct jepsen_reader *reader, int *place, struct failure *failure)
{
    /* What is not judged needs no time: everybody keeps his own. */
    const int apart = reader->options.is_judged ? PLACES_APART : CLIENTS_MAX;
    if (reader->left_count == 0 && reader->clients_count == CLIENTS_MAX)
        give_up_idle(reader);
    if (reader->left_count > 0 && reader->clients_count >= apart)
        return *place = reader->left[--reader->left_count], FAIL_NONE;
    if (reader->clients_count == CLIENTS_MAX)
        return form_refuse(&reader->form, reader->form.began, failure,
                           "more than %d processes at once, counted at each lock", CLIENTS_MAX);
    if (reader->clients_count == reader->clients_size) {
        reader->clients_size = reader->clients_size ? 2 * reader->clients_size : FIRST_SLOTS;
        size_t size = (size_t)reader->clients_size;
        reader->clients = memory_resize(reader->clients, size, sizeof *reader->clients);
        reader->left = memory_resize(reader->left, size, sizeof *reader->left);
    }
    reader->clients[reader->clients_count] = (struct jepsen_client){.process = -1};
    *place = reader->clients_count++;
    return FAIL_NONE;
}

static void name_client(struct jepsen_reader *reader, int number)
{
    const struct jepsen_client *client = &reader->clients[number];
    const char *key = reader->locks[client->lock].key;
    snprintf(reader->names[number], NAME_MAX_BYTES, "process %" PRId64 "%s%.24s", client->process,
             *key ? " at " : "", key);
}

/* It is never heard of again: it would be taken for somebody else. */
static enum fail check_process(struct jepsen_reader *reader, int64_t process,
                               struct failure *failure)
{
    char name[PLACE_BYTES];
    int64_t before;
    snprintf(name, sizeof name, "%" PRId64, process);
    if (number_of(reader->over, name) >= 0)
        return form_refuse(&reader->form, reader->form.began, failure,
                           "process %s has ended in :info, and is not heard of again: whoever "
                           "goes on has another number",
                           name);
    if (!reader->is_first_pass)
        return FAIL_NONE;
    jepsen_threads_begin(&reader->threads, process);
    if (!reader->threads.concurrency || process < reader->threads.concurrency)
        return FAIL_NONE;
    before = process - reader->threads.concurrency;
    snprintf(name, sizeof name, "%" PRId64, before);
    return number_of(reader->over, name) >= 0
               ? FAIL_NONE
               : form_refuse(&reader->form, reader->form.began, failure,
                             "process %" PRId64 " follows process %s, where %" PRId64
                             " run at once, and that one has not ended in :info",
                             process, name, reader->threads.concurrency);
}

/* The one of that process at that lock. */
static enum fail find_client(struct jepsen_reader *reader, int64_t process, int lock, int *number,
                             struct failure *failure)
{
    char name[PLACE_BYTES];
    int *recent = &reader->recent[((uint64_t)process + (uint64_t)lock) % RECENT];
    if (*recent < reader->clients_count && reader->clients[*recent].process == process &&
        reader->clients[*recent].lock == lock && !reader->clients[*recent].is_over)
        return *number = *recent, FAIL_NONE;
    *number = number_of(reader->places, print_place(process, lock, name));
    if (*number >= 0)
        return *recent = *number, FAIL_NONE;
    if (check_process(reader, process, failure))
        return failure->code;
    if (take_place(reader, number, failure))
        return failure->code;
    struct jepsen_client *client = &reader->clients[*number];
    *client = (struct jepsen_client){
        .process = process, .lock = lock, .attempt = client->attempt, .is_new = true};
    if (!reader->is_first_pass)
        name_client(reader, *number);
    json_object_set_new_nocheck(reader->places, name, json_integer(*number));
    return FAIL_NONE;
}

/* A process that ends so is over, at every lock. Whoever has a lock keeps his place until the next
 * one has it, so that nobody is taken for him. */
static void retire(struct jepsen_reader *reader, int64_t process)
{
    char name[PLACE_BYTES];
    for (int i = 0; i < reader->clients_count; i++) {
        struct jepsen_client *client = &reader->clients[i];
        if (client->process != process || client->is_over)
            continue;
        json_object_del(reader->places, print_place(process, client->lock, name));
        client->is_over = true;
        if (reader->locks[client->lock].holder != i)
            leave(reader, i);
    }
    snprintf(name, sizeof name, "%" PRId64, process);
    json_object_set_new_nocheck(reader->over, name, json_integer(0));
    if (reader->is_first_pass)
        jepsen_threads_end(&reader->threads, process);
}

/* number: who is granted it; -1: nobody has it any more. */
static void pass_on(struct jepsen_reader *reader, int lock, int number)
{
    const int former = reader->locks[lock].holder;
    reader->locks[lock].holder = number;
    if (former >= 0 && former != number && reader->clients[former].is_over)
        leave(reader, former);
}

/* --- operation to event --- */

/* What the first pass has found out of an operation. */
static bool is_known(const struct jepsen_reader *reader, int64_t number, enum known_bit bit)
{
    return !reader->is_first_pass && jepsen_known_has(&reader->known, number, bit);
}

/* Who has the lock and is refused it has it as before: he asks as another client would. What comes
 * of it the first pass does not know yet, and so keeps a place for it. */
static enum fail find_asker(struct jepsen_reader *reader, const struct jepsen_op *op, int number,
                            struct failure *failure)
{
    const struct jepsen_client client = reader->clients[number];
    if (op->op != OP_ACQUIRE || !client.has_lock ||
        (!reader->is_first_pass && !is_known(reader, client.invoked, KNOWN_FAILED)))
        return FAIL_NONE;
    int place;
    if (take_place(reader, &place, failure))
        return failure->code;
    reader->clients[number].acts_for = place;
    reader->clients[place] = (struct jepsen_client){.process = client.process,
                                                    .lock = client.lock,
                                                    .is_over = true,
                                                    .attempt = reader->clients[place].attempt + 1};
    if (!reader->is_first_pass)
        name_client(reader, place);
    return FAIL_NONE;
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

/* Jepsen's worker goes on as another process, and its client may go on as it is: whose lock that
 * one releases, or renews, is known only of its own. */
static enum fail check_successor(struct jepsen_reader *reader, const struct jepsen_client *client,
                                 const struct jepsen_op *op, struct failure *failure)
{
    int64_t before;
    if (reader->is_first_pass || !reader->options.is_judged ||
        reader->options.model == MODEL_MUTEX || op->op == OP_ACQUIRE || client->may_have_lock ||
        is_known(reader, client->invoked, KNOWN_FAILED) ||
        !jepsen_threads_may_follow(&reader->threads, op->process, &before))
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "process %" PRId64 " %s a lock that it was not granted: it may go on for "
                       "process %" PRId64 ", which ended in :info (%" PRId64 " = %" PRId64
                       " + %" PRId64 "), and have it from there, so nothing more is concluded%s",
                       op->process, op->op == OP_RELEASE ? "releases" : "renews", before,
                       op->process, before, op->process - before,
                       reader->threads.concurrency
                           ? ""
                           : "; where another number of processes ran at once, --concurrency N");
}

static enum fail invoke(struct jepsen_reader *reader, int number, const struct jepsen_op *op,
                        struct failure *failure)
{
    struct jepsen_client *client = &reader->clients[number];
    if (client->is_open)
        return form_refuse(&reader->form, reader->form.began, failure,
                           "process %" PRId64 " begins an operation within another one",
                           op->process);
    client->is_open = true;
    client->op = op->op;
    client->invoked = reader->invocations++;
    client->is_void = is_known(reader, client->invoked, KNOWN_VOID);
    client->acts_for = number;
    if (client->is_void)
        return FAIL_NONE;
    if (check_successor(reader, client, op, failure))
        return failure->code;
    if (find_asker(reader, op, number, failure))
        return failure->code;
    client = &reader->clients[number];
    const bool asks_itself = client->acts_for == number;
    client->attempt += (op->op == OP_ACQUIRE && asks_itself) || client->is_new;
    client->is_new = false;
    client->may_have_lock |= op->op == OP_ACQUIRE;
    return FAIL_NONE;
}

static enum fail complete(struct jepsen_reader *reader, int number, const struct jepsen_op *op,
                          struct failure *failure)
{
    struct jepsen_client *client = &reader->clients[number];
    if (!client->is_open || client->op != op->op)
        return form_refuse(&reader->form, reader->form.began, failure,
                           "process %" PRId64 " ends an operation that it has not begun",
                           op->process);
    client->is_open = false;
    const bool did_not_happen =
        reader->options.is_judged && (!reader->options.reads_misses || op->was_not_done);
    if (op->type == TYPE_FAIL && reader->is_first_pass)
        jepsen_known_note(&reader->known, client->invoked,
                          KNOWN_FAILED | (did_not_happen ? KNOWN_VOID : 0));
    if (client->is_void)
        return FAIL_NONE;
    if (op->op == OP_ACQUIRE && op->type == TYPE_OK) {
        client->has_lock = true;
        pass_on(reader, client->lock, number);
    }
    if (op->op == OP_ACQUIRE && op->type == TYPE_FAIL)
        client->may_have_lock = client->has_lock;
    if (op->op == OP_RELEASE && op->type != TYPE_FAIL) {
        client->has_lock = false;
        if (reader->locks[client->lock].holder == number)
            pass_on(reader, client->lock, -1);
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
    reader->process = op->process;
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
    if (op->type == TYPE_OK && op->op == OP_ACQUIRE && reader->options.model == MODEL_FENCED) {
        if (op->has_other_value)
            return form_refuse(&reader->form, form_place_of_value(&reader->form, "value"), failure,
                               op->is_value_huge ? "a fencing token has at most 64 bits"
                                                 : "a fencing token is a whole number");
        event->has_fence = op->has_fence;
        event->fence = op->fence;
    }
    if (op->type != TYPE_INVOKE && op->op == OP_ACQUIRE && who != number)
        leave(reader, who);
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
        enum fail fail = jepsen_op_next(&reader->ops, &op, is_end, failure);
        if (*is_end)
            return fail;
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
    json_decref(reader->over);
    reader->places = json_object();
    reader->lock_numbers = json_object();
    reader->over = json_object();
    reader->events = reader->invocations = 0;
    reader->ops = (struct jepsen_ops){.form = &reader->form,
                                      .wants_time = reader->options.lease_us != 0,
                                      .unit = reader->options.unit};
}

static void fill_head(const struct jepsen_reader *reader, struct history_head *head)
{
    lock_model_head(&reader->options, head);
    head->clients = reader->clients_count ? reader->clients_count : 1;
    head->locks = reader->locks_count ? reader->locks_count : 1;
    head->names = reader->names;
}

int64_t jepsen_reader_process(const struct jepsen_reader *reader)
{
    return reader->process;
}

const char *jepsen_reader_note(const struct jepsen_reader *reader)
{
    return reader->note[0] ? reader->note : NULL;
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
    made->threads.concurrency = options->concurrency;
    start(made, path);
    made->is_first_pass = true;
    while (!fail && !is_end)
        fail = jepsen_reader_next(made, &event, &is_end, failure);
    if (!fail && made->events == 0)
        fail = form_refuse(&made->form, made->form.began, failure,
                           "there is no operation of a process in it");
    if (!fail && fseek(file, 0, SEEK_SET))
        fail = failure_set(failure, FAIL_INPUT, "%.600s: cannot be read twice", path);
    if (fail) {
        jepsen_reader_free(made);
        return fail;
    }
    made->names = memory_new((size_t)made->clients_count + 1, sizeof *made->names);
    fill_head(made, head);
    if (!options->is_unit_told)
        jepsen_ops_doubt_unit(&made->ops, options->lease_us, made->note, sizeof made->note);
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
    json_decref(reader->over);
    jepsen_threads_close(&reader->threads);
    free(reader->names);
    jepsen_known_close(&reader->known);
    free(reader);
}
