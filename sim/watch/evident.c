/* evident.c - commands whose answer says all that they did: SET NX, SETNX, and the script that
 * everybody releases with. Many of them are with a server of ours at once; the server's log of
 * reads says in which order it executed them. Each is a small record in the ring of its connection;
 * what they say, but for the key, those that are alike have in common. */
#include "watch/internal.h"

#include <string.h>

/* --- on their way --- */

bool evident_conflicts(const struct watched_run *watching, const struct watched_request *turn)
{
    for (int i = 0; i < turn->keys_count; i++)
        if (watching->keys.rows[turn->keys[i]].evident)
            return true;
    return false;
}

static void *set_out(struct watched_link *link, struct evident_text *text, int row, uint64_t end,
                     int64_t now_us)
{
    struct watched_run *watching = link->watching;
    struct evident_command *command = evident_line_push(&link->line);
    text->uses++;
    command->end = end;
    command->text = text;
    command->began_us = now_us;
    command->row = row;
    command->ends_read = false;
    watching->keys.rows[row].evident++;
    watching->outcome->evident++;
    return &link->line;
}

struct proxy_repeated evident_repeats(struct watched_link *link, const char *bytes, size_t length,
                                      uint64_t from)
{
    struct watched_run *watching = link->watching;
    struct evident_text *text = link->text;
    struct proxy_repeated repeated = {.owner = &link->line};
    if (!text || link->is_lost || link->waits || link->selects || watching->first)
        return repeated;
    const int64_t now_us = watching_read_us(watching);
    while (length - repeated.length >= text->length) {
        const int row = evident_row_again(link, bytes + repeated.length);
        if (row == NO_KEY)
            break;
        repeated.count++;
        repeated.length += text->length;
        (void)set_out(link, text, row, from + repeated.length, now_us);
    }
    watching->outcome->looked_at += repeated.count;
    return repeated;
}

void *evident_takes(struct watched_link *link, const struct proxy_request *request, uint64_t end)
{
    struct watched_run *watching = link->watching;
    int row;
    if (watching->first || request->copies || !request->expects_reply)
        return NULL;
    struct evident_text *text = evident_read(link, request, &row);
    if (!text)
        return NULL;
    watching->outcome->looked_at++;
    return set_out(link, text, row, end, watching_read_us(watching));
}

bool evident_goes_on(struct watched_request *turn)
{
    int row;
    struct watched_link *link = turn->link;
    struct evident_text *text = evident_read_turn(turn, &row);
    if (!text)
        return false;
    turn->request->owner = set_out(link, text, row, proxy_link_passed(link->link) + turn->length,
                                   watching_now_us(link->watching));
    return true;
}

/* --- what they did --- */

enum evident_answer { EVIDENT_YES, EVIDENT_NO, EVIDENT_ERROR };

/* What they are answered; all else is an error. */
static const struct {
    const char *reply;
    size_t length;
    enum evident_answer means;
} answers[] = {{"$-1\r\n", 5, EVIDENT_NO}, {"+OK\r\n", 5, EVIDENT_YES},
               {":1\r\n", 4, EVIDENT_YES}, {":0\r\n", 4, EVIDENT_NO},
               {"_\r\n", 3, EVIDENT_NO},   {"-\r\n", 3, EVIDENT_ERROR}};
enum {
    ANSWERED_NIL,
    ANSWERED_OK,
    ANSWERED_1,
    ANSWERED_0,
    ANSWERED_COUNT = sizeof answers / sizeof *answers,
    ANSWERED_ERROR = ANSWERED_COUNT - 1,
};

static uint8_t answer_of(const char *reply, size_t length)
{
    for (uint8_t i = 0; i < ANSWERED_COUNT; i++)
        if (length == answers[i].length && memcmp(reply, answers[i].reply, length) == 0)
            return i;
    return ANSWERED_ERROR;
}

