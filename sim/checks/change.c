/* change.c - see change.h. What a command does is read from its row; nothing here names one. */
#include "checks/change.h"

/* Did it act? */
enum acted { ACTED_UNKNOWN, ACTED, ACTED_NOT };

static enum acted acted_of(enum verb verb, const struct reply *reply)
{
    if (!verb_answers(verb, reply->kind))
        return ACTED_UNKNOWN;
    switch (reply->kind) {
    case REPLY_OK:
        return ACTED;
    case REPLY_NIL: /* an EXEC that was aborted says nothing of the key */
        return verb_answers(verb, REPLY_TRANSACTION) ? ACTED_UNKNOWN : ACTED_NOT;
    case REPLY_INTEGER:
        if (verb_answers(verb, REPLY_NIL)) /* nil is "no", and a number the command's own */
            return ACTED;
        return reply->value > 0 ? ACTED : ACTED_NOT;
    case REPLY_TRANSACTION:
        return reply->value > 0 ? ACTED : ACTED_NOT;
    default:
        return ACTED_UNKNOWN;
    }
}

static struct key_effect effect_of(const struct command *command, enum did did)
{
    return (struct key_effect){
        .key = command->key, .did = did, .wanted = verb_effect(command->verb)};
}

static void know_old(struct key_effect *effect, int64_t value)
{
    effect->has_old = true;
    effect->old_value = value;
}

static void write_new(struct key_effect *effect, int64_t value)
{
    effect->has_new = true;
    effect->new_value = value;
}

static void give_expiry(struct key_effect *effect, const struct command *command)
{
    if (verb_expiry(command->verb) == EXPIRY_NONE)
        return;
    effect->has_ttl = true;
    effect->ttl_us = command->ttl_us;
    if (effect->did != DID_EXPIRY_SET || command->ttl_us > 0)
        return;
    effect->did = DID_DELETED; /* "EXPIRE k 0" deletes, and says 1 */
    effect->has_ttl = false;
    effect->ttl_us = 0;
}

static struct key_effect done(const struct command *command)
{
    static const enum did dids[] = {[EFFECT_READ] = DID_READ,
                                    [EFFECT_SET] = DID_OVERWRITTEN,
                                    [EFFECT_EXPIRE] = DID_EXPIRY_SET,
                                    [EFFECT_DELETE] = DID_DELETED};
    const enum effect wanted = verb_effect(command->verb);
    struct key_effect effect = effect_of(command, dids[wanted]);
    switch (verb_compares(command->verb)) {
    case COMPARES_ABSENCE:
        effect.did = DID_CREATED;
        effect.before = BEFORE_ABSENT;
        break;
    case COMPARES_VALUE:
        effect.before = BEFORE_PRESENT;
        know_old(&effect, command->value);
        break;
    case COMPARES_NOTHING:
    case COMPARES_WATCHED:
    case COMPARES_FENCE:
        effect.before = wanted == EFFECT_SET ? BEFORE_UNKNOWN : BEFORE_PRESENT;
        break;
    }
    if (wanted == EFFECT_SET)
        write_new(&effect, command->value);
    give_expiry(&effect, command);
    return effect;
}

static struct key_effect refused(const struct command *command)
{
    struct key_effect effect = effect_of(command, DID_REFUSED);
    switch (verb_compares(command->verb)) {
    case COMPARES_ABSENCE:
        effect.before = BEFORE_PRESENT;
        if (verb_expiry(command->verb) == EXPIRY_ANYWAY)
            effect.did = DID_EXPIRY_SET;
        break;
    case COMPARES_VALUE: /* "absent, or another value" */
        effect.is_unlike = true;
        know_old(&effect, command->value);
        break;
    case COMPARES_NOTHING:
    case COMPARES_WATCHED:
    case COMPARES_FENCE:
        effect.before = BEFORE_ABSENT;
        break;
    }
    give_expiry(&effect, command);
    return effect;
}

