/* server_state.c - see server_state.h. */
#include "explore/model/server_state.h"

#include <assert.h>
#include <string.h>

void server_state_init(struct server_state *server_state, bool has_counter)
{
    memset(server_state, 0, sizeof *server_state);
    server_state->keyspace.left = server_state->replica.left = server_state->saved.left = NO_TIME;
    server_state->keyspace.has_counter = has_counter;
}

/* --- to and from redis/model.h; now is EPOCH_US --- */

static void string_to_model(struct model *model, enum key key, int32_t value)
{
    model->keys[key].type = MODEL_STRING;
    model->keys[key].value = value;
}

static int32_t string_from_model(const struct model *model, enum key key)
{
    return model->keys[key].type == MODEL_STRING ? narrow(model->keys[key].value) : 0;
}

static void keyspace_to_model(const struct keyspace *keyspace, struct model *model)
{
    model_init(model, 1);
    struct model_key *lock = &model->keys[KEY_LOCK];
    lock->type = keyspace->type;
    lock->value = keyspace->type == MODEL_ABSENT ? 0 : widen(keyspace->value);
    /* A key is gone when the ticks that it has left have passed: one moment before the last of them
     * ends. */
    if (keyspace->left != NO_TIME)
        lock->expire_us = EPOCH_US + keyspace->left * TICK_US - 1;
    if (keyspace->fence > 0)
        string_to_model(model, KEY_FENCE, keyspace->fence);
    if (keyspace->resource > 0)
        string_to_model(model, KEY_RESOURCE, keyspace->resource);
    if (keyspace->has_counter)
        string_to_model(model, KEY_COUNTER, keyspace->counter);
}

static void keyspace_disown(struct keyspace *keyspace)
{
    memset(&keyspace->ghost, 0, sizeof keyspace->ghost);
    memset(&keyspace->previous, 0, sizeof keyspace->previous);
    keyspace->is_tentative = keyspace->is_restored = 0;
}

static void keyspace_from_model(struct keyspace *keyspace, const struct model *model)
{
    const struct model_key *lock = &model->keys[KEY_LOCK];
    keyspace->type = (uint8_t)lock->type;
    keyspace->value = lock->type == MODEL_ABSENT ? 0 : narrow(lock->value);
    keyspace->left = NO_TIME;
    if (lock->type != MODEL_ABSENT && lock->expire_us != MODEL_NO_EXPIRY)
        keyspace->left = (int16_t)((lock->expire_us - EPOCH_US + TICK_US - 1) / TICK_US);
    if (lock->type == MODEL_ABSENT)
        keyspace_disown(keyspace);
    keyspace->fence = string_from_model(model, KEY_FENCE);
    keyspace->resource = string_from_model(model, KEY_RESOURCE);
    keyspace->counter = string_from_model(model, KEY_COUNTER);
    keyspace->has_counter = model->keys[KEY_COUNTER].type == MODEL_STRING;
}

/* Versions only matter as "changed since it was watched". */
enum { VERSION_WATCHED = 1, VERSION_NOW };

static void watch_to_model(const struct server_state *server_state, int position,
                           struct model_watch *watch)
{
    *watch = (struct model_watch){.is_behind = position != SERVER_NO_WATCH &&
                                               server_state->behind >> position & 1};
    if (position == SERVER_NO_WATCH || !(server_state->watching >> position & 1))
        return;
    watch->active = true;
    memset(watch->version, 0xff, sizeof watch->version);
    watch->version[KEY_LOCK] =
        server_state->changed >> position & 1 ? VERSION_WATCHED : VERSION_NOW;
}

static void watch_from_model(struct server_state *server_state, int position,
                             const struct model_watch *watch, const struct model *model)
{
    uint8_t bit = (uint8_t)(position == SERVER_NO_WATCH ? 0 : 1u << position);
    uint32_t version = model->keys[KEY_LOCK].version;
    if (version != VERSION_NOW)
        server_state->changed |= server_state->watching;
    server_state->watching &= (uint8_t)~bit;
    server_state->changed &= (uint8_t)~bit;
    server_state->behind &= (uint8_t)~bit;
    if (watch->is_behind)
        server_state->behind |= bit;
    if (!watch->active)
        return;
    server_state->watching |= bit;
    if (watch->version[KEY_LOCK] != version)
        server_state->changed |= bit;
}

/* Who acknowledges, where somebody asks. A promoted server has another replica. */
static enum model_replica replica_of(const struct server_state *server_state,
                                     const struct config *config)
{
    if (!config->scheme->needs_replica)
        return MODEL_NO_REPLICA;
    if (server_state->replica_state != REPLICA_CUT)
        return MODEL_REPLICA_IN_STEP;
    return server_state->has_lost_link ? MODEL_NO_REPLICA : MODEL_REPLICA_CUT;
}

