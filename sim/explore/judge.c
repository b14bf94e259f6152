/* judge.c - see judge.h. The rules are those of checks/ledger_key.c. */
#include "explore/judge.h"

#include "checks/change.h"
#include "explore/access.h"

#include <string.h>

/* Who does it, and in which attempt: ROUNDS_BEFORE for what was sent in an earlier one. */
struct doer {
    const struct setting *setting;
    struct local *local;
    int position;
    uint8_t rounds;
};

enum { ROUNDS_BEFORE = 0xff };

static bool is_own(const struct claim *claim, const struct doer *doer)
{
    return claim->owner == doer->position + 1 && claim->rounds == doer->rounds &&
           doer->rounds != ROUNDS_BEFORE;
}

static bool is_foreign(const struct claim *claim, int position)
{
    return claim->owner != POST_NOBODY && claim->owner != position + 1;
}

/* What was copied, or outlived its attempt, knows by itself what its attempt knew. */
static bool remembers(const struct parcel *parcel)
{
    return !(parcel->flags & PARCEL_CURRENT) || parcel->flags & PARCEL_COPY;
}

/* How long a claim that is made now counts. */
static struct claim claim_new(const struct doer *doer, const struct parcel *parcel)
{
    struct claim claim = {
        .owner = (uint8_t)(doer->position + 1), .rounds = doer->rounds, .left = NO_TIME};
    bool is_late = parcel && remembers(parcel);
    if (doer->setting->scheme->uses_client_clock && is_late && parcel->left == PARCEL_LEFT_FROM_NOW)
        claim.left = (int16_t)(doer->setting->ttl + LEASE_OVER);
    else if (doer->setting->scheme->uses_client_clock)
        claim.left = is_late ? parcel->left : doer->local->call_left;
    else if (doer->setting->has_lease)
        claim.left = (int16_t)doer->setting->ttl;
    return claim;
}

/* parcel: the request that wrote the lock; NULL: one of the attempt under way, some time ago. */
static void grant(const struct doer *doer, const struct parcel *parcel, bool is_tentative,
                  struct stock *stock)
{
    stock->claim = claim_new(doer, parcel);
    memset(&stock->previous, 0, sizeof stock->previous);
    stock->is_tentative = is_tentative;
}

/* A client that gets back the very stamp that its GET had judged dead has won; any other has most
 * likely lost. */
static unsigned judge_swap(const struct doer *doer, const struct parcel *parcel,
                           const struct change *change, struct stock *stock)
{
    struct claim old = stock->claim;
    int32_t seen = remembers(parcel) ? parcel->number : doer->local->seen;
    bool wins = seen != 0 && change->value <= seen;
    if (is_own(&old, doer) || old.owner == POST_NOBODY || wins) {
        grant(doer, parcel, true, stock);
        stock->previous = old;
    } else {
        doer->local->flags |= LOCAL_SWAPPED;
    }
    return is_foreign(&old, doer->position) && claim_counts(doer->setting, &old) ? FOREIGN_TOUCH
                                                                                 : 0;
}

static unsigned judge_expiry(const struct doer *doer, const struct parcel *parcel,
                             struct stock *stock)
{
    const struct setting *setting = doer->setting;
    if (!is_own(&stock->claim, doer))
        return is_foreign(&stock->claim, doer->position) ? FOREIGN_TOUCH : 0;
    if (setting->has_lease)
        stock->claim.left = (int16_t)setting->ttl;
    uint8_t left = (uint8_t)(setting->ttl - parcel->age + LEASE_OVER);
    if (setting->has_lease && parcel->op == OP_EXTEND && doer->local->phase == PHASE_HOLDING &&
        left > doer->local->call_left)
        doer->local->call_left = left;
    return 0;
}

static unsigned judge_delete(const struct doer *doer, const struct parcel *parcel,
                             const struct stock *before)
{
    /* Only a command that comes twice can be answered "no" for what it has done itself. */
    if (doer->setting->repeats_commands && is_own(&before->claim, doer) &&
        doer->local->phase == PHASE_RELEASING)
        doer->local->deleted |= (uint8_t)(1u << parcel->server);
    /* A dead stamp is nobody's lock; a unit more, for what it was rounded up by. */
    bool counts = !doer->setting->scheme->uses_client_clock || before->claim.left > 0;
    bool is_release = parcel->op != OP_ACQUIRE;
    return is_release && counts && is_foreign(&before->claim, doer->position) ? FOREIGN_RELEASE : 0;
}

