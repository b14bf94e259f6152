/* hooks.c - requests at the proxy: those that name a watched key wait for their turn (turns.c), all
 * others pass. */
#include "watch/internal.h"
#include "watch/kinds.h"

#include "base/memory.h"
#include "redis/resp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Nobody waits longer for what cannot be answered, and for what is not: behind the first such one
 * the order is not known any more, and little is won by waiting. */
enum { STUCK_US = 1000000, UNANSWERED_MS = 5000, UNANSWERED_AGAIN_MS = 200 };

/* --- links --- */

static void on_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct watched_run *watching = context;
    struct watched_link *made = *owner = memory_new(1, sizeof *made);
    made->watching = watching;
    made->link = link;
    made->number = proxy_link_number(link);
    made->peer_port = peer_port;
    made->next = watching->open;
    if (made->next)
        made->next->previous = made;
    watching->open = made;
    watching->outcome->connections++;
    watching->links++;
}

static void leave_list(struct watched_link *link)
{
    if (link->next)
        link->next->previous = link->previous;
    if (link->previous)
        link->previous->next = link->next;
    else
        link->watching->open = link->next;
}

void watched_link_lose(struct watched_link *link)
{
    link->is_lost = true;
    watching_lose_track(link->watching);
    turns_lose(link);
    if (evident_is_under_way(link))
        evident_lose(link);
}

/* No reply can come over it, for so long. */
static bool is_stuck(struct watched_link *link, int64_t now_us)
{
    if (!proxy_link_is_stuck(link->link))
        link->stuck_us = 0;
    else if (!link->stuck_us)
        link->stuck_us = now_us;
    return link->stuck_us && now_us - link->stuck_us > STUCK_US;
}

static int patience_ms(const struct watched_run *watching)
{
    return watching->has_given_up ? UNANSWERED_AGAIN_MS : UNANSWERED_MS;
}

/* Its command that the server has had for so long, and not answered. NULL: none. */
static const char *unanswered(const struct watched_link *link, int64_t now_us)
{
    const struct watched_request *current = link->watching->current;
    const struct evident_line *line = &link->line;
    const int64_t before_us = now_us - patience_ms(link->watching) * INT64_C(1000);
    if (current && current->link == link && current->sent_us < before_us)
        return current->name;
    if (line->answered == line->sent)
        return NULL;
    const struct evident_command *first = evident_line_at(line, line->answered);
    return first->began_us < before_us ? first->text->name : NULL;
}

/* Its requests that are with the server, while others wait for them. */
void watched_links_look(struct watched_run *watching)
{
    const int64_t now_us = watching_now_us(watching);
    const struct watched_link *current = watching->current ? watching->current->link : NULL;
    if (!watching->first)
        return;
    for (struct watched_link *link = watching->open; link; link = link->next) {
        const char *name;
        if (link->is_lost || (!evident_is_under_way(link) && link != current))
            continue;
        if (is_stuck(link, now_us))
            watching_missed(watching, "a command was not answered, since its connection had ended "
                                      "at the server, or its client did not read, and others "
                                      "stood in line");
        else if ((name = unanswered(link, now_us))) {
            watching_missed(watching,
                            "%s was not answered for %g s, and others stood in line: they went "
                            "on, and in which order the server executes them is not known",
                            name, patience_ms(watching) / 1000.0);
            watching->has_given_up = true;
        } else
            continue;
        watched_link_lose(link);
        return; /* the list may be another one now */
    }
}

static void on_dialled(void *context, void *owner, int own_port)
{
    struct watched_link *link = owner;
    (void)context;
    link->stands = true;
    link->own_port = own_port;
    if (link->watching->reads && own_port)
        reads_join(link->watching->reads, link);
}

/* --- requests and replies --- */

/* What may change keys without naming them is under way: no key is known until it is over. */
static void begin_blind(struct watched_link *link, struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    request->owner = &watching->blind;
    watching->blind++;
    link->blind++;
    if (!request->expects_reply)
        watching_lose_track(watching);
}

static void end_blind(struct watched_link *link)
{
    link->blind--;
    link->watching->blind--;
    keys_forget(&link->watching->keys);
}

/* It is executed whenever there is something to take. */
static void begin_waiting(struct watched_link *link, struct proxy_request *request)
{
    const bool is_watched = turns_name_watched(link->watching, request->bytes, request->length);
    if (is_watched)
        begin_blind(link, request);
    request->owner = is_watched ? &link->waits_watched : &link->waits;
    link->waits += request->expects_reply;
}

