/* ghost.c - see ghost.h. The rules are those of checks/ledger_key.c, ledger_grant.c. */
#include "explore/model/ghost.h"

#include "checks/change.h"
#include "explore/model/workload.h"

#include <string.h>

/* Who does it, and in which attempt: ROUNDS_BEFORE for what was sent in an earlier one. */
struct sender {
    const struct config *config;
    struct client_state *client_state;
    int position;
    uint8_t rounds;
};

enum { ROUNDS_BEFORE = 0xff };

static bool is_own(const struct ghost_owner *ghost, const struct sender *sender)
{
    return ghost->owner == sender->position + 1 && ghost->rounds == sender->rounds &&
           sender->rounds != ROUNDS_BEFORE;
}

static bool is_foreign(const struct ghost_owner *ghost, int position)
{
    return ghost->owner != GHOST_NOBODY && ghost->owner != position + 1;
}

/* What was copied, or outlived its attempt, knows by itself what its attempt knew. */
static bool remembers(const struct packed_message *message)
{
    return !(message->flags & MESSAGE_CURRENT) || message->flags & MESSAGE_COPY;
}

/* How long a ghost owner that is made now counts. */
static struct ghost_owner ghost_new(const struct sender *sender,
                                    const struct packed_message *message)
{
    struct ghost_owner ghost = {
        .owner = (uint8_t)(sender->position + 1), .rounds = sender->rounds, .left = NO_TIME};
    bool is_late = message && remembers(message);
    if (sender->config->scheme->uses_client_clock && is_late &&
        message->left == MESSAGE_LEFT_FROM_NOW)
        ghost.left = (int16_t)(sender->config->ttl + LEASE_OVER);
    else if (sender->config->scheme->uses_client_clock)
        ghost.left = is_late ? message->left : sender->client_state->call_left;
    else if (sender->config->has_lease)
        ghost.left = (int16_t)sender->config->ttl;
    return ghost;
}

/* message: the request that wrote the lock; NULL: one of the attempt under way, some time ago. */
static void grant(const struct sender *sender, const struct packed_message *message,
                  bool is_tentative, struct keyspace *keyspace)
{
    keyspace->ghost = ghost_new(sender, message);
    memset(&keyspace->previous, 0, sizeof keyspace->previous);
    keyspace->is_tentative = is_tentative;
    keyspace->is_restored = 0;
}

/* A stamp over a stamp. A client that gets back the very stamp that its GET had observed dead has
 * won; any other has most likely lost. */
static unsigned ghost_swap(const struct sender *sender, const struct packed_message *message,
                           const struct key_effect *effect, struct keyspace *keyspace)
{
    struct ghost_owner old = keyspace->ghost;
    int32_t seen = remembers(message) ? message->number : sender->client_state->seen;
    bool wins = seen != 0 && effect->old_value <= seen;
    if (is_own(&old, sender) || old.owner == GHOST_NOBODY || wins) {
        grant(sender, message, true, keyspace);
        keyspace->previous = old;
    } else {
        sender->client_state->flags |= CLIENT_SWAPPED;
    }
    return is_foreign(&old, sender->position) && ghost_counts(sender->config, &old) ? FOREIGN_TOUCH
                                                                                    : 0;
}

/* Who was told to extend may count on that when it is told so: from the sending of the first of its
 * requests. What was given up before is no such request any more. As extended() of
 * checks/ledger_key.c. */
static void note_extended(struct client_state *client_state, const struct packed_message *message,
                          uint8_t left)
{
    if (client_state->extend != EXTEND_UNDER_WAY)
        return;
    client_state->extended |= (uint8_t)(1u << message->server);
    if (!message_is_abandoned(message) &&
        (!client_state->extended_left || left < client_state->extended_left))
        client_state->extended_left = left;
}

/* What this attempt asked for, or, behind its call, one before. As pair_votes() of checks/cause.c.
 */
static void note_granted(const struct sender *sender, bool is_granted)
{
    struct client_state *client_state = sender->client_state;
    if (sender->config->judges_grants && client_state->phase == PHASE_ACQUIRING)
        client_state->granted = is_granted;
}

static unsigned ghost_expiry(const struct sender *sender, const struct packed_message *message,
                             struct keyspace *keyspace)
{
    const struct config *config = sender->config;
    if (keyspace->ghost.owner == sender->position + 1 && message->flags & MESSAGE_CURRENT)
        note_granted(sender, true);
    if (!is_own(&keyspace->ghost, sender))
        return is_foreign(&keyspace->ghost, sender->position) ? FOREIGN_TOUCH : 0;
    if (config->has_lease)
        keyspace->ghost.left = (int16_t)config->ttl;
    const uint8_t left = config->has_lease ? (uint8_t)(config->ttl - message->age + LEASE_OVER) : 0;
    if (message->op != OP_EXTEND || sender->client_state->phase != PHASE_HOLDING)
        return 0;
    if (message->lane == LANE_MAIN)
        note_extended(sender->client_state, message, left);
    else if (left > sender->client_state->call_left)
        sender->client_state->call_left = left;
    return 0;
}

