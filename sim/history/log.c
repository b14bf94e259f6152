/* log.c - writes the log file of a run, one event a line; see history.h. reader.c reads it back.
 *
 * Lines are put together by hand: a stress run writes a million of them. A file that is not whole
 * never stands at its path (base/outfile.h), or, where its head says "streamed", has no end line.
 */
#include "history/history.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "history/log_pieces.h"
#include "history/words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 64 * 1024,
    GIVEN_BACK_BYTES = 1024 * 1024, /* of a full disk, for the report */
};

struct history_writer {
    struct outfile *file;    /* NULL: there could be no other piece; what comes is lost */
    int64_t events, written; /* those that were in the file when that was last known */
    size_t room;             /* kept for the head; 0: it cannot become another one */
    bool has_no_room;        /* it does not fit there */
    bool is_streamed;        /* as the head says */
    bool is_proved;          /* all events so far are, and the next one is to say so */
    uint64_t put;            /* bytes so far */
    size_t used;
    struct log_pieces *pieces; /* NULL: one file */
    struct history_doubts end;
    char buffer[BUFFER_BYTES];
};

static void flush(struct history_writer *writer)
{
    /* The outfile keeps the error of a write that failed until it is shut. */
    if (writer->file)
        (void)fwrite(writer->buffer, 1, writer->used, writer->file->stream);
    writer->used = 0;
}

static void put_bytes(struct history_writer *writer, const char *bytes, size_t size)
{
    writer->put += size;
    for (size_t done = 0; done < size;) {
        size_t room = BUFFER_BYTES - writer->used;
        size_t part = size - done < room ? size - done : room;
        memcpy(writer->buffer + writer->used, bytes + done, part);
        writer->used += part;
        done += part;
        if (writer->used < BUFFER_BYTES)
            continue;
        if (writer->is_streamed) /* what is sure to be there is counted */
            (void)history_writer_flush(writer);
        else
            flush(writer);
    }
}

static void put(struct history_writer *writer, const char *text)
{
    put_bytes(writer, text, strlen(text));
}

static void put_unsigned(struct history_writer *writer, const char *before, uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(writer, before);
    put_bytes(writer, at, (size_t)(digits + sizeof digits - at));
}

static void put_number(struct history_writer *writer, const char *name, int64_t number)
{
    put(writer, name);
    if (number < 0)
        put_unsigned(writer, "-", -(uint64_t)number);
    else
        put_unsigned(writer, "", (uint64_t)number);
}

/* A word of ours: nothing in it needs an escape. */
static void put_word(struct history_writer *writer, const char *name, const char *word)
{
    put(writer, name);
    put(writer, word);
    put_bytes(writer, "\"", 1);
}

