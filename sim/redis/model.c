/* model.c - what a redis-server does with the typed commands.
 *
 * A row of the table below is a command; scripts and transactions are made of the plain commands,
 * so that each rule stands once. Never allocates, never asks what time it is, keeps nothing of its
 * own. Source: Redis command reference; every rule was tried on redis-server 7.0.15, and
 * test/differential.c goes on trying. */
#include "redis/model.h"

#include "base/bits.h"

#include <assert.h>
#include <string.h>

enum { NOT_WATCHED = -1 }; /* as uint32_t: UINT32_MAX */

/* One command under way. */
struct turn {
    struct model *model;
    struct model_watch *watch;
    int64_t now_us; /* cut to the granule: all that the server's expiry sees */
};

typedef struct reply run_function(struct turn *turn, const struct command *command);

static struct reply run(struct turn *turn, const struct command *command);

/* --- replies --- */

static struct reply nil(void)
{
    return (struct reply){.kind = REPLY_NIL};
}

static struct reply ok(void)
{
    return (struct reply){.kind = REPLY_OK};
}

static struct reply integer(int64_t value)
{
    return (struct reply){.kind = REPLY_INTEGER, .value = value};
}

static struct reply bulk(int64_t value)
{
    return (struct reply){.kind = REPLY_VALUE, .value = value};
}

static struct reply failed(enum reply_error error)
{
    return (struct reply){.kind = REPLY_ERROR, .error = error};
}

/* --- keys --- */

static int64_t whole_granules(const struct model *model, int64_t now_us)
{
    int64_t rest = now_us % model->granule_us;
    return now_us - (rest < 0 ? rest + model->granule_us : rest);
}

static void touch(struct model_key *key)
{
    key->version++;
    if (key->version == (uint32_t)NOT_WATCHED)
        key->version = 0;
}

static void erase(struct model_key *key)
{
    key->type = MODEL_ABSENT;
    key->value = 0;
    key->expire_us = MODEL_NO_EXPIRY;
    touch(key);
}

static void write_string(struct model_key *key, int64_t value, int64_t expire_us)
{
    assert(value != VALUE_NIL);
    key->type = MODEL_STRING;
    key->value = value;
    key->expire_us = expire_us;
    touch(key);
}

static struct model_key *key_of(struct turn *turn, const struct command *command)
{
    assert((unsigned)command->key < KEY_COUNT);
    return &turn->model->keys[command->key];
}

static void expire_keys(struct model *model, int64_t granule_now_us)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        struct model_key *key = &model->keys[i];
        if (key->type != MODEL_ABSENT && granule_now_us > key->expire_us)
            erase(key);
    }
}

/* --- plain commands --- */

static struct reply run_setnx(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    if (key->type != MODEL_ABSENT)
        return integer(0);
    write_string(key, command->value, MODEL_NO_EXPIRY);
    return integer(1);
}

static struct reply run_set_nx_ttl(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    /* The time is looked at first: a bad one is an error even when the key exists. */
    if (command->ttl_us <= 0)
        return failed(ERROR_EXPIRE);
    if (key->type != MODEL_ABSENT)
        return nil();
    write_string(key, command->value, turn->now_us + command->ttl_us);
    return ok();
}

static struct reply run_set(struct turn *turn, const struct command *command)
{
    write_string(key_of(turn, command), command->value, MODEL_NO_EXPIRY);
    return ok();
}

static struct reply run_get(struct turn *turn, const struct command *command)
{
    const struct model_key *key = key_of(turn, command);
    if (key->type == MODEL_ABSENT)
        return nil();
    if (key->type != MODEL_STRING)
        return failed(ERROR_WRONGTYPE);
    return bulk(key->value);
}

static struct reply run_getset(struct turn *turn, const struct command *command)
{
    struct reply old = run_get(turn, command);
    if (old.kind != REPLY_ERROR)
        write_string(key_of(turn, command), command->value, MODEL_NO_EXPIRY);
    return old;
}