static enum evident_answer meaning(const struct evident_command *command)
{
    return answers[command->answer].means;
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
                            const struct evident_command *command, struct key_look *before,
                            struct key_look *behind)
{
    char token[VALUE_TEXT_MAX];
    (void)keys_value(&watching->keys, watching->words.at[4], watching->words.lengths[4], token);
    if (meaning(command) == EVIDENT_YES) {
        before->is_there = true;
        (void)strcpy(before->value, token);
        return command->heard == DELIVERED_NOW || is_owner(watching, key, token);
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
                          const struct evident_command *command, struct key_look *before,
                          struct key_look *behind)
{
    if (meaning(command) == EVIDENT_NO) {
        *before = *behind = standing(watching, key);
        return;
    }
    key->refusals_told = 0;
    behind->is_there = true;
    behind->left_us = behind->expires_us = command->text->lease_us;
    (void)keys_value(&watching->keys, watching->words.at[2], watching->words.lengths[2],
                     behind->value);
}

/* One that was refused the lock. False: its events are to be told. */
static bool count_refusal(struct watched_run *watching, struct watched_link *link,
                          struct evident_command *command, int64_t read_us)
{
    const struct watched_key *key = &watching->keys.rows[command->row];
    if (key->is_lock && !key_may_last(key, read_us - watching->began_us))
        watching_missed(watching,
                        "a client was refused '%s' when its lease was over: something "
                        "that did not name it had made it longer",
                        key->name);
    if (!is_told_enough(key)) {
        command->done_us = watching_now_us(watching);
        return false;
    }
    watching->outcome->refusals += key->is_lock;
    holder_refused(watching, link, command->row);
    return true;
}

static void tell(struct watched_run *watching, struct watched_link *link,
                 const struct evident_command *command, int64_t read_us)
{
    const bool is_release = command->text->is_release;
    struct watched_key *key = &watching->keys.rows[command->row];
    struct key_look before = {.expires_us = INT64_MAX, .left_us = INT64_MAX}, behind = before;
    evident_words(watching, command);
    if (!is_release)
        look_at_grant(watching, key, command, &before, &behind);
    else if (!look_at_release(watching, key, command, &before, &behind))
        return;
    /* An owner that asks again is not told, and counts all the same: it may go on for long. */
    const bool is_refused = !is_release && meaning(command) == EVIDENT_NO;
    const int told = key->refusals_told + 1;
    if (meaning(command) == EVIDENT_YES)
        key->last_us = 0; /* whoever must know it to the millisecond looks */
    deduce(watching, &(struct seen_execution){.link = link,
                                              .name = command->text->name,
                                              .words = &watching->words,
                                              .key = command->row,
                                              .before = &before,
                                              .behind = &behind,
                                              .reply = answers[command->answer].reply,
                                              .reply_length = answers[command->answer].length,
                                              .heard = (enum delivery)command->heard,
                                              .is_unlike = is_release && before.is_there &&
                                                           meaning(command) == EVIDENT_NO,
                                              .began_us = command->began_us,
                                              .sent_us = command->began_us,
                                              .done_us = command->done_us,
                                              .looked_us = read_us - watching->began_us});
    if (is_refused)
        key->refusals_told = told;
}

/* Is it one that changed nothing, and need not be told? */
static bool is_nothing(struct watched_run *watching, struct watched_link *link,
                       struct evident_command *command, int64_t read_us)
{
    return meaning(command) == EVIDENT_ERROR ||
           (meaning(command) == EVIDENT_NO && !command->text->is_release &&
            count_refusal(watching, link, command, read_us));
}

static void forget(struct watched_run *watching, const struct evident_command *command)
{
    watching->keys.rows[command->row].evident--;
    evident_text_drop(command->text);
}

/* What one read of the server's completed. */
static void tell_read(struct watched_run *watching, struct completed_commands next)
{
    struct watched_link *link = next.link;
    reads_take(watching->reads);
    for (uint32_t i = 0; i < next.count; i++) {
        struct evident_command *command = evident_line_at(&link->line, link->line.told);
        if (!is_nothing(watching, link, command, next.time_us))
            tell(watching, link, command, next.time_us);
        forget(watching, command);
        link->line.told++;
    }
    if (link->is_closed && !evident_is_under_way(link))
        watched_link_free(link);
}

/* All that were executed, as far as their answers are there: the server answers at once what it has
 * read at once. What stands in line may go on. */
static void tell_all(struct watched_run *watching)
{
    const struct completed_commands *next;
    while ((next = reads_first(watching->reads)) &&
           next->link->line.answered - next->link->line.told >= next->count)
        tell_read(watching, *next);
    turns_soon(watching);
}

/* The first that has no answer. Was it the last one of those that were read with it? */
static bool answered(struct watched_link *link, uint8_t answer, enum delivery heard)
{
    struct evident_command *command = evident_line_at(&link->line, link->line.answered++);
    command->answer = answer;
    command->heard = (uint8_t)heard;
    /* Of a refusal nobody asks, most of the time. */
    if (meaning(command) != EVIDENT_NO || command->text->is_release)
        command->done_us = watching_now_us(link->watching);
    return command->ends_read;
}

/* Nobody was seen to read it. */
static void miss_read(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    const struct evident_line *line = &link->line;
    watching_missed(watching,
                    "the server answered %s, and was not seen to read it: the order in which it "
                    "executes is not known",
                    evident_line_at(line, line->answered)->text->name);
    if (line->answered == line->read)
        reads_guess(watching->reads, link);
}

void evident_heard(struct watched_link *link, const char *reply, size_t length, int64_t count)
{
    struct watched_run *watching = link->watching;
    struct evident_line *line = &link->line;
    const uint8_t answer = answer_of(reply, length);
    /* Where none is without an answer, the connection is lost. */
    for (; count && line->answered != line->sent; count--) {
        if (line->answered == line->read &&
            (!reads_look(watching->reads) || line->answered == line->read))
            miss_read(link);
        const bool ends_read = answered(link, answer, DELIVERED_NOW);
        /* It may be told later, when its client has heard the answer and closed the connection. */
        if (!link->has_peer && !evident_line_at(line, line->answered - 1)->text->is_release)
            (void)watched_link_peer(link);
        if (ends_read)
            tell_all(watching);
    }
}

/* --- whose answers are not heard --- */

/* Was it granted? */
static void settle(struct watched_link *link)
{
    struct failure failure;
    struct key_look look;
    char value[VALUE_TEXT_MAX];
    struct watched_run *watching = link->watching;
    const struct evident_command *command = evident_line_at(&link->line, link->line.answered);
    const bool is_script = command->text->is_release;
    const int at = is_script ? 4 : 2;
    evident_words(watching, command);
    (void)keys_value(&watching->keys, watching->words.at[at], watching->words.lengths[at], value);
    bool is_done = false;
    if (keys_look(&watching->keys, command->row, &look, &failure))
        watching_missed(watching, "a watched key could not be looked at: %s", failure.text);
    else
        is_done = is_script != (look.is_there && strcmp(look.value, value) == 0);
    (void)answered(link,
                   !is_done    ? ANSWERED_0
                   : is_script ? ANSWERED_1
                               : ANSWERED_OK,
                   DELIVERED_NEVER);
}

/* Those that the server has not read are dropped. */
static void drop_unread(struct watched_link *link)
{
    struct evident_line *line = &link->line;
    while (line->sent != line->read)
        forget(link->watching, evident_line_at(line, --line->sent));
}

void evident_lose(struct watched_link *link)
{
    drop_unread(link);
    while (link->line.answered != link->line.sent)
        (void)answered(link, ANSWERED_ERROR, DELIVERED_NEVER);
    tell_all(link->watching);
}

void evident_abandoned(struct watched_link *link)
{
    struct watched_run *watching = link->watching;
    watched_link_kill(link, "a command");
    (void)reads_look(watching->reads);
    drop_unread(link);
    while (link->line.answered != link->line.sent)
        settle(link);
    tell_all(watching);
}
