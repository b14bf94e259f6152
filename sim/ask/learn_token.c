/* learn_token.c - where the token of an attempt shows: see worker_asker.h. */
#include "ask/worker_asker.h"

#include "base/memory.h"
#include "live/control.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

/* The same command of four attempts: of one client twice, of another one, and later. */
enum glimpse { SEEN, SEEN_AGAIN, SEEN_OF_OTHER, SEEN_LATER, SEEN_COUNT };

struct seen_command {
    char bytes[PHRASE_MAX];
    struct wire_words words; /* count 0: the attempt has no such command */
};

/* The command of that number, from 0, of an attempt that finds no lock. */
static enum fail see(struct worker_asker *asker, struct seat *seat, int number,
                     struct seen_command *seen, struct failure *failure)
{
    struct session *session = seat->session;
    seen->words.count = 0;
    for (int s = 0; s < asker->servers; s++)
        if (control_do(session_control(session, s), failure, "FLUSHALL"))
            return failure->code;
    if (seat_reset(asker, seat, failure) || seat_ask(seat, WORKER_ACQUIRE, failure))
        return failure->code;
    struct wire_message *message = seat_waits_for(seat, ANY_SERVER);
    for (int i = 0; i < number && message; i++) {
        if (session_execute(session, message, failure) ||
            session_deliver(session, message, failure))
            return failure->code;
        message = seat_waits_for(seat, ANY_SERVER);
    }
    if (!message)
        return FAIL_NONE;
    if (message->length >= sizeof seen->bytes)
        return failure_set(failure, FAIL_UNKNOWN, "its %s is too long", message->name);
    memcpy(seen->bytes, message->bytes, message->length);
    seen->words = wire_words_read(seen->bytes, message->length);
    return seat_run_out(seat, failure);
}

static bool is_same_word(const struct seen_command *seen, enum glimpse one, int word)
{
    const struct wire_words *a = &seen[SEEN].words, *b = &seen[one].words;
    return a->lengths[word] == b->lengths[word] &&
           memcmp(a->words[word], b->words[word], a->lengths[word]) == 0;
}

static enum fail look_at_word(struct worker_asker *asker, const struct seen_command *seen,
                              int number, int word, struct failure *failure)
{
    const size_t length = seen[SEEN].words.lengths[word];
    const bool is_fixed = is_same_word(seen, SEEN_AGAIN, word);
    if (is_fixed && !is_same_word(seen, SEEN_LATER, word))
        return failure_set(
            failure, FAIL_UNKNOWN,
            "what it writes follows its clock: stamps are not decided by asking yet");
    if (is_fixed && is_same_word(seen, SEEN_OF_OTHER, word))
        return FAIL_NONE;
    if (asker->token_word)
        return failure_set(failure, FAIL_UNKNOWN,
                           "its acquire shows two tokens: that is not decided by asking yet");
    for (enum glimpse i = SEEN; i < SEEN_COUNT; i++)
        if (length > SPOKEN_TOKEN_MAX)
            return failure_set(failure, FAIL_UNKNOWN,
                               "its token has %zu bytes: one of more than %d is not followed",
                               length, SPOKEN_TOKEN_MAX);
        else if (seen[i].words.lengths[word] != length)
            return failure_set(failure, FAIL_UNKNOWN,
                               "word %d of its command %d differs in length from attempt to "
                               "attempt: no token of a shape that is known",
                               word + 1, number + 1);
    asker->token_word = word;
    asker->token_command = number;
    asker->token_words = seen[SEEN].words.count;
    asker->sample.length = length;
    memcpy(asker->sample.bytes, seen[SEEN].words.words[word], length);
    return FAIL_NONE;
}

