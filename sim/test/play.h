/* play.h - plays moments to one scheme and writes down, as a text, what it asks for.
 *
 * A pure driver: no world, no server. Included by the tests of schemes, behind cmocka.h. */
#ifndef PICKLOCK_TEST_PLAY_H
#define PICKLOCK_TEST_PLAY_H

#include "schemes/scheme.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN = 7, OTHER = 8, SECOND = 1000000, MILLISECOND = 1000 };

/* Own clock at the start: a whole second and a bit, so that rounding down is seen. */
#define EPOCH (INT64_C(100) * SECOND + 900 * MILLISECOND)

static const char *const words[] = {
    [ASK_GRANTED] = "granted",   [ASK_REFUSED] = "refused",         [ASK_FAILED] = "failed",
    [ASK_RELEASED] = "released", [ASK_NOT_MINE] = "not mine",       [ASK_LOST] = "lost",
    [ASK_CRASHED] = "crashed",   [ASK_UNSUPPORTED] = "unsupported",
};

struct play {
    const struct scheme *scheme;
    struct lease lease;
    int64_t state[SCHEME_FIELDS_MAX];
    int64_t now_us;
    enum verb sent; /* the newest command on LANE_MAIN */
    char text[1024];
};

static inline struct play play_of(const char *name, int64_t lease_us)
{
    struct play play = {.scheme = scheme_named(name), .now_us = EPOCH};
    assert_non_null(play.scheme);
    play.lease = (struct lease){.ttl_us = scheme_lease_us(play.scheme, lease_us),
                                .unit_us = play.scheme->unit_us,
                                .token = TOKEN,
                                .servers = 1,
                                .server_kind = SERVER_REDIS};
    return play;
}

static inline void play_add(struct play *play, const char *text)
{
    size_t used = strlen(play->text);
    assert_true(used + strlen(text) + 3 < sizeof play->text);
    snprintf(play->text + used, sizeof play->text - used, "%s%s", used ? "; " : "", text);
}

static inline void play_command(struct play *play, const struct ask *ask)
{
    char text[256];
    int used = snprintf(text, sizeof text, "%s%s", ask->lane == LANE_RENEW ? "renew " : "",
                        verb_id(ask->command.verb));
    if (ask->server > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, "@%d", ask->server);
    if (ask->command.key == KEY_FENCE)
        used += snprintf(text + used, sizeof text - (size_t)used, " fence");
    if (ask->command.value != 0)
        used += snprintf(text + used, sizeof text - (size_t)used, " %" PRId64, ask->command.value);
    if (ask->command.ttl_us != 0)
        snprintf(text + used, sizeof text - (size_t)used, " %" PRId64 "ms",
                 ask->command.ttl_us / MILLISECOND);
    if (ask->lane == LANE_MAIN)
        play->sent = ask->command.verb;
    play_add(play, text);
}

/* One moment; returns what was asked for, as text. */
static inline const char *play_step(struct play *play, struct moment moment)
{
    struct outbox out = {0};
    char text[64];
    moment.now_us = play->now_us;
    play->text[0] = '\0';
    play->scheme->step(play->state, &play->lease, &moment, &out);
    for (int i = 0; i < out.count; i++) {
        const struct ask *ask = &out.asks[i];
        if (ask->kind == ASK_SEND) {
            play_command(play, ask);
        } else if (ask->kind == ASK_SLEEP && ask->sleep_us == SLEEP_NEVER) {
            play_add(play, "timer off");
        } else if (ask->kind == ASK_SLEEP) {
            snprintf(text, sizeof text, "timer %" PRId64 "ms", ask->sleep_us / MILLISECOND);
            play_add(play, text);
        } else if (ask->kind == ASK_GRANTED && ask->fence != 0) {
            snprintf(text, sizeof text, "granted %" PRId64, ask->fence);
            play_add(play, text);
        } else {
            play_add(play, words[ask->kind]);
        }
    }
    return play->text;
}

static inline struct moment at_once(enum moment_kind kind)
{
    return (struct moment){.kind = kind};
}

static inline struct moment answer(enum verb verb, enum reply_kind kind, int64_t value)
{
    return (struct moment){
        .kind = MOMENT_REPLY, .verb = verb, .reply = {.kind = kind, .value = value}};
}

static inline struct moment refusal(enum verb verb, enum reply_error error)
{
    return (struct moment){
        .kind = MOMENT_REPLY, .verb = verb, .reply = {.kind = REPLY_ERROR, .error = error}};
}

static inline struct moment no_answer(enum moment_kind kind, enum verb verb)
{
    return (struct moment){.kind = kind, .verb = verb};
}

static inline struct moment from(int server, struct moment moment)
{
    moment.server = server;
    return moment;
}

/* The scheme's asks after a moment are exactly this text. */
#define EXPECT(play, moment, text) assert_string_equal(play_step((play), (moment)), (text))

#define START(play, text)      EXPECT(play, at_once(MOMENT_START), text)
#define RELEASE(play, text)    EXPECT(play, at_once(MOMENT_RELEASE), text)
#define WAKE(play, text)       EXPECT(play, at_once(MOMENT_WAKE), text)
#define OK(play, text)         EXPECT(play, answer((play)->sent, REPLY_OK, 0), text)
#define NIL(play, text)        EXPECT(play, answer((play)->sent, REPLY_NIL, 0), text)
#define NUMBER(play, n, text)  EXPECT(play, answer((play)->sent, REPLY_INTEGER, n), text)
#define VALUE(play, n, text)   EXPECT(play, answer((play)->sent, REPLY_VALUE, n), text)
#define ERROR(play, e, text)   EXPECT(play, refusal((play)->sent, e), text)
#define TIMEOUT(play, text)    EXPECT(play, no_answer(MOMENT_TIMEOUT, (play)->sent), text)
#define LOST(play, text)       EXPECT(play, no_answer(MOMENT_LOST, (play)->sent), text)
#define RENEWED(play, n, text) EXPECT(play, answer(VERB_COMPARE_EXPIRE, REPLY_INTEGER, n), text)

/* Whatever comes after the end changes nothing. */
static inline void is_over(struct play *play)
{
    WAKE(play, "");
    OK(play, "");
}

#endif
