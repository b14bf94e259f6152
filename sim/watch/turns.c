/* turns.c - requests that name a watched key go to the server one at a time, and the key is looked
 * at before and behind each. */
#include "watch/internal.h"
#include "watch/kinds.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* A database by its number among the words; another one than that of the connection. */
static int database_at(const struct request_words *words, int at, int otherwise)
{
    char digits[8] = "";
    if (at >= words->count || words->lengths[at] >= sizeof digits)
        return otherwise;
    memcpy(digits, words->at[at], words->lengths[at]);
    return atoi(digits);
}

/* Into which it moves or copies a key ("MOVE key db", "COPY key key DB db"). */
static int target_of(const struct watched_request *turn, const struct request_words *words)
{
    const int own = turn->link->database;
    for (int i = 0; i < words->count; i++)
        if (words_is(words, i, "MOVE") && i + 2 < words->count)
            return database_at(words, i + 2, own);
        else if (words_is(words, i, "COPY") && words_is(words, i + 3, "DB"))
            return database_at(words, i + 4, own);
    return own;
}

static void find_keys_of(struct watched_run *watching, struct watched_request *turn, int database)
{
    const struct request_words *words = &watching->words;
    for (int i = 1; i < words->count; i++)
        if (keys_matches(&watching->keys, words->at[i], words->lengths[i]))
            add_key(watching, turn,
                    keys_row(&watching->keys, database, words->at[i], words->lengths[i]));
}

static void find_keys(struct watched_run *watching, struct watched_request *turn)
{
    (void)words_read(&watching->words, turn->bytes, turn->length);
    const int own = turn->link->database, target = target_of(turn, &watching->words);
    find_keys_of(watching, turn, own);
    if (target != own)
        find_keys_of(watching, turn, target);
    for (int i = 0; turn->is_flush && i < watching->keys.count; i++)
        if (watching->keys.rows[i].is_lock || watching->keys.rows[i].evident)
            add_key(watching, turn, i);
}

/* --- a turn --- */

static void turn_free(struct watched_request *turn)
{
    free(turn->bytes);
    free(turn->before);
    free(turn);
}

/* It could not be looked at: whose it is nobody knows. */
static void lose_sight(struct watched_run *watching, int row, const struct failure *failure)
{
    watching_missed(watching, "a watched key could not be looked at: %s", failure->text);
    watching->keys.rows[row].is_lock = false;
}

void watched_key_look(struct watched_run *watching, int row, struct key_look *look)
{
    struct failure failure;
    const struct watched_key *key = &watching->keys.rows[row];
    const int64_t from_us = watching_now_us(watching);
    watching->read_us = 0; /* time passes while the server is asked */
    if (keys_look(&watching->keys, row, look, &failure))
        lose_sight(watching, row, &failure);
    else if (key->is_lock && look->is_there &&
             strcmp(look->value, watching->holders[key->owner].token) != 0)
        watching_missed(watching,
                        "'%s' had another value than was seen to be set: a script that does not "
                        "name it, or somebody past the proxy",
                        key->name);
    else if (key->is_lock && strcmp(look->value, watching->holders[key->owner].token) == 0 &&
             !key_is_as_left(key, look, from_us, watching_now_us(watching)))
        watching_missed(watching,
                        "when '%s' ends was changed by something that did not name it (a script, "
                        "or somebody past the proxy)",
                        key->name);
}

static void begin(struct watched_run *watching, struct watched_request *turn)
{
    turn->began_us = watching_now_us(watching);
    turn->known = watching->keys.knowledge;
    turn->is_beside = watching->blind > 0;
    turn->before = memory_new(TURN_KEYS_MAX, sizeof *turn->before);
    for (int i = 0; i < turn->keys_count; i++)
        if (watching->blind ||
            !keys_recall(&watching->keys, turn->keys[i], turn->began_us, &turn->before[i]))
            watched_key_look(watching, turn->keys[i], &turn->before[i]);
    turn->sent_us = watching_now_us(watching);
}

/* Does the answer say that nothing was changed? A key that was not there refuses nobody: it is
 * looked at. */
