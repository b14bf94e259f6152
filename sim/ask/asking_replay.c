/* asking_replay.c - walks through the search, replayed with all workers: is what they do what was
 * answered? See asking.h.
 *
 * The search takes histories for one: behind an attempt a worker is a new one, whose token it met
 * is another's, and so on. Each of that was asked for in a few ways. Here a client's whole history
 * is made, in its own process, beside the others and on real servers, and each step of it is held
 * against what the search has it do: which commands, to which end, with which token. */
#include "ask/asking_state.h"
#include "base/memory.h"
#include "explore/search/long_walk.h"
#include "explore/search/schedule.h"
#include "worker/wire_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command that was on its way, when it was first seen. */
struct walk_command {
    int client, server, ordinal;
    char name[SESSION_NAME_MAX];
    uint32_t phrase;
};

struct walk_token {
    int client;
    bool is_free; /* its attempt was refused, and has written nothing: as good as a new one */
    struct spoken_token token;
};

enum { LOG_MAX = 240, WORDS_OF_STEP_MAX = 640 };

struct replayed_client {
    struct seat seat;  /* its token, and no process */
    char log[LOG_MAX]; /* how its operations have ended so far */
    bool is_struck;    /* by a fault, since its attempt began */
};

struct product_walk {
    struct asking *asking;
    const struct run *run;
    const struct confirm_world *opens;
    struct trace_replayer replayer;
    struct long_walk drawn;
    struct world *world;
    struct replayed_client clients[EXPLORE_CLIENTS_MAX];
    struct walk_command *seen;
    int seen_count;
    struct walk_token *tokens;
    int tokens_count;
    bool is_lost;                           /* the world did not follow it to its end */
    char difference[3 * WORDS_OF_STEP_MAX]; /* "": none so far; else */
    int differs;                            /* the client */
};

/* --- what workers sent --- */

static const struct walk_command *find_seen(const struct product_walk *it,
                                            const struct wire_message *message)
{
    for (int i = 0; i < it->seen_count; i++) {
        const struct walk_command *seen = &it->seen[i];
        if (seen->client == message->client && seen->server == message->server &&
            seen->ordinal == message->ordinal && strcmp(seen->name, message->name) == 0)
            return seen;
    }
    return NULL;
}

/* A token that was drawn: a new one each time, or for each client. */
static void look_at_token(struct product_walk *it, int client)
{
    const struct spoken_token *own = &it->clients[client].seat.own;
    const bool is_clients = it->asking->token == TOKEN_CLIENT;
    for (int i = 0; i < it->tokens_count && !it->difference[0]; i++) {
        const struct walk_token *other = &it->tokens[i];
        const bool is_same = token_is_same(own, &other->token);
        if (is_same && other->is_free && other->client == client)
            continue;
        it->differs = client;
        if (is_same != (is_clients && other->client == client))
            (void)snprintf(it->difference, sizeof it->difference, "the token of its attempt is %s",
                           !is_same                  ? "not the one of its attempt before"
                           : other->client == client ? "one that it has had in an attempt before"
                                                     : "one that another client has drawn");
    }
    it->tokens = memory_resize(it->tokens, (size_t)it->tokens_count + 1, sizeof *it->tokens);
    it->tokens[it->tokens_count++] = (struct walk_token){.client = client, .token = *own};
}

static enum fail see(struct product_walk *it, const struct wire_message *message,
                     struct failure *failure)
{
    struct seat *seat = &it->clients[message->client].seat;
    const struct spoken_token before = seat->own;
    struct sent_command sent;
    uint8_t draws = 0;
    if (seat_take_command(&it->asking->worker, seat, message, &sent, &draws, failure))
        return failure->code;
    if (seat->own.length && !token_is_same(&before, &seat->own))
        look_at_token(it, message->client);
    it->seen = memory_resize(it->seen, (size_t)it->seen_count + 1, sizeof *it->seen);
    struct walk_command *seen = &it->seen[it->seen_count++];
    *seen = (struct walk_command){.client = message->client,
                                  .server = message->server,
                                  .ordinal = message->ordinal,
                                  .phrase = sent.command};
    (void)strcpy(seen->name, message->name);
    return FAIL_NONE;
}

/* Not what stands behind another command in a pipeline: to its world, as to who was asked, that is
 * sent when the other one is answered. */
