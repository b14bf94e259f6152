/* post.c - see post.h. */
#include "explore/post.h"

#include <assert.h>
#include <string.h>

void post_init(struct post *post, bool has_counter)
{
    memset(post, 0, sizeof *post);
    post->stock.left = post->replica.left = NO_TIME;
    post->stock.has_counter = has_counter;
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

static void stock_to_model(const struct stock *stock, struct model *model)
{
    model_init(model, 1);
    struct model_key *lock = &model->keys[KEY_LOCK];
    lock->type = stock->type;
    lock->value = stock->type == MODEL_ABSENT ? 0 : widen(stock->value);
    /* A key is gone when the ticks that it has left have passed: one moment before the last of them
     * ends. */
    if (stock->left != NO_TIME)
        lock->expire_us = EPOCH_US + stock->left * TICK_US - 1;
    if (stock->fence > 0)
        string_to_model(model, KEY_FENCE, stock->fence);
    if (stock->resource > 0)
        string_to_model(model, KEY_RESOURCE, stock->resource);
    if (stock->has_counter)
        string_to_model(model, KEY_COUNTER, stock->counter);
}

static void stock_disown(struct stock *stock)
{
    memset(&stock->claim, 0, sizeof stock->claim);
    memset(&stock->previous, 0, sizeof stock->previous);
    stock->is_tentative = 0;
}

static void stock_from_model(struct stock *stock, const struct model *model)
{
    const struct model_key *lock = &model->keys[KEY_LOCK];
    stock->type = (uint8_t)lock->type;
    stock->value = lock->type == MODEL_ABSENT ? 0 : narrow(lock->value);
    stock->left = NO_TIME;
    if (lock->type != MODEL_ABSENT && lock->expire_us != MODEL_NO_EXPIRY)
        stock->left = (int16_t)((lock->expire_us - EPOCH_US + TICK_US - 1) / TICK_US);
    if (lock->type == MODEL_ABSENT)
        stock_disown(stock);
    stock->fence = string_from_model(model, KEY_FENCE);
    stock->resource = string_from_model(model, KEY_RESOURCE);
    stock->counter = string_from_model(model, KEY_COUNTER);
    stock->has_counter = model->keys[KEY_COUNTER].type == MODEL_STRING;
}

/* Versions only matter as "changed since it was watched". */
enum { VERSION_WATCHED = 1, VERSION_NOW };

static void watch_to_model(const struct post *post, int position, struct model_watch *watch)
{
    memset(watch, 0, sizeof *watch);
    if (position == POST_NO_WATCH || !(post->watching >> position & 1))
        return;
    watch->active = true;
    memset(watch->version, 0xff, sizeof watch->version);
    watch->version[KEY_LOCK] = post->changed >> position & 1 ? VERSION_WATCHED : VERSION_NOW;
}

static void watch_from_model(struct post *post, int position, const struct model_watch *watch,
                             const struct model *model)
{
    uint8_t bit = (uint8_t)(position == POST_NO_WATCH ? 0 : 1u << position);
    uint32_t version = model->keys[KEY_LOCK].version;
    if (version != VERSION_NOW)
        post->changed |= post->watching;
    post->watching &= (uint8_t)~bit;
    post->changed &= (uint8_t)~bit;
    if (!watch->active)
        return;
    post->watching |= bit;
    if (watch->version[KEY_LOCK] != version)
        post->changed |= bit;
}

struct reply post_execute(struct post *post, const struct setting *setting, int position,
                          const struct command *command)
{
    struct model model;
    struct model_watch watch;
    stock_to_model(&post->stock, &model);
    model.keys[KEY_LOCK].version = VERSION_NOW;
    model.has_delex = setting->scheme->needs_delex; /* a server that suits the scheme */
    watch_to_model(post, position, &watch);
    model.knows_script = post->knows_script;
    struct reply reply = model_execute(&model, &watch, command, EPOCH_US);
    post->knows_script = setting->scheme->needs_script && model.knows_script;
    watch_from_model(post, position, &watch, &model);
    stock_from_model(&post->stock, &model);
    return reply;
}

static void post_changes(struct post *post)
{
    post->changed |= post->watching;
}

/* --- time --- */

static void claim_age(struct claim *claim)
{
    if (claim->left != NO_TIME && claim->left > 0)
        claim->left--;
}

static bool stock_age(struct stock *stock, int ticks)
{
    struct model model;
    if (stock->type == MODEL_ABSENT || stock->left == NO_TIME)
        return false;
    stock_to_model(stock, &model);
    model_expire(&model, EPOCH_US + ticks * TICK_US);
    stock_from_model(stock, &model);
    if (stock->type != MODEL_ABSENT)
        stock->left = (int16_t)(stock->left - ticks);
    return stock->type == MODEL_ABSENT;
}

static void post_clock(struct post *post, int ticks)
{
    if (stock_age(&post->stock, ticks))
        post_changes(post);
    if (post->replica_state == REPLICA_CUT)
        stock_age(&post->replica, ticks);
}

void post_tick(struct post *post, bool are_stamps_kept)
{
    claim_age(&post->stock.claim);
    claim_age(&post->stock.previous);
    claim_age(&post->replica.claim);
    claim_age(&post->replica.previous);
    post->stock.value = value_aged(post->stock.value, are_stamps_kept);
    post->replica.value = value_aged(post->replica.value, are_stamps_kept);
    post_clock(post, 1);
}

void post_jump(struct post *post, int ticks)
{
    post_clock(post, ticks);
}

/* --- faults --- */

void post_disconnect(struct post *post, int position)
{
    uint8_t bits = (uint8_t)(position < 0 ? 0xffu : 1u << position);
    post->watching &= (uint8_t)~bits;
    post->changed &= (uint8_t)~bits;
}

static void stock_clear(struct stock *stock)
{
    memset(stock, 0, sizeof *stock);
    stock->left = NO_TIME;
}

void post_restart(struct post *post)
{
    struct model model;
    stock_to_model(&post->stock, &model);
    model_restart_empty(&model);
    stock_from_model(&post->stock, &model);
    post->stock.is_counter_known = false;
    post->knows_script = model.knows_script;
    post_disconnect(post, -1);
}

void post_evict(struct post *post)
{
    struct model model;
    stock_to_model(&post->stock, &model);
    model_evict(&model, KEY_LOCK);
    stock_from_model(&post->stock, &model);
    post_changes(post);
}

void post_flush_scripts(struct post *post)
{
    struct model model;
    stock_to_model(&post->stock, &model);
    model.knows_script = post->knows_script;
    model_flush_scripts(&model);
    post->knows_script = model.knows_script;
}

void post_cut(struct post *post)
{
    assert(post->replica_state == REPLICA_IN_STEP);
    post->replica = post->stock;
    post->replica_state = REPLICA_CUT;
}

void post_failover(struct post *post)
{
    struct model primary, replica;
    assert(post->replica_state == REPLICA_CUT);
    stock_to_model(&post->stock, &primary);
    stock_to_model(&post->replica, &replica);
    model_failover(&primary, &replica);
    stock_from_model(&post->stock, &primary);
    post->stock.is_counter_known = false;
    post->knows_script = primary.knows_script;
    post->stock.claim = post->replica.claim;
    post->stock.previous = post->replica.previous;
    post->stock.is_tentative = post->replica.is_tentative;
    stock_clear(&post->replica);
    post->replica_state = REPLICA_PROMOTED;
    post_disconnect(post, -1);
}

/* --- places --- */

static void claim_rename(struct claim *claim, const uint8_t *new_position)
{
    if (claim->owner != POST_NOBODY)
        claim->owner = (uint8_t)(new_position[claim->owner - 1] + 1);
}

static void stock_rename(struct stock *stock, const uint8_t *new_position)
{
    stock->value = value_renamed(stock->value, new_position);
    claim_rename(&stock->claim, new_position);
    claim_rename(&stock->previous, new_position);
}

void post_rename(struct post *post, const uint8_t *new_position)
{
    uint8_t watching = post->watching, changed = post->changed;
    stock_rename(&post->stock, new_position);
    stock_rename(&post->replica, new_position);
    post->watching = post->changed = 0;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++) {
        post->watching |= (uint8_t)((watching >> i & 1) << new_position[i]);
        post->changed |= (uint8_t)((changed >> i & 1) << new_position[i]);
    }
}

static void newest(const struct stock *stock, int *past)
{
    if (!is_stamp(stock->value) || stock->value > EPOCH_TICKS)
        return;
    int ago = EPOCH_TICKS - stock->value;
    if (*past < 0 || ago < *past)
        *past = ago;
}

int post_newest_past(const struct post *post)
{
    int past = -1;
    newest(&post->stock, &past);
    newest(&post->replica, &past);
    return past;
}

static unsigned stock_mentions(const struct stock *stock, int position)
{
    unsigned owns = stock->claim.owner == position + 1;
    unsigned owned = stock->previous.owner == position + 1;
    unsigned holds = is_token(stock->value) && token_position(stock->value) == position;
    unsigned number = holds ? (unsigned)(stock->value - TOKEN_BASE) % TOKENS_EACH : 0;
    return owns | owned << 1 | holds << 2 | (number & 7) << 3;
}

unsigned post_mentions(const struct post *post, int position)
{
    return stock_mentions(&post->stock, position) | stock_mentions(&post->replica, position) << 6 |
           (unsigned)(post->watching >> position & 1) << 12 |
           (unsigned)(post->changed >> position & 1) << 13;
}