struct reply server_state_execute(struct server_state *server_state, const struct config *config,
                                  int position, const struct command *command)
{
    struct model model;
    struct model_watch watch;
    keyspace_to_model(&server_state->keyspace, &model);
    model.keys[KEY_LOCK].version = VERSION_NOW;
    model.has_delex = config->scheme->needs_delex; /* a server that suits the scheme */
    watch_to_model(server_state, position, &watch);
    model.knows_script = server_state->knows_script;
    model.replica = replica_of(server_state, config);
    struct reply reply = model_execute(&model, &watch, command, EPOCH_US);
    server_state->knows_script = config->scheme->needs_script && model.knows_script;
    watch_from_model(server_state, position, &watch, &model);
    keyspace_from_model(&server_state->keyspace, &model);
    return reply;
}

static void server_state_changes(struct server_state *server_state)
{
    server_state->changed |= server_state->watching;
}

/* --- time --- */

static void ghost_age(struct ghost_owner *ghost)
{
    if (ghost->left != NO_TIME && ghost->left > 0)
        ghost->left--;
}

static bool keyspace_age(struct keyspace *keyspace, int ticks)
{
    struct model model;
    if (keyspace->type == MODEL_ABSENT || keyspace->left == NO_TIME || keyspace->left == LEFT_FAR)
        return false;
    keyspace_to_model(keyspace, &model);
    model_expire(&model, EPOCH_US + ticks * TICK_US);
    keyspace_from_model(keyspace, &model);
    if (keyspace->type != MODEL_ABSENT)
        keyspace->left = (int16_t)(keyspace->left - ticks);
    return keyspace->type == MODEL_ABSENT;
}

static void server_state_clock(struct server_state *server_state, int ticks)
{
    if (keyspace_age(&server_state->keyspace, ticks))
        server_state_changes(server_state);
    if (server_state->replica_state == REPLICA_CUT)
        keyspace_age(&server_state->replica, ticks);
    if (server_state->has_saved)
        keyspace_age(&server_state->saved, ticks);
}

void server_state_tick(struct server_state *server_state, bool are_stamps_kept)
{
    ghost_age(&server_state->keyspace.ghost);
    ghost_age(&server_state->keyspace.previous);
    ghost_age(&server_state->replica.ghost);
    ghost_age(&server_state->replica.previous);
    ghost_age(&server_state->saved.ghost);
    ghost_age(&server_state->saved.previous);
    server_state->keyspace.value = value_aged(server_state->keyspace.value, are_stamps_kept);
    server_state->replica.value = value_aged(server_state->replica.value, are_stamps_kept);
    server_state->saved.value = value_aged(server_state->saved.value, are_stamps_kept);
    server_state_clock(server_state, server_state_rate(server_state));
    if (server_state->out_left > 0)
        server_state->out_left--;
}

void server_state_jump(struct server_state *server_state, int ticks)
{
    server_state_clock(server_state, ticks);
}

/* --- faults --- */

void server_state_reach(struct server_state *server_state, enum server_reach reach, int ticks)
{
    server_state->reach = (uint8_t)reach;
    server_state->out_left = (uint8_t)ticks;
}

void server_state_disconnect(struct server_state *server_state, int position)
{
    uint8_t bits = (uint8_t)(position < 0 ? 0xffu : 1u << position);
    server_state->watching &= (uint8_t)~bits;
    server_state->changed &= (uint8_t)~bits;
    server_state->behind &= (uint8_t)~bits;
}

static void keyspace_clear(struct keyspace *keyspace)
{
    memset(keyspace, 0, sizeof *keyspace);
    keyspace->left = NO_TIME;
}

static void server_state_forget_saved(struct server_state *server_state)
{
    keyspace_clear(&server_state->saved);
    server_state->has_saved = 0;
}

void server_state_restart(struct server_state *server_state)
{
    struct model model;
    keyspace_to_model(&server_state->keyspace, &model);
    model_restart_empty(&model);
    keyspace_from_model(&server_state->keyspace, &model);
    server_state->keyspace.is_counter_known = false;
    server_state->knows_script = model.knows_script;
    server_state_forget_saved(server_state);
    server_state_reach(server_state, REACH_OPEN, 0); /* another process, where it can be reached */
    server_state_disconnect(server_state, -1);
}

void server_state_restart_with_keys(struct server_state *server_state)
{
    server_state_flush_scripts(server_state);
    server_state_reach(server_state, REACH_OPEN, 0);
    server_state_disconnect(server_state, -1);
}

void server_state_flush_keys(struct server_state *server_state)
{
    struct model model;
    const bool had_lock = server_state->keyspace.type != MODEL_ABSENT;
    keyspace_to_model(&server_state->keyspace, &model);
    model_flush_keys(&model);
    keyspace_from_model(&server_state->keyspace, &model);
    server_state->keyspace.is_counter_known = false;
    if (had_lock)
        server_state_changes(server_state);
}

void server_state_evict(struct server_state *server_state)
{
    struct model model;
    keyspace_to_model(&server_state->keyspace, &model);
    model_evict(&model, KEY_LOCK);
    keyspace_from_model(&server_state->keyspace, &model);
    server_state_changes(server_state);
}

void server_state_flush_scripts(struct server_state *server_state)
{
    struct model model;
    keyspace_to_model(&server_state->keyspace, &model);
    model.knows_script = server_state->knows_script;
    model_flush_scripts(&model);
    server_state->knows_script = model.knows_script;
}

