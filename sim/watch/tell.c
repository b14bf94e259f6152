/* tell.c - see tell.h. */
#include "watch/tell.h"

#include "history/words.h"
#include "worker/look.h"

#include <string.h>

/* --- what it did --- */

enum did tell_did(const struct telling *it, enum effect by_operation)
{
    const struct key_look *before = it->seen->before, *behind = it->seen->behind;
    const bool is_same = keys_is_same_expiry(&it->watching->keys, before, behind);
    return did_between(
        &(struct key_difference){.was_there = before->is_there,
                                 .is_there = behind->is_there,
                                 .is_other = strcmp(before->value, behind->value) != 0,
                                 .ttl_before = is_same ? behind->expires_us : before->expires_us,
                                 .ttl_behind = behind->expires_us,
                                 .by_operation = by_operation,
                                 .has_written_expiry = tell_gave_us(it) > 0,
                                 .is_error = it->reply.kind == REPLY_ERROR,
                                 .is_refusal = tell_is_refusal(it)});
}

void tell_effects(struct telling *it, enum did did, enum operation op)
{
    static const enum effect wanted[OP_COUNT] = {
        [OP_ACQUIRE] = EFFECT_SET, [OP_RELEASE] = EFFECT_DELETE, [OP_EXTEND] = EFFECT_EXPIRE};
    const struct key_look *before = it->seen->before, *behind = it->seen->behind;
    struct key_effect *effect = &it->effects.on[0];
    const bool is_written = did == DID_CREATED || did == DID_OVERWRITTEN;
    it->effects = (struct effects){.count = 1};
    effect->key = KEY_LOCK;
    effect->did = did;
    effect->before = before->is_there ? BEFORE_PRESENT : BEFORE_ABSENT;
    effect->wanted = did_wants(did, wanted[op], tell_is_refusal(it));
    if (before->is_there) {
        effect->has_old = value_number(before->value, &effect->old_value);
        (void)strcpy(it->effects.texts[0].old_value, before->value);
    }
    if (it->seen->is_unlike) {
        const int named = holder_named(it->watching, it->seen->words, it->seen->key);
        const char *token = named == NOBODY_KNOWN ? "" : it->watching->holders[named].token;
        effect->before = BEFORE_UNKNOWN;
        effect->is_unlike = true;
        effect->has_old = value_number(token, &effect->old_value);
        (void)strcpy(it->effects.texts[0].old_value, token);
    }
    if (is_written) {
        effect->has_new = value_number(behind->value, &effect->new_value);
        (void)strcpy(it->effects.texts[0].new_value, behind->value);
    }
    if (behind->is_there && behind->left_us != INT64_MAX && (is_written || did_is_expiry(did))) {
        effect->has_ttl = true;
        effect->ttl_us =
            history_duration_us(it->seen->looked_us + behind->left_us - it->seen->sent_us);
    }
}

/* --- events --- */

int64_t tell_left_us(int64_t own_end_us, int64_t now_us)
{
    if (own_end_us == INT64_MAX)
        return HISTORY_LONGEST_US;
    return own_end_us == now_us ? -1 : history_duration_us(own_end_us - now_us);
}

/* When the lease ends that it was granted: it counts from the request, but for the time for which
 * it stood in our line. Where the command does not say it, at the earliest. */
static int64_t own_end_us(const struct seen_execution *seen)
{
    const int64_t said_us =
        strcmp(seen->name, "SET") == 0 ? words_lease_us(seen->words) : INT64_MAX;
    const int64_t lease_us = said_us != INT64_MAX ? said_us : seen->behind->left_us;
    return lease_us == INT64_MAX ? INT64_MAX : seen->sent_us - seen->held_us + lease_us;
}

void tell_event(struct telling *it, int holder, enum event_kind kind, enum operation op,
                enum result result, struct condition on)
{
    const struct seen_execution *seen = it->seen;
    const bool has_command = kind == EVENT_SEND || kind == EVENT_EXECUTE || kind == EVENT_HEAR;
    const bool is_before = kind == EVENT_CALL || kind == EVENT_SEND || kind == EVENT_NOTICE;
    const int64_t time_us = is_before ? seen->sent_us : seen->done_us;
    const struct holder *who = &it->watching->holders[holder];
    const bool is_grant = kind == EVENT_RETURN && result == RESULT_GRANTED;
    struct event event = {.time_us = time_us,
                          .from_us = kind == EVENT_EXECUTE ? seen->sent_us : time_us,
                          .kind = kind,
                          .client = holder,
                          .server = has_command ? 0 : -1,
                          .lock = seen->key,
                          .attempt = who->attempt,
                          .op = kind == EVENT_NOTICE ? OP_ACQUIRE : op,
                          .result = result,
                          .is_inferred = !has_command,
                          .opaque = has_command ? &it->opaque : NULL};
    if (kind == EVENT_EXECUTE || kind == EVENT_HEAR)
        event.reply = it->reply;
    if (kind == EVENT_EXECUTE)
        event.effects = &it->effects;
    if (is_grant && value_number(who->token, &event.token))
        event.token_text = who->token;
    if (is_grant)
        event.amount_us = tell_left_us(own_end_us(seen), time_us);
    if (kind == EVENT_HEAR && it->seen->heard == DELIVERED_LATER) {
        late_keep(&it->seen->link->late, &event, holder, own_end_us(seen));
        return;
    }
    story_put(it->watching->story, &event, on.question, on.when);
}

static void keep_late(struct telling *it, int holder, enum operation op, enum result result)
{
    tell_event(it, holder, EVENT_HEAR, op, result, always);
}

void tell_operation(struct telling *it, int holder, enum operation op, enum result result,
                    struct condition on)
{
    const bool is_heard = it->seen->heard == DELIVERED_NOW;
    tell_event(it, holder, EVENT_CALL, op, RESULT_NONE, on);
    tell_event(it, holder, EVENT_SEND, op, RESULT_NONE, on);
    tell_event(it, holder, EVENT_EXECUTE, op, RESULT_NONE, on);
    if (it->seen->heard == DELIVERED_LATER && on.when == ALWAYS) {
        keep_late(it, holder, op, result);
        return;
    }
    if (is_heard)
        tell_event(it, holder, EVENT_HEAR, op, RESULT_NONE, on);
    tell_event(it, holder, EVENT_RETURN, op, is_heard ? result : RESULT_FAILED, on);
}

void tell_unknown(struct telling *it, enum operation op, struct condition on)
{
    const int unknown = holder_unknown(it->watching);
    if (unknown != NOBODY_KNOWN)
        tell_event(it, unknown, EVENT_EXECUTE, op, RESULT_NONE, on);
}
