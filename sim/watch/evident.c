/* evident.c - commands whose answer says all that they did: SET NX, SETNX, and the script that
 * everybody releases with. Many of them are with a server of ours at once; the server's log of
 * reads says in which order it executed them. */
#include "watch/internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- on their way --- */

static struct watched_request *evident_new(struct watched_run *watching)
{
    struct watched_request *made = watching->spare;
    if (!made)
        return memory_new(1, sizeof *made);
    watching->spare = made->next;
    watching->spares--;
    made->is_read = made->is_answered = false;
    return made;
}

static void evident_free(struct watched_run *watching, struct watched_request *request)
{
    if (request->bytes != request->own)
        free(request->bytes);
    if (watching->spares == SPARES_MAX) { /* those that stood in line come on top */
        free(request);
        return;
    }
    request->next = watching->spare;
    watching->spare = request;
    watching->spares++;
}

void evident_free_spare(struct watched_run *watching)
{
    while (watching->spare) {
        struct watched_request *next = watching->spare->next;
        free(watching->spare);
        watching->spare = next;
    }
}

bool evident_conflicts(const struct watched_run *watching, const struct watched_request *turn)
{
    for (int i = 0; i < turn->keys_count; i++)
        if (watching->keys.rows[turn->keys[i]].evident)
            return true;
    return false;
}

/* made->bytes are there. */
static void set_out(struct watched_request *made, int row, int64_t lease_us, int64_t now_us)
{
    struct watched_run *watching = made->link->watching;
    made->is_evident = true;
    made->lease_us = lease_us;
    made->keys[0] = row;
    made->keys_count = 1;
    made->began_us = made->sent_us = now_us;
    watching->keys.rows[row].evident++;
    made->link->evident++;
    watching->outcome->evident++;
    reads_sent(made);
}

/* NULL: it must stand in line. */
static struct watched_request *take(struct watched_link *link, const struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    int64_t lease_us;
    if (watching->first || request->copies || !request->expects_reply)
        return NULL;
    const int row = evident_row(link, request, &lease_us);
    if (row == NO_KEY)
        return NULL;
    struct watched_request *made = evident_new(watching);
    made->link = link;
    made->bytes = request->length > sizeof made->own ? memory_new(request->length, 1) : made->own;
    made->length = request->length;
    memcpy(made->bytes, request->bytes, request->length);
    memcpy(made->name, request->name, PROXY_NAME_MAX);
    watching->outcome->looked_at++;
    set_out(made, row, lease_us, watching_read_us(watching));
    made->held_us = request->held_us;
    return made;
}

bool evident_takes(struct watched_link *link, struct proxy_request *request)
{
    struct watched_request *made = take(link, request);
    if (!made)
        return false;
    made->request = request;
    request->owner = made;
    return true;
}

bool evident_passes(struct watched_link *link, struct proxy_request *request)
{
    struct watched_request *made = take(link, request);
    if (!made)
        return false;
    made->request = NULL;
    made->end = proxy_request_end(request);
    made->asked_next = NULL;
    if (link->asked_last)
        link->asked_last->asked_next = made;
    else
        link->asked_first = made;
    link->asked_last = made;
    request->owner = &link->asked_first;
    return true;
}

bool evident_has_passed(const struct watched_link *link, const struct proxy_request *request)
{
    return request->owner == &link->asked_first;
}

bool evident_goes_on(struct watched_request *turn)
{
    int64_t lease_us;
    const int row = evident_row_of(turn, &lease_us);
    if (row == NO_KEY)
        return false;
    set_out(turn, row, lease_us, watching_now_us(turn->link->watching));
    return true;
}

/* --- what they did --- */

static enum evident_answer answer_of(const char *reply)
{
    switch (reply[0]) {
    case '+':
        return memcmp(reply, "+OK\r", 4) == 0 ? EVIDENT_YES : EVIDENT_ERROR;
    case ':':
        return reply[2] != '\r'  ? EVIDENT_ERROR
               : reply[1] == '1' ? EVIDENT_YES
               : reply[1] == '0' ? EVIDENT_NO
                                 : EVIDENT_ERROR;
    case '$':
        return memcmp(reply, "$-1\r", 4) == 0 ? EVIDENT_NO : EVIDENT_ERROR;
    default:
        return memcmp(reply, "_\r", 2) == 0 ? EVIDENT_NO : EVIDENT_ERROR;
    }
}

