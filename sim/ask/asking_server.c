/* asking_server.c - the explorer's server, answered by who was asked: a server state is what was
 * kept of a real one, and a command's answer is looked up. */
#include "ask/asking_state.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* The lock key's type in a server state is its form, from FORM_BASE + 1 on; its value a token. */
enum { FORM_BASE = MODEL_LIST, NOBODYS = 1 };
_Static_assert(FORM_BASE + FORMS_MAX <= UINT8_MAX, "a form fits where the type of a key is kept");

static struct kept kept_of(const struct server_state *server_state, const struct command *command)
{
    const struct keyspace *keyspace = &server_state->keyspace;
    struct kept kept = {.left = NO_TICKS,
                        .scripts = server_state->knows_script,
                        .beside = (uint32_t)keyspace->fence};
    if (keyspace->type == MODEL_ABSENT)
        return kept;
    kept.left = keyspace->left == NO_TIME ? NO_TICKS : keyspace->left;
    kept.form = (uint32_t)(keyspace->type - FORM_BASE);
    if (!is_token(keyspace->value))
        kept.value = KEPT_LITERAL;
    else
        kept.value = keyspace->value == command->value ? KEPT_OWN : KEPT_OTHER;
    return kept;
}

static void take_kept(const struct kept *kept, const struct command *command,
                      struct server_state *server_state)
{
    struct keyspace *keyspace = &server_state->keyspace;
    server_state->knows_script = (uint8_t)kept->scripts;
    keyspace->fence = (int32_t)kept->beside; /* of a foreign program: all keys but the lock's */
    if (kept->value == KEPT_ABSENT) {
        keyspace->type = MODEL_ABSENT;
        keyspace->value = 0;
        keyspace->left = NO_TIME;
        memset(&keyspace->ghost, 0, sizeof keyspace->ghost);
        return;
    }
    keyspace->type = (uint8_t)(FORM_BASE + (int)kept->form);
    keyspace->left = (int16_t)(kept->left == NO_TICKS ? NO_TIME : kept->left);
    if (kept->value == KEPT_OWN)
        keyspace->value = narrow(command->value);
    else if (kept->value == KEPT_LITERAL)
        keyspace->value = NOBODYS;
}

static int64_t wrote(uint32_t writes)
{
    return (writes & LOOK_WROTE_VALUE ? REPLY_WROTE_VALUE : 0) |
           (writes & LOOK_WROTE_EXPIRY ? REPLY_WROTE_EXPIRY : 0);
}

/* What the connection of that client watches; position SERVER_NO_WATCH: it is another one. */
static int32_t watching_of(const struct server_state *server_state, int position)
{
    if (position == SERVER_NO_WATCH || !(server_state->watching >> position & 1))
        return WATCHING_NOTHING;
    return server_state->changed >> position & 1 ? WATCHING_CHANGED : WATCHING_KEY;
}

/* As watch_from_model() of explore/model/server_state.c. */
static void take_watch(struct server_state *server_state, int position, enum command_kind kind,
                       bool has_written)
{
    const uint8_t bit = (uint8_t)(position == SERVER_NO_WATCH ? 0 : 1u << position);
    if (has_written)
        server_state->changed |= server_state->watching;
    if (kind == COMMAND_ORDINARY || (kind == COMMAND_WATCH && server_state->watching & bit))
        return;
    server_state->watching &= (uint8_t)~bit;
    server_state->changed &= (uint8_t)~bit;
    if (kind == COMMAND_WATCH)
        server_state->watching |= bit;
}

/* A key is known in whole ticks, rounded up: one that its owner gives less than its lease, and more
 * than the tick before, is there until the lease is over. */
static void note_short_expiry(struct asking *asking, const struct server_question *question,
                              const struct server_told *told)
{
    enum { SAME_US = 2000 }; /* the server tells milliseconds */
    char given[UNITS_TEXT_MAX], lease[UNITS_TEXT_MAX];
    const int64_t given_us = (int64_t)told->left_ms * 1000;
    if (told->writes != LOOK_WROTE_EXPIRY || question->kept.value != KEPT_OWN ||
        told->kept.left != asking->lease_ticks || given_us > asking->lease_us - SAME_US)
        return;
    (void)snprintf(asking->late.doubt, sizeof asking->late.doubt,
                   "it gives a key that it has already %s, which is less than its lease (%s), and "
                   "ends within the last tick of it: that another one gets the lock by then is not "
                   "tried",
                   units_print_duration(given_us, given),
                   units_print_duration(asking->lease_us, lease));
}

struct reply asking_execute(struct subject *subject, const struct config *config,
                            struct server_state *server_state, int position,
                            const struct command *command)
{
    struct asking *asking = (struct asking *)subject;
    const int32_t value = server_state->keyspace.value;
    struct server_told told;
    if (command->verb < VERB_COUNT)
        return asking_execute_section(config, server_state, command);
    const enum command_kind kind = server_command_kind(&asking->server, (uint32_t)command->number);
    const struct server_question question = {
        .kept = kept_of(server_state, command),
        .command = (uint32_t)command->number,
        .watching = kind == COMMAND_TRANSACTION ? watching_of(server_state, position) : 0};
    if (asking->failure.code || server_ask(&asking->server, &question, &told, &asking->failure))
        return (struct reply){.kind = REPLY_ERROR, .error = ERROR_OTHER};
    note_short_expiry(asking, &question, &told);
    take_kept(&told.kept, command, server_state);
    take_watch(server_state, position, kind, told.writes != 0);
    return (struct reply){.kind = told.kind,
                          .error = told.error,
                          .value = told.whose == WHOSE_OWN     ? command->value
                                   : told.whose == WHOSE_OTHER ? value
                                                               : 0,
                          .second = told.reply | wrote(told.writes)};
}

void asking_begin(struct subject *subject, struct server_state *server_state)
{
    const struct asking *asking = (const struct asking *)subject;
    server_state->knows_script = (uint8_t)((1u << asking->server.scripts_first) - 1);
}

void asking_pass(struct subject *subject, struct server_state *server_state, int ticks)
{
    struct server_asker *asker = &((struct asking *)subject)->server;
    struct keyspace *keyspaces[] = {&server_state->keyspace, &server_state->replica,
                                    &server_state->saved};
    for (size_t i = 0; i < sizeof keyspaces / sizeof *keyspaces; i++)
        keyspaces[i]->fence = (int32_t)keys_beside_age(asker, (uint32_t)keyspaces[i]->fence, ticks);
}