/* Is it a copy on its way, or is one of it? */
static bool is_copied(const struct sender *sender, const struct packed_message *message)
{
    bool is = (message->flags & MESSAGE_COPY) != 0;
    for (int i = 0; i < sender->client_state->count; i++) {
        const struct packed_message *other = &sender->client_state->messages[i];
        is |= other->flags & MESSAGE_COPY && other->server == message->server &&
              other->op == message->op && other->verb == message->verb;
    }
    return is;
}

/* It is granted behind another one of the same request, which the attempt has lost since: of a copy
 * on its way nobody could have told it. As note_behind() of checks/ledger_grant.c. */
static void note_again(const struct sender *sender, const struct packed_message *message)
{
    struct client_state *client_state = sender->client_state;
    if (client_state->phase != PHASE_ACQUIRING || !(message->flags & MESSAGE_CURRENT))
        return;
    if (message->flags & MESSAGE_AGAIN)
        client_state->overtaken |= (uint8_t)(1u << message->server);
    if (!is_copied(sender, message))
        return;
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message *other = &client_state->messages[i];
        if (other != message && message_is_request(other) && other->server == message->server &&
            other->op == message->op && other->verb == message->verb)
            other->flags |= MESSAGE_AGAIN;
    }
}

/* By its release: it is asked of when its client is told "not mine". */
static void note_deleted(const struct sender *sender, const struct packed_message *message,
                         const struct ghost_owner *ghost)
{
    const struct config *config = sender->config;
    struct client_state *client_state = sender->client_state;
    client_state->deleted |= (uint8_t)(1u << message->server);
    if (config->has_fault[FAULT_RESEND] && config->servers == 1 && ghost->left != NO_TIME)
        client_state->deleted_left = (uint8_t)(ghost->left - config->scheme->uses_client_clock);
}

static unsigned ghost_delete(const struct sender *sender, const struct packed_message *message,
                             const struct keyspace *before)
{
    /* Only a command that comes twice can be answered "no" for what it has done itself; of a quorum
     * another server may say so. */
    const struct config *config = sender->config;
    const bool counts_deletes = config->repeats_commands || config_quorum(config) > 1;
    if (is_own(&before->ghost, sender) && !is_copied(sender, message))
        note_granted(sender, false);
    /* When its time is over, "not mine" is so: is_over() of checks/truthful.c. */
    if (counts_deletes && is_own(&before->ghost, sender) && ghost_counts(config, &before->ghost) &&
        sender->client_state->phase == PHASE_RELEASING && !is_copied(sender, message))
        note_deleted(sender, message, &before->ghost);
    /* A dead stamp is nobody's lock; a unit more, for what it was rounded up by. */
    bool counts = !config->scheme->uses_client_clock || before->ghost.left > 0;
    bool is_release = message->op != OP_ACQUIRE;
    return is_release && counts && is_foreign(&before->ghost, sender->position) ? FOREIGN_RELEASE
                                                                                : 0;
}

/* "Taken", because of its own key, of this attempt or one before; or because of another's, and then
 * what comes twice may still be granted there. The last word counts. */
static void ghost_refusal(const struct sender *sender, const struct packed_message *message,
                          const struct key_effect *effect, const struct keyspace *before)
{
    struct client_state *client_state = sender->client_state;
    const struct config *config = sender->config;
    uint8_t server = (uint8_t)(1u << message->server);
    bool is_answer = effect->did == DID_REFUSED;
    /* A stamp that has passed refuses nobody. */
    bool is_live = !config->scheme->uses_client_clock || ghost_counts(config, &before->ghost);
    bool is_asking = message->flags & MESSAGE_CURRENT && client_state->phase == PHASE_ACQUIRING;
    if (is_asking)
        client_state->refused_restored &= (uint8_t)~server;
    if (is_own(&before->ghost, sender)) {
        if (!is_answer)
            return;
        client_state->refused_itself |= server;
        client_state->refused_behind &= (uint8_t)~server;
    } else if (is_asking && is_live && before->ghost.owner == sender->position + 1) {
        client_state->refused_behind |= server;
        client_state->refused_itself &= (uint8_t)~server;
        client_state->refused_restored |= before->is_restored ? server : 0;
    } else if (is_asking) {
        client_state->refused_itself &= (uint8_t)~server;
        client_state->refused_behind &= (uint8_t)~server;
        if (is_answer && (config->repeats_commands || config->scheme->uses_client_clock))
            client_state->overtaken |= server;
    }
}

