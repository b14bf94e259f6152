/* test_subject.c - a second system under test (explore/model/subject.h): answers that were given
 * once, looked up. A search by them alone, in which the scheme's step and the model of a server are
 * not called any more, comes to the same as the search that asked. */
#include "base/memory.h"
#include "explore/model/subject.h"
#include "explore/store/intern.h"
#include "test/explore_run.h"

#include <stdlib.h>
#include <string.h>

/* --- questions, as bytes without gaps --- */

struct client_question {
    struct client_state client_state;
    struct impulse impulse;
};

struct server_question {
    struct server_state server_state;
    struct command command;
    int position;
};

static void put_reply(struct reply *into, const struct reply *reply)
{
    into->kind = reply->kind;
    into->error = reply->error;
    into->value = reply->value;
    into->second = reply->second;
}

static void ask_client(struct client_question *question, const struct client_state *client_state,
                       const struct impulse *impulse)
{
    const struct moment *moment = &impulse->moment;
    memset(question, 0, sizeof *question);
    memcpy(&question->client_state, client_state, client_state_size(client_state));
    question->impulse.kind = impulse->kind;
    if (impulse->kind == IMPULSE_ACQUIRE)
        question->impulse.token = impulse->token;
    if (impulse->kind != IMPULSE_MOMENT)
        return;
    question->impulse.moment.kind = moment->kind;
    question->impulse.moment.server = moment->server;
    question->impulse.moment.verb = moment->verb;
    put_reply(&question->impulse.moment.reply, &moment->reply);
}

static void ask_server(struct server_question *question, const struct server_state *server_state,
                       int position, const struct command *command)
{
    memset(question, 0, sizeof *question);
    memcpy(&question->server_state, server_state, sizeof *server_state);
    question->position = position;
    question->command.verb = command->verb;
    question->command.key = command->key;
    question->command.value = command->value;
    question->command.number = command->number;
    question->command.ttl_us = command->ttl_us;
}

/* --- and their answers --- */

struct client_reply {
    struct client_state after;
    struct step_result step;
    unsigned violation;
};

struct server_reply {
    struct server_state after;
    struct reply reply;
};

struct remembered {
    struct subject subject; /* first */
    bool may_ask;           /* else all must be known */
    struct intern_table client_questions, server_questions;
    struct client_reply *client_replies;
    struct server_reply *server_replies;
    uint64_t asked, looked_up;
};

/* The number of a question; whether it is a new one. */
static uint32_t number_of(struct remembered *remembered, struct intern_table *questions,
                          const void *question, size_t size, bool *is_new)
{
    uint32_t before = questions->count;
    uint32_t number = intern_put(questions, question, size);
    *is_new = number == before;
    if (*is_new && !remembered->may_ask)
        fail_msg("a question that was never asked");
    remembered->asked += *is_new;
    remembered->looked_up += !*is_new;
    return number;
}

static unsigned remembered_step(struct subject *subject, const struct config *config,
                                struct client_state *client_state, const struct impulse *impulse,
                                struct step_result *step)
{
    struct remembered *it = (struct remembered *)subject;
    struct client_question question;
    bool is_new;
    ask_client(&question, client_state, impulse);
    uint32_t number = number_of(it, &it->client_questions, &question, sizeof question, &is_new);
    if (is_new) {
        it->client_replies =
            memory_resize(it->client_replies, number + 1, sizeof *it->client_replies);
        struct client_reply *reply = &it->client_replies[number];
        reply->after = *client_state;
        reply->violation =
            subject_in_c.step(&subject_in_c, config, &reply->after, impulse, &reply->step);
    }
    *client_state = it->client_replies[number].after;
    *step = it->client_replies[number].step;
    return it->client_replies[number].violation;
}

static struct reply remembered_execute(struct subject *subject, const struct config *config,
                                       struct server_state *server_state, int position,
                                       const struct command *command)
{
    struct remembered *it = (struct remembered *)subject;
    struct server_question question;
    bool is_new;
    ask_server(&question, server_state, position, command);
    uint32_t number = number_of(it, &it->server_questions, &question, sizeof question, &is_new);
    if (is_new) {
        it->server_replies =
            memory_resize(it->server_replies, number + 1, sizeof *it->server_replies);
        struct server_reply *reply = &it->server_replies[number];
        reply->after = *server_state;
        reply->reply =
            subject_in_c.execute(&subject_in_c, config, &reply->after, position, command);
    }
    *server_state = it->server_replies[number].after;
    return it->server_replies[number].reply;
}

static void remembered_open(struct remembered *it)
{
    memset(it, 0, sizeof *it);
    it->subject = (struct subject){.step = remembered_step, .execute = remembered_execute};
    it->may_ask = true;
    intern_init(&it->client_questions);
    intern_init(&it->server_questions);
}

static void remembered_close(struct remembered *it)
{
    intern_close(&it->client_questions);
    intern_close(&it->server_questions);
    free(it->client_replies);
    free(it->server_replies);
}

/* --- searches --- */

static void never_stepped(void *state, const struct lease *lease, const struct moment *in,
                          struct outbox *out)
{
    (void)state, (void)lease, (void)in, (void)out;
    fail_msg("the scheme was stepped");
}

static void same(const struct explore_options *options, const struct explore_outcome *computed,
                 const struct explore_outcome *by_answers, const char *what)
{
    assert_int_equal(computed->end, END_COMPLETE);
    assert_int_equal(by_answers->end, END_COMPLETE);
    assert_int_equal(computed->states, by_answers->states);
    assert_int_equal(computed->transitions, by_answers->transitions);
    assert_int_equal(differences(what, options, computed, by_answers), 0);
}

static void compare(const char *scheme, int fault)
{
    struct explore_options options = options_of(scheme, fault);
    struct explore_outcome computed, asked, looked_up;
    struct scheme mute = *options.scheme;
    struct remembered remembered;
    run(&options, &computed);
    remembered_open(&remembered);
    options.subject = &remembered.subject;
    run(&options, &asked);
    same(&options, &computed, &asked, "asked once");
    mute.step = never_stepped;
    options.scheme = &mute;
    remembered.may_ask = false;
    uint64_t questions = remembered.asked;
    run(&options, &looked_up);
    same(&options, &computed, &looked_up, "looked up");
    assert_int_equal(remembered.asked, questions);
    assert_true(questions > 0 && remembered.looked_up >= questions);
    print_message("%s: %llu states from %llu answers\n", scheme,
                  (unsigned long long)computed.states, (unsigned long long)questions);
    explore_outcome_free(&computed);
    explore_outcome_free(&asked);
    explore_outcome_free(&looked_up);
    remembered_close(&remembered);
}

static void a_search_by_remembered_answers_is_the_same(void **state)
{
    (void)state;
    compare("set-nx-ex-del", FAULT_STALL);
    compare("set-nx-px-cad", FAULT_LATE_REQUEST);
    compare("setnx-expire-del", FAULT_CRASH);
    compare("stamp-getset", FAULT_CLIENT_CLOCK);
    compare("watch-multi-del", FAULT_STALL);
    compare("watchdog", FAULT_LOSE_REPLY);
    compare("redlock", NONE);
    compare("redlock", FAULT_RESTART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_by_remembered_answers_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