/* Of a request that is longer than what is shown of it the rest may name keys. */
static void note_cut(struct watched_run *watching, const struct proxy_request *request)
{
    if (request->length < SHOWN_MAX ||
        (!kind_is_script(request->name) && !kind_names_many(request->name)) ||
        words_read(&watching->words, request->bytes, request->length))
        return;
    watching_missed(watching, "%s is longer than %d bytes: not all keys that it names were seen",
                    request->name, SHOWN_MAX);
}

/* Words in quotes may say anything. */
static void note_quotes(struct watched_run *watching, const struct proxy_request *request)
{
    if (request->length && request->bytes[0] != '*' &&
        (memchr(request->bytes, '"', request->length) ||
         memchr(request->bytes, '\'', request->length)))
        watching_missed(watching,
                        "%s came inline, with words in quotes: which keys it names was "
                        "not seen",
                        request->name);
}

/* It changes none of the watched keys, for all that it names. */
static enum proxy_decision pass(struct watched_link *link, struct proxy_request *request)
{
    if (strcmp(request->name, "EXEC") == 0) {
        if (link->has_script)
            begin_blind(link, request);
        watched_link_end_transaction(link);
    } else if (kind_is_script(request->name)) {
        begin_blind(link, request);
    }
    return PROXY_PASS;
}

static bool is_watched(struct watched_link *link, const struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    if (strcmp(request->name, "EXEC") == 0) {
        if (link->is_transaction_cut)
            watching_missed(watching, "a transaction is longer than %d bytes", TRANSACTION_MAX);
        return link->is_transaction_watched;
    }
    note_cut(watching, request);
    return kind_is_flush(request->name) ||
           (!kind_is_passed(request->name) &&
            turns_name_watched(watching, request->bytes, request->length));
}

/* Is it worth its words' being read? Inline commands are not. */
static bool may_be_evident(const struct watched_link *link, const struct proxy_request *request)
{
    return request->first_key &&
           keys_may_begin(&link->watching->keys, request->first_key, request->first_key_length) &&
           !request->in_transaction && !link->waits && !link->selects;
}

/* Neither watched nor followed, as is seen at its words: by far the most of what passes. */
static bool is_nothing(const struct watched_run *watching, const struct proxy_request *request)
{
    if (!request->words_count || request->in_transaction || request->length >= SHOWN_MAX ||
        kind_is_special(request->name))
        return false;
    for (int i = 1; i < request->words_count; i++)
        if (keys_matches(&watching->keys, request->bytes + request->words[i].offset,
                         request->words[i].length))
            return false;
    return true;
}

/* It need not stand in line. */
static bool goes_at_once(struct watched_link *link, struct proxy_request *request, uint64_t end)
{
    void *own = may_be_evident(link, request) ? evident_takes(link, request, end) : NULL;
    if (own)
        request->owner = own;
    return own != NULL;
}

static struct proxy_repeated on_repeats(void *context, void *owner, const char *bytes,
                                        size_t length, uint64_t from)
{
    (void)context;
    return evident_repeats(owner, bytes, length, from);
}

static bool on_passes_unseen(void *context, void *owner, struct proxy_request *request)
{
    struct watched_link *link = owner;
    return link->is_lost ||
           (request->name[0] == 'S' && goes_at_once(link, request, proxy_request_end(request))) ||
           is_nothing(context, request);
}

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    if (link->is_lost)
        return PROXY_PASS;
    if (request->name[0] == 'E' &&
        goes_at_once(link, request, proxy_link_passed(request->link) + request->length))
        return PROXY_PASS;
    if (is_nothing(watching, request))
        return PROXY_PASS;
    note_quotes(watching, request);
    if (!request->in_transaction && kind_waits(request->name)) {
        begin_waiting(link, request);
        return PROXY_PASS;
    }
    if (!request->in_transaction && request->length < SHOWN_MAX &&
        !kind_is_special(request->name) &&
        !keys_may_match(&watching->keys, request->bytes, request->length))
        return PROXY_PASS;
    if (strcmp(request->name, "QUIT") == 0)
        link->is_lost = true; /* the server reads nothing behind it */
    link->is_named_behind |=
        link->selects && keys_may_match(&watching->keys, request->bytes, request->length);
    if (link->waits && !request->in_transaction && is_watched(link, request)) {
        watching_missed(watching,
                        "%s names a watched key, and was sent over a connection that waits (BLPOP "
                        "and kin)",
                        request->name);
        return PROXY_PASS;
    }
    const bool ends = strcmp(request->name, "EXEC") == 0;
    watched_link_follow(link, request);
    if (request->in_transaction && !ends) {
        watched_link_queue(link, request);
        return PROXY_PASS;
    }
    if (request->owner == &link->selects)
        return PROXY_PASS;
    if (!is_watched(link, request))
        return pass(link, request);
    if (!request->expects_reply) {
        watching_missed(watching,
                        "%s names a watched key, and its client wants no reply (CLIENT "
                        "REPLY)",
                        request->name);
        return PROXY_PASS;
    }
    return turns_take(link, request);
}