/* Of a foreign program the lease counts from the request that won: it may have tried before. The
 * twin of lease_starts_us() of checks/ledger_client.c. */
static void count_from_sending(const struct sender *sender, const struct packed_message *message)
{
    const struct config *config = sender->config;
    struct client_state *client_state = sender->client_state;
    if (!message_is_opaque(message) || config->servers > 1 || !config->has_lease ||
        client_state->phase != PHASE_ACQUIRING || !(message->flags & MESSAGE_CURRENT))
        return;
    client_state->call_left = (uint8_t)(config->ttl + LEASE_OVER - message->age);
}

/* A lock that comes when its attempt is over, and had not been won. */
static unsigned ghost_write(const struct sender *sender, const struct packed_message *message,
                            struct keyspace *keyspace)
{
    grant(sender, message, false, keyspace);
    note_again(sender, message);
    note_granted(sender, true);
    /* What it had itself meanwhile was not free all along: is_free_all_along() of checks/. */
    if (message_is_opaque(message) && message->flags & MESSAGE_CURRENT &&
        sender->client_state->phase == PHASE_ACQUIRING)
        sender->client_state->flags |= CLIENT_TAKEN;
    count_from_sending(sender, message);
    if (sender->client_state->phase == PHASE_RELEASING && message->flags & MESSAGE_CURRENT)
        sender->client_state->overtaken |= (uint8_t)(1u << message->server);
    return message->flags & (MESSAGE_CURRENT | MESSAGE_WON) ? 0 : LEFT_ORPHAN;
}

/* The same over whatever is there; but a dead stamp is nobody's lock. */
static unsigned ghost_overwrite(const struct sender *sender, const struct packed_message *message,
                                const struct key_effect *effect, const struct keyspace *before,
                                struct keyspace *after)
{
    const struct config *config = sender->config;
    /* Its own, renewed with another value: context_renews() of checks/. */
    if (message->op == OP_EXTEND && before->type != MODEL_ABSENT && is_own(&before->ghost, sender))
        return ghost_expiry(sender, message, after);
    /* A server that says that there was nothing has forgotten it: that is no scheme's doing. */
    bool is_lock = before->type != MODEL_ABSENT && effect->before != BEFORE_ABSENT &&
                   is_foreign(&before->ghost, sender->position) &&
                   (!config->scheme->uses_client_clock || ghost_counts(config, &before->ghost));
    /* Who is told "refused" now is told what was so: somebody else had it. */
    if (is_lock && message->flags & MESSAGE_CURRENT &&
        sender->client_state->phase == PHASE_ACQUIRING)
        sender->client_state->overtaken |= (uint8_t)(1u << message->server);
    /* It had been refused, has asked once more, and got it. As ledger_note_asked() of checks/. */
    if (before->type == MODEL_ABSENT && message->flags & MESSAGE_CURRENT &&
        sender->client_state->phase == PHASE_ACQUIRING &&
        !(sender->client_state->flags & CLIENT_STRUCK))
        sender->client_state->overtaken &= (uint8_t) ~(1u << message->server);
    return ghost_write(sender, message, after) | (is_lock ? FOREIGN_TOUCH : 0);
}

static int64_t expiry_of(const struct keyspace *keyspace)
{
    return keyspace->left == NO_TIME ? INT64_MAX : keyspace->left;
}

/* What a foreign program's command did: the key before and behind it, compared. The twin of
 * worker/look.c. */
static struct key_effect seen_effect(const struct packed_message *message,
                                     const struct reply *reply, const struct keyspace *before,
                                     const struct keyspace *after)
{
    static const enum effect wanted[] = {
        [OP_ACQUIRE] = EFFECT_SET, [OP_RELEASE] = EFFECT_DELETE, [OP_EXTEND] = EFFECT_EXPIRE};
    const bool was_there = before->type != MODEL_ABSENT, is_there = after->type != MODEL_ABSENT;
    struct key_effect effect = {.key = KEY_LOCK,
                                .before = was_there ? BEFORE_PRESENT : BEFORE_ABSENT};
    effect.did = did_between(&(struct key_difference){
        .was_there = was_there,
        .is_there = is_there,
        .is_other =
            was_there && is_there && (before->type != after->type || before->value != after->value),
        .ttl_before = expiry_of(before),
        .ttl_behind = expiry_of(after),
        .by_operation = wanted[message->op],
        .has_written_value = reply->second & REPLY_WROTE_VALUE,
        .has_written_expiry = reply->second & REPLY_WROTE_EXPIRY,
        .is_error = reply->kind == REPLY_ERROR,
        .is_refusal = reply->kind == REPLY_NIL});
    effect.wanted = did_wants(effect.did, wanted[message->op], reply->kind == REPLY_NIL);
    return effect;
}