/* *has: the attempts have such a command. */
static enum fail look_at_command(struct worker_asker *asker, struct seat *second, int number,
                                 struct seen_command *seen, bool *has, struct failure *failure)
{
    struct session *session = asker->seat.session;
    if (see(asker, &asker->seat, number, &seen[SEEN], failure) ||
        see(asker, &asker->seat, number, &seen[SEEN_AGAIN], failure) ||
        see(asker, second, number, &seen[SEEN_OF_OTHER], failure) ||
        session_set_now(session, session_now_us(session) + asker->tick_us, failure) ||
        see(asker, &asker->seat, number, &seen[SEEN_LATER], failure))
        return failure->code;
    *has = seen[SEEN].words.count > 0;
    for (enum glimpse i = SEEN; i < SEEN_COUNT; i++)
        if (seen[i].words.count != seen[SEEN].words.count)
            return failure_set(failure, FAIL_UNKNOWN,
                               "its acquire does not always begin with the same commands");
    for (int i = 1; i < seen[SEEN].words.count; i++)
        if (look_at_word(asker, seen, number, i, failure))
            return failure->code;
    return FAIL_NONE;
}

enum { COMMANDS_MAX = 8 };

enum fail worker_asker_attempt(struct worker_asker *asker, struct failure *failure)
{
    struct seen_command *seen = memory_new(1, sizeof *seen);
    const enum fail fail = see(asker, &asker->seat, COMMANDS_MAX, seen, failure);
    free(seen);
    return fail;
}

enum fail worker_asker_learn(struct worker_asker *asker, struct failure *failure)
{
    struct seen_command *seen = memory_new(SEEN_COUNT, sizeof *seen);
    struct seat second = {.session = asker->seat.session, .client = 1, .is_new = true};
    enum fail fail = FAIL_NONE;
    bool has = true;
    for (int i = 0; i < COMMANDS_MAX && has && !asker->token_word && !fail; i++) {
        fail = look_at_command(asker, &second, i, seen, &has, failure);
        if (!fail && !has && i == 0)
            fail =
                failure_set(failure, FAIL_UNKNOWN,
                            "its acquire sends no command at once: one that waits first, or asks "
                            "nobody, is not decided by asking");
    }
    if (!fail)
        fail = worker_asker_draw(asker, &second, failure);
    /* Histories begin behind a reset. */
    if (!fail)
        fail = seat_reset(asker, &asker->seat, failure);
    free(seen);
    return fail;
}

/* --- further tries --- */

/* In the search each token is another one: no two clients may draw the same. */
static enum fail note_drawn(struct worker_asker *asker, const struct seat *seat,
                            struct failure *failure)
{
    struct drawn_token {
        struct spoken_token token;
        int client;
    } drawn;
    for (int i = 0; i < SESSION_CLIENTS_MAX; i++) {
        memset(&drawn, 0, sizeof drawn);
        memcpy(drawn.token.bytes, seat->own.bytes, seat->own.length);
        drawn.token.length = seat->own.length;
        drawn.client = i;
        if (i != seat->client && intern_find(&asker->drawn, &drawn, sizeof drawn) != UNKNOWN_ID)
            return failure_set(failure, FAIL_UNKNOWN,
                               "two clients draw the same token for a further try. Either can "
                               "release the other's lock, and by asking tokens differ; --search "
                               "random runs it");
    }
    drawn.client = seat->client;
    (void)intern_put(&asker->drawn, &drawn, sizeof drawn);
    return FAIL_NONE;
}

enum fail seat_take_further_token(struct worker_asker *asker, struct seat *seat,
                                  const struct wire_message *message, uint8_t *draws,
                                  struct failure *failure)
{
    const struct spoken_token none = {.length = 0};
    struct spoken_token drawn = {.length = seat->own.length};
    const struct wire_words words = wire_words_read(message->bytes, message->length);
    const int at = asker->token_word;
    uint32_t phrase;
    unsigned whose;
    if (!seat->token_phrase || words.count != asker->token_words ||
        words.lengths[at] != drawn.length ||
        memcmp(words.words[at], seat->own.bytes, drawn.length) == 0)
        return FAIL_NONE;
    memcpy(drawn.bytes, words.words[at], drawn.length);
    if (phrase_put(asker->book, message->bytes, message->length, &drawn, &none, &phrase, &whose,
                   failure))
        return failure->code;
    if (phrase != seat->token_phrase)
        return FAIL_NONE;
    seat->earlier = seat->own;
    seat->own = drawn;
    *draws = 1;
    return note_drawn(asker, seat, failure);
}