static bool is_sent(const struct wire_message *message)
{
    return message->is_offered && !message->is_published;
}

/* Those that were sent since the last step. */
static enum fail see_all(struct product_walk *it, struct failure *failure)
{
    const struct wire_message *message = session_messages(world_worker_session(it->world));
    enum fail fail = FAIL_NONE;
    for (; message && !fail; message = message->next)
        if (is_sent(message) && !find_seen(it, message))
            fail = see(it, message, failure);
    return fail;
}

/* --- held against what was answered --- */

static bool is_asked_of(const struct packed_message *message, int server)
{
    return message->state == MESSAGE_REQUEST && message->server == server &&
           message_is_opaque(message) && !message_is_abandoned(message);
}

/* The commands that it waits for an answer to, and that have not arrived: phrases. */
static int expected_of(const struct client_state *client, int server, uint32_t *phrases)
{
    int count = 0;
    for (int i = 0; i < client->count; i++)
        if (is_asked_of(&client->messages[i], server))
            phrases[count++] = (uint32_t)client->messages[i].number;
    return count;
}

static int actual_of(const struct product_walk *it, int client, int server, uint32_t *phrases)
{
    const struct wire_message *message = session_messages(world_worker_session(it->world));
    int count = 0;
    for (; message && count < CLIENT_MESSAGES_MAX; message = message->next)
        if (message->client == client && message->server == server && is_sent(message) &&
            !message->is_gone && message->transit == TRANSIT_REQUEST)
            phrases[count++] = find_seen(it, message)->phrase;
    return count;
}

static bool has_same_commands(const struct product_walk *it, const struct client_state *client,
                              int number)
{
    uint32_t expected[CLIENT_MESSAGES_MAX], actual[CLIENT_MESSAGES_MAX];
    bool is_same = true;
    for (int s = 0; s < it->run->servers && is_same; s++) {
        const int count = expected_of(client, s, expected);
        is_same = count == actual_of(it, number, s, actual) &&
                  memcmp(expected, actual, (size_t)count * sizeof *expected) == 0;
    }
    return is_same;
}