void server_state_cut(struct server_state *server_state)
{
    assert(server_state->replica_state == REPLICA_IN_STEP);
    server_state->replica = server_state->keyspace;
    server_state->replica_state = REPLICA_CUT;
}

static bool is_same_lock(const struct keyspace *a, const struct keyspace *b)
{
    return a->ghost.owner == b->ghost.owner && a->ghost.rounds == b->ghost.rounds;
}

/* Another process, with the keys of the copy, which is used up. */
static void server_state_load(struct server_state *server_state, struct keyspace *copy)
{
    struct model server, kept;
    const struct keyspace before = server_state->keyspace;
    keyspace_to_model(&server_state->keyspace, &server);
    keyspace_to_model(copy, &kept);
    model_failover(&server, &kept);
    keyspace_from_model(&server_state->keyspace, &server);
    server_state->keyspace.is_counter_known = false;
    server_state->knows_script = server.knows_script;
    server_state->keyspace.ghost = copy->ghost;
    server_state->keyspace.previous = copy->previous;
    server_state->keyspace.is_tentative = copy->is_tentative;
    server_state->keyspace.is_restored =
        is_same_lock(&before, copy) ? before.is_restored : copy->ghost.owner != GHOST_NOBODY;
    keyspace_clear(copy);
    server_state_reach(server_state, REACH_OPEN, 0);
    server_state_disconnect(server_state, -1);
}

void server_state_failover(struct server_state *server_state)
{
    assert(server_state->replica_state == REPLICA_CUT);
    server_state_load(server_state, &server_state->replica);
    server_state->replica_state = REPLICA_PROMOTED;
    server_state->has_lost_link = 0;
    server_state_forget_saved(server_state);
}

void server_state_note_kept(struct server_state *server_state)
{
    server_state->keyspace.is_restored = 0;
}

void server_state_lose_link(struct server_state *server_state, const struct config *config)
{
    server_state->has_lost_link =
        config->scheme->needs_replica && server_state->replica_state == REPLICA_CUT;
}

void server_state_save(struct server_state *server_state)
{
    server_state->saved = server_state->keyspace;
    server_state->has_saved = 1;
}

void server_state_restart_with_saved(struct server_state *server_state)
{
    assert(server_state->has_saved);
    server_state_load(server_state, &server_state->saved);
    server_state->has_saved = 0;
}

/* --- places --- */

static void ghost_rename(struct ghost_owner *ghost, const uint8_t *new_position)
{
    if (ghost->owner != GHOST_NOBODY)
        ghost->owner = (uint8_t)(new_position[ghost->owner - 1] + 1);
}

static void keyspace_rename(struct keyspace *keyspace, const uint8_t *new_position)
{
    keyspace->value = value_renamed(keyspace->value, new_position);
    ghost_rename(&keyspace->ghost, new_position);
    ghost_rename(&keyspace->previous, new_position);
}

void server_state_rename(struct server_state *server_state, const uint8_t *new_position)
{
    uint8_t watching = server_state->watching, changed = server_state->changed;
    uint8_t behind = server_state->behind;
    keyspace_rename(&server_state->keyspace, new_position);
    keyspace_rename(&server_state->replica, new_position);
    keyspace_rename(&server_state->saved, new_position);
    server_state->watching = server_state->changed = server_state->behind = 0;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++) {
        server_state->watching |= (uint8_t)((watching >> i & 1) << new_position[i]);
        server_state->changed |= (uint8_t)((changed >> i & 1) << new_position[i]);
        server_state->behind |= (uint8_t)((behind >> i & 1) << new_position[i]);
    }
}

static void newest(const struct keyspace *keyspace, int *past)
{
    if (!is_stamp(keyspace->value) || keyspace->value > EPOCH_TICKS)
        return;
    int ago = EPOCH_TICKS - keyspace->value;
    if (*past < 0 || ago < *past)
        *past = ago;
}

int server_state_newest_past(const struct server_state *server_state)
{
    int past = -1;
    newest(&server_state->keyspace, &past);
    newest(&server_state->replica, &past);
    newest(&server_state->saved, &past);
    return past;
}

static unsigned keyspace_mentions(const struct keyspace *keyspace, int position)
{
    unsigned owns = keyspace->ghost.owner == position + 1;
    unsigned owned = keyspace->previous.owner == position + 1;
    unsigned holds = is_token(keyspace->value) && token_position(keyspace->value) == position;
    unsigned number = holds ? (unsigned)(keyspace->value - TOKEN_BASE) % TOKENS_EACH : 0;
    return owns | owned << 1 | holds << 2 | (number & 7) << 3;
}

unsigned server_state_mentions(const struct server_state *server_state, int position)
{
    return keyspace_mentions(&server_state->keyspace, position) |
           keyspace_mentions(&server_state->replica, position) << 6 |
           keyspace_mentions(&server_state->saved, position) << 12 |
           (unsigned)(server_state->watching >> position & 1) << 18 |
           (unsigned)(server_state->changed >> position & 1) << 19 |
           (unsigned)(server_state->behind >> position & 1) << 20;
}
