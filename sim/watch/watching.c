/* watching.c - what every watched run has: the server that is looked at, and the history, from its
 * beginning to its end. */
#include "watch/internal.h"

#include "base/memory.h"
#include "base/monotonic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    ERROR_US = 1000, /* how far our times and a server's expiry may disagree */
    HEAD_BYTES = 48 * 1024,
};

int64_t watching_now_us(const struct watched_run *watching)
{
    return monotonic_us() - watching->began_us;
}

int64_t watching_read_us(struct watched_run *watching)
{
    const uint64_t read = proxy_reads(watching->proxy);
    if (read != watching->read || !watching->read_us) {
        watching->read = read;
        watching->read_us = watching_now_us(watching);
    }
    return watching->read_us;
}

const char *watching_not_alone(struct watched_run *watching)
{
    if (watching->keys.is_ours)
        return NULL;
    return alone_not(&watching->alone, watching->keys.control,
                     (uint64_t)watching->outcome->connections);
}

void watching_lose_track(struct watched_run *watching)
{
    watching->keys.is_ours = false;
    alone_end(&watching->alone, "something that names no watched key (a script) may be executed at "
                                "any time: nobody hears its answer");
}

void watching_missed(struct watched_run *watching, const char *format, ...)
{
    va_list values;
    char words[400];
    if (watching->outcome->missed)
        return;
    va_start(values, format);
    (void)vsnprintf(words, sizeof words, format, values);
    va_end(values);
    watching->outcome->missed = memory_text(words);
}

void watching_note(struct watched_run *watching, const char *format, ...)
{
    va_list values;
    char words[600];
    struct watch_outcome *outcome = watching->outcome;
    if (outcome->notes_count == WATCH_NOTES_MAX)
        return;
    va_start(values, format);
    (void)vsnprintf(words, sizeof words, format, values);
    va_end(values);
    for (int i = 0; i < outcome->notes_count; i++)
        if (strcmp(outcome->notes[i], words) == 0)
            return;
    outcome->notes[outcome->notes_count++] = memory_text(words);
}

void watch_outcome_free(struct watch_outcome *outcome)
{
    for (int i = 0; i < outcome->notes_count; i++)
        free(outcome->notes[i]);
    free(outcome->stopped);
    free(outcome->missed);
    free(outcome->open);
    *outcome = (struct watch_outcome){0};
}

const char *watch_outcome_unknown(const struct watch_outcome *outcome)
{
    if (outcome->stopped)
        return outcome->stopped;
    if (outcome->missed || outcome->open)
        return outcome->missed ? outcome->missed : outcome->open;
    return outcome->grants ? NULL : "no watched key was granted as a lock";
}

/* --- from its beginning to its end --- */

static enum fail read_version(struct watched_run *watching, struct failure *failure)
{
    redisReply *reply = control_ask(watching->keys.control, failure, "INFO server");
    if (!reply)
        return FAIL_UNAVAILABLE;
    const bool is_info = reply->type == REDIS_REPLY_STRING;
    if (is_info)
        control_field(reply->str, "redis_version", watching->version, sizeof watching->version);
    freeReplyObject(reply);
    return is_info ? FAIL_NONE
                   : failure_set(failure, FAIL_UNAVAILABLE, "INFO was answered with no text");
}

/* Of everybody who may still come while the run goes on. */
static void name_clients(const struct watched_run *watching, struct history_head *head)
{
    head->names = memory_new((size_t)head->clients, sizeof *head->names);
    head->processes = memory_new((size_t)head->clients, sizeof *head->processes);
    for (int i = 0; i < head->clients; i++) {
        const struct holder *holder = &watching->holders[i];
        (void)strcpy(head->names[i], NAME_OF_NOBODY_KNOWN);
        if (i != watching->unknown)
            holder_name(watching, i, head->names[i]);
        (void)snprintf(head->processes[i], sizeof head->processes[i], "%s",
                       *holder->peer.label ? holder->peer.label : "an unknown process");
    }
}

/* What the history says of itself: before its end, as much as is known. */
static struct history_head head_of(const struct watched_run *watching, bool is_end)
{
    const int clients = is_end ? watching->holders_count : HOLDERS_MAX,
              locks = is_end ? watching->keys.count : WATCHED_KEYS_MAX;
    const char *why =
        is_end ? watch_outcome_unknown(watching->outcome) : "its head was read before its end";
    struct history_head head = {.scenario = "watch",
                                .world = "redis",
                                .clients = clients ? clients : 1,
                                .servers = 1,
                                .locks = locks ? locks : 1,
                                .unit_us = 1000,
                                .clock_error_us = ERROR_US,
                                .is_streamed = true,
                                .has_promises = true,
                                .promises = PROMISE_EXPIRY | PROMISE_EXTENDS | PROMISE_TOKEN |
                                            PROMISE_LEASES};
    if (watching->outcome->fenced)
        head.promises |= PROMISE_FENCE;
    (void)snprintf(head.program, sizeof head.program, "%s", watching->options->program);
    (void)snprintf(head.server_version, sizeof head.server_version, "%s", watching->version);
    if (why)
        (void)snprintf(head.incomplete, sizeof head.incomplete, "%s", why);
    name_clients(watching, &head);
    return head;
}

