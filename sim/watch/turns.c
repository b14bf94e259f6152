/* turns.c - requests at the proxy: those that name a watched key go to the server one at a time,
 * and the key is looked at before and behind each. All others pass. */
#include "watch/internal.h"
#include "watch/kinds.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- links --- */

static void on_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct watched_run *watching = context;
    struct watched_link *made = *owner = memory_new(1, sizeof *made);
    made->watching = watching;
    made->link = link;
    made->number = proxy_link_number(link);
    made->peer_port = peer_port;
    watching->outcome->connections++;
    watching->links++;
}

static void on_dialled(void *context, void *owner, int own_port)
{
    struct watched_link *link = owner;
    (void)context;
    link->own_port = own_port;
    if (link->watching->reads && own_port)
        reads_join(link->watching->reads, link);
}

/* --- which keys a request names --- */

bool turns_name_watched(struct watched_run *watching, const char *bytes, size_t length)
{
    if (!keys_may_match(&watching->keys, bytes, length))
        return false;
    (void)words_read(&watching->words, bytes, length);
    for (int i = 1; i < watching->words.count; i++)
        if (keys_matches(&watching->keys, watching->words.at[i], watching->words.lengths[i]))
            return true;
    return false;
}

static void add_key(struct watched_run *watching, struct watched_request *turn, int row)
{
    for (int i = 0; i < turn->keys_count; i++)
        if (turn->keys[i] == row)
            return;
    if (row == NO_KEY)
        watching_missed(watching,
                        "there are more than %d watched keys, or one has a name that is "
                        "longer than %d bytes",
                        WATCHED_KEYS_MAX, WATCHED_KEY_MAX - 1);
    else if (turn->keys_count == TURN_KEYS_MAX)
        watching_missed(watching, "one command changes more than %d watched keys (%s)",
                        TURN_KEYS_MAX, turn->name);
    else
        turn->keys[turn->keys_count++] = row;
}

static void find_keys(struct watched_run *watching, struct watched_request *turn)
{
    const struct request_words *words = &watching->words;
    (void)words_read(&watching->words, turn->bytes, turn->length);
    for (int i = 1; i < words->count; i++)
        if (keys_matches(&watching->keys, words->at[i], words->lengths[i]))
            add_key(
                watching, turn,
                keys_row(&watching->keys, turn->link->database, words->at[i], words->lengths[i]));
    for (int i = 0; turn->is_flush && i < watching->keys.count; i++)
        if (watching->keys.rows[i].is_lock)
            add_key(watching, turn, i);
}

/* --- a turn --- */

static void turn_free(struct watched_request *turn)
{
    free(turn->bytes);
    free(turn);
}

/* False: the server does not say how the keys stand. */
static bool begin(struct watched_run *watching, struct watched_request *turn)
{
    struct failure failure;
    turn->began_us = watching_now_us(watching);
    for (int i = 0; i < turn->keys_count; i++) {
        if (!watching->blind &&
            keys_recall(&watching->keys, turn->keys[i], turn->began_us, &turn->before[i]))
            continue;
        if (keys_look(&watching->keys, turn->keys[i], &turn->before[i], &failure)) {
            watching_missed(watching, "a watched key could not be looked at: %s", failure.text);
            return false;
        }
    }
    turn->sent_us = watching_now_us(watching);
    return true;
}

/* Does the answer say that nothing was changed? */
static bool is_idle(const struct watched_request *turn, const char *reply, size_t length)
{
    const bool is_no =
        length >= 4 && (memcmp(reply, "$-1\r", 4) == 0 || memcmp(reply, ":0\r\n", 4) == 0 ||
                        memcmp(reply, "_\r\n", 3) == 0);
    return kind_is_read(turn->name) || (is_no && kind_says_no(turn->name));
}

/* The key behind it. Where it was found by an answer alone, its time goes on. */
static enum fail look_behind(struct watched_run *watching, const struct watched_request *turn,
                             int at, int64_t looked_us, bool is_unchanged, struct key_look *behind,
                             struct failure *failure)
{
    if (!is_unchanged) {
        if (keys_look(&watching->keys, turn->keys[at], behind, failure))
            return failure->code;
    } else {
        *behind = turn->before[at];
        if (behind->left_us != INT64_MAX)
            behind->left_us -= looked_us - turn->began_us;
    }
    keys_keep(&watching->keys, turn->keys[at], behind, looked_us);
    return FAIL_NONE;
}

