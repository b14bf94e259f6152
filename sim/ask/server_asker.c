/* server_asker.c - see server_asker.h. */
#include "ask/server_asker.h"

#include "ask/asked_commands.h"
#include "ask/key_form.h"
#include "base/memory.h"
#include "live/control.h"
#include "live/servers.h"
#include "worker/look.h"
#include "worker/wire_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void server_asker_init(struct server_asker *asker, struct phrasebook *book, const char *key,
                       int64_t tick_us)
{
    *asker = (struct server_asker){.book = book, .tick_us = tick_us};
    intern_init(&asker->questions);
    intern_init(&asker->forms);
    intern_init(&asker->others);
    (void)snprintf(asker->told, sizeof asker->told, "%s", key);
    (void)snprintf(asker->key, sizeof asker->key, "%s", key);
}

enum fail server_asker_open(struct server_asker *asker, struct session *session, const char *host,
                            int port, struct failure *failure)
{
    asker->session = session;
    asker->control = session_control(session, 0);
    asker->watch.servers = session_servers(session);
    const enum fail fail = server_wire_open(&asker->wire, host, port, failure);
    servers_note_context(asker->watch.servers, asker->wire.context);
    if (fail)
        return fail;
    if (asker->noted.code)
        return failure_set(failure, asker->noted.code, "%s", asker->noted.text);
    asker->scripts_first = asker->scripts_count;
    for (int i = 0; i < asker->scripts_count; i++)
        if (scripts_load(asker, i, failure))
            return failure->code;
    return FAIL_NONE;
}

void server_asker_close(struct server_asker *asker)
{
    server_wire_close(&asker->wire);
    key_watch_forget(&asker->watch);
    intern_close(&asker->questions);
    intern_close(&asker->forms);
    intern_close(&asker->others);
    for (int i = 0; i < asker->scripts_count; i++)
        free(asker->scripts[i]);
    free(asker->answers);
}

/* --- the keys as they are in the question --- */

/* The form that a lock key has which is no string, or of what is nobody's token. */
static void fill_form(const struct server_asker *asker, const struct kept *kept,
                      struct key_form *form)
{
    static const unsigned whose[] = {[KEPT_OWN] = WHOSE_OWN, [KEPT_OTHER] = WHOSE_OTHER};
    form->left = kept->left;
    form->whose = kept->value == KEPT_LITERAL ? WHOSE_NONE : whose[kept->value];
    form->used = intern_get(&asker->forms, kept->form - 1, form->bytes);
}

static enum fail put_value(struct server_asker *asker, const struct kept *kept,
                           struct failure *failure)
{
    struct key_form form;
    if (kept->value == KEPT_ABSENT)
        return FAIL_NONE;
    fill_form(asker, kept, &form);
    return key_form_put(asker, asker->key, &form, failure);
}

static enum fail set_stage(struct server_asker *asker, const struct kept *kept,
                           struct failure *failure)
{
    if (control_do(asker->control, failure, "FLUSHALL") ||
        control_do(asker->control, failure, "SCRIPT FLUSH"))
        return failure->code;
    for (int i = 0; i < asker->scripts_count; i++)
        if (kept->scripts >> i & 1 && scripts_load(asker, i, failure))
            return failure->code;
    if (kept->beside && keys_beside_put(asker, kept->beside, failure))
        return failure->code;
    return put_value(asker, kept, failure);
}

/* --- the command --- */

enum command_kind server_command_kind(const struct server_asker *asker, uint32_t command)
{
    size_t length;
    char *bytes = phrase_say(asker->book, command, &asker->own, &asker->other, &length);
    const struct wire_words words = wire_words_read(bytes, length);
    const enum command_kind kind = wire_words_is(&words, 0, "WATCH")     ? COMMAND_WATCH
                                   : wire_words_is(&words, 0, "UNWATCH") ? COMMAND_UNWATCH
                                   : wire_words_is(&words, 0, "MULTI")   ? COMMAND_TRANSACTION
                                                                         : COMMAND_ORDINARY;
    free(bytes);
    return kind;
}

static enum fail check_command(const struct server_asker *asker, const struct wire_words *words,
                               struct failure *failure)
{
    if (asked_commands_check(words, failure))
        return failure->code;
    if (wire_words_is(words, 0, "WATCH") &&
        (words->count != 2 || !wire_words_is(words, 1, asker->key)))
        return failure_set(failure, FAIL_UNKNOWN,
                           "it watches something else than the lock: that is not decided by "
                           "asking yet");
    return FAIL_NONE;
}

