/* verdict.c - see verdict.h. */
#include "explore/verdict.h"

static unsigned bit(enum property property)
{
    return 1u << property;
}

unsigned verdict_of_execution(const struct setting *setting, unsigned judged)
{
    unsigned violated = 0;
    if (judged & FOREIGN_RELEASE)
        violated |= bit(PROPERTY_RELEASE_OWN);
    if (judged & FOREIGN_TOUCH)
        violated |= bit(PROPERTY_EXTEND_OWN);
    if (judged & LEFT_ORPHAN && setting->scheme->promises_token)
        violated |= bit(PROPERTY_NO_ORPHAN);
    if (judged & UPDATE_LOST)
        violated |= bit(PROPERTY_NO_LOST_UPDATE);
    return violated;
}

static const struct claim *claim_at(struct space *space, const uint32_t *words, int server)
{
    return &space_note(space, words[space->setting.clients + server])->claim;
}

/* Does that server keep the lock for this attempt? */
static bool is_kept(struct space *space, const uint32_t *words, int client, int server)
{
    const struct claim *claim = claim_at(space, words, server);
    return claim->owner == client + 1 && claim->rounds == space_place(space, words[client])->rounds;
}

static int count_kept(struct space *space, const uint32_t *words, int client)
{
    int kept = 0;
    for (int s = 0; s < space->setting.servers; s++)
        kept += is_kept(space, words, client, s);
    return kept;
}

static int quorum(const struct setting *setting)
{
    return setting->scheme->needs_quorum ? setting->servers / 2 + 1 : 1;
}

bool verdict_is_owner(struct space *space, const uint32_t *words, int client)
{
    return count_kept(space, words, client) >= quorum(&space->setting);
}

/* Servers that said "taken" because of the client's own key, or "not yours" of a lock that it had
 * removed itself; as bits. */
static unsigned said_untrue(struct space *space, const uint32_t *words, int client, unsigned did)
{
    const struct place *place = space_place(space, words[client]);
    return did & DID_NOT_MINE ? place->deleted : place->refused;
}

/* Servers whose "taken", or "not yours", was not so. */
static int count_untrue(struct space *space, const uint32_t *words, int client, unsigned did)
{
    unsigned bits = said_untrue(space, words, client, did);
    unsigned overtaken = space_place(space, words[client])->overtaken;
    int untrue = 0;
    for (int s = 0; s < space->setting.servers; s++)
        untrue += (bits >> s & 1) || (is_kept(space, words, client, s) && !(overtaken >> s & 1) &&
                                      claim_counts(&space->setting, claim_at(space, words, s)));
    return untrue;
}

/* Two holds overlap; when both have lease left, no overrun explains it. */
static unsigned verdict_of_grant(struct space *space, const uint32_t *words, int client)
{
    const struct setting *setting = &space->setting;
    bool is_late = space_place(space, words[client])->call_left <= LEASE_OVER;
    unsigned violated = is_late ? bit(PROPERTY_FRESH_GRANT) : 0;
    for (int i = 0; i < setting->clients; i++) {
        const struct place *other = space_place(space, words[i]);
        if (i == client || other->phase != PHASE_HOLDING)
            continue;
        violated |= bit(PROPERTY_MUTUAL_EXCLUSION);
        if (!is_late && other->call_left > LEASE_OVER)
            violated |= bit(PROPERTY_LEASE_EXCLUSION);
    }
    return violated;
}

/* It was told "refused" on no server's word, and no key is there. */
static bool is_guess_wrong(struct space *space, const uint32_t *words, unsigned did)
{
    const struct setting *setting = &space->setting;
    if (!(did & DID_GUESS) || quorum(setting) > 1)
        return false;
    for (int s = 0; s < setting->servers; s++)
        if (space_note(space, words[setting->clients + s])->is_there)
            return false;
    return true;
}

unsigned verdict_of_return(struct space *space, const uint32_t *words, int client, unsigned did)
{
    const struct setting *setting = &space->setting;
    if (did & DID_GRANT)
        return verdict_of_grant(space, words, client);
    unsigned violated = did & DID_CRASH ? bit(PROPERTY_NO_CRASH) : 0;
    bool is_any_kept = count_kept(space, words, client) > 0;
    if (is_any_kept && setting->scheme->promises_token)
        violated |= bit(PROPERTY_NO_ORPHAN);
    if (did & (DID_REFUSE | DID_NOT_MINE) &&
        (is_any_kept || said_untrue(space, words, client, did)) &&
        count_untrue(space, words, client, did) >= quorum(setting))
        violated |= bit(PROPERTY_TRUTHFUL);
    if (is_guess_wrong(space, words, did))
        violated |= bit(PROPERTY_TRUTHFUL);
    return violated;
}

static bool is_lost(struct space *space, const uint32_t *words, int client)
{
    const struct place *place = space_place(space, words[client]);
    return place->phase == PHASE_HOLDING && place->call_left < LEASE_OVER &&
           count_kept(space, words, client) < quorum(&space->setting);
}

/* The acquire that made the claim may still set the expiry. */
static bool is_under_way(const struct place *owner, const struct claim *claim)
{
    return owner->phase == PHASE_ACQUIRING && owner->rounds == claim->rounds;
}

unsigned verdict_of_any_state(struct space *space, const uint32_t *words)
{
    const struct setting *setting = &space->setting;
    unsigned violated = 0;
    for (int s = 0; s < setting->servers && setting->scheme->promises_expiry; s++) {
        const struct post_note *note = space_note(space, words[setting->clients + s]);
        if (note->is_endless && note->claim.owner != POST_NOBODY &&
            !is_under_way(space_place(space, words[note->claim.owner - 1]), &note->claim))
            violated |= bit(PROPERTY_ALWAYS_EXPIRES);
    }
    for (int i = 0; i < setting->clients && setting->scheme->promises_notice; i++)
        if (is_lost(space, words, i))
            violated |= bit(PROPERTY_LOSS_NOTICE);
    return violated;
}