/* How an operation has ended by a step that did that; false: none has. */
static bool result_of_did(unsigned did, enum result *result)
{
    static const struct {
        unsigned did;
        enum result result;
    } rows[] = {{DID_GRANT, RESULT_GRANTED},     {DID_REFUSE, RESULT_REFUSED},
                {DID_NOT_MINE, RESULT_NOT_MINE}, {DID_RELEASE, RESULT_RELEASED},
                {DID_EXTEND, RESULT_DONE},       {DID_RETURN, RESULT_FAILED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (did & rows[i].did) {
            *result = rows[i].result;
            return true;
        }
    return false;
}

/* --- in words --- */

static void say_commands(const struct product_walk *it, const uint32_t *phrases, int count,
                         char *text, size_t size)
{
    size_t used = 0, length;
    struct spoken_token own = it->asking->worker.sample;
    static const char word[] = "its-token";
    char words[160];
    memset(own.bytes, '.', own.length);
    memcpy(own.bytes, word, own.length < sizeof word - 1 ? own.length : sizeof word - 1);
    (void)snprintf(text, size, "nothing");
    for (int i = 0; i < count && used < size; i++) {
        char *said = phrase_say(&it->asking->book, phrases[i], &own, &own, &length);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 wire_request_print(said, length, words, sizeof words));
        free(said);
    }
}

/* What it waits for, and how far it is. */
static void say_state(enum phase phase, const char *ended, const char *commands, char *text,
                      size_t size)
{
    static const char *const words[] = {[PHASE_IDLE] = "has nothing under way",
                                        [PHASE_ACQUIRING] = "acquires",
                                        [PHASE_HOLDING] = "has the lock",
                                        [PHASE_RELEASING] = "releases",
                                        [PHASE_DEAD] = "is gone"};
    (void)snprintf(text, size, "%s%s%s, and waits for %s%s", ended ? "says \"" : "",
                   ended ? ended : words[phase], ended ? "\"" : "", commands,
                   strcmp(commands, "nothing") != 0 ? " to be answered" : "");
}

static void say_difference(struct product_walk *it, int number, const struct client_state *client,
                           const char *expected_end, const char *actual_end)
{
    uint32_t phrases[CLIENT_MESSAGES_MAX * SERVERS_MAX];
    char commands[400], expected[WORDS_OF_STEP_MAX], actual[WORDS_OF_STEP_MAX];
    int count = 0;
    for (int s = 0; s < it->run->servers; s++)
        count += expected_of(client, s, phrases + count);
    say_commands(it, phrases, count, commands, sizeof commands);
    say_state((enum phase)client->phase, expected_end, commands, expected, sizeof expected);
    count = 0;
    for (int s = 0; s < it->run->servers; s++)
        count += actual_of(it, number, s, phrases + count);
    say_commands(it, phrases, count, commands, sizeof commands);
    say_state(it->world->ops->client(it->world, number).phase, actual_end, commands, actual,
              sizeof actual);
    it->differs = number;
    (void)snprintf(it->difference, sizeof it->difference, "it %s; by its answers it %s", actual,
                   expected);
}

static void note_end(struct replayed_client *client, enum result result)
{
    char before[LOG_MAX];
    const char *rest = client->log;
    const size_t length = strlen(result_name(result)) + 2;
    while (strlen(rest) + length >= LOG_MAX)
        rest = strstr(rest, ", ") + 2;
    (void)snprintf(before, sizeof before, "%s%s", rest, *rest ? ", " : "");
    (void)snprintf(client->log, sizeof client->log, "%.*s%s", (int)(LOG_MAX - length - 1), before,
                   result_name(result));
}

/* --- one walk --- */

static void compare_client(struct product_walk *it, int number, const uint32_t *words,
                           const enum result *ended)
{
    const struct client_view view = it->world->ops->client(it->world, number);
    struct client_state client;
    space_read_client(&it->replayer.space, words[number], &client);
    const bool is_same = client.phase == view.phase && (!ended || *ended == view.last) &&
                         has_same_commands(it, &client, number);
    if (!is_same)
        say_difference(it, number, &client, ended ? result_name(*ended) : NULL,
                       ended && client.phase == view.phase ? result_name(view.last) : NULL);
}

static const char *happened(const struct successor *step)
{
    switch (step->kind) {
    case ACTION_ACQUIRE:
        return "when it is asked to acquire";
    case ACTION_RELEASE:
        return "when it is asked to release";
    case ACTION_EXTEND:
        return "when it is asked to extend";
    case ACTION_HEAR:
        return "when it hears a reply";
    case ACTION_WAKE:
        return "when its timer rings";
    default:
        return "then";
    }
}

static enum fail tell_difference(const struct product_walk *it, const struct successor *step,
                                 struct failure *failure)
{
    const char *log = it->clients[it->differs].log;
    if (!*log)
        return failure_set(failure, FAIL_UNKNOWN,
                           "replayed beside the others, a worker does otherwise than it did alone: "
                           "%s, in its first operation; %s %s. Nothing was before, so it hangs on "
                           "more than was asked for, such as the bytes of another's token; "
                           "--search random runs it",
                           it->run->names[it->differs], happened(step), it->difference);
    return failure_set(failure, FAIL_UNKNOWN,
                       "replayed beside the others, a worker does otherwise than it did alone, "
                       "behind other attempts: %s, whose operations ended so far: %s; %s %s. What "
                       "it does hangs on more of what was before than was asked for; --search "
                       "random runs it",
                       it->run->names[it->differs], log, happened(step), it->difference);
}

/* Who was refused has written nothing where no message is late or sent twice, and none was lost. */
static void free_token(struct product_walk *it, int client)
{
    const bool is_prompt =
        asking_has_written_nothing(it->replayer.options.budget, it->clients[client].is_struck);
    for (int i = it->tokens_count - 1; i >= 0 && is_prompt; i--)
        if (it->tokens[i].client == client) {
            it->tokens[i].is_free = true;
            break;
        }
}

static enum fail compare_all(struct product_walk *it, const struct successor *step, unsigned did,
                             struct failure *failure)
{
    enum result result;
    const bool has_ended = result_of_did(did, &result);
    for (int i = 0; i < it->run->clients; i++) {
        const bool is_it = i == step->client && has_ended;
        if (!it->difference[0])
            compare_client(it, i, step->words, is_it ? &result : NULL);
        if (it->difference[0])
            return tell_difference(it, step, failure);
        if (is_it)
            note_end(&it->clients[i], result);
        if (is_it && result == RESULT_REFUSED)
            free_token(it, i);
    }
    return FAIL_NONE;
}

/* What cannot be done says nothing of workers: a timer that rings elsewhere, a key that is gone.
 * But a worker that has ended, answers what is no answer, or goes past the proxy, does. */
static enum fail apply_all(struct product_walk *it, const struct choice *choices, int count,
                           struct failure *failure)
{
    struct failure why;
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count && !fail; i++)
        fail = it->world->ops->apply(it->world, &choices[i], &why);
    it->is_lost = fail == FAIL_UNKNOWN && !world_worker_is_past(it->world);
    if (!fail || it->is_lost)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "replayed beside the others, behind other attempts: %s", why.text);
}

