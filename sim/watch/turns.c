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
}

static void forget_transaction(struct watched_link *link)
{
    free(link->transaction);
    link->transaction = NULL;
    link->transaction_length = 0;
    link->is_transaction_watched = link->is_transaction_cut = false;
}

/* --- which keys a request names --- */

static bool names_watched(struct watched_run *watching, const char *bytes, size_t length)
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
    find_keys(watching, turn);
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
                                                  .began_us = turn->began_us,
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
    turn->is_flush = kind_is_flush(request->name);
    strncpy(turn->name, request->name, sizeof turn->name - 1);
    return turn;
}

static enum proxy_decision take_turn(struct watched_run *watching, struct watched_request *turn)
{
    turn->request->owner = turn;
    watching->outcome->looked_at++;
    if (turn->request->copies)
        watching_missed(watching, "a rule sent %s %d times: what each did is not told apart",
                        turn->name, turn->request->copies + 1);
    if (!watching->current) {
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

void turns_next(struct watched_run *watching)
{
    struct watched_request *turn = watching->first;
    if (watching->current || !turn)
        return;
    watching->first = turn->next;
    if (!watching->first)
        watching->last = NULL;
    watching->current = turn;
    const int64_t waited_us = watching_now_us(watching) - turn->sent_us;
    if (waited_us > watching->outcome->waited_us)
        watching->outcome->waited_us = waited_us;
    (void)begin(watching, turn);
    proxy_request_forward(turn->request);
}

static void on_next_turn(uv_timer_t *timer)
{
    turns_next(timer->data);
}

static void turn_over(struct watched_run *watching)
{
    turn_free(watching->current);
    watching->current = NULL;
    if (watching->first)
        (void)uv_timer_start(watching->next_turn, on_next_turn, 0, 0);
}

/* --- hooks --- */

static void note_database(struct watched_link *link, const struct proxy_request *request)
{
    struct request_words *words = &link->watching->words;
    (void)words_read(words, request->bytes, request->length);
    if (words->count == 2 && words->lengths[1] < 8) {
        char digits[8] = "";
        memcpy(digits, words->at[1], words->lengths[1]);
        link->database = atoi(digits);
    }
}

/* What MULTI queues takes no effect before EXEC. */
static void queue(struct watched_link *link, const struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    if (strcmp(request->name, "DISCARD") == 0 || strcmp(request->name, "MULTI") == 0 ||
        strcmp(request->name, "RESET") == 0)
        return;
    if (request->length >= SHOWN_MAX ||
        link->transaction_length + request->length > TRANSACTION_MAX) {
        link->is_transaction_cut = true;
        return;
    }
    if (names_watched(watching, request->bytes, request->length) || kind_is_flush(request->name))
        link->is_transaction_watched = true;
    link->transaction =
        memory_resize(link->transaction, link->transaction_length + request->length, 1);
    memcpy(link->transaction + link->transaction_length, request->bytes, request->length);
    link->transaction_length += request->length;
}

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

/* What a connection remembers from one request to the next. */
static void follow(struct watched_link *link, const struct proxy_request *request)
{
    const bool resets = strcmp(request->name, "RESET") == 0;
    if (resets || strcmp(request->name, "MULTI") == 0 || strcmp(request->name, "DISCARD") == 0)
        forget_transaction(link);
    if (resets)
        link->database = 0;
    if (strcmp(request->name, "SELECT") == 0)
        note_database(link, request);
    /* What may let the server take keys away by itself. */
    if (strcmp(request->name, "CONFIG") == 0 || strcmp(request->name, "DEBUG") == 0)
        link->watching->keys.is_ours = false;
}

/* It changes none of the watched keys, for all that it names. */
static enum proxy_decision pass(struct watched_link *link, struct proxy_request *request)
{
    if (strcmp(request->name, "EXEC") == 0) {
        begin_blind(link, request);
        forget_transaction(link);
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
            names_watched(watching, request->bytes, request->length));
}

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    const bool ends = strcmp(request->name, "EXEC") == 0;
    if (!request->in_transaction && request->length < SHOWN_MAX &&
        !kind_is_special(request->name) &&
        !keys_may_match(&watching->keys, request->bytes, request->length))
        return PROXY_PASS;
    follow(link, request);
    if (request->in_transaction && !ends) {
        queue(link, request);
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
        forget_transaction(link);
    return take_turn(watching, turn);
}

static void on_executed(void *context, void *owner, struct proxy_request *request,
                        const char *bytes, size_t length, enum delivery heard)
{
    struct watched_run *watching = context;
    struct watched_link *link = owner;
    if (!request->owner)
        return;
    if (request->owner == &watching->blind)
        end_blind(link);
    if (request->owner != watching->current)
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
    struct failure failure;
    redisReply *reply = NULL;
    if (turn->link->own_port)
        reply = control_ask(watching->keys.control, &failure,
                            "CLIENT KILL TYPE normal ADDR 127.0.0.1:%d", turn->link->own_port);
    if (!reply && turn->link->own_port)
        watching_missed(watching, "a client went away while %s was under way: %s", turn->name,
                        failure.text);
    if (reply)
        freeReplyObject(reply);
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
    if (link->late.request)
        late_heard(watching, link, false);
    forget_transaction(link);
    free(link);
    watching->links--;
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
    words_free(&watching->words);
}
