/* lower_bound.c - see lower_bound.h. */
#include "explore/reduce/lower_bound.h"

#include "explore/model/faults/fault.h"

enum {
    NEVER = 100,
    /* A client that holds the lock, of the counter: it sends the read, and that is executed; it
     * hears, sends the write, and that is executed. */
    READS = 2,
    WRITES = READS + 3,
};

static const unsigned overlaps = 1u << PROPERTY_MUTUAL_EXCLUSION | 1u << PROPERTY_LEASE_EXCLUSION;
static const unsigned known_properties = 1u << PROPERTY_MUTUAL_EXCLUSION |
                                         1u << PROPERTY_LEASE_EXCLUSION |
                                         1u << PROPERTY_NO_LOST_UPDATE;

bool lower_bound_suits(const struct explore_options *options)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (options->budget[i] > 0 && fault_blame((enum fault)i) == FAULT_OF_CLIENT)
            return false;
    return !options->has_extends && !fault_may_end_requests(options) &&
           options->scheme->waits_for_all && options->section != SECTION_WRITE && options->sought &&
           !(options->sought & ~known_properties);
}

/* --- one client --- */

static void from_holding(struct client_facts *facts, int more)
{
    facts->bound.hold_in = (uint8_t)more;
    facts->bound.access_in = (uint8_t)(more + READS);
    facts->bound.write_in = (uint8_t)(more + WRITES);
}

/* Until all that it waits for has ended; at each server, what takes longest. */
static int ends_in(const struct client_state *client_state)
{
    int ends[SERVERS_MAX] = {0}, sum = 0;
    if (client_state->wake != NO_TIME)
        return 0; /* its timer may ring before */
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *it = &client_state->messages[i];
        if (!(it->flags & MESSAGE_CURRENT) || message_is_abandoned(it))
            continue;
        int end = message_is_request(it) ? 2 : 1;
        if (end > ends[it->server])
            ends[it->server] = end;
    }
    for (int s = 0; s < SERVERS_MAX; s++)
        sum += ends[s];
    return sum;
}

static void knows(struct client_facts *facts, int32_t count)
{
    facts->bound.has_count = true;
    facts->bound.count = count;
}

/* A command of its critical section is under way, and waited for. */
static void from_access(struct client_facts *facts, const struct packed_message *it)
{
    facts->bound.hold_in = 0;
    if (it->verb == VERB_SET && message_is_request(it)) {
        facts->bound.access_in = facts->bound.write_in = 1;
        knows(facts, it->value - 1);
    } else if (it->verb == VERB_GET && message_is_request(it)) {
        facts->bound.access_in = READS - 1;
        facts->bound.write_in = WRITES - 1;
    } else if (it->verb == VERB_GET && message_is_reply(it) && it->reply_kind == REPLY_VALUE) {
        facts->bound.access_in = facts->bound.write_in = WRITES - READS;
        knows(facts, it->reply_value);
    } else if (it->verb == VERB_GET && message_is_reply(it) && it->reply_kind == REPLY_NIL) {
        facts->bound.access_in = facts->bound.write_in = WRITES - READS;
        knows(facts, 0);
    }
}

static void from_section(struct client_facts *facts, const struct client_state *client_state)
{
    const int release = 1, acquire = 1;
    from_holding(facts, release + acquire);
    facts->bound.hold_in = 0;
    for (int i = 0; i < client_state->count; i++)
        if (client_state->messages[i].op == OP_ACCESS) {
            from_access(facts, &client_state->messages[i]);
            return;
        }
    if (client_state->stage == STAGE_OPEN) {
        from_holding(facts, 0);
    } else if (client_state->stage == STAGE_READ) {
        facts->bound.access_in = facts->bound.write_in = WRITES - READS - 1;
        knows(facts, client_state->counter);
    }
}

/* By way of what its next attempt asks for. */
static void from_idle(const struct state_space *space, struct client_facts *facts)
{
    from_holding(facts, facts->rounds > 0 ? 1 : NEVER);
    for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count; m++) {
        struct client_state asking;
        if (space->actions[m].kind != ACTION_ACQUIRE)
            continue;
        space_read_client(space, space->actions[m].to, &asking);
        if (asking.phase == PHASE_ACQUIRING)
            from_holding(facts, 1 + ends_in(&asking));
    }
}

void lower_bound_annotate(struct state_space *space, struct client_facts *facts,
                          const struct client_state *client_state)
{
    if (client_state->phase == PHASE_DEAD)
        from_holding(facts, NEVER);
    else if (client_state->phase == PHASE_IDLE)
        from_idle(space, facts);
    else if (client_state->phase == PHASE_ACQUIRING)
        from_holding(facts, ends_in(client_state));
    else if (client_state->phase == PHASE_HOLDING)
        from_section(facts, client_state);
    else
        from_holding(facts, 1);
}

/* --- all of them --- */

static int to_overlap(struct state_space *space, const uint32_t *words)
{
    int least = NEVER, next = NEVER;
    for (int i = 0; i < space->config.clients; i++) {
        int hold_in = space_client(space, words[i])->bound.hold_in;
        int more = hold_in > least ? hold_in : least;
        least = hold_in < least ? hold_in : least;
        next = more < next ? more : next;
    }
    return least + next;
}

/* By that client's write. What the ghost state does not know, somebody else must make known. */
static int to_lost_update_of(struct state_space *space, const uint32_t *words, int client)
{
    const struct server_facts *first =
        space_server_facts(space, words[space->config.clients + SERVER_ONE]);
    const struct client_facts writer = *space_client(space, words[client]);
    int others = NEVER;
    if (writer.bound.has_count && first->is_count_known && writer.bound.count != first->count)
        return writer.bound.write_in;
    for (int i = 0; i < space->config.clients; i++) {
        const struct client_facts *other = space_client(space, words[i]);
        int other_in = space->config.forgets ? other->bound.access_in : other->bound.write_in;
        if (i != client && other_in < others)
            others = other_in;
    }
    return writer.bound.write_in + others;
}

static int to_lost_update(struct state_space *space, const uint32_t *words)
{
    int least = 2 * NEVER;
    for (int i = 0; i < space->config.clients; i++) {
        int bound = to_lost_update_of(space, words, i);
        least = bound < least ? bound : least;
    }
    return least;
}

int lower_bound_to(struct state_space *space, const uint32_t *words, unsigned properties,
                   int breaks)
{
    int bound = 2 * NEVER;
    if (properties & overlaps)
        bound = to_overlap(space, words);
    if (properties & 1u << PROPERTY_NO_LOST_UPDATE) {
        int to_lost = to_lost_update(space, words);
        bound = to_lost < bound ? to_lost : bound;
    }
    return bound - breaks * (space->config.clients - 1);
}

const struct reduction_hooks lower_bound_hooks = {.annotate = lower_bound_annotate};
