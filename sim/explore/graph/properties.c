/* properties.c - see properties.h. */
#include "explore/graph/properties.h"

#include "base/bits.h"
#include "explore/model/subject.h"

static unsigned bit(enum property property)
{
    return 1u << property;
}

unsigned properties_of_execution(const struct config *config, unsigned observed)
{
    unsigned violated = 0;
    if (observed & FOREIGN_RELEASE)
        violated |= bit(PROPERTY_RELEASE_OWN);
    if (observed & FOREIGN_TOUCH)
        violated |= bit(PROPERTY_EXTEND_OWN);
    if (observed & LEFT_ORPHAN && config->scheme->promises_token)
        violated |= bit(PROPERTY_NO_ORPHAN) | (config_quorum(config) > 1 ? 0 : ORPHAN_BY_LEFTOVER);
    if (observed & UPDATE_LOST)
        violated |= bit(PROPERTY_NO_LOST_UPDATE);
    return violated;
}

static const struct ghost_owner *ghost_at(struct state_space *space, const uint32_t *words,
                                          int server)
{
    return &space_server_facts(space, words[space->config.clients + server])->ghost;
}

/* Does that server keep the lock for this attempt? */
static bool is_kept(struct state_space *space, const uint32_t *words, int client, int server)
{
    const struct ghost_owner *ghost = ghost_at(space, words, server);
    return ghost->owner == client + 1 &&
           ghost->rounds == space_client(space, words[client])->rounds;
}

bool properties_brings_back(struct state_space *space, const uint32_t *before,
                            const uint32_t *after, int client, int server)
{
    return !is_kept(space, before, client, server) && is_kept(space, after, client, server);
}

/* And once its client was told so? What a refused GETSET has taken over is not its: as swap_lost()
 * of checks/ledger_fault.c. */
static bool is_kept_when_told(struct state_space *space, const uint32_t *words, int client,
                              int server, unsigned did)
{
    const uint32_t state = words[space->config.clients + server];
    return is_kept(space, words, client, server) &&
           !(did & DID_REFUSE && space_server_facts(space, state)->is_back_if_refused);
}

static bool keeps_any(struct state_space *space, const uint32_t *words, int client, unsigned did)
{
    for (int s = 0; s < space->config.servers; s++)
        if (is_kept_when_told(space, words, client, s, did))
            return true;
    return false;
}

static int count_kept(struct state_space *space, const uint32_t *words, int client)
{
    int kept = 0;
    for (int s = 0; s < space->config.servers; s++)
        kept += is_kept(space, words, client, s);
    return kept;
}

bool properties_is_owner(struct state_space *space, const uint32_t *words, int client)
{
    return count_kept(space, words, client) >= config_quorum(&space->config);
}

/* When its own lease is over it must refuse, whatever it has, and whatever servers said. */
static bool must_refuse(const struct client_facts *facts, unsigned did)
{
    return did & DID_REFUSE && facts->call_left <= LEASE_OVER;
}

/* Servers that refused it because of a key of its own attempt. */
static unsigned refused_itself(const struct client_facts *facts)
{
    return must_refuse(facts, DID_REFUSE) ? 0 : facts->refused_itself;
}

/* Servers that said "taken" because of the client's own key, or "not yours" of a lock that it had
 * removed itself; as bits. */
static unsigned said_untrue(struct state_space *space, const uint32_t *words, int client,
                            unsigned did)
{
    const struct client_facts *facts = space_client(space, words[client]);
    return did & DID_NOT_MINE ? facts->deleted : refused_itself(facts) | facts->refused_behind;
}

/* Servers that keep its lock, and had not answered before they gave it. */
static unsigned kept_all_along(struct state_space *space, const uint32_t *words, int client,
                               unsigned did)
{
    const struct client_facts *facts = space_client(space, words[client]);
    unsigned overtaken = facts->overtaken, kept = 0;
    /* A scheme of ours gives back what it must refuse. */
    if (must_refuse(facts, did) && space->config.subject != &subject_in_c)
        return 0;
    for (int s = 0; s < space->config.servers; s++)
        if (is_kept_when_told(space, words, client, s, did) && !(overtaken >> s & 1) &&
            ghost_counts(&space->config, ghost_at(space, words, s)))
            kept |= 1u << s;
    return kept;
}

/* The client was told "refused", or "not mine": of a majority of servers that is not so. */
static unsigned properties_of_answer(struct state_space *space, const uint32_t *words, int client,
                                     unsigned did)
{
    const struct client_facts *facts = space_client(space, words[client]);
    const int majority = config_quorum(&space->config);
    unsigned said = said_untrue(space, words, client, did);
    unsigned kept = kept_all_along(space, words, client, did);
    if (bits_count(said | kept) < majority)
        return 0;
    bool is_leftover = did & DID_REFUSE && !refused_itself(facts) && !facts->refused_restored &&
                       bits_count(kept & ~facts->refused_behind) < majority;
    return bit(PROPERTY_TRUTHFUL) | (is_leftover ? REFUSED_BY_LEFTOVER : 0);
}

/* Nobody has granted it what it is told that it has; but who finds its own key, which has no end,
 * has it. As judge_granted() of checks/truthful.c. */
static bool is_untold(struct state_space *space, const uint32_t *words, int client)
{
    const struct server_facts *server = space_server_facts(space, words[space->config.clients]);
    return space_client(space, words[client])->is_untold &&
           !(server->is_endless && server->ghost.owner == client + 1);
}

