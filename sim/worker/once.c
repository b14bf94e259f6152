/* once.c - see once.h. */
#include "worker/once.h"

#include "base/units.h"
#include "live/control.h"
#include "worker/look.h"
#include "worker/session.h"
#include "worker/wire_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEY "lock"

#define ONE_ATTEMPT "wait_ms is 0: one attempt, then answer false"

enum { CLIENTS = 2, TIME_STEPS_MAX = 1000, LINE_MAX_BYTES = 1000 };
enum { EXPIRY_GRANULE_US = 1000000 }; /* of EX, the coarser one */

struct once {
    const struct once_options *options;
    struct session *session;
    uint64_t monotonic_reads[CLIENTS], wall_reads[CLIENTS]; /* told so far */
    int64_t fence;                                          /* the largest */
    bool has_fence;
    int64_t until_us[CLIENTS];  /* it has the lock at least until then; 0: it has not */
    bool has_noticed[CLIENTS];  /* since it was last asked for something */
    struct failure notice;      /* the first notice that is not so */
    char value[VALUE_TEXT_MAX]; /* of the lock's key behind the grant of A; "": not there */
};

static const char names[CLIENTS][NAME_MAX_BYTES] = {"A", "B"};

static void __attribute__((format(printf, 3, 4)))
say(const struct once *once, const char *who, const char *format, ...)
{
    char words[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(words, sizeof words, format, values);
    va_end(values);
    const int64_t now_us = once->session ? session_now_us(once->session) : 0;
    (void)snprintf(line, sizeof line, "%9.1f  %-2s %s", (double)now_us / 1000, who, words);
    once->options->line(once->options->context, line);
}

static void tell(const struct once *once, const char *line)
{
    once->options->line(once->options->context, line);
}

/* --- what happens --- */

static const char *times(uint64_t count, char text[32])
{
    if (count == 1)
        return "once";
    (void)snprintf(text, 32, "%" PRIu64 " times", count);
    return text;
}

/* The reads of its clocks since they were last told. */
static void tell_clocks(struct once *once, int client)
{
    const struct time_counts *counts = session_counts(once->session, client);
    const uint64_t monotonic = counts->monotonic_reads - once->monotonic_reads[client];
    const uint64_t wall = counts->wall_reads - once->wall_reads[client];
    char first[32], second[32];
    once->monotonic_reads[client] += monotonic;
    once->wall_reads[client] += wall;
    if (monotonic && wall)
        say(once, names[client], "reads its clocks: monotonic %s, wall %s", times(monotonic, first),
            times(wall, second));
    else if (monotonic || wall)
        say(once, names[client], "reads its %s clock %s", monotonic ? "monotonic" : "wall",
            times(monotonic + wall, first));
}

static void on_sent(void *context, const struct wire_message *message)
{
    const struct once *once = context;
    const struct once_options *options = once->options;
    char text[700];
    wire_request_print(message->bytes, message->length, text, sizeof text);
    say(once, names[message->client], "sends to server %d: %s", message->server + 1, text);
    if (options->sent && once->session)
        options->sent(options->context, message->client, session_now_us(once->session), text);
}

static void on_executed(void *context, const struct wire_message *message)
{
    const struct once *once = context;
    char text[700], name[100];
    session_name_message(names, message, name, sizeof name);
    say(once, "", "%s is executed: %s", name,
        wire_reply_print(message->reply, message->reply_length, text, sizeof text));
}

static void on_delivered(void *context, const struct wire_message *message)
{
    const struct once *once = context;
    say(once, names[message->client], "hears the reply to %s", message->name);
}

static void on_passed(void *context, int client, int server, const char *name, const char *why)
{
    say(context, names[client], "says %s to server %d (%s)", name, server + 1, why);
}

static void on_printed(void *context, int client, const char *line)
{
    say(context, names[client], "prints: %s", line);
}

static void on_noticed(void *context, int client)
{
    struct once *once = context;
    const int64_t now_us = once->session ? session_now_us(once->session) : 0; /* it begins */
    say(once, names[client], "says that its lock is lost");
    once->has_noticed[client] = true;
    if (now_us < once->until_us[client] && !once->notice.code)
        (void)failure_set(&once->notice, FAIL_EXPECTATION,
                          "worker %s said at %.1f ms that its lock is lost, but it has it: its "
                          "lease does not end before %.1f ms, and nobody else had it",
                          names[client], (double)now_us / 1000,
                          (double)once->until_us[client] / 1000);
}

/* --- an operation, to its end --- */

static enum fail stuck(const struct once *once, int client, const char *op, const char *why,
                       struct failure *failure)
{
    say(once, names[client], "is stuck");
    return failure_set(failure, FAIL_EXPECTATION, "worker %s is stuck: it was asked to %s, and %s",
                       names[client], op, why);
}

/* The oldest that can move; those whose connection has ended are over. */
static struct wire_message *next_message(struct session *session)
{
    struct wire_message *message = session_messages(session);
    while (message && (message->is_gone || message->transit == TRANSIT_WAITING)) {
        struct wire_message *next = message->next;
        if (message->is_gone)
            session_forget(session, message);
        message = next;
    }
    return message;
}

/* One thing more happens: a message moves, or time passes to the next timer. */
static enum fail one_step(struct once *once, int client, const char *op, int *time_steps,
                          struct failure *failure)
{
    struct session *session = once->session;
    struct wire_message *message = next_message(session);
    if (message && message->transit == TRANSIT_REQUEST) {
        if (session_execute(session, message, failure))
            return failure->code;
        if (message->transit == TRANSIT_WAITING)
            say(once, "", "%s waits at server %d", message->name, message->server + 1);
        return session_serve_all(session, failure);
    }
    if (message)
        return session_deliver(session, message, failure);
    const int64_t next_us = session_next_us(session, -1), now_us = session_now_us(session);
    if (next_us == TIME_NEVER)
        return stuck(once, client, op,
                     "waits for what will never come: no message is on its way, no timer runs",
                     failure);
    if (++*time_steps > TIME_STEPS_MAX)
        return stuck(once, client, op,
                     strcmp(op, worker_op_name(WORKER_ACQUIRE))
                         ? "has not answered after 1000 of its timers"
                         : "has not answered after 1000 of its timers. " ONE_ATTEMPT,
                     failure);
    enum fail fail = session_set_now(session, next_us, failure);
    if (!fail)
        fail = session_serve_all(session, failure);
    say(once, "", "time passes: %.1f ms", (double)(next_us - now_us) / 1000);
    return fail;
}

static void tell_answer(const struct once *once, int client, const struct worker_answer *answer)
{
    if (answer->kind == ANSWER_ERROR)
        say(once, names[client], "answers error: %s", answer->error);
    else if (answer->has_fence)
        say(once, names[client], "answers ok: %s, fence %" PRId64,
            answer->kind == ANSWER_OK ? "true" : "false", answer->fence);
    else
        say(once, names[client], "answers ok: %s", answer->kind == ANSWER_OK ? "true" : "false");
}

static bool is_stopped(const struct once *once)
{
    return once->options->stop && *once->options->stop;
}

/* Has it the lock from now on, and until when? It counts from when it was asked. */
static void note_lease(struct once *once, int client, enum worker_op op, int64_t asked_us)
{
    const bool is_ok = session_answer(once->session, client)->kind == ANSWER_OK;
    if (is_ok && (op == WORKER_ACQUIRE || op == WORKER_EXTEND))
        once->until_us[client] = asked_us + once->options->lease_us;
    if (is_ok && op == WORKER_ACQUIRE && once->has_noticed[client] && !once->notice.code)
        (void)failure_set(&once->notice, FAIL_EXPECTATION,
                          "worker %s was granted the lock, and said that it is lost, though its "
                          "lease had just begun",
                          names[client]);
}

static enum fail perform(struct once *once, int client, enum worker_op op, struct failure *failure)
{
    const char *name = worker_op_name(op);
    const int64_t asked_us = session_now_us(once->session);
    int time_steps = 0;
    once->has_noticed[client] = false;
    if (op == WORKER_RELEASE)
        once->until_us[client] = 0;
    tell(once, "");
    say(once, names[client], "is asked to %s", name);
    enum fail fail = session_ask(once->session, client, (struct worker_request){.op = op}, failure);
    tell_clocks(once, client);
    /* What it does behind its answer is a part of it. */
    while (!fail && (session_is_asked(once->session, client) || next_message(once->session))) {
        fail = is_stopped(once) ? FAIL_UNKNOWN : one_step(once, client, name, &time_steps, failure);
        for (int i = 0; i < CLIENTS; i++)
            tell_clocks(once, i);
    }
    if (is_stopped(once))
        return failure_set(failure, FAIL_UNKNOWN,
                           "interrupted while worker %s was asked to %s: nothing can be said of "
                           "the hand-over but what stands above",
                           names[client], name);
    if (fail)
        return fail;
    tell_answer(once, client, session_answer(once->session, client));
    note_lease(once, client, op, asked_us);
    return once->notice.code ? failure_set(failure, once->notice.code, "%s", once->notice.text)
                             : FAIL_NONE;
}

/* --- the hand-over --- */

static enum fail check_fence(struct once *once, int client, struct failure *failure)
{
    const struct worker_answer *answer = session_answer(once->session, client);
    if (!(session_promises(once->session) & 1u << WORKER_PROMISES_FENCE))
        return FAIL_NONE;
    if (!answer->has_fence)
        return failure_set(failure, FAIL_EXPECTATION,
                           "worker %s promises \"fence\", and was granted the lock without one",
                           names[client]);
    if (once->has_fence && answer->fence <= once->fence)
        return failure_set(failure, FAIL_EXPECTATION,
                           "worker %s got fence %" PRId64 ", and the grant before had %" PRId64
                           ": they must grow",
                           names[client], answer->fence, once->fence);
    once->fence = answer->fence;
    once->has_fence = true;
    return FAIL_NONE;
}

static enum fail look_at_server(const struct once *once, int server, struct lock_key *key,
                                struct key_state *state, struct failure *failure)
{
    redisContext *control = session_control(once->session, server);
    const int database = session_database(once->session);
    if ((database && control_do(control, failure, "SELECT %d", database)) ||
        look_for_key(control, KEY, key, failure))
        return failure->code;
    return look_at(control, key, state, failure);
}

/* Nothing is said of it where nobody can look. */
static bool is_key_there(const struct once *once)
{
    struct failure unread = {0};
    struct lock_key key = {.name = KEY};
    struct key_state state;
    return !look_at_server(once, 0, &key, &state, &unread) && state.is_there;
}

static enum fail step(struct once *once, int client, enum worker_op op, bool is_refused,
                      const char *why, struct failure *failure)
{
    const bool may_make = op == WORKER_ACQUIRE && !is_refused && !is_key_there(once);
    if (perform(once, client, op, failure))
        return failure->code;
    const struct worker_answer *answer = session_answer(once->session, client);
    if (answer->kind == ANSWER_ERROR)
        return failure_set(failure, FAIL_EXPECTATION,
                           "worker %s was asked to %s, and answered with an error: %s",
                           names[client], worker_op_name(op), answer->error);
    const int64_t held_us = once->until_us[!client];
    if (is_refused && answer->kind == ANSWER_OK && held_us <= session_now_us(once->session))
        return failure_set(
            failure, FAIL_EXPECTATION,
            "worker %s was asked to %s, and got the lock behind the lease of %s, "
            "which had ended at %.1f ms: an attempt took longer than a lease. " ONE_ATTEMPT,
            names[client], worker_op_name(op), names[!client], (double)held_us / 1000);
    if (may_make && answer->kind == ANSWER_NOT_OK && is_key_there(once))
        return failure_set(
            failure, FAIL_EXPECTATION,
            "worker %s was asked to %s, and answered ok: false, but %s, and what it sent has made "
            "the key: does it return nothing (None, undefined), which is false, or go on without "
            "its library's answer (a missing await)?",
            names[client], worker_op_name(op), why);
    if ((answer->kind == ANSWER_NOT_OK) != is_refused)
        return failure_set(failure, FAIL_EXPECTATION,
                           "worker %s was asked to %s, and answered ok: %s, but %s", names[client],
                           worker_op_name(op), is_refused ? "true" : "false", why);
    return op == WORKER_ACQUIRE && !is_refused ? check_fence(once, client, failure) : FAIL_NONE;
}

/* The lock's key behind the grant of A: does it live for as long as the lease that A was told? It
 * may have lived for as long as the acquire took. */
static void compare_expiry(const struct once *once, const struct key_state *state,
                           int64_t acquire_us)
{
    const int64_t lease_us = once->options->lease_us, left_us = state->ttl_us;
    struct failure *odd = once->options->odd_key;
    const bool is_promised = session_promises(once->session) & 1u << WORKER_PROMISES_EXPIRY;
    char lasts[UNITS_TEXT_MAX], wanted[UNITS_TEXT_MAX];
    if (!odd || odd->code || !state->is_there)
        return;
    (void)units_print_rounded(lease_us, wanted);
    if (left_us == TIME_NEVER && is_promised)
        (void)failure_set(
            odd, FAIL_EXPECTATION,
            "the key never expires, ttl_ms is %s, and the worker promises \"expiry\": "
            "let the key expire with the lease that the worker is told",
            wanted);
    if (left_us == TIME_NEVER || (left_us <= lease_us + EXPIRY_GRANULE_US &&
                                  left_us + acquire_us >= lease_us - EXPIRY_GRANULE_US))
        return;
    (void)failure_set(
        odd, FAIL_EXPECTATION,
        "the key lasts %s, ttl_ms is %s: let it expire with the lease that the worker "
        "is told, in its unit (PX counts milliseconds, EX seconds)",
        units_print_rounded(left_us, lasts), wanted);
}

/* The same key behind the grant of B: does it say that another attempt wrote it? */
static void compare_value(struct once *once, const struct key_state *state)
{
    struct failure *odd = once->options->odd_key;
    if (!(session_promises(once->session) & 1u << WORKER_PROMISES_TOKEN) || !odd || odd->code ||
        !state->is_there || strcmp(once->value, state->value) != 0)
        return;
    (void)failure_set(odd, FAIL_EXPECTATION,
                      "the key has the value '%.60s' behind the grant of A and behind that of B, "
                      "and the worker promises \"token\": write another one at each acquire, such "
                      "as a random one, or leave the promise out",
                      state->value);
}

/* Whoever keeps the lock under another name is not looked at any further. */
static enum fail check_key(struct once *once, struct failure *failure)
{
    struct lock_key key = {.name = KEY};
    struct key_state state;
    for (int i = 0; i < once->options->servers; i++) {
        if (look_at_server(once, i, &key, &state, failure))
            return failure->code;
        compare_expiry(once, &state, session_now_us(once->session));
        if (i == 0 && state.is_there)
            (void)snprintf(once->value, sizeof once->value, "%s", state.value);
    }
    return look_check_grant(&key, KEY, failure)
               ? failure_wrap(failure, "worker A was granted the lock")
               : FAIL_NONE;
}

static enum fail check_key_again(struct once *once, struct failure *failure)
{
    struct lock_key key = {.name = KEY};
    struct key_state state;
    if (look_at_server(once, 0, &key, &state, failure))
        return failure->code;
    compare_value(once, &state);
    return FAIL_NONE;
}

static enum fail hand_over(struct once *once, struct failure *failure)
{
    const bool extends = session_promises(once->session) & 1u << WORKER_PROMISES_EXTENDS;
    if (step(once, 0, WORKER_ACQUIRE, false, "nobody holds the lock", failure) ||
        check_key(once, failure) ||
        step(once, 1, WORKER_ACQUIRE, true, "A holds the lock", failure) ||
        (extends && step(once, 0, WORKER_EXTEND, false, "A holds the lock", failure)) ||
        step(once, 0, WORKER_RELEASE, false, "A holds the lock", failure) ||
        step(once, 1, WORKER_ACQUIRE, false, "A has released the lock", failure) ||
        check_key_again(once, failure) ||
        step(once, 1, WORKER_RELEASE, false, "B holds the lock", failure))
        return failure->code;
    return FAIL_NONE;
}

static void tell_beginning(struct once *once)
{
    char promises[PROMISES_TEXT_MAX], line[LINE_MAX_BYTES];
    const char *library = session_library(once->session);
    (void)snprintf(line, sizeof line, "%s%stwo workers, redis-server %s, a lease of %.0f ms",
                   library, library[0] ? ": " : "", session_server_version(once->session),
                   (double)once->options->lease_us / 1000);
    tell(once, line);
    (void)snprintf(line, sizeof line, "they promise: %s",
                   worker_promises_print(session_promises(once->session), promises));
    tell(once, line);
    tell(once, "their clocks are ours, and so are the server's: proved");
    const char *unsteady = session_unsteady(once->session);
    if (unsteady) {
        (void)snprintf(line, sizeof line,
                       "they are not steady: %s was not started directly, so that its flags could "
                       "not be set; its own timers and random numbers may differ from run to run",
                       unsteady);
        tell(once, line);
    }
    for (int i = 0; i < CLIENTS; i++) {
        once->monotonic_reads[i] = session_counts(once->session, i)->monotonic_reads;
        once->wall_reads[i] = session_counts(once->session, i)->wall_reads;
    }
}

enum fail once_run(const struct once_options *options, struct failure *failure)
{
    struct once once = {.options = options};
    const struct session_options wanted = {
        .command = options->command,
        .redis_server = options->redis_server,
        .clients = CLIENTS,
        .servers = options->servers,
        .names = names,
        .key = KEY,
        .lease_us = options->lease_us,
        .seed = options->seed,
        .patience_us = options->patience_us,
        .stop = options->stop,
        .events = {.sent = on_sent,
                   .executed = on_executed,
                   .delivered = on_delivered,
                   .passed = on_passed,
                   .printed = on_printed,
                   .noticed = on_noticed,
                   .context = &once},
    };
    if (session_new(&once.session, &wanted, failure))
        return failure->code;
    tell_beginning(&once);
    enum fail fail = hand_over(&once, failure);
    if (!fail)
        fail = session_check_past(once.session, failure);
    session_free(once.session);
    return fail;
}
