/* change.c - see change.h. What a command does is read from its row; nothing here names one. */
#include "checks/change.h"

/* Did it act? */
enum outcome { OUTCOME_UNKNOWN, OUTCOME_DONE, OUTCOME_REFUSED };

static enum outcome outcome_of(enum verb verb, const struct reply *reply)
{
    if (!verb_answers(verb, reply->kind))
        return OUTCOME_UNKNOWN;
    switch (reply->kind) {
    case REPLY_OK:
        return OUTCOME_DONE;
    case REPLY_NIL: /* an EXEC that was aborted says nothing of the key */
        return verb_answers(verb, REPLY_TRANSACTION) ? OUTCOME_UNKNOWN : OUTCOME_REFUSED;
    case REPLY_INTEGER:
        if (verb_answers(verb, REPLY_NIL)) /* nil is "no", and a number the command's own */
            return OUTCOME_DONE;
        return reply->value > 0 ? OUTCOME_DONE : OUTCOME_REFUSED;
    case REPLY_TRANSACTION:
        return reply->value > 0 ? OUTCOME_DONE : OUTCOME_REFUSED;
    default:
        return OUTCOME_UNKNOWN;
    }
}

static struct change with_expiry(struct change change, const struct command *command)
{
    if (verb_expiry(command->verb) == EXPIRY_NONE)
        return change;
    change.has_ttl = true;
    change.ttl_us = command->ttl_us;
    if (change.kind == CHANGE_EXPIRY && command->ttl_us <= 0) /* "EXPIRE k 0" deletes, and says 1 */
        change.kind = CHANGE_DELETE;
    return change;
}

static struct change done(const struct command *command)
{
    static const enum change_kind kinds[] = {[EFFECT_READ] = CHANGE_NONE,
                                             [EFFECT_SET] = CHANGE_WRITE,
                                             [EFFECT_EXPIRE] = CHANGE_EXPIRY,
                                             [EFFECT_DELETE] = CHANGE_DELETE};
    const enum effect effect = verb_effect(command->verb);
    struct change change = {.kind = kinds[effect]};
    switch (verb_compares(command->verb)) {
    case COMPARES_ABSENCE:
        change.before = BEFORE_ABSENT;
        break;
    case COMPARES_VALUE:
        change.before = BEFORE_PRESENT;
        change.has_value = true;
        change.value = command->value;
        break;
    case COMPARES_NOTHING:
    case COMPARES_WATCHED:
    case COMPARES_FENCE:
        change.before = effect == EFFECT_SET ? BEFORE_UNKNOWN : BEFORE_PRESENT;
        break;
    }
    return with_expiry(change, command);
}

static struct change refused(const struct command *command)
{
    switch (verb_compares(command->verb)) {
    case COMPARES_ABSENCE:
        if (verb_expiry(command->verb) == EXPIRY_ANYWAY)
            return with_expiry((struct change){.before = BEFORE_PRESENT, .kind = CHANGE_EXPIRY},
                               command);
        return (struct change){.before = BEFORE_PRESENT};
    case COMPARES_VALUE: /* "absent, or another value" */
        return (struct change){.is_unlike = true, .value = command->value};
    case COMPARES_NOTHING:
    case COMPARES_WATCHED:
    case COMPARES_FENCE:
        break;
    }
    return (struct change){.before = BEFORE_ABSENT};
}

/* Commands that answer with what was there, whether they acted or not. */
static struct change told_value(const struct command *command, const struct reply *reply)
{
    const enum effect effect = verb_effect(command->verb);
    struct change change = {.before = BEFORE_ABSENT};
    if (reply->kind == REPLY_VALUE) {
        change = done(command);
        change.before = BEFORE_PRESENT;
        change.has_value = true;
        change.value = reply->value;
    } else if (reply->kind != REPLY_NIL) {
        return (struct change){0};
    }
    if (effect == EFFECT_SET)
        change.kind = CHANGE_SWAP;
    return change;
}

struct change change_read(const struct command *command, const struct reply *reply)
{
    enum expiry expiry = verb_expiry(command->verb);
    bool is_in_two = expiry == EXPIRY_THEN || expiry == EXPIRY_ANYWAY;
    if (is_in_two && reply->kind == REPLY_ERROR && reply->error == ERROR_EXPIRE)
        return (struct change){.kind = CHANGE_WRITE_IF_NEW};
    if (verb_answers(command->verb, REPLY_VALUE))
        return told_value(command, reply);
    if (verb_effect(command->verb) == EFFECT_READ)
        return (struct change){0};
    switch (outcome_of(command->verb, reply)) {
    case OUTCOME_DONE:
        return done(command);
    case OUTCOME_REFUSED:
        return refused(command);
    case OUTCOME_UNKNOWN:
        break;
    }
    return (struct change){0};
}