static void on_executed(void *context, void *owner, struct proxy_request *request,
                        const char *bytes, size_t length, enum delivery heard)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    if (!request->owner)
        return;
    struct watched_request *turn = request->owner;
    if (request->owner == &link->waits) {
        link->waits--;
        return;
    }
    if (request->owner == &link->waits_watched) {
        link->waits--;
        end_blind(link);
        return;
    }
    if (request->owner == &link->selects) {
        watched_link_selected(link, bytes && length && bytes[0] != '-');
        return;
    }
    if (request->owner == &watching->blind) {
        end_blind(link);
        return;
    }
    if (heard == DELIVERED_LATER)
        link->late.request = request;
    turns_answered(turn, bytes, length, heard);
}

static enum proxy_decision on_reply(void *context, void *owner, struct proxy_request *request,
                                    const char *bytes, size_t length)
{
    if (evident_is_owner(owner, request->owner))
        evident_heard(owner, bytes, length, 1);
    else
        on_executed(context, owner, request, bytes, length, DELIVERED_NOW);
    return PROXY_PASS;
}

/* Of those that passed unseen: they are evident. */
static void on_replies(void *context, void *owner, struct proxy_request *request, const char *bytes,
                       size_t length, int64_t count)
{
    (void)context;
    assert(evident_is_owner(owner, request->owner));
    evident_heard(owner, bytes, length, count);
}

static void on_heard(void *context, void *owner, struct proxy_request *request)
{
    struct watched_link *link = owner;
    if (link->late.request == request)
        late_heard(context, link, true);
}

static void on_closed(void *context, void *owner)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    turns_leave(link);
    if (link->blind)
        watching_lose_track(watching); /* it may be executed yet */
    watching->blind -= link->blind;
    if (evident_is_under_way(link))
        evident_abandoned(link);
    if (watching->reads && link->own_port)
        reads_leave(watching->reads, link);
    if (link->late.request)
        late_heard(watching, link, false);
    if (!link->stands)
        alone_end(&watching->alone,
                  "whether the server has counted a connection of the proxy's that "
                  "ended before it stood is not known");
    watched_link_forget_transaction(link);
    watching->links--;
    leave_list(link);
    link->is_closed = true;
    if (!evident_is_under_way(link))
        watched_link_free(link);
}

/* Bytes that were not understood: what follows on that connection nobody has seen. */
static void on_notice(void *context, void *owner, const char *words)
{
    struct watched_run *watching = context;
    if (!owner) {
        watching_note(watching, "the proxy: %s", words);
        return;
    }
    watching_missed(watching, "a connection was not followed to its end: %s", words);
    watched_link_lose(owner);
}

void watched_hooks(struct watched_run *watching, struct proxy_hooks *hooks)
{
    *hooks = (struct proxy_hooks){.opened = on_opened,
                                  .dialled = on_dialled,
                                  .repeats = on_repeats,
                                  .passes_unseen = on_passes_unseen,
                                  .request = on_request,
                                  .reply = on_reply,
                                  .replies = on_replies,
                                  .closed = on_closed,
                                  .notice = on_notice,
                                  .context = watching};
}

void watched_observe(struct watched_run *watching, struct standalone_observer *observer)
{
    observer->opened = on_opened;
    observer->dialled = on_dialled;
    observer->passes_unseen = on_passes_unseen;
    observer->request = on_request;
    observer->executed = on_executed;
    observer->heard = on_heard;
    observer->closed = on_closed;
    observer->notice = on_notice;
    observer->context = watching;
}