/* A text of anybody's. */
static void put_text(struct history_writer *writer, const char *name, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    put(writer, name);
    for (const char *at = text; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        char escape[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
        if (byte < 0x20 || byte == '"' || byte == '\\')
            put_bytes(writer, escape, sizeof escape);
        else
            put_bytes(writer, at, 1);
    }
    put_bytes(writer, "\"", 1);
}

/* A value of a key: a number of ours, or a text. */
static void put_value(struct history_writer *writer, const char *name, int64_t number,
                      const char *text)
{
    put(writer, name);
    if (text && text[0])
        put_text(writer, "\"", text);
    else
        put_number(writer, "", number);
}

static void put_names(struct history_writer *writer, const char *name,
                      char (*names)[NAME_MAX_BYTES], int count)
{
    put(writer, name);
    for (int i = 0; i < count; i++)
        put_text(writer, i ? ",\"" : "\"", names[i]);
    put(writer, "]");
}

/* Only a foreign lock's history says these. */
static void put_foreign(struct history_writer *writer, const struct history_head *head)
{
    if (head->program[0])
        put_text(writer, ",\"program\":\"", head->program);
    if (head->has_promises) {
        const char *before = "\"";
        put(writer, ",\"promises\":[");
        for (int i = 0; i < PROMISE_BITS_WIDTH; i++)
            if (head->promises >> i & 1) {
                put_word(writer, before, promise_name((enum promise)(1 << i)));
                before = ",\"";
            }
        put(writer, "]");
    }
    if (head->processes)
        put_names(writer, ",\"processes\":[", head->processes, head->clients);
    if (head->is_closed)
        put(writer, ",\"closed\":true");
    if (head->has_all_commands)
        put(writer, ",\"all_commands\":true");
    if (head->is_directed)
        put(writer, ",\"directed\":true");
    if (head->is_streamed)
        put(writer, ",\"streamed\":true");
    if (head->incomplete[0])
        put_text(writer, ",\"incomplete\":\"", head->incomplete);
}

static void put_head(struct history_writer *writer, const struct history_head *head)
{
    put_word(writer, "{\"history\":\"", HISTORY_VERSION);
    put_text(writer, ",\"scheme\":\"", head->scheme);
    put_text(writer, ",\"scenario\":\"", head->scenario);
    put_text(writer, ",\"world\":\"", head->world);
    put_text(writer, ",\"server_version\":\"", head->server_version);
    put_number(writer, ",\"clients\":", head->clients);
    put_number(writer, ",\"servers\":", head->servers);
    put_number(writer, ",\"locks\":", head->locks);
    put_number(writer, ",\"lease_us\":", head->lease_us);
    put_number(writer, ",\"unit_us\":", head->unit_us);
    put_number(writer, ",\"clock_error_us\":", head->clock_error_us);
    /* As a text: JSON readers keep no more than 63 bits, most of them 53. */
    put_unsigned(writer, ",\"seed\":\"", head->seed);
    put_names(writer, "\",\"names\":[", head->names, head->clients);
    put_foreign(writer, head);
    put(writer, "}");
}

static void put_fields(struct history_writer *writer, const struct event *event)
{
    const int kind = 1 << event->kind;
    const bool is_opaque = event->opaque != NULL;
#define NUMBER(label, member, type, least, most)                                                   \
    if (event->member != 0 && !(is_opaque && field_is_typed(#member)))                             \
        put_number(writer, ",\"" #label "\":", event->member);
#define WORD(label, member, type, count, kinds, print, read)                                       \
    if (((kind & (kinds)) || event->member) && !(is_opaque && field_is_typed(#member)))            \
        put_word(writer, ",\"" #label "\":\"", print(event->member));
#define VALUE(label, member, text)                                                                 \
    if (event->member != 0 || event->text)                                                         \
        put_value(writer, ",\"" #label "\":", event->member, event->text);
#include "history/fields.def"
#undef NUMBER
#undef WORD
#undef VALUE
}

/* --- what foreign programs did --- */

static void put_opaque(struct history_writer *writer, const struct opaque *opaque)
{
    put_text(writer, ",\"opaque\":{\"name\":\"", opaque->name);
    if (opaque->text[0])
        put_text(writer, ",\"text\":\"", opaque->text);
    if (opaque->digest) {
        char digits[24];
        snprintf(digits, sizeof digits, "%016llx", (unsigned long long)opaque->digest);
        put_word(writer, ",\"digest\":\"", digits);
    }
    put(writer, ",\"keys\":[");
    const char *before = "\"";
    for (int key = 0; key < KEY_COUNT; key++)
        if (opaque->keys >> key & 1) {
            put_word(writer, before, key_name((enum key)key));
            before = ",\"";
        }
    put(writer, "]}");
}

static void put_effect(struct history_writer *writer, const struct key_effect *effect,
                       const char *old_text, const char *new_text)
{
    put_word(writer, "{\"key\":\"", key_name(effect->key));
    put_word(writer, ",\"did\":\"", did_name(effect->did));
    put_word(writer, ",\"before\":\"", before_name(effect->before));
    put_word(writer, ",\"wanted\":\"", effect_name(effect->wanted));
    if (effect->has_old)
        put_value(writer, effect->is_unlike ? ",\"unlike\":" : ",\"old\":", effect->old_value,
                  old_text);
    if (effect->has_new)
        put_value(writer, ",\"new\":", effect->new_value, new_text);
    if (effect->is_told)
        put(writer, ",\"told\":true");
    if (effect->has_ttl)
        put_number(writer, ",\"ttl\":", effect->ttl_us);
    if (effect->has_fence)
        put_number(writer, ",\"fence\":", effect->fence);
    put(writer, "}");
}

static void put_effects(struct history_writer *writer, const struct effects *effects)
{
    put(writer, ",\"effects\":[");
    for (int i = 0; i < effects->count; i++) {
        put(writer, i ? "," : "");
        put_effect(writer, &effects->on[i], effects->texts[i].old_value,
                   effects->texts[i].new_value);
    }
    put(writer, "]");
}

/* --- in pieces --- */

/* What both lines of a seam end in. */
static void put_seam(struct history_writer *writer)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%016llx",
             (unsigned long long)log_pieces_chain(writer->pieces));
    put_number(writer, ",\"events\":", writer->events);
    put_word(writer, ",\"chain\":\"", digits);
    put(writer, "}\n");
}

static void go_on_in_another(struct history_writer *writer)
{
    put_text(writer, "{\"next\":\"", log_pieces_next_name(writer->pieces));
    put_seam(writer);
    if (history_writer_flush(writer))
        return; /* nothing can stand behind this piece */
    writer->file = log_pieces_turn(writer->pieces, writer->file);
    writer->put = 0;
    put_number(writer, "{\"piece\":", log_pieces_number(writer->pieces));
    put_seam(writer);
}

static void take(void *context, const struct event *event)
{
    struct history_writer *writer = context;
    put_number(writer, "{\"i\":", event->index);
    put_number(writer, ",\"t\":", event->time_us);
    put_word(writer, ",\"kind\":\"", event_name(event->kind));
    if (event->client >= 0)
        put_number(writer, ",\"client\":", event->client);
    if (event->server >= 0)
        put_number(writer, ",\"server\":", event->server);
    if (event->from_us != event->time_us)
        put_number(writer, ",\"from\":", event->from_us);
    if (writer->is_proved)
        put(writer, ",\"proved\":true");
    writer->is_proved = false;
    put_fields(writer, event);
    if (event->is_inferred)
        put(writer, ",\"inferred\":true");
    if (event->opaque)
        put_opaque(writer, event->opaque);
    if (event->effects)
        put_effects(writer, event->effects);
    put_bytes(writer, "}\n", 2);
    writer->events++;
    const bool can_go_on = writer->pieces && writer->file && !writer->file->error;
    if (can_go_on && log_pieces_is_full(writer->pieces, writer->put))
        go_on_in_another(writer);
}

static enum fail open_file(struct history_writer **made, const char *path, struct failure *failure)
{
    struct history_writer *writer = memory_new(1, sizeof *writer);
    writer->file = memory_new(1, sizeof *writer->file);
    enum fail fail = outfile_open(writer->file, path, failure);
    if (!fail) {
        *made = writer;
        return FAIL_NONE;
    }
    free(writer->file);
    free(writer);
    return fail;
}

enum fail history_writer_new(struct history_writer **writer, const char *path,
                             const struct history_head *head, struct failure *failure)
{
    struct history_writer *made;
    if (open_file(&made, path, failure))
        return failure->code;
    made->is_streamed = head->is_streamed;
    put_head(made, head);
    put(made, "\n");
    *writer = made;
    return FAIL_NONE;
}

void history_writer_rotate(struct history_writer *writer, int64_t piece_bytes)
{
    writer->pieces = log_pieces_new(writer->file->path, piece_bytes);
}

/* The head, and blanks: as long as the first one. */
static void put_whole_head(struct history_writer *writer, const struct history_head *head)
{
    struct history_writer *measured = memory_new(1, sizeof *measured); /* writes nowhere */
    put_head(measured, head);
    writer->has_no_room = measured->put > writer->room;
    free(measured);
    if (writer->has_no_room)
        return;
    writer->put = 0;
    put_head(writer, head);
    while (writer->put < writer->room)
        put_bytes(writer, " ", 1);
}

const char *history_writer_flush(struct history_writer *writer)
{
    if (writer->used > 0) {
        flush(writer);
        if (writer->file)
            (void)fflush(writer->file->stream); /* the outfile keeps the error */
    }
    if (!writer->file)
        return "there could be no other piece";
    const char *why = outfile_why(writer->file);
    if (!why)
        writer->written = writer->events;
    return why;
}

enum fail history_writer_stream(struct history_writer **writer, const char *path, size_t room,
                                const struct history_head *head, struct failure *failure)
{
    struct history_writer *made;
    if (open_file(&made, path, failure))
        return failure->code;
    made->room = room;
    made->is_streamed = true;
    put_whole_head(made, head);
    put(made, "\n");
    *writer = made;
    return FAIL_NONE;
}

enum fail history_writer_show(struct history_writer *writer, struct failure *failure)
{
    const char *why = history_writer_flush(writer);
    if (why)
        return failure_set(failure, FAIL_INTERNAL, "%s: cannot be written: %s", writer->file->path,
                           why);
    return outfile_show(writer->file, failure);
}

void history_writer_replace(struct history_writer *writer)
{
    outfile_replace(writer->file);
}

void history_writer_head(struct history_writer *writer, const struct history_head *head)
{
    FILE *stream = writer->file->stream;
    if (history_writer_flush(writer) || writer->has_no_room)
        return;
    writer->has_no_room = fseeko(stream, 0, SEEK_SET) != 0;
    if (writer->has_no_room)
        return;
    put_whole_head(writer, head);
    if (!history_writer_flush(writer))
        writer->has_no_room = fseeko(stream, 0, SEEK_END) != 0;
}

void history_writer_prove(struct history_writer *writer)
{
    writer->is_proved = true;
    (void)history_writer_flush(writer); /* the outfile keeps the error */
}

struct event_sink history_writer_sink(struct history_writer *writer)
{
    return (struct event_sink){.take = take, .context = writer};
}

/* Takes writer. */
static enum fail release(struct history_writer *writer, bool is_given_up, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    struct outfile *last = writer->file;
    if (last && is_given_up) {
        outfile_abandon(last);
        free(last);
        last = NULL;
    }
    if (writer->pieces) {
        fail = log_pieces_close(writer->pieces, last, failure);
    } else if (last) {
        fail = outfile_shut(last, failure);
        free(last);
    }
    free(writer);
    return fail;
}

void history_writer_say_end(struct history_writer *writer, const struct history_doubts *end)
{
    writer->end = *end;
}

static void put_end(struct history_writer *writer)
{
    const struct history_doubts *end = &writer->end;
    put_number(writer, "{\"end\":", writer->events);
    if (end->incomplete[0])
        put_text(writer, ",\"incomplete\":\"", end->incomplete);
    if (end->is_partly_proved)
        put_number(writer, ",\"proved\":", end->proved);
    if (end->vacuous[0])
        put_text(writer, ",\"vacuous\":\"", end->vacuous);
    put(writer, "}\n");
}

enum fail history_writer_close(struct history_writer *writer, struct failure *failure)
{
    if (writer->has_no_room) {
        failure_set(failure, FAIL_INTERNAL, "%s: the head of the history cannot be written there",
                    writer->file->path);
        history_writer_abandon(writer);
        return FAIL_INTERNAL;
    }
    const int64_t events = writer->events, written = writer->written;
    const bool has_room = writer->room > 0;
    bool is_there = writer->is_streamed;
    put_end(writer);
    if (is_there && writer->file) {
        (void)history_writer_flush(writer);
        is_there = !writer->file->loss;
        if (!has_room)
            outfile_give_back(writer->file, GIVEN_BACK_BYTES);
    } else {
        flush(writer);
    }
    struct failure why;
    const enum fail fail = release(writer, false, &why);
    if (fail && is_there && has_room) /* what there is of it stands at its place */
        return failure_set(failure, fail, "%s; of %lld events the first %lld are sure to be in it",
                           why.text, (long long)events, (long long)written);
    if (fail && is_there)
        return failure_set(failure, fail, "%s; `picklock check` judges what is there of it",
                           why.text);
    if (fail)
        *failure = why;
    return fail;
}

void history_writer_abandon(struct history_writer *writer)
{
    struct failure ignored;
    (void)release(writer, true, &ignored);
}
