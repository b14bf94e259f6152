/* distance.c - see distance.h. */
#include "explore/distance.h"

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

bool distance_suits(const struct explore_options *options)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (options->budget[i] > 0 && fault_blame((enum fault)i) == FAULT_OF_CLIENT)
            return false;
    return options->scheme->waits_for_all && options->section != SECTION_WRITE && options->sought &&
           !(options->sought & ~known_properties);
}

/* --- one client --- */

static void from_holding(struct place *place, int more)
{
    place->hold_in = (uint8_t)more;
    place->access_in = (uint8_t)(more + READS);
    place->write_in = (uint8_t)(more + WRITES);
}

/* Until all that it waits for has ended; at each server, what takes longest. */
static int ends_in(const struct local *local)
{
    int ends[SERVERS_MAX] = {0}, sum = 0;
    if (local->wake != NO_TIME)
        return 0; /* its timer may ring before */
    for (int i = 0; i < local->count; i++) {
        const struct parcel *it = &local->parcels[i];
        if (!(it->flags & PARCEL_CURRENT) || parcel_is_late(it))
            continue;
        int end = parcel_is_request(it) ? 2 : 1;
        if (end > ends[it->server])
            ends[it->server] = end;
    }
    for (int s = 0; s < SERVERS_MAX; s++)
        sum += ends[s];
    return sum;
}

static void knows(struct place *place, int32_t count)
{
    place->has_count = true;
    place->count = count;
}

/* A command of its critical section is under way, and waited for. */
static void from_access(struct place *place, const struct parcel *it)
{
    place->hold_in = 0;
    if (it->verb == VERB_SET && parcel_is_request(it)) {
        place->access_in = place->write_in = 1;
        knows(place, it->value - 1);
    } else if (it->verb == VERB_GET && parcel_is_request(it)) {
        place->access_in = READS - 1;
        place->write_in = WRITES - 1;
    } else if (it->verb == VERB_GET && parcel_is_reply(it) && it->reply_kind == REPLY_VALUE) {
        place->access_in = place->write_in = WRITES - READS;
        knows(place, it->reply_value);
    } else if (it->verb == VERB_GET && parcel_is_reply(it) && it->reply_kind == REPLY_NIL) {
        place->access_in = place->write_in = WRITES - READS;
        knows(place, 0);
    }
}

static void from_section(struct place *place, const struct local *local)
{
    const int release = 1, acquire = 1;
    from_holding(place, release + acquire);
    place->hold_in = 0;
    for (int i = 0; i < local->count; i++)
        if (local->parcels[i].op == OP_ACCESS) {
            from_access(place, &local->parcels[i]);
            return;
        }
    if (local->stage == STAGE_OPEN) {
        from_holding(place, 0);
    } else if (local->stage == STAGE_READ) {
        place->access_in = place->write_in = WRITES - READS - 1;
        knows(place, local->counter);
    }
}

/* By way of what its next attempt asks for. */
static void from_idle(const struct space *space, struct place *place)
{
    from_holding(place, place->rounds > 0 ? 1 : NEVER);
    for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++) {
        struct local asking;
        if (space->moves[m].kind != MOVE_ACQUIRE)
            continue;
        space_read_local(space, space->moves[m].to, &asking);
        if (asking.phase == PHASE_ACQUIRING)
            from_holding(place, 1 + ends_in(&asking));
    }
}

void distance_note(const struct space *space, struct place *place, const struct local *local)
{
    if (local->phase == PHASE_DEAD)
        from_holding(place, NEVER);
    else if (local->phase == PHASE_IDLE)
        from_idle(space, place);
    else if (local->phase == PHASE_ACQUIRING)
        from_holding(place, ends_in(local));
    else if (local->phase == PHASE_HOLDING)
        from_section(place, local);
    else
        from_holding(place, 1);
}

/* --- all of them --- */

static int to_overlap(struct space *space, const uint32_t *words)
{
    int least = NEVER, next = NEVER;
    for (int i = 0; i < space->setting.clients; i++) {
        int hold_in = space_place(space, words[i])->hold_in;
        int more = hold_in > least ? hold_in : least;
        least = hold_in < least ? hold_in : least;
        next = more < next ? more : next;
    }
    return least + next;
}

/* By that client's write. What the judge does not know, somebody else must make known. */
static int to_lost_update_of(struct space *space, const uint32_t *words, int client)
{
    const struct post_note *first = space_note(space, words[space->setting.clients + SERVER_ONE]);
    const struct place writer = *space_place(space, words[client]);
    int others = NEVER;
    if (writer.has_count && first->is_count_known && writer.count != first->count)
        return writer.write_in;
    for (int i = 0; i < space->setting.clients; i++) {
        const struct place *other = space_place(space, words[i]);
        int other_in = space->setting.forgets ? other->access_in : other->write_in;
        if (i != client && other_in < others)
            others = other_in;
    }
    return writer.write_in + others;
}

static int to_lost_update(struct space *space, const uint32_t *words)
{
    int least = 2 * NEVER;
    for (int i = 0; i < space->setting.clients; i++) {
        int distance = to_lost_update_of(space, words, i);
        least = distance < least ? distance : least;
    }
    return least;
}

int distance_to(struct space *space, const uint32_t *words, unsigned properties, int breaks)
{
    int distance = 2 * NEVER;
    if (properties & overlaps)
        distance = to_overlap(space, words);
    if (properties & 1u << PROPERTY_NO_LOST_UPDATE) {
        int to_lost = to_lost_update(space, words);
        distance = to_lost < distance ? to_lost : distance;
    }
    return distance - breaks * (space->setting.clients - 1);
}