/* Of a foreign program: was it told that somebody had the lock while it asked? The key is there, or
 * was written since this attempt watched it. */
static void note_taken(const struct sender *sender, struct packed_message *message,
                       const struct key_effect *effect, const struct server_state *before,
                       const struct server_state *after)
{
    struct client_state *client_state = sender->client_state;
    const unsigned bit = sender->position < 0 ? 0 : 1u << sender->position;
    if (client_state->phase == PHASE_ACQUIRING && message->flags & MESSAGE_CURRENT &&
        after->watching & ~before->watching & bit)
        client_state->flags |= CLIENT_WATCHES;
    if (effect->before == BEFORE_PRESENT ||
        (message->opaque_kind == OPAQUE_TRANSACTION && client_state->flags & CLIENT_WATCHES &&
         before->changed & bit))
        message->flags |= MESSAGE_TAKEN;
}

unsigned ghost_execution(const struct config *config, struct client_state *client_state,
                         int message, int position, const struct reply *reply,
                         const struct server_state *before, struct server_state *after)
{
    const struct packed_message *it = &client_state->messages[message];
    if (it->op == OP_ACCESS)
        return workload_observe(config, client_state, message, reply, before, after);
    if (it->key != KEY_LOCK)
        return 0;
    bool is_current = it->flags & MESSAGE_CURRENT;
    const struct sender sender = {.config = config,
                                  .client_state = client_state,
                                  .position = position,
                                  .rounds = is_current ? client_state->rounds : ROUNDS_BEFORE};
    const struct command command = message_command(it);
    const bool is_opaque = message_is_opaque(it);
    const struct key_effect effect =
        is_opaque ? seen_effect(it, reply, &before->keyspace, &after->keyspace)
                  : change_read(&command, reply);
    if (is_opaque)
        note_taken(&sender, &client_state->messages[message], &effect, before, after);
    bool was_there = before->keyspace.type != MODEL_ABSENT;
    const bool asks = is_opaque
                          ? effect.wanted == EFFECT_SET || effect.did == DID_READ
                          : verb_effect(command.verb) == EFFECT_SET || command.verb == VERB_GET;
    if (command.verb == VERB_GET && config->scheme->uses_client_clock &&
        client_state->phase == PHASE_ACQUIRING && is_current)
        client_state->seen = effect.has_old ? narrow(effect.old_value) : 0;
    bool is_write = change_is_write(&effect) && !effect.is_told;
    if (asks && it->op == OP_ACQUIRE && !is_write && was_there && effect.before == BEFORE_PRESENT)
        ghost_refusal(&sender, it, &effect, &before->keyspace);
    switch (effect.did) {
    case DID_CREATED:
        /* A script that failed half way has written only where there was none. */
        if (effect.before == BEFORE_UNKNOWN)
            return was_there ? 0 : ghost_write(&sender, it, &after->keyspace);
        return ghost_overwrite(&sender, it, &effect, &before->keyspace, &after->keyspace);
    case DID_OVERWRITTEN:
        return effect.is_told && was_there && config->scheme->uses_client_clock
                   ? ghost_swap(&sender, it, &effect, &after->keyspace)
                   : ghost_overwrite(&sender, it, &effect, &before->keyspace, &after->keyspace);
    case DID_EXPIRY_SET:
    case DID_LENGTHENED:
    case DID_SHORTENED:
    case DID_UNEXPIRED:
        return ghost_expiry(&sender, it, &after->keyspace);
    case DID_DELETED:
        return ghost_delete(&sender, it, &before->keyspace);
    case DID_NOTHING:
    case DID_READ:
    case DID_REFUSED:
    case DID_FAILED:
    case DID_APPENDED:
    case DID_COUNT:
        break;
    }
    return 0;
}

void ghost_return(const struct config *config, const struct client_state *client_state,
                  int position, enum ghost_return how, struct server_state *server_state)
{
    struct keyspace *keyspace = &server_state->keyspace;
    struct client_state kept = *client_state;
    const struct sender sender = {.config = config,
                                  .client_state = &kept,
                                  .position = position,
                                  .rounds = client_state->rounds};
    if (keyspace->is_tentative && is_own(&keyspace->ghost, &sender)) {
        struct ghost_owner old = keyspace->previous;
        memset(&keyspace->previous, 0, sizeof keyspace->previous);
        keyspace->is_tentative = 0;
        if (how == RETURN_REFUSED && old.owner != GHOST_NOBODY)
            keyspace->ghost = old;
        return;
    }
    /* It was taken for a loser, and is told "granted": the owner since its GETSET. */
    if (how == RETURN_GRANTED && client_state->flags & CLIENT_SWAPPED &&
        keyspace->type != MODEL_ABSENT)
        grant(&sender, NULL, false, keyspace);
}