/* The last one: of a transaction that of its EXEC. */
static enum fail take_reply(struct server_asker *asker, int replies, struct exchange_seen exchange,
                            struct server_told *told, struct failure *failure)
{
    struct spoken_reply spoken;
    unsigned whose;
    if (server_wire_hear(&asker->wire, replies, &spoken, failure))
        return failure->code;
    if (phrase_put(asker->book, spoken.bytes, spoken.used, &asker->own, &asker->other, &told->reply,
                   &whose, failure))
        return failure->code;
    if (whose == (WHOSE_OWN | WHOSE_OTHER))
        return failure_set(failure, FAIL_UNKNOWN, "a reply with the tokens of two");
    told->whose = whose;
    const struct reply seen = look_reply(spoken.bytes, spoken.used);
    exchange.reply = spoken.bytes;
    exchange.reply_length = spoken.used;
    const bool is_no = look_refuses(&exchange, asker->key);
    told->kind = seen.kind == REPLY_ERROR ? REPLY_ERROR : is_no ? REPLY_NIL : REPLY_OK;
    told->error = seen.kind == REPLY_ERROR ? seen.error : ERROR_NONE;
    return FAIL_NONE;
}

static enum fail give_command(struct server_asker *asker, uint32_t command,
                              struct server_told *told, struct failure *failure)
{
    size_t length;
    char *bytes = phrase_say(asker->book, command, &asker->own, &asker->other, &length);
    const struct wire_words words = wire_words_read(bytes, length);
    const struct exchange_seen exchange = {.request = bytes, .request_length = length};
    enum fail fail = check_command(asker, &words, failure);
    if (!fail && (server_wire_speak(&asker->wire, session_protocol(asker->session), failure) ||
                  server_wire_say(&asker->wire, bytes, length, failure) ||
                  take_reply(asker, words.requests, exchange, told, failure) ||
                  scripts_note(asker, &words, failure)))
        fail = failure->code;
    free(bytes);
    return fail;
}

/* --- the keys behind it --- */

static enum fail learn_key(struct server_asker *asker, const redisReply *names,
                           struct failure *failure)
{
    struct lock_key key = {.is_known = asker->knows_key};
    (void)snprintf(key.name, sizeof key.name, "%s", asker->key);
    const enum fail fail = look_choose_key(asker->control, names, asker->told, &key, failure);
    (void)snprintf(asker->key, sizeof asker->key, "%s", key.name);
    asker->knows_key = key.is_known;
    return fail;
}

enum fail server_asker_learn_key(struct server_asker *asker, struct failure *failure)
{
    redisReply *all = control_ask(asker->control, failure, "KEYS *");
    if (!all)
        return failure->code;
    const enum fail fail = learn_key(asker, all, failure);
    freeReplyObject(all);
    return fail;
}

static enum fail look_at_keys(struct server_asker *asker, bool *is_there, uint32_t *beside,
                              struct failure *failure)
{
    redisReply *all = control_ask(asker->control, failure, "KEYS *");
    if (!all)
        return failure->code;
    *is_there = false;
    enum fail fail = learn_key(asker, all, failure);
    for (size_t i = 0; i < all->elements; i++)
        *is_there |= strcmp(all->element[i]->str, asker->key) == 0;
    if (!fail)
        fail = keys_beside_take(asker, all, beside, failure);
    freeReplyObject(all);
    return fail;
}

static enum fail take_value(struct server_asker *asker, struct kept *kept, uint32_t *left_ms,
                            struct failure *failure)
{
    struct key_form form;
    struct failure why = {0};
    if (key_form_take(asker, asker->key, &form, &why))
        return failure_set(failure, why.code,
                           why.code == FAIL_UNKNOWN
                               ? "its lock's key %s: that is not decided by asking yet"
                               : "%s",
                           why.text);
    kept->left = form.left;
    *left_ms = form.left_ms;
    kept->form = intern_put(&asker->forms, form.bytes, form.used) + 1;
    kept->value = form.whose == WHOSE_OWN     ? KEPT_OWN
                  : form.whose == WHOSE_OTHER ? KEPT_OTHER
                                              : KEPT_LITERAL;
    if (kept->form > FORMS_MAX)
        return failure_set(failure, FAIL_UNKNOWN,
                           "its lock's key has more than %d contents that differ in more than "
                           "whose it is: that is not decided by asking yet",
                           FORMS_MAX);
    return FAIL_NONE;
}

static enum fail take_keys(struct server_asker *asker, struct server_told *told,
                           struct failure *failure)
{
    struct kept *kept = &told->kept;
    bool is_there = false;
    *kept = (struct kept){.left = NO_TICKS};
    if (look_at_keys(asker, &is_there, &kept->beside, failure))
        return failure->code;
    if (is_there && take_value(asker, kept, &told->left_ms, failure))
        return failure->code;
    return scripts_take(asker, &kept->scripts, failure);
}

