/* link.c - what a watched connection remembers from one request to the next: its database, and what
 * its transaction has queued. */
#include "watch/internal.h"
#include "watch/kinds.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void watched_link_forget_transaction(struct watched_link *link)
{
    free(link->transaction);
    link->transaction = NULL;
    link->transaction_length = 0;
    link->is_transaction_watched = link->is_transaction_cut = false;
    link->has_script = link->has_flush = false;
}

void watched_link_end_transaction(struct watched_link *link)
{
    watched_link_forget_transaction(link);
    link->is_guarded = false;
}

/* SCRIPT LOAD: that text is named by its digest from now on. */
static void note_script(struct watched_run *watching, const struct proxy_request *request)
{
    const struct request_words *words = &watching->words;
    if (words_read(&watching->words, request->bytes, request->length) && words->count == 3 &&
        words_is(words, 1, "LOAD"))
        (void)scripts_see(&watching->scripts, words->at[2], words->lengths[2]);
}

/* The database behind a SELECT counts from the next request on: whether it is refused shows when
 * others were sent behind it. */
static void note_database(struct watched_link *link, struct proxy_request *request)
{
    struct request_words *words = &link->watching->words;
    char digits[8] = "";
    (void)words_read(words, request->bytes, request->length);
    if (words->count != 2 || words->lengths[1] >= sizeof digits)
        return;
    memcpy(digits, words->at[1], words->lengths[1]);
    if (request->in_transaction) {
        watching_missed(link->watching, "SELECT in a transaction: whose keys it names was not "
                                        "followed");
        return;
    }
    if (!request->expects_reply) {
        watching_missed(link->watching, "SELECT was sent by a client that wants no reply (CLIENT "
                                        "REPLY): whether it was refused is not known");
        return;
    }
    if (link->selects++ == 0) {
        link->database_before = link->database;
        link->is_named_behind = false;
    }
    request->owner = &link->selects;
    link->database = atoi(digits);
}

void watched_link_selected(struct watched_link *link, bool is_done)
{
    const bool is_clear = link->selects == 1 && !link->is_named_behind;
    link->selects--;
    if (is_done)
        return;
    if (!is_clear)
        watching_missed(link->watching, "SELECT was refused, and commands that name watched keys "
                                        "had been sent behind it");
    link->database = link->database_before;
}

void watched_link_queue(struct watched_link *link, const struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    link->has_script |= kind_is_script(request->name);
    link->has_flush |= kind_is_flush(request->name);
    if (strcmp(request->name, "DISCARD") == 0 || strcmp(request->name, "MULTI") == 0 ||
        strcmp(request->name, "RESET") == 0)
        return;
    if (request->length >= SHOWN_MAX ||
        link->transaction_length + request->length > TRANSACTION_MAX) {
        link->is_transaction_cut = true;
        return;
    }
    if (turns_name_watched(watching, request->bytes, request->length) ||
        kind_is_flush(request->name))
        link->is_transaction_watched = true;
    link->transaction =
        memory_resize(link->transaction, link->transaction_length + request->length, 1);
    memcpy(link->transaction + link->transaction_length, request->bytes, request->length);
    link->transaction_length += request->length;
}

void watched_link_follow(struct watched_link *link, struct proxy_request *request)
{
    const bool resets = strcmp(request->name, "RESET") == 0;
    if (strcmp(request->name, "MULTI") == 0)
        watched_link_forget_transaction(link);
    if (resets || strcmp(request->name, "DISCARD") == 0)
        watched_link_end_transaction(link);
    if (strcmp(request->name, "UNWATCH") == 0)
        link->is_guarded = false;
    if (strcmp(request->name, "WATCH") == 0 &&
        turns_name_watched(link->watching, request->bytes, request->length))
        link->is_guarded = true;
    if (resets)
        link->database = 0;
    if (strcmp(request->name, "SELECT") == 0)
        note_database(link, request);
    if (strcmp(request->name, "SCRIPT") == 0)
        note_script(link->watching, request);
    /* What may let the server take keys away by itself. */
    if (strcmp(request->name, "CONFIG") == 0 || strcmp(request->name, "DEBUG") == 0)
        link->watching->keys.is_ours = false;
}

void watched_link_kill(struct watched_link *link, const char *name)
{
    struct failure failure;
    redisReply *reply = NULL;
    if (link->own_port)
        reply = control_ask(link->watching->keys.control, &failure,
                            "CLIENT KILL TYPE normal ADDR 127.0.0.1:%d", link->own_port);
    if (!reply && link->own_port)
        watching_missed(link->watching, "a client went away while %s was under way: %s", name,
                        failure.text);
    if (reply)
        freeReplyObject(reply);
}

void watched_link_free(struct watched_link *link)
{
    evident_text_drop(link->text);
    free(link->line.rows);
    free(link);
}
