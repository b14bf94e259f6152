/* order.c - see order.h. */
#include "explore/order.h"

#include "explore/fault.h"
#include "explore/patience.h"

#include <string.h>

bool order_suits(const struct explore_options *options)
{
    const struct scheme *scheme = options->scheme;
    return options->servers > 1 && scheme->waits_for_all && scheme->is_even_handed &&
           !scheme->uses_client_clock && !scheme->promises_notice &&
           options->section != SECTION_WRITE && options->reductions & REDUCE_PATIENT &&
           options->reductions & REDUCE_ORDER;
}

/* --- strikes --- */

static bool is_awaited(const struct parcel *parcel)
{
    return (parcel->flags & PARCEL_CURRENT || parcel->op == OP_ACCESS) && !parcel_is_late(parcel);
}

/* Is a request of its on the way that must be executed before time passes? */
static bool is_asking(const struct local *local)
{
    for (int i = 0; i < local->count; i++)
        if (is_awaited(&local->parcels[i]) && parcel_is_request(&local->parcels[i]) &&
            !(local->parcels[i].flags & PARCEL_LATE))
            return true;
    return false;
}

static bool comes_at_another_time(const struct listing *list, const struct draft *draft)
{
    const struct local *local = list->local;
    if (draft->kind != MOVE_STRIKE || fault_kind((enum fault)draft->fault)->meets_everything)
        return false;
    if (draft->parcel < 0)
        return is_asking(local);
    const struct parcel *parcel = &local->parcels[draft->parcel];
    if (!is_awaited(parcel) || parcel->flags & PARCEL_LATE)
        return false;
    /* What is sent again is on its way later than the others. */
    if (parcel_is_request(parcel))
        return local->flags & LOCAL_ANSWERED && !list->setting->has_fault[FAULT_RESEND];
    return is_asking(local);
}

void order_strikes(struct listing *list)
{
    int kept = 0;
    for (int i = 0; i < list->count; i++)
        if (!comes_at_another_time(list, &list->drafts[i]))
            list->drafts[kept++] = list->drafts[i];
    list->count = kept;
}

/* --- replies --- */

static bool is_reply(const struct local *local, int parcel)
{
    return local->parcels[parcel].state == MESSAGE_REPLY;
}

/* Ends them one after the other: bit a parcel. */
static void end_all(struct local *local, const struct setting *setting, unsigned parcels)
{
    uint8_t answered = local->flags & LOCAL_ANSWERED;
    for (int i = PARCELS_MAX - 1; i >= 0; i--)
        if (parcels >> i & 1)
            moves_end(local, setting, i, is_reply(local, i) ? MOMENT_REPLY : MOMENT_LOST);
    local->flags |= answered;
}

static void count_replies(struct local *local, const struct setting *setting, unsigned unheard)
{
    bool is_waiting;
    unsigned ends = patience_counted(local, setting, &is_waiting), counted = 0;
    for (int i = 0; i < local->count; i++)
        if (ends >> i & 1 && !(is_reply(local, i) && unheard >> local->parcels[i].server & 1))
            counted |= 1u << i;
    /* The last one decides. */
    if (!is_waiting && counted == ends)
        counted &= counted - 1;
    end_all(local, setting, counted);
}

/* False: there is nothing to hear. */
static bool hear_server(struct local *local, const struct setting *setting, int server)
{
    bool is_waiting;
    unsigned ends = patience_counted(local, setting, &is_waiting), heard = 0;
    for (int i = 0; i < local->count; i++)
        if (ends >> i & 1 && is_reply(local, i) && local->parcels[i].server == server)
            heard |= 1u << i;
    if (heard == 0 || (!is_waiting && heard == ends))
        return false;
    end_all(local, setting, heard);
    return true;
}

/* In a memo's key, beside a record's number: what becomes of it. */
static uint64_t key_of(uint32_t local, unsigned servers, bool is_heard)
{
    return (uint64_t)local << 9 | servers << 1 | (uint64_t)is_heard;
}

static uint32_t counted(struct space *space, uint32_t local, unsigned unheard)
{
    struct local after;
    space_read_local(space, local, &after);
    count_replies(&after, &space->setting, unheard);
    return space_number_local(space, &after);
}

static uint32_t count_all_replies(struct space *space, uint32_t local)
{
    if (space_place(space, local)->counted == UNKNOWN_ID) {
        uint32_t number = counted(space, local, 0);
        space->places[local].counted = number;
    }
    return space->places[local].counted;
}

uint32_t order_count_replies(struct space *space, uint32_t local, unsigned unheard)
{
    const struct place *place = space_place(space, local);
    if (!place->has_lost && (place->unheard & ~unheard) == 0)
        return local;
    if ((place->unheard & unheard) == 0)
        return count_all_replies(space, local);
    uint64_t key = key_of(local, unheard, false);
    const uint64_t *known = memo_find(&space->heard, key);
    if (known)
        return (uint32_t)*known;
    uint32_t number = counted(space, local, unheard);
    memo_put(&space->heard, key, number);
    return number;
}