/* --- asking --- */

/* Something of ours that has no answer but OK. */
static enum fail ask_plainly(struct server_asker *asker, const char *line, struct failure *failure)
{
    struct spoken_reply spoken;
    if (server_wire_say(&asker->wire, line, strlen(line), failure) ||
        server_wire_hear(&asker->wire, 1, &spoken, failure))
        return failure->code;
    return FAIL_NONE;
}

/* The connection watches the key, which is as the question says, and may have been written since.
 */
static enum fail set_watch(struct server_asker *asker, const struct server_question *question,
                           struct failure *failure)
{
    char watch[LOOK_KEY_MAX + 16];
    if (question->watching == WATCHING_NOTHING)
        return FAIL_NONE;
    (void)snprintf(watch, sizeof watch, "WATCH %s\r\n", asker->key);
    if (ask_plainly(asker, watch, failure))
        return failure->code;
    if (question->watching == WATCHING_KEY)
        return FAIL_NONE;
    if (control_do(asker->control, failure, "SET %s changed", asker->key) ||
        control_do(asker->control, failure, "DEL %s", asker->key))
        return failure->code;
    return put_value(asker, &question->kept, failure);
}

/* The command, to keys as they are; what its connection watches is let go behind it, whatever came
 * of it. */
static enum fail put_command(struct server_asker *asker, const struct server_question *question,
                             const struct lock_key *key, struct key_state *state,
                             struct server_told *told, struct failure *failure)
{
    struct failure past;
    enum fail fail = set_watch(asker, question, failure);
    if (!fail)
        fail = key_watch_before(&asker->watch, asker->control, key, 0, state, failure);
    if (!fail)
        fail = asked_commands_begin(asker->control, failure);
    if (!fail)
        fail = give_command(asker, question->command, told, failure);
    if (!fail)
        fail = asked_commands_end(asker->control, failure);
    if (ask_plainly(asker, "UNWATCH\r\n", &past) && !fail) {
        *failure = past;
        fail = past.code;
    }
    return fail;
}

enum fail server_put_question(struct server_asker *asker, const struct server_question *question,
                              struct server_told *told, struct failure *failure)
{
    struct lock_key key = {.is_known = asker->knows_key};
    struct key_state state;
    unsigned writes;
    *told = (struct server_told){.reply = 0};
    (void)snprintf(key.name, sizeof key.name, "%s", asker->key);
    asker->watch.is_known = false;
    if (set_stage(asker, &question->kept, failure) ||
        put_command(asker, question, &key, &state, told, failure) ||
        take_keys(asker, told, failure))
        return failure->code;
    (void)snprintf(key.name, sizeof key.name, "%s", asker->key);
    if (key_watch_behind(&asker->watch, asker->control, &key, 0, &state, &writes, failure))
        return failure->code;
    told->writes = writes;
    return FAIL_NONE;
}

enum fail server_ask(struct server_asker *asker, const struct server_question *question,
                     struct server_told *told, struct failure *failure)
{
    const uint32_t known = intern_find(&asker->questions, question, sizeof *question);
    if (known != UNKNOWN_ID) {
        *told = asker->answers[known];
        return FAIL_NONE;
    }
    asker->asked++;
    if (server_put_question(asker, question, told, failure) ||
        token_pairs_ask(asker, question, told, failure))
        return failure->code; /* and it is none that was answered */
    const uint32_t number = intern_put(&asker->questions, question, sizeof *question);
    asker->answers = memory_resize(asker->answers, number + 1, sizeof *asker->answers);
    asker->answers[number] = *told;
    return FAIL_NONE;
}

bool server_told_is_same(const struct server_told *one, const struct server_told *two)
{
    return one->reply == two->reply && one->kept.value == two->kept.value &&
           one->kept.form == two->kept.form && one->kept.left == two->kept.left &&
           one->kept.scripts == two->kept.scripts && one->kept.beside == two->kept.beside &&
           one->writes == two->writes;
}

enum fail server_ask_again(struct server_asker *asker, uint32_t number, struct failure *failure)
{
    struct server_question question;
    struct server_told told;
    const struct server_told *before = &asker->answers[number];
    intern_get(&asker->questions, number, &question);
    if (server_put_question(asker, &question, &told, failure))
        return failure->code;
    asker->audited++;
    if (server_told_is_same(&told, before))
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "the server gave two answers to one question: what it does depends on more "
                       "than its keys");
}