static enum fail make_step(struct product_walk *it, bool *is_over, struct failure *failure)
{
    struct trace_replayer *replayer = &it->replayer;
    struct choice choices[TRANSLATED_MAX];
    const int at = long_walk_pick(&it->drawn, replayer);
    *is_over = at < 0;
    if (*is_over)
        return FAIL_NONE;
    const struct successor step = replayer->steps[at];
    const unsigned did = long_walk_did(replayer, &step);
    const int count = translate_step(&replayer->space, replayer->words, &step, choices);
    if (step.kind == ACTION_INJECT && step.client >= 0)
        it->clients[step.client].is_struck = true;
    if (step.kind == ACTION_ACQUIRE) {
        it->clients[step.client].is_struck = false;
        seat_begin_attempt(&it->clients[step.client].seat);
    }
    if (apply_all(it, choices, count, failure))
        return failure->code;
    *is_over = it->is_lost;
    if (it->is_lost)
        return FAIL_NONE;
    if (see_all(it, failure) || compare_all(it, &step, did, failure))
        return failure->code;
    replayer_go(replayer, step.words);
    if (asking_failure(it->asking)->code)
        return failure_set(failure, FAIL_UNKNOWN, "%s", asking_failure(it->asking)->text);
    return FAIL_NONE;
}

static void hear_nothing(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static enum fail make_walk(struct product_walk *it, int number, unsigned fresh,
                           struct failure *failure)
{
    struct run run = *it->run;
    bool is_over = false;
    memset(it->clients, 0, sizeof it->clients);
    it->seen_count = it->tokens_count = 0;
    it->is_lost = false;
    it->difference[0] = '\0';
    run.sink = (struct event_sink){.take = hear_nothing};
    enum fail fail = it->opens->open(it->opens->context, &run, fresh, &it->world, failure);
    if (fail)
        return fail;
    long_walk_begin(&it->drawn, it->asking->seed, (uint64_t)number);
    replayer_start(&it->replayer);
    while (!fail && !is_over)
        fail = make_step(it, &is_over, failure);
    it->world->ops->free(it->world);
    if (it->opens->ended)
        it->opens->ended(it->opens->context, it->is_lost ? FAIL_UNKNOWN : fail);
    return fail;
}

/* A difference is told of processes that are new. */
static enum fail make_walk_twice(struct product_walk *it, int number, struct failure *failure)
{
    const enum fail fail = make_walk(it, number, 0, failure);
    return fail == FAIL_UNKNOWN && it->difference[0]
               ? make_walk(it, number, (1u << it->run->clients) - 1, failure)
               : fail;
}

enum { LOST_MAX = 4 };

enum fail asking_replay_walks(struct asking *asking, const struct explore_options *options,
                              const struct run *run, const struct confirm_world *world, int walks,
                              struct failure *failure)
{
    struct product_walk *it = memory_new(1, sizeof *it);
    enum fail fail = FAIL_NONE;
    *it = (struct product_walk){.asking = asking, .run = run, .opens = world};
    asking_expect(asking, options);
    replayer_init(&it->replayer, options);
    for (int i = 0, lost = 0; i - lost < walks && lost < LOST_MAX && !fail; i++) {
        fail = make_walk_twice(it, i, failure);
        lost += it->is_lost;
        asking->replayed.same += !fail && !it->is_lost;
        asking->replayed.lost += it->is_lost;
        asking->replayed.other += fail == FAIL_UNKNOWN;
    }
    replayer_close(&it->replayer);
    free(it->seen);
    free(it->tokens);
    free(it);
    return fail;
}