static bool is_idle(const struct watched_request *turn, const char *reply, size_t length)
{
    const struct request_words *words = &turn->link->watching->words;
    const bool is_no =
        length >= 4 && (memcmp(reply, "$-1\r", 4) == 0 || memcmp(reply, ":0\r\n", 4) == 0 ||
                        memcmp(reply, "_\r\n", 3) == 0);
    return opaque_is_read(turn->name) ||
           (is_no && kind_says_no(turn->name) && !words_set_says_old(words) &&
            (turn->before->is_there || turn->name[0] != 'S'));
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

/* The same name is another lock behind it: who has it then, nobody follows. */
static void note_swap(struct watched_run *watching, const struct watched_request *turn)
{
    const struct request_words *words = &watching->words;
    const int one = database_at(words, 1, NO_KEY), other = database_at(words, 2, NO_KEY);
    for (int i = 0; i < turn->keys_count && one != other; i++) {
        const struct watched_key *key = &watching->keys.rows[turn->keys[i]];
        if (key->is_lock && (key->database == one || key->database == other))
            watching_missed(watching, "SWAPDB exchanged a database in which '%s' was locked",
                            key->name);
    }
}

/* reply NULL: it is not known. */
static void finish(struct watched_run *watching, struct watched_request *turn, const char *reply,
                   size_t length, enum delivery heard)
{
    struct failure failure;
    const int64_t done_us = watching_now_us(watching);
    (void)words_read(&watching->words, turn->bytes, turn->length);
    const bool is_unchanged = reply && turn->keys_count == 1 && is_idle(turn, reply, length);
    const bool is_beside =
        turn->is_beside || watching->blind || watching->keys.knowledge != turn->known;
    if (kind_is_script(turn->name) || strcmp(turn->name, "EXEC") == 0 || turn->is_flush)
        keys_forget(&watching->keys);
    if (strcmp(turn->name, "SWAPDB") == 0)
        note_swap(watching, turn);
    for (int i = 0; i < turn->keys_count; i++) {
        struct key_look behind;
        const int64_t looked_us = watching_now_us(watching);
        if (look_behind(watching, turn, i, looked_us, is_unchanged, &behind, &failure)) {
            lose_sight(watching, turn->keys[i], &failure);
            continue;
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
                                                  .is_beside = is_beside,
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
    turn->is_flush = kind_is_flush(request->name) || (is_transaction && link->has_flush);
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

enum proxy_decision turns_take(struct watched_link *link, struct proxy_request *request)
{
    struct watched_run *watching = link->watching;
    struct watched_request *turn = turn_new(link, request);
    if (strcmp(request->name, "EXEC") == 0)
        watched_link_end_transaction(link);
    request->owner = turn;
    watching->outcome->looked_at++;
    if (turn->request->copies)
        watching_missed(watching, "a rule sent %s %d times: what each did is not told apart",
                        turn->name, turn->request->copies + 1);
    if (can_begin(watching, turn) && !watching->first) {
        watching->current = turn;
        begin(watching, turn);
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

/* It stands in line no more, whether it goes on or not. */
static void note_wait(struct watched_run *watching, int64_t since_us)
{
    const int64_t waited_us = watching_now_us(watching) - since_us;
    if (waited_us > watching->outcome->waited_us)
        watching->outcome->waited_us = waited_us;
}

static void leave_line(struct watched_run *watching, struct watched_request *next, int64_t since_us)
{
    note_wait(watching, since_us);
    watching->first = next;
    if (!next)
        watching->last = NULL;
}

void turns_next(struct watched_run *watching)
{
    struct watched_request *turn;
    while ((turn = watching->first)) {
        struct watched_request *next = turn->next;
        struct proxy_request *request = turn->request;
        const int64_t since_us = turn->sent_us;
        if (evident_goes_on(turn)) {
            turn_free(turn);
            leave_line(watching, next, since_us);
        } else if (can_begin(watching, turn)) {
            leave_line(watching, next, since_us);
            watching->current = turn;
            begin(watching, turn);
        } else {
            return;
        }
        proxy_request_forward(request);
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

void turns_answered(struct watched_request *turn, const char *reply, size_t length,
                    enum delivery heard)
{
    struct watched_run *watching = turn->link->watching;
    if (turn != watching->current)
        return;
    finish(watching, turn, reply, length, heard);
    turn_over(watching);
}

/* Those of a connection leave the line. Returns them. */
static struct watched_request *take_waiting(struct watched_run *watching,
                                            const struct watched_link *link)
{
    struct watched_request **at = &watching->first, *taken = NULL, **end = &taken;
    watching->last = NULL;
    while (*at) {
        struct watched_request *turn = *at;
        if (turn->link == link) {
            note_wait(watching, turn->sent_us);
            *at = turn->next;
            turn->next = NULL;
            *end = turn;
            end = &turn->next;
        } else {
            watching->last = turn;
            at = &turn->next;
        }
    }
    return taken;
}

void turns_leave(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    struct watched_request *turn, *waiting = take_waiting(watching, link);
    while ((turn = waiting)) {
        waiting = turn->next;
        turn_free(turn);
    }
    if (!watching->current || watching->current->link != link)
        return;
    /* Whether the server has executed it is certain once it has no such connection any more. */
    watched_link_kill(link, watching->current->name);
    finish(watching, watching->current, NULL, 0, DELIVERED_NEVER);
    turn_over(watching);
}

void turns_lose(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    struct watched_request *turn, *waiting = take_waiting(watching, link);
    if (watching->current && watching->current->link == link) {
        watching->current->request->owner = NULL;
        finish(watching, watching->current, NULL, 0, DELIVERED_NEVER);
        turn_over(watching);
    }
    while ((turn = waiting)) {
        struct proxy_request *request = turn->request;
        waiting = turn->next;
        turn_free(turn);
        request->owner = NULL;
        proxy_request_forward(request);
    }
}

void turns_free(struct watched_run *watching)
{
    assert(!watching->current && !watching->first);
    reads_free(watching->reads);
    words_free(&watching->words);
}