/* Commands that answer with what was there, whether they acted or not. */
static struct key_effect told_value(const struct command *command, const struct reply *reply)
{
    struct key_effect effect = done(command);
    effect.is_told = verb_effect(command->verb) == EFFECT_SET;
    effect.before = reply->kind == REPLY_NIL ? BEFORE_ABSENT : BEFORE_PRESENT;
    if (reply->kind == REPLY_VALUE)
        know_old(&effect, reply->value);
    else if (effect.is_told)
        effect.did = DID_CREATED;
    else if (verb_effect(command->verb) != EFFECT_READ) /* there was nothing to do it to */
        effect.did = DID_NOTHING;
    return effect;
}

static struct key_effect failed(const struct command *command)
{
    struct key_effect effect = effect_of(command, DID_FAILED);
    give_expiry(&effect, command);
    return effect;
}

/* --- commands for what the lock guards: no scheme writes its lock key with one of these --- */

static struct key_effect counted(const struct command *command, int64_t number)
{
    struct key_effect effect = effect_of(command, DID_OVERWRITTEN);
    effect.is_told = true;
    write_new(&effect, number);
    return effect;
}

static struct key_effect guarded(const struct command *command, const struct reply *reply)
{
    struct key_effect effect = effect_of(command, DID_NOTHING);
    if (command->key == KEY_LOCK || reply->kind != REPLY_INTEGER)
        return effect;
    if (command->verb == VERB_INCR)
        return counted(command, reply->value);
    if (command->verb == VERB_RPUSH) {
        effect.did = DID_APPENDED;
        write_new(&effect, command->value);
    } else if (verb_compares(command->verb) == COMPARES_FENCE) {
        effect.did = reply->value > 0 ? DID_OVERWRITTEN : DID_REFUSED;
        effect.has_fence = true;
        effect.fence = command->number;
        if (effect.did == DID_OVERWRITTEN)
            write_new(&effect, command->number);
    }
    return effect;
}

/* --- contract --- */

struct key_effect change_read(const struct command *command, const struct reply *reply)
{
    enum expiry expiry = verb_expiry(command->verb);
    bool is_in_two = expiry == EXPIRY_THEN || expiry == EXPIRY_ANYWAY;
    if (is_in_two && reply->kind == REPLY_ERROR && reply->error == ERROR_EXPIRE) {
        /* What stands there, if there was nothing, has no expiry. */
        struct key_effect half = effect_of(command, DID_CREATED);
        write_new(&half, command->value);
        return half;
    }
    if (reply->kind == REPLY_ERROR)
        return failed(command);
    if (!verb_answers(command->verb, reply->kind))
        return effect_of(command, DID_NOTHING);
    if (verb_answers(command->verb, REPLY_VALUE))
        return told_value(command, reply);
    if (verb_effect(command->verb) == EFFECT_READ)
        return guarded(command, reply);
    switch (acted_of(command->verb, reply)) {
    case ACTED:
        return done(command);
    case ACTED_NOT:
        return refused(command);
    case ACTED_UNKNOWN:
        break;
    }
    return effect_of(command, DID_NOTHING);
}

/* A script that grants and counts: the fence is its second key. */
static bool is_mint(const struct event *event)
{
    return event->command.verb == VERB_SET_MINT && event->command.key == KEY_LOCK;
}

struct key_effect change_on(const struct event *event, enum key key)
{
    if (event->opaque) {
        for (int i = 0; event->effects && i < event->effects->count; i++)
            if (event->effects->on[i].key == key)
                return event->effects->on[i];
    } else if (event->command.key == key) {
        return change_read(&event->command, &event->reply);
    } else if (key == KEY_FENCE && is_mint(event) && event->reply.kind == REPLY_INTEGER) {
        return counted(&(struct command){.verb = VERB_INCR, .key = KEY_FENCE}, event->reply.value);
    }
    return (struct key_effect){.key = key};
}