/* Two holds overlap; when both have lease left, no overrun explains it. */
static unsigned properties_of_grant(struct state_space *space, const uint32_t *words, int client)
{
    const struct config *config = &space->config;
    bool is_late = space_client(space, words[client])->call_left <= LEASE_OVER;
    unsigned violated = is_late ? bit(PROPERTY_FRESH_GRANT) : 0;
    violated |= is_untold(space, words, client) ? bit(PROPERTY_TRUTHFUL) : 0;
    for (int i = 0; i < config->clients; i++) {
        const struct client_facts *other = space_client(space, words[i]);
        if (i == client || other->phase != PHASE_HOLDING)
            continue;
        violated |= bit(PROPERTY_MUTUAL_EXCLUSION);
        if (!is_late && other->call_left > LEASE_OVER)
            violated |= bit(PROPERTY_LEASE_EXCLUSION);
    }
    return violated;
}

/* Told "extended": by a majority of the servers? A hold that had been cut comes back by it. "Not
 * mine" ends the hold, as a release's answer does. */
unsigned properties_of_extend(struct state_space *space, const uint32_t *words, int client,
                              unsigned did)
{
    const struct config *config = &space->config;
    const struct client_facts *facts = space_client(space, words[client]);
    if (did & DID_NOT_MINE)
        return properties_of_answer(space, words, client, did);
    if (bits_count(facts->extended) < config_quorum(config))
        return bit(PROPERTY_TRUTHFUL);
    if (facts->call_left > LEASE_OVER || facts->extended_left <= LEASE_OVER)
        return 0;
    for (int i = 0; i < config->clients; i++) {
        const struct client_facts *other = space_client(space, words[i]);
        if (i != client && other->phase == PHASE_HOLDING && other->call_left > LEASE_OVER)
            return bit(PROPERTY_LEASE_EXCLUSION);
    }
    return 0;
}

bool properties_is_key_there(const struct state_space *space, const uint32_t *words)
{
    const struct config *config = &space->config;
    for (int s = 0; s < config->servers; s++)
        if (space_server_facts(space, words[config->clients + s])->is_there)
            return true;
    return false;
}

/* It was told "refused" on no server's word, and no key is there, nor was any since it asked. As
 * is_free_all_along() of checks/truthful.c. */
static bool is_guess_wrong(struct state_space *space, const uint32_t *words, unsigned did)
{
    const struct config *config = &space->config;
    if (!(did & DID_GUESS) || config_quorum(config) > 1 || properties_is_key_there(space, words))
        return false;
    space->has_guessed |= !config->judges_guesses;
    return config->judges_guesses;
}

unsigned properties_of_return(struct state_space *space, const uint32_t *words, int client,
                              unsigned did)
{
    const struct config *config = &space->config;
    if (did & DID_GRANT)
        return properties_of_grant(space, words, client);
    unsigned violated = did & DID_CRASH ? bit(PROPERTY_NO_CRASH) : 0;
    bool is_any_kept = keeps_any(space, words, client, did);
    /* What was granted behind the answer nobody could have told it of. Of a quorum a minority may
     * always be left: there every orphan counts alike. */
    bool is_told = config_quorum(config) > 1 || (did & (DID_REFUSE | DID_NOT_MINE | DID_RELEASE) &&
                                                 kept_all_along(space, words, client, did));
    if (is_any_kept && config->scheme->promises_token)
        violated |= bit(PROPERTY_NO_ORPHAN) | (is_told ? 0 : ORPHAN_BY_LEFTOVER);
    if (did & (DID_REFUSE | DID_NOT_MINE) &&
        (is_any_kept || said_untrue(space, words, client, did)))
        violated |= properties_of_answer(space, words, client, did);
    if (is_guess_wrong(space, words, did)) {
        violated |= bit(PROPERTY_TRUTHFUL);
        violated &= ~(unsigned)REFUSED_BY_LEFTOVER;
    }
    return violated;
}

static bool is_lost(struct state_space *space, const uint32_t *words, int client)
{
    const struct client_facts *facts = space_client(space, words[client]);
    return facts->phase == PHASE_HOLDING && facts->call_left < LEASE_OVER &&
           count_kept(space, words, client) < config_quorum(&space->config);
}

/* The acquire that made the ghost owner may still set the expiry. */
static bool is_under_way(const struct client_facts *owner, const struct ghost_owner *ghost)
{
    return owner->phase == PHASE_ACQUIRING && owner->rounds == ghost->rounds;
}

unsigned properties_of_any_state(struct state_space *space, const uint32_t *words)
{
    const struct config *config = &space->config;
    unsigned violated = 0;
    for (int s = 0; s < config->servers && config->scheme->promises_expiry; s++) {
        const struct server_facts *server_facts =
            space_server_facts(space, words[config->clients + s]);
        if (server_facts->is_endless && server_facts->ghost.owner != GHOST_NOBODY &&
            !is_under_way(space_client(space, words[server_facts->ghost.owner - 1]),
                          &server_facts->ghost))
            violated |= bit(PROPERTY_ALWAYS_EXPIRES);
    }
    for (int i = 0; i < config->clients && config->scheme->promises_notice; i++)
        if (is_lost(space, words, i))
            violated |= bit(PROPERTY_LOSS_NOTICE);
    return violated;
}