static struct reply run_del(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    if (key->type == MODEL_ABSENT)
        return integer(0);
    erase(key);
    return integer(1);
}

static struct reply run_expire(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    if (key->type == MODEL_ABSENT)
        return integer(0);
    if (command->ttl_us <= 0) {
        erase(key);
    } else {
        key->expire_us = turn->now_us + command->ttl_us;
        touch(key);
    }
    return integer(1);
}

static struct reply run_incr(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    if (key->type == MODEL_LIST)
        return failed(ERROR_WRONGTYPE);
    int64_t old = key->type == MODEL_ABSENT ? 0 : key->value;
    if (old == VALUE_EMPTY || old == INT64_MAX)
        return failed(ERROR_OTHER); /* no integer; would overflow */
    write_string(key, old + 1, key->expire_us);
    return integer(old + 1);
}

static struct reply run_rpush(struct turn *turn, const struct command *command)
{
    struct model_key *key = key_of(turn, command);
    if (key->type == MODEL_STRING)
        return failed(ERROR_WRONGTYPE);
    key->type = MODEL_LIST;
    key->value++;
    touch(key);
    return integer(key->value);
}

/* DELEX key IFEQ value, DELIFEQ key value. */
static struct reply run_delete_if_equal(struct turn *turn, const struct command *command)
{
    struct reply held = run_get(turn, command);
    if (held.kind == REPLY_ERROR)
        return held;
    if (held.kind != REPLY_VALUE || held.value != command->value)
        return integer(0);
    return run_del(turn, command);
}

/* --- WATCH and transactions --- */

static void unwatch(struct model_watch *watch)
{
    *watch = (struct model_watch){.is_behind = watch->is_behind};
}

static bool is_dirty(const struct turn *turn)
{
    for (int i = 0; turn->watch->active && i < KEY_COUNT; i++) {
        uint32_t watched = turn->watch->version[i];
        if (watched != (uint32_t)NOT_WATCHED && watched != turn->model->keys[i].version)
            return true;
    }
    return false;
}

static struct reply run_watch(struct turn *turn, const struct command *command)
{
    struct model_watch *watch = turn->watch;
    if (!watch->active)
        memset(watch->version, 0xff, sizeof watch->version);
    watch->active = true;
    /* Watched again it keeps what it saw first. */
    if (watch->version[command->key] == (uint32_t)NOT_WATCHED)
        watch->version[command->key] = key_of(turn, command)->version;
    return ok();
}

static struct reply run_unwatch(struct turn *turn, const struct command *command)
{
    (void)command;
    unwatch(turn->watch);
    return ok();
}

/* A connection on which nothing was said has nothing there that is not acknowledged. */
static struct reply run_wait(struct turn *turn, const struct command *command)
{
    (void)command;
    return integer(turn->model->replica == MODEL_REPLICA_IN_STEP ||
                   (turn->model->replica == MODEL_REPLICA_CUT && !turn->watch->is_behind));
}

/* Runs first and, unless it is VERB_COUNT, second; EXEC ends the watch whatever comes of it. */
static struct reply run_transaction(struct turn *turn, const struct command *command,
                                    enum verb first, enum verb second)
{
    bool is_aborted = is_dirty(turn);
    unwatch(turn->watch);
    if (is_aborted)
        return nil();
    struct command part = *command;
    part.verb = first;
    struct reply one = run(turn, &part);
    struct reply two = one;
    if (second != VERB_COUNT) {
        part.verb = second;
        two = run(turn, &part); /* also when the first one failed: nothing is rolled back */
    }
    if (one.kind == REPLY_ERROR)
        return one;
    if (two.kind == REPLY_ERROR)
        return two;
    return (struct reply){.kind = REPLY_TRANSACTION, .value = one.value, .second = two.value};
}

static struct reply run_multi_del(struct turn *turn, const struct command *command)
{
    return run_transaction(turn, command, VERB_DEL, VERB_COUNT);
}