/* As it stood by all that was seen. */
static struct key_look standing(const struct watched_run *watching, const struct watched_key *key)
{
    struct key_look look = {.is_there = true, .expires_us = INT64_MAX, .left_us = INT64_MAX};
    if (key->is_lock)
        (void)strcpy(look.value, watching->holders[key->owner].token);
    return look;
}

/* Is the lock its own, by all that was seen? */
static bool is_owner(const struct watched_run *watching, const struct watched_key *key,
                     const char *token)
{
    return key->is_lock && strcmp(watching->holders[key->owner].token, token) == 0;
}

/* Was any lock granted to it? */
static bool is_known(const struct watched_run *watching, const char *token)
{
    for (int i = 0; i < watching->holders_count; i++)
        if (strcmp(watching->holders[i].token, token) == 0)
            return true;
    return holder_with_first(watching, token) != NOBODY_KNOWN;
}

/* One that releases. False: it says nothing. Where it was refused, the key was gone, or another's.
 */
static bool look_at_release(const struct watched_run *watching, const struct watched_key *key,
                            const struct watched_request *request, struct key_look *before,
                            struct key_look *behind)
{
    char token[VALUE_TEXT_MAX];
    (void)keys_value(&watching->keys, watching->words.at[4], watching->words.lengths[4], token);
    if (request->answer == EVIDENT_YES) {
        before->is_there = true;
        (void)strcpy(before->value, token);
        return request->heard == DELIVERED_NOW || is_owner(watching, key, token);
    }
    if (!is_known(watching, token))
        return false;
    if (key->is_lock && !is_owner(watching, key, token))
        *before = *behind = standing(watching, key);
    return true;
}

static bool is_told_enough(const struct watched_key *key)
{
    return !key->is_lock || key->refusals_told >= REFUSALS_TOLD;
}

/* One that makes the key. */
static void look_at_grant(struct watched_run *watching, struct watched_key *key,
                          const struct watched_request *request, struct key_look *before,
                          struct key_look *behind)
{
    if (request->answer == EVIDENT_NO) {
        key->refusals_told++;
        *before = *behind = standing(watching, key);
        return;
    }
    key->refusals_told = 0;
    behind->is_there = true;
    behind->left_us = behind->expires_us = request->lease_us;
    (void)keys_value(&watching->keys, watching->words.at[2], watching->words.lengths[2],
                     behind->value);
}

/* One that was refused the lock. False: its events are to be told. */
static bool count_refusal(struct watched_run *watching, struct watched_request *request)
{
    const struct watched_key *key = &watching->keys.rows[request->keys[0]];
    if (key->is_lock && !key_may_last(key, request->read_us - watching->began_us))
        watching_missed(watching,
                        "a client was refused '%s' when its lease was over: something "
                        "that did not name it had made it longer",
                        key->name);
    if (!is_told_enough(key)) {
        request->done_us = watching_now_us(watching);
        return false;
    }
    watching->outcome->refusals += key->is_lock;
    holder_refused(watching, request->link, request->keys[0]);
    return true;
}

static bool is_release(const struct watched_request *request)
{
    return request->name[0] == 'E';
}

static void tell(struct watched_run *watching, struct watched_request *request)
{
    struct watched_key *key = &watching->keys.rows[request->keys[0]];
    struct key_look before = {.expires_us = INT64_MAX, .left_us = INT64_MAX}, behind = before;
    (void)words_read(&watching->words, request->bytes, request->length);
    if (!is_release(request))
        look_at_grant(watching, key, request, &before, &behind);
    else if (!look_at_release(watching, key, request, &before, &behind))
        return;
    if (request->answer == EVIDENT_YES)
        key->last_us = 0; /* whoever must know it to the millisecond looks */
    deduce(watching, &(struct seen_execution){.link = request->link,
                                              .name = request->name,
                                              .words = &watching->words,
                                              .key = request->keys[0],
                                              .before = &before,
                                              .behind = &behind,
                                              .reply = request->reply,
                                              .reply_length = strlen(request->reply),
                                              .heard = request->heard,
                                              .is_unlike = is_release(request) && before.is_there &&
                                                           request->answer == EVIDENT_NO,
                                              .began_us = request->began_us,
                                              .held_us = request->held_us,
                                              .sent_us = request->sent_us,
                                              .done_us = request->done_us,
                                              .looked_us = request->read_us - watching->began_us});
}