/* reply NULL: it is not known. */
static void finish(struct watched_run *watching, struct watched_request *turn, const char *reply,
                   size_t length, enum delivery heard)
{
    struct failure failure;
    const int64_t done_us = watching_now_us(watching);
    const bool is_unchanged = reply && turn->keys_count == 1 && is_idle(turn, reply, length);
    (void)words_read(&watching->words, turn->bytes, turn->length);
    if (kind_is_script(turn->name) || strcmp(turn->name, "EXEC") == 0 || turn->is_flush)
        keys_forget(&watching->keys);
    for (int i = 0; i < turn->keys_count; i++) {
        struct key_look behind;
        const int64_t looked_us = watching_now_us(watching);
        if (look_behind(watching, turn, i, looked_us, is_unchanged, &behind, &failure)) {
            watching_missed(watching, "a watched key could not be looked at: %s", failure.text);
            return;
        }
        deduce(watching, &(struct seen_execution){.link = turn->link,
                                                  .name = turn->name,
                                                  .words = &watching->words,
                                                  .key = turn->keys[i],
                                                  .before = &turn->before[i],
                                                  .behind = &behind,
                                                  .reply = reply,
                                                  .reply_length = length,
                                                  .heard = heard,
                                                  .is_flush = turn->is_flush,
                                                  .is_guarded = turn->is_guarded,
                                                  .began_us = turn->began_us,
                                                  .held_us = turn->held_us,
                                                  .sent_us = turn->sent_us,
                                                  .done_us = done_us,
                                                  .looked_us = looked_us});
    }
}

static struct watched_request *turn_new(struct watched_link *link, struct proxy_request *request)
{
    struct watched_request *turn = memory_new(1, sizeof *turn);
    const bool is_transaction = strcmp(request->name, "EXEC") == 0;
    const char *bytes = is_transaction ? link->transaction : request->bytes;
    turn->length = is_transaction ? link->transaction_length : request->length;
    turn->bytes = memory_new(turn->length + 1, 1);
    memcpy(turn->bytes, bytes, turn->length);
    turn->link = link;
    turn->request = request;
    turn->held_us = request->held_us;
    turn->is_flush = kind_is_flush(request->name);
    turn->is_guarded = is_transaction && link->is_guarded;
    strncpy(turn->name, request->name, sizeof turn->name - 1);
    return turn;
}

static bool can_begin(struct watched_run *watching, struct watched_request *turn)
{
    if (watching->current)
        return false;
    turn->keys_count = 0;
    find_keys(watching, turn);
    return !evident_conflicts(watching, turn);
}

static enum proxy_decision take_turn(struct watched_run *watching, struct watched_request *turn)
{
    turn->request->owner = turn;
    watching->outcome->looked_at++;
    if (turn->request->copies)
        watching_missed(watching, "a rule sent %s %d times: what each did is not told apart",
                        turn->name, turn->request->copies + 1);
    if (can_begin(watching, turn) && !watching->first) {
        watching->current = turn;
        (void)begin(watching, turn);
        return PROXY_PASS;
    }
    turn->sent_us = watching_now_us(watching);
    if (watching->last)
        watching->last->next = turn;
    else
        watching->first = turn;
    watching->last = turn;
    return PROXY_HOLD;
}

static void leave_line(struct watched_run *watching, struct watched_request *next, int64_t since_us)
{
    const int64_t waited_us = watching_now_us(watching) - since_us;
    if (waited_us > watching->outcome->waited_us)
        watching->outcome->waited_us = waited_us;
    watching->first = next;
    if (!next)
        watching->last = NULL;
}

void turns_next(struct watched_run *watching)
{
    struct watched_request *turn;
    while ((turn = watching->first)) {
        struct watched_request *next = turn->next;
        const int64_t since_us = turn->sent_us;
        if (evident_goes_on(turn)) {
            leave_line(watching, next, since_us);
        } else if (can_begin(watching, turn)) {
            leave_line(watching, next, since_us);
            watching->current = turn;
            (void)begin(watching, turn);
        } else {
            return;
        }
        proxy_request_forward(turn->request);
    }
}

static void on_next_turn(uv_timer_t *timer)
{
    turns_next(timer->data);
}

void turns_soon(struct watched_run *watching)
{
    if (watching->first && !watching->current)
        (void)uv_timer_start(watching->next_turn, on_next_turn, 0, 0);
}

static void turn_over(struct watched_run *watching)
{
    turn_free(watching->current);
    watching->current = NULL;
    turns_soon(watching);
}

/* --- hooks --- */

/* What may change keys without naming them is under way: no key is known until it is over. */
static void begin_blind(struct watched_link *link, struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    request->owner = &watching->blind;
    watching->blind++;
    link->blind++;
    if (!request->expects_reply)
        watching->keys.is_ours = false;
}