static struct reply run_multi_setnx_expire(struct turn *turn, const struct command *command)
{
    return run_transaction(turn, command, VERB_SETNX, VERB_EXPIRE);
}

/* --- scripts: an error ends one where it stands, and what was done stays done --- */

static struct reply inside(struct turn *turn, const struct command *command, enum verb verb)
{
    struct command part = *command;
    part.verb = verb;
    return run(turn, &part);
}

static struct reply run_lua_setnx_expire(struct turn *turn, const struct command *command)
{
    struct reply set = inside(turn, command, VERB_SETNX);
    if (!reply_is_integer(&set, 1))
        return set;
    struct reply expire = inside(turn, command, VERB_EXPIRE);
    return expire.kind == REPLY_ERROR ? expire : integer(1);
}

static struct reply run_if_equal(struct turn *turn, const struct command *command, enum verb then)
{
    struct reply held = inside(turn, command, VERB_GET);
    if (held.kind == REPLY_ERROR)
        return held;
    if (held.kind != REPLY_VALUE || held.value != command->value)
        return integer(0);
    return inside(turn, command, then);
}

static struct reply run_compare_delete(struct turn *turn, const struct command *command)
{
    turn->model->knows_script = true;
    return run_if_equal(turn, command, VERB_DEL);
}

static struct reply run_compare_delete_sha(struct turn *turn, const struct command *command)
{
    return turn->model->knows_script ? run_compare_delete(turn, command) : failed(ERROR_NOSCRIPT);
}

static struct reply run_script_load(struct turn *turn, const struct command *command)
{
    (void)command;
    turn->model->knows_script = true;
    return ok();
}

static struct reply run_compare_expire(struct turn *turn, const struct command *command)
{
    return run_if_equal(turn, command, VERB_PEXPIRE);
}

static struct reply run_set_mint(struct turn *turn, const struct command *command)
{
    struct reply set = inside(turn, command, VERB_SET_NX_PX);
    if (set.kind != REPLY_OK)
        return set;
    return run(turn, &(struct command){.verb = VERB_INCR, .key = KEY_FENCE});
}

static struct reply run_fenced_set(struct turn *turn, const struct command *command)
{
    struct reply seen = inside(turn, command, VERB_GET);
    if (seen.kind == REPLY_ERROR)
        return seen;
    /* What is not a fence (a negative number, the empty text) refuses nobody. */
    if (seen.kind == REPLY_VALUE && seen.value >= 0 && command->number < seen.value)
        return integer(0);
    struct command set = {.verb = VERB_SET, .key = command->key, .value = command->number};
    struct reply done = run(turn, &set);
    return done.kind == REPLY_ERROR ? done : integer(1);
}

/* --- the table, and what a server that is full, read-only or the like refuses --- */

#define TRAITS(BIT)                                                                                \
    BIT(WRITES)      /* refused by a read-only replica, and when the disk fails */                 \
    BIT(GROWS)       /* refused when memory is full, even when it would change nothing */          \
    BIT(SCRIPT)      /* let in; the commands inside are refused one by one */                      \
    BIT(TRANSACTION) /* MULTI is let in, the commands behind it are not queued, EXEC fails */      \
    BIT(TWO_SLOTS)   /* names keys that no cluster keeps in one slot */                            \
    BIT(SESSION)     /* concerns the connection only: allowed while loading */
BITS(trait, TRAITS);

static const struct {
    run_function *run;
    int traits;
} rows[VERB_COUNT] = {
#define VERB(id, name, arguments, wire, script, guarded, shown, answers, effect, compares, expiry, \
             run, traits)                                                                          \
    {run_##run, traits},
#include "redis/commands.def"
#undef VERB
};