static void head_free(struct history_head *head)
{
    free(head->names);
    free(head->processes);
}

static void write_head(struct watched_run *watching, bool is_end)
{
    struct history_head head = head_of(watching, is_end);
    history_writer_head(watching->writer, &head);
    head_free(&head);
    watching->heads_holders = watching->holders_count;
}

void watching_tick(struct watched_run *watching)
{
    story_flush(watching->story, watching_now_us(watching));
    watched_links_look(watching);
    if (watching->heads_holders != watching->holders_count)
        write_head(watching, false);
    const char *why = history_writer_flush(watching->writer);
    if (!why || watching->has_failed)
        return;
    watching->has_failed = true;
    if (watching->options->notice) {
        char *words = memory_format("%s: cannot be written on: %s; clients are served, and "
                                    "what they do is only counted",
                                    watching->options->history, why);
        watching->options->notice(watching->options->context, words);
        free(words);
    }
}

enum fail watching_open(struct watched_run *watching, const struct watch_options *options,
                        struct watch_outcome *outcome, struct failure *failure)
{
    *outcome = (struct watch_outcome){0};
    watching->options = options;
    watching->outcome = outcome;
    watching->began_us = monotonic_us();
    watching->unknown = NOBODY_KNOWN;
    keys_set_patterns(&watching->keys, options->pattern, options->fences);
    watching->keys.hides_values = options->hides_values;
    if (getrandom(&watching->keys.salt, sizeof watching->keys.salt, 0) < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "no random numbers: %s", strerror(errno));
    if (scripts_begin(failure))
        return failure->code;
    struct history_head head = head_of(watching, false);
    const enum fail fail =
        history_writer_stream(&watching->writer, options->history, HEAD_BYTES, &head, failure);
    head_free(&head);
    if (!fail)
        watching->story = story_new(watching->writer);
    return fail;
}

enum fail watching_connect(struct watched_run *watching, const struct url *url, bool is_ours,
                           struct failure *failure)
{
    int64_t now_us;
    if (control_open(&watching->keys.control, url, failure) || read_version(watching, failure) ||
        control_time_us(watching->keys.control, &now_us, failure))
        return failure->code;
    alone_begin(&watching->alone, watching->keys.control, is_ours);
    watching->keys.is_ours = is_ours;
    watching->keys.database = url->database;
    return FAIL_NONE;
}

/* What was told as a holder's own doing is that, unless somebody else was there. */
static void prove_at_end(struct watched_run *watching)
{
    const bool is_asked = watching->unproved && !watching->outcome->missed;
    const char *why = is_asked ? watching_not_alone(watching) : NULL;
    if (why)
        watching_missed(watching, "%s: %s", watching->unproved, why);
    free(watching->unproved);
    watching->unproved = NULL;
}

/* Behind the last command nobody looked: a script that names no key, or somebody past the proxy,
 * may have changed a lock by then. */
static void look_at_end(struct watched_run *watching)
{
    struct keys *keys = &watching->keys;
    for (int i = 0; i < keys->count && !watching->outcome->missed; i++) {
        const struct watched_key *row = &keys->rows[i];
        struct key_look now;
        if (!row->is_used || !row->is_lock)
            continue;
        watched_key_look(watching, i, &now);
        if (!now.is_there && key_is_gone_early(row, watching_now_us(watching)))
            watching_missed(watching,
                            "in the end '%s' was gone before its time, and nobody was seen to "
                            "delete it",
                            row->name);
    }
}

enum fail watching_close(struct watched_run *watching, enum fail fail, struct failure *failure)
{
    if (!fail)
        look_at_end(watching);
    prove_at_end(watching);
    (void)story_free(watching->story);
    for (int i = 0; i < watching->holders_count; i++)
        holder_settle(watching, &watching->holders[i]);
    write_head(watching, true);
    if (fail) {
        history_writer_abandon(watching->writer);
    } else {
        fail = history_writer_close(watching->writer, failure);
        watching->outcome->is_cut = fail != FAIL_NONE;
    }
    turns_free(watching);
    control_shut(watching->keys.control);
    return fail;
}