uint32_t order_hear_server(struct space *space, uint32_t local, int server)
{
    uint64_t key = key_of(local, 1u << server, true);
    const uint64_t *known = memo_find(&space->heard, key);
    if (known)
        return (uint32_t)*known;
    struct local after;
    space_read_local(space, local, &after);
    bool has_heard = hear_server(&after, &space->setting, server);
    uint32_t number = has_heard ? space_number_local(space, &after) : local;
    memo_put(&space->heard, key, number);
    return number;
}

/* --- what is as good as gone --- */

static bool compares(const struct parcel *parcel)
{
    return parcel->verb == VERB_COMPARE_DELETE || parcel->verb == VERB_DELEX ||
           parcel->verb == VERB_DELIFEQ;
}

static bool has_value(const struct stock *stock, int64_t token)
{
    return stock->type != MODEL_ABSENT && stock->value == token;
}

/* Can the token that the parcel is about still be found at its server, when it arrives? */
static bool may_match(const struct local *local, const struct parcel *parcel, int position,
                      const struct post *post)
{
    int64_t token = token_at(parcel->value, position);
    if (has_value(&post->stock, token) || has_value(&post->replica, token))
        return true;
    for (int i = 0; i < local->count; i++) {
        const struct parcel *other = &local->parcels[i];
        if (other->server == parcel->server && parcel_is_request(other) &&
            verb_effect(other->verb) == EFFECT_SET && other->value == parcel->value)
            return true;
    }
    return false;
}

static uint32_t forgotten(struct space *space, uint32_t local, int position, int server,
                          uint32_t post)
{
    struct local after;
    struct post there;
    space_read_local(space, local, &after);
    space_read_post(space, post, &there);
    for (int i = after.count - 1; i >= 0; i--) {
        const struct parcel *it = &after.parcels[i];
        if (it->server == server && parcel_is_late(it) && compares(it) && is_token(it->value) &&
            !may_match(&after, it, position, &there))
            local_remove(&after, i);
    }
    return space_number_local(space, &after);
}

uint32_t order_forget(struct space *space, uint32_t local, int position, int server, uint32_t post)
{
    const struct scheme *scheme = space->setting.scheme;
    if (scheme->token != TOKEN_UNIQUE || scheme->needs_script || space->setting.is_collision)
        return local;
    uint64_t key =
        (uint64_t)local << 30 | (uint64_t)post << 6 | (uint64_t)position << 3 | (uint64_t)server;
    const uint64_t *known = memo_find(&space->forgotten, key);
    if (known)
        return (uint32_t)*known;
    uint32_t number = forgotten(space, local, position, server, post);
    memo_put(&space->forgotten, key, number);
    return number;
}

/* --- what a place has for turns --- */

static bool is_held_up(const struct local *local)
{
    for (int i = 0; i < local->count; i++)
        if (local->parcels[i].flags & PARCEL_LATE && !parcel_is_late(&local->parcels[i]))
            return true;
    return local->flags & LOCAL_STALLED;
}

void order_note(struct space *space, struct place *place, const struct local *local)
{
    bool hears_one = false, asks_aside = false;
    place->counted = UNKNOWN_ID;
    place->is_held_up = is_held_up(local);
    for (int i = 0; i < local->count; i++) {
        const struct parcel *parcel = &local->parcels[i];
        bool is_unheard = parcel_is_reply(parcel) && is_awaited(parcel);
        place->has_lost |= parcel->state == MESSAGE_VOID;
        place->unheard |= (uint8_t)(is_unheard << parcel->server);
    }
    for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++) {
        struct move *move = &space->moves[m];
        uint8_t server = (uint8_t)(move->kind == MOVE_ARRIVE ? 1u << move->server : 0);
        move->is_awaited =
            move->kind == MOVE_ARRIVE && !parcel_is_late(&local->parcels[move->parcel]);
        place->asked |= move->is_awaited && move->is_urgent ? server : 0;
        asks_aside |= move->is_awaited && local->parcels[move->parcel].op != OP_ACCESS;
        place->asked_late |= move->is_awaited && !move->is_urgent ? server : 0;
        place->strays |= move->is_awaited ? 0 : server;
        if (server)
            place->arrivals += 1u << (4 * move->server);
        else
            place->is_acting |= move->is_urgent && move->hearing != HEARD_BY_IMPATIENT;
        hears_one |= move->kind == MOVE_HEAR && move->is_urgent && move->hearing == HEARD_BY_ALL;
    }
    space->is_hasty |= place->asked && (hears_one || (place->phase == PHASE_HOLDING && asks_aside));
}