static bool is_refused(enum reply_error refuses, int traits)
{
    switch (refuses) {
    case ERROR_NONE:
        return false;
    case ERROR_OOM: /* what is queued counts as growth, even a DEL */
        return (traits & (GROWS | TRANSACTION)) != 0;
    case ERROR_READONLY:
    case ERROR_MISCONF:
        return (traits & (WRITES | TRANSACTION)) != 0;
    case ERROR_NOSCRIPT:
        return (traits & SCRIPT) != 0;
    case ERROR_CROSSSLOT:
        return (traits & TWO_SLOTS) != 0;
    case ERROR_LOADING:
        return (traits & SESSION) == 0;
    default:
        return true;
    }
}

bool model_may_write(enum verb verb)
{
    assert((unsigned)verb < VERB_COUNT);
    return (rows[verb].traits & (WRITES | SCRIPT | TRANSACTION)) != 0;
}

static bool is_known(const struct model *model, enum verb verb)
{
    return (verb != VERB_DELEX || model->has_delex) && (verb != VERB_DELIFEQ || model->has_delifeq);
}

static struct reply run(struct turn *turn, const struct command *command)
{
    const struct model *model = turn->model;
    assert((unsigned)command->verb < VERB_COUNT);
    int traits = rows[command->verb].traits;
    if (!is_known(model, command->verb))
        return failed(ERROR_UNSUPPORTED);
    if (!is_refused(model->refuses, traits))
        return rows[command->verb].run(turn, command);
    return model_refuse(turn->watch, command, model->refuses);
}

/* --- contract --- */

void model_init(struct model *model, int64_t granule_us)
{
    assert(granule_us > 0);
    memset(model, 0, sizeof *model);
    model->granule_us = granule_us;
    for (int i = 0; i < KEY_COUNT; i++)
        model->keys[i].expire_us = MODEL_NO_EXPIRY;
}

struct reply model_execute(struct model *model, struct model_watch *watch,
                           const struct command *command, int64_t now_us)
{
    struct turn turn = {.model = model, .watch = watch, .now_us = whole_granules(model, now_us)};
    expire_keys(model, turn.now_us);
    struct reply reply = run(&turn, command);
    watch->is_behind = model->replica == MODEL_REPLICA_CUT;
    return reply;
}

struct reply model_refuse(struct model_watch *watch, const struct command *command,
                          enum reply_error error)
{
    assert((unsigned)command->verb < VERB_COUNT);
    if ((rows[command->verb].traits & TRANSACTION) != 0 && command_lets_multi_in(error))
        unwatch(watch);
    return failed(error);
}

void model_expire(struct model *model, int64_t now_us)
{
    expire_keys(model, whole_granules(model, now_us));
}

int64_t model_ttl(const struct model *model, enum key key, int64_t now_us)
{
    assert((unsigned)key < KEY_COUNT);
    const struct model_key *it = &model->keys[key];
    int64_t granule_now_us = whole_granules(model, now_us);
    if (it->type == MODEL_ABSENT || granule_now_us > it->expire_us)
        return -2;
    return it->expire_us == MODEL_NO_EXPIRY ? -1 : it->expire_us - granule_now_us;
}

void model_flush_keys(struct model *model)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (model->keys[i].type != MODEL_ABSENT)
            erase(&model->keys[i]);
}

void model_restart_empty(struct model *model)
{
    for (int i = 0; i < KEY_COUNT; i++)
        erase(&model->keys[i]);
    model_flush_scripts(model);
}

void model_flush_scripts(struct model *model)
{
    model->knows_script = false;
}

void model_evict(struct model *model, enum key key)
{
    assert((unsigned)key < KEY_COUNT);
    if (model->keys[key].type != MODEL_ABSENT)
        erase(&model->keys[key]);
}

void model_failover(struct model *primary, const struct model *lagging_replica)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        uint32_t version = primary->keys[i].version;
        primary->keys[i] = lagging_replica->keys[i];
        primary->keys[i].version = version;
        touch(&primary->keys[i]);
    }
    model_flush_scripts(primary);
}