static void end_blind(struct watched_link *link)
{
    link->blind--;
    link->watching->blind--;
    keys_forget(&link->watching->keys);
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

/* It changes none of the watched keys, for all that it names. */
static enum proxy_decision pass(struct watched_link *link, struct proxy_request *request)
{
    if (strcmp(request->name, "EXEC") == 0) {
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

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    const bool ends = strcmp(request->name, "EXEC") == 0;
    if (!request->in_transaction && kind_waits(request->name)) {
        request->owner = &link->waits;
        link->waits += request->expects_reply;
        return PROXY_PASS;
    }
    if (!request->in_transaction && request->length < SHOWN_MAX &&
        !kind_is_special(request->name) &&
        !keys_may_match(&watching->keys, request->bytes, request->length))
        return PROXY_PASS;
    if (link->waits && !request->in_transaction && is_watched(link, request)) {
        watching_missed(watching,
                        "%s names a watched key, and was sent over a connection that waits (BLPOP "
                        "and kin)",
                        request->name);
        return PROXY_PASS;
    }
    if (!request->in_transaction && evident_takes(link, request))
        return PROXY_PASS;
    watched_link_follow(link, request);
    if (request->in_transaction && !ends) {
        watched_link_queue(link, request);
        return PROXY_PASS;
    }
    if (!is_watched(link, request))
        return pass(link, request);
    if (!request->expects_reply) {
        watching_missed(watching,
                        "%s names a watched key, and its client wants no reply (CLIENT "
                        "REPLY)",
                        request->name);
        return PROXY_PASS;
    }
    struct watched_request *turn = turn_new(link, request);
    if (ends)
        watched_link_end_transaction(link);
    return take_turn(watching, turn);
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
    if (request->owner == &watching->blind) {
        end_blind(link);
        return;
    }
    if (turn->is_evident) {
        request->owner = NULL;
        evident_answered(turn, bytes, length);
        return;
    }
    if (turn != watching->current)
        return;
    if (heard == DELIVERED_LATER)
        link->late.request = request;
    finish(watching, watching->current, bytes, length, heard);
    turn_over(watching);
}

static enum proxy_decision on_reply(void *context, void *owner, struct proxy_request *request,
                                    const char *bytes, size_t length)
{
    on_executed(context, owner, request, bytes, length, DELIVERED_NOW);
    return PROXY_PASS;
}

static void on_heard(void *context, void *owner, struct proxy_request *request)
{
    struct watched_link *link = owner;
    if (link->late.request == request)
        late_heard(context, link, true);
}

/* Its client has gone. Whether the server has executed it is certain once the server has no such
 * connection any more. */
static void abandoned(struct watched_run *watching, struct watched_request *turn)
{
    watched_link_kill(turn->link, turn->name);
    finish(watching, turn, NULL, 0, DELIVERED_NEVER);
}

static void drop_waiting(struct watched_run *watching, const struct watched_link *link)
{
    struct watched_request **at = &watching->first;
    watching->last = NULL;
    while (*at) {
        struct watched_request *turn = *at;
        if (turn->link == link) {
            *at = turn->next;
            turn_free(turn);
        } else {
            watching->last = turn;
            at = &turn->next;
        }
    }
}

static void on_closed(void *context, void *owner)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    drop_waiting(watching, link);
    if (link->blind)
        watching->keys.is_ours = false; /* it may be executed yet */
    watching->blind -= link->blind;
    if (watching->current && watching->current->link == link) {
        abandoned(watching, watching->current);
        turn_over(watching);
    }
    if (link->evident)
        evident_abandoned(link);
    if (watching->reads && link->own_port)
        reads_leave(watching->reads, link);
    if (link->late.request)
        late_heard(watching, link, false);
    watched_link_forget_transaction(link);
    watching->links--;
    link->is_closed = true;
    if (!link->evident)
        free(link);
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
    if (watching->current && watching->current->link == owner)
        turn_over(watching);
}

void turns_hooks(struct watched_run *watching, struct proxy_hooks *hooks)
{
    *hooks = (struct proxy_hooks){.opened = on_opened,
                                  .dialled = on_dialled,
                                  .request = on_request,
                                  .reply = on_reply,
                                  .closed = on_closed,
                                  .notice = on_notice,
                                  .context = watching};
}

void turns_observe(struct watched_run *watching, struct standalone_observer *observer)
{
    observer->opened = on_opened;
    observer->dialled = on_dialled;
    observer->request = on_request;
    observer->executed = on_executed;
    observer->heard = on_heard;
    observer->closed = on_closed;
    observer->notice = on_notice;
    observer->context = watching;
}

void turns_free(struct watched_run *watching)
{
    assert(!watching->current && !watching->first);
    evident_free_spare(watching);
    reads_free(watching->reads);
    words_free(&watching->words);
}