/* "Taken", because of its own key; or because of another's, and then what comes twice may still be
 * granted there. */
static void judge_refusal(const struct doer *doer, const struct parcel *parcel,
                          const struct stock *before)
{
    uint8_t server = (uint8_t)(1u << parcel->server);
    if (is_own(&before->claim, doer))
        doer->local->refused |= server;
    else if (parcel->flags & PARCEL_CURRENT && doer->local->phase == PHASE_ACQUIRING)
        doer->local->overtaken |= server;
}

/* A lock that comes when its attempt is over, and had not been won. */
static unsigned judge_write(const struct doer *doer, const struct parcel *parcel,
                            struct stock *stock)
{
    grant(doer, parcel, false, stock);
    if (doer->local->phase == PHASE_RELEASING && parcel->flags & PARCEL_CURRENT)
        doer->local->overtaken |= (uint8_t)(1u << parcel->server);
    return parcel->flags & (PARCEL_CURRENT | PARCEL_WON) ? 0 : LEFT_ORPHAN;
}

unsigned judge_execution(const struct setting *setting, struct local *local, int parcel,
                         int position, const struct reply *reply, const struct post *before,
                         struct post *after)
{
    const struct parcel *it = &local->parcels[parcel];
    if (it->op == OP_ACCESS)
        return access_judge(setting, local, parcel, reply, before, after);
    if (it->key != KEY_LOCK)
        return 0;
    bool is_current = it->flags & PARCEL_CURRENT;
    const struct doer doer = {.setting = setting,
                              .local = local,
                              .position = position,
                              .rounds = is_current ? local->rounds : ROUNDS_BEFORE};
    const struct command command = parcel_command(it);
    const struct change change = change_read(&command, reply);
    bool was_there = before->stock.type != MODEL_ABSENT;
    if (command.verb == VERB_GET && setting->scheme->uses_client_clock &&
        local->phase == PHASE_ACQUIRING && is_current)
        local->seen = change.has_value ? narrow(change.value) : 0;
    if (setting->repeats_commands && verb_effect(command.verb) == EFFECT_SET &&
        change.kind == CHANGE_NONE && was_there && change.before == BEFORE_PRESENT)
        judge_refusal(&doer, it, &before->stock);
    switch (change.kind) {
    case CHANGE_NONE:
        return 0;
    case CHANGE_WRITE_IF_NEW:
        return was_there ? 0 : judge_write(&doer, it, &after->stock);
    case CHANGE_SWAP:
        return was_there ? judge_swap(&doer, it, &change, &after->stock)
                         : judge_write(&doer, it, &after->stock);
    case CHANGE_WRITE:
        return judge_write(&doer, it, &after->stock);
    case CHANGE_EXPIRY:
        return judge_expiry(&doer, it, &after->stock);
    case CHANGE_DELETE:
        return judge_delete(&doer, it, &before->stock);
    }
    return 0;
}

void judge_return(const struct setting *setting, const struct local *local, int position,
                  enum judge_return how, struct post *post)
{
    struct stock *stock = &post->stock;
    struct local kept = *local;
    const struct doer doer = {
        .setting = setting, .local = &kept, .position = position, .rounds = local->rounds};
    if (stock->is_tentative && is_own(&stock->claim, &doer)) {
        struct claim old = stock->previous;
        memset(&stock->previous, 0, sizeof stock->previous);
        stock->is_tentative = 0;
        if (how == RETURN_REFUSED && old.owner != POST_NOBODY)
            stock->claim = old;
        return;
    }
    /* It was taken for a loser, and is told "granted": the owner since its GETSET. */
    if (how == RETURN_GRANTED && local->flags & LOCAL_SWAPPED && stock->type != MODEL_ABSENT)
        grant(&doer, NULL, false, stock);
}