/* Is it one that changed nothing, and need not be told? */
static bool is_nothing(struct watched_run *watching, struct watched_request *request)
{
    return request->answer == EVIDENT_ERROR ||
           (request->answer == EVIDENT_NO && !is_release(request) &&
            count_refusal(watching, request));
}

/* All that were executed, as far as their answers are there; what stands in line may go on. */
static void tell_all(struct watched_run *watching)
{
    struct watched_request *request;
    while ((request = reads_first(watching->reads)) && request->is_answered) {
        reads_take(watching->reads);
        if (!is_nothing(watching, request))
            tell(watching, request);
        watching->keys.rows[request->keys[0]].evident--;
        struct watched_link *link = request->link;
        evident_free(watching, request);
        watched_link_leave(link);
    }
    turns_soon(watching);
}

static void answered(struct watched_request *request, const char *reply, size_t length,
                     enum delivery heard)
{
    const size_t kept = length < sizeof request->reply ? length : sizeof request->reply - 1;
    memcpy(request->reply, reply, kept);
    request->reply[kept] = '\0';
    request->heard = heard;
    request->answer = answer_of(request->reply);
    /* Of a refusal nobody asks, most of the time. */
    if (is_release(request) || request->answer != EVIDENT_NO)
        request->done_us = watching_now_us(request->link->watching);
    request->is_answered = true;
}

void evident_answered(struct watched_request *request, const char *reply, size_t length)
{
    struct watched_run *watching = request->link->watching;
    if (!request->is_read && (!reads_look(watching->reads) || !request->is_read)) {
        watching_missed(watching,
                        "the server answered %s, and was not seen to read it: the order "
                        "in which it executes is not known",
                        request->name);
        reads_guess(watching->reads, request);
    }
    answered(request, reply, length, DELIVERED_NOW);
    request->request = NULL;
    /* It may be told later, when its client has heard the answer and closed the connection. */
    if (!is_release(request))
        (void)watched_link_peer(request->link);
    tell_all(watching);
}

void evident_heard(struct watched_link *link, const char *reply, size_t length)
{
    struct watched_request *request = link->asked_first;
    if (!request)
        return; /* its connection is lost */
    link->asked_first = request->asked_next;
    if (!link->asked_first)
        link->asked_last = NULL;
    evident_answered(request, reply, length);
}

/* Nobody hears its answer: was it granted? */
static void settle(struct watched_run *watching, struct watched_request *request)
{
    struct failure failure;
    struct key_look look;
    char value[VALUE_TEXT_MAX];
    const bool is_script = is_release(request);
    const int at = is_script ? 4 : 2;
    (void)words_read(&watching->words, request->bytes, request->length);
    (void)keys_value(&watching->keys, watching->words.at[at], watching->words.lengths[at], value);
    if (keys_look(&watching->keys, request->keys[0], &look, &failure))
        watching_missed(watching, "a watched key could not be looked at: %s", failure.text);
    else if (is_script != (look.is_there && strcmp(look.value, value) == 0))
        answered(request, is_script ? ":1\r\n" : "+OK\r\n", is_script ? 4 : 5, DELIVERED_NEVER);
    if (!request->is_answered)
        answered(request, ":0\r\n", 4, DELIVERED_NEVER);
    request->request = NULL;
}

/* No answer of theirs is heard any more, and those that the server has not read are dropped. */
static void drop_unread(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    link->asked_first = link->asked_last = NULL;
    while (link->unread_first) {
        struct watched_request *request = link->unread_first;
        reads_drop(request);
        if (link->is_lost && request->request)
            request->request->owner = NULL;
        watching->keys.rows[request->keys[0]].evident--;
        evident_free(watching, request);
        link->evident--;
    }
}

void evident_lose(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    drop_unread(link);
    for (struct watched_request *request = reads_first(watching->reads); request;
         request = request->next) {
        if (request->link != link || request->is_answered)
            continue;
        if (request->request)
            request->request->owner = NULL;
        request->request = NULL;
        answered(request, "-\r\n", 3, DELIVERED_NEVER);
    }
    tell_all(watching);
}

void evident_abandoned(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    watched_link_kill(link, "a command");
    (void)reads_look(watching->reads);
    drop_unread(link);
    for (struct watched_request *request = reads_first(watching->reads); request;
         request = request->next)
        if (request->link == link && !request->is_answered)
            settle(watching, request);
    tell_all(watching);
}
