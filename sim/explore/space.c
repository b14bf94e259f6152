/* space.c - see space.h. */
#include "explore/space.h"

#include "base/memory.h"
#include "explore/access.h"
#include "explore/declared.h"
#include "explore/distance.h"
#include "explore/order.h"
#include "world/breach.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_FIRST = 1024, ID_BITS = 24, ID_MASK = (1 << ID_BITS) - 1 };

void space_init(struct space *space, const struct explore_options *options)
{
    memset(space, 0, sizeof *space);
    setting_init(&space->setting, options);
    space->words = options->clients + options->servers + space_has_roll(space) + 1;
    space->can_states_be_wrong = options->scheme->promises_notice;
    pool_init(&space->locals);
    pool_init(&space->posts);
    pool_init(&space->rolls);
    struct memo *memos[] = {&space->arrivals,      &space->breaks,        &space->renamed_locals,
                            &space->renamed_posts, &space->renamed_rolls, &space->disconnects,
                            &space->returns,       &space->recounts,      &space->heard,
                            &space->forgotten};
    for (size_t i = 0; i < sizeof memos / sizeof *memos; i++)
        memo_init(memos[i]);
    columns_init(&space->columns, options->servers);
    heirs_init(&space->heirs, options->clients);
    space->places_size = space->notes_size = space->moves_size = PLACES_FIRST;
    space->places = memory_new(space->places_size, sizeof *space->places);
    space->notes = memory_new(space->notes_size, sizeof *space->notes);
    space->moves = memory_new(space->moves_size, sizeof *space->moves);
    space->drafts = memory_new(MOVES_MAX, sizeof *space->drafts);
}

void space_close(struct space *space)
{
    pool_close(&space->locals);
    pool_close(&space->posts);
    pool_close(&space->rolls);
    memo_close(&space->arrivals);
    memo_close(&space->breaks);
    memo_close(&space->renamed_locals);
    memo_close(&space->renamed_posts);
    memo_close(&space->renamed_rolls);
    memo_close(&space->disconnects);
    memo_close(&space->returns);
    memo_close(&space->recounts);
    memo_close(&space->heard);
    memo_close(&space->forgotten);
    columns_close(&space->columns);
    heirs_close(&space->heirs);
    free(space->places);
    free(space->notes);
    free(space->moves);
    free(space->drafts);
}

size_t space_bytes(const struct space *space)
{
    return pool_bytes(&space->locals) + pool_bytes(&space->posts) + pool_bytes(&space->rolls) +
           space->places_size * sizeof *space->places + space->notes_size * sizeof *space->notes +
           space->moves_size * sizeof *space->moves + memo_bytes(&space->arrivals) +
           memo_bytes(&space->breaks) + memo_bytes(&space->renamed_locals) +
           memo_bytes(&space->renamed_posts) + memo_bytes(&space->disconnects) +
           memo_bytes(&space->renamed_rolls) + memo_bytes(&space->returns) +
           memo_bytes(&space->recounts) + memo_bytes(&space->heard) +
           memo_bytes(&space->forgotten) + columns_bytes(&space->columns) +
           heirs_bytes(&space->heirs) + MOVES_MAX * sizeof *space->drafts;
}

enum fail space_fail(const struct space *space, struct failure *failure)
{
    const struct scheme *scheme = space->setting.scheme;
    struct failure rule;
    char slip[256];
    breach_fail(scheme, space->breach, space->breach_at, &rule);
    return failure_set(failure, rule.code, "%s%s", rule.text,
                       declared_print(scheme, space->breach_slip, slip, sizeof slip));
}

/* --- records in, numbers out --- */

void space_read_local(const struct space *space, uint32_t number, struct local *local)
{
    memset(local, 0, sizeof *local);
    pool_get(&space->locals, number, local);
}

uint32_t space_number_local(struct space *space, const struct local *local)
{
    uint32_t before = space->locals.count;
    uint32_t number = pool_put(&space->locals, local, local_size(local));
    assert(number <= ID_MASK);
    while (number >= space->places_size) {
        space->places_size *= 2;
        space->places = memory_resize(space->places, space->places_size, sizeof *space->places);
    }
    if (number == before) {
        space->places[number].is_known = false;
        columns_add(&space->columns, number);
    }
    return number;
}

static void note_write(struct space *space, uint32_t number, const struct post *post)
{
    struct post_note *note = &space->notes[number];
    memset(note, 0, sizeof *note);
    note->newest_past = (int16_t)post_newest_past(post);
    note->aged[0] = note->aged[1] = UNKNOWN_ID;
    note->claim = post->stock.claim;
    if (post->replica_state == REPLICA_CUT)
        note->kept = post->replica.claim;
    note->is_watched = post->watching != 0;
    note->is_there = post->stock.type != MODEL_ABSENT;
    note->is_endless = note->is_there && post->stock.left == NO_TIME;
    note->count = post->stock.counter;
    note->is_count_known = post->stock.is_counter_known || !space->setting.keeps_count;
    space->can_states_be_wrong |= note->is_endless && space->setting.scheme->promises_expiry;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        note->mentions[i] = (uint16_t)post_mentions(post, i);
}

static uint32_t post_number(struct space *space, const struct post *post)
{
    uint32_t before = space->posts.count;
    uint32_t number = pool_put(&space->posts, post, sizeof *post);
    assert(number <= ID_MASK);
    while (number >= space->notes_size) {
        space->notes_size *= 2;
        space->notes = memory_resize(space->notes, space->notes_size, sizeof *space->notes);
    }
    if (number == before)
        note_write(space, number, post);
    return number;
}

void space_read_post(const struct space *space, uint32_t number, struct post *post)
{
    pool_get(&space->posts, number, post);
}

void space_start(struct space *space, uint32_t *words)
{
    struct local local;
    struct post post;
    const struct setting *setting = &space->setting;
    const struct roll roll = {0};
    local_init(&local, setting);
    /* Where nobody forgets it, the counter's value is always COUNTER_NOW. */
    post_init(&post, setting->section == SECTION_COUNTER && !setting->keeps_count);
    uint32_t client = space_number_local(space, &local), server = post_number(space, &post);
    int at = 0;
    for (int i = 0; i < setting->clients; i++)
        words[at++] = client;
    for (int i = 0; i < setting->servers; i++)
        words[at++] = server;
    if (space_has_roll(space))
        words[at++] = pool_put(&space->rolls, &roll, sizeof roll);
    words[at] = 0;
}

/* --- moves --- */

/* Has it a write of the resource under way, of the attempt so long ago? */
static bool writes_resource(const struct local *local, int attempts_ago)
{
    for (int i = 0; i < local->count; i++) {
        const struct parcel *parcel = &local->parcels[i];
        if (parcel->op == OP_ACCESS && parcel->key == KEY_RESOURCE &&
            parcel->attempts_ago == attempts_ago)
            return true;
    }
    return false;
}

static bool knows_counter(const struct local *local)
{
    for (int i = 0; i < local->count; i++)
        if (local->parcels[i].op == OP_ACCESS && local->parcels[i].key == KEY_COUNTER)
            return true;
    return local->stage == STAGE_READ;
}

static void place_note(struct place *place, const struct local *local)
{
    bool is_open = local->phase == PHASE_HOLDING && local->stage != STAGE_OVER;
    place->newest_past = (int16_t)local_newest_past(local);
    place->phase = local->phase;
    place->rounds = local->rounds;
    place->call_left = local->call_left;
    place->deleted = local->deleted;
    place->overtaken = local->overtaken;
    place->refused = local->refused;
    place->is_hearing = local->flags & LOCAL_HEARING;
    place->can_begin = local->phase == PHASE_IDLE && local->rounds > 0;
    place->has_mentions = local_mentions(local);
    place->has_swapped = local->flags & LOCAL_SWAPPED;
    place->knows_counter = knows_counter(local);
    place->may_write = is_open || writes_resource(local, 0);
    place->may_write_before = writes_resource(local, 1);
    place->fence = local->fence;
}

static void moves_reserve(struct space *space, int count)
{
    while (space->moves_count + (uint32_t)count > space->moves_size) {
        space->moves_size *= 2;
        space->moves = memory_resize(space->moves, space->moves_size, sizeof *space->moves);
    }
}

void space_list_place(struct space *space, uint32_t number)
{
    struct local local;
    space_read_local(space, number, &local);
    int count = moves_list(&local, &space->setting, space->drafts);
    moves_reserve(space, count);
    struct place place = {.moves_start = space->moves_count,
                          .moves_count = (uint16_t)count,
                          .is_known = true,
                          .aged = {UNKNOWN_ID, UNKNOWN_ID}};
    place_note(&place, &local);
    for (int i = 0; i < count; i++) {
        const struct draft *draft = &space->drafts[i];
        if (draft->did >= DID_BREACH && !space->breach) {
            space->breach = breach_of_did(draft->did);
            space->breach_slip = draft->did >> DID_SLIP_SHIFT;
            space->breach_at = draft->kind == MOVE_ACQUIRE ? 0 : local.fields[0];
        }
        uint32_t to =
            draft->kind == MOVE_ARRIVE ? number : space_number_local(space, &draft->after);
        space->moves[space->moves_count++] = (struct move){.to = to,
                                                           .did = (uint16_t)draft->did,
                                                           .kind = (uint8_t)draft->kind,
                                                           .parcel = (int8_t)draft->parcel,
                                                           .server = (int8_t)draft->server,
                                                           .fault = (int8_t)draft->fault,
                                                           .ticks = (int8_t)draft->ticks,
                                                           .is_urgent = draft->is_urgent,
                                                           .hearing = (uint8_t)draft->hearing};
        place.is_urgent |= draft->is_urgent;
    }
    if (space->setting.is_ordered)
        order_note(space, &place, &local);
    if (space->setting.has_distance)
        distance_note(space, &place, &local);
    space->places[number] = place;
}

void space_list_post(struct space *space, uint32_t number)
{
    struct post post;
    space_read_post(space, number, &post);
    int count = moves_list_server(&post, &space->setting, space->server_drafts);
    uint32_t start = space->moves_count;
    bool has_follow = false;
    uint32_t strikes = 0;
    moves_reserve(space, count);
    for (int i = 0; i < count; i++) {
        const struct server_draft *draft = &space->server_drafts[i];
        space->moves[space->moves_count++] =
            (struct move){.to = post_number(space, &draft->after),
                          .did = (uint16_t)((draft->breaks ? DID_DISCONNECT : 0) |
                                            (draft->forgets ? DID_FORGET : 0)),
                          .kind = (uint8_t)draft->kind,
                          .parcel = -1,
                          .fault = (int8_t)draft->fault,
                          .ticks = (int8_t)draft->ticks};
        has_follow |= draft->kind == MOVE_FOLLOW;
        strikes |= (uint32_t)(draft->kind == MOVE_STRIKE) << draft->fault;
    }
    struct post_note *note = &space->notes[number];
    note->moves_start = start;
    note->moves_count = (uint16_t)count;
    note->has_follow = has_follow;
    note->strikes = strikes;
    note->is_known = true;
}

/* --- executions --- */

static uint64_t pack(uint32_t local, uint32_t post, unsigned judged)
{
    return (uint64_t)local | (uint64_t)post << ID_BITS | (uint64_t)judged << (2 * ID_BITS);
}

static unsigned unpack(uint64_t packed, uint32_t *local, uint32_t *post)
{
    *local = (uint32_t)packed & ID_MASK;
    *post = (uint32_t)(packed >> ID_BITS) & ID_MASK;
    return (unsigned)(packed >> (2 * ID_BITS));
}

unsigned space_arrive(struct space *space, uint32_t *local, int parcel, uint32_t *post,
                      int position)
{
    uint64_t key = pack(*local, *post, (unsigned)(parcel << 3 | position));
    const uint64_t *known = memo_find(&space->arrivals, key);
    if (known)
        return unpack(*known, local, post);
    struct local client;
    struct post before, after;
    space_read_local(space, *local, &client);
    space_read_post(space, *post, &before);
    after = before;
    struct command command = parcel_command(&client.parcels[parcel]);
    if (is_token(command.value))
        command.value = token_at(command.value, position);
    const struct parcel *it = &client.parcels[parcel];
    bool is_elsewhere = parcel_is_late(it) && !parcel_keeps_watch(it);
    struct reply reply =
        post_execute(&after, &space->setting, is_elsewhere ? POST_NO_WATCH : position, &command);
    if (is_token(reply.value) && token_position(reply.value) == position)
        reply.value = token_at(reply.value, POSITION_SELF);
    unsigned judged =
        judge_execution(&space->setting, &client, parcel, position, &reply, &before, &after);
    if (space->setting.is_ordered && !parcel_is_late(it))
        client.flags |= LOCAL_ANSWERED;
    moves_answered(&client, &space->setting, parcel, &reply);
    *local = space_number_local(space, &client);
    *post = post_number(space, &after);
    memo_put(&space->arrivals, key, pack(*local, *post, judged));
    return judged;
}

uint32_t space_return(struct space *space, uint32_t local, int position, enum judge_return how,
                      uint32_t post)
{
    uint64_t key = pack(local, post, (unsigned)how << 3 | (unsigned)position);
    const uint64_t *known = memo_find(&space->returns, key);
    if (known)
        return (uint32_t)*known;
    struct local client;
    struct post after;
    space_read_local(space, local, &client);
    space_read_post(space, post, &after);
    judge_return(&space->setting, &client, position, how, &after);
    uint32_t number = post_number(space, &after);
    memo_put(&space->returns, key, number);
    return number;
}

/* --- connections that break --- */

uint32_t space_disconnect(struct space *space, uint32_t post, int position)
{
    uint64_t key = (uint64_t)post << 4 | (uint64_t)position;
    const uint64_t *known = memo_find(&space->disconnects, key);
    if (known)
        return (uint32_t)*known;
    struct post after;
    space_read_post(space, post, &after);
    post_disconnect(&after, position);
    uint32_t number = post_number(space, &after);
    memo_put(&space->disconnects, key, number);
    return number;
}

uint32_t space_break(struct space *space, uint32_t local, int server)
{
    uint64_t key = (uint64_t)local << 4 | (uint64_t)server;
    const uint64_t *known = memo_find(&space->breaks, key);
    if (known)
        return (uint32_t)*known;
    struct local after;
    space_read_local(space, local, &after);
    local_break(&after, server, LANE_COUNT);
    local_settle(&after, &space->setting);
    uint32_t number = space_number_local(space, &after);
    memo_put(&space->breaks, key, number);
    return number;
}

/* --- what critical sections did --- */

uint32_t space_recount(struct space *space, uint32_t local, enum recount recount)
{
    if (!space_place(space, local)->knows_counter)
        return local;
    uint64_t key = (uint64_t)local << 1 | (uint64_t)recount;
    const uint64_t *known = memo_find(&space->recounts, key);
    if (known)
        return (uint32_t)*known;
    struct local after;
    space_read_local(space, local, &after);
    if (recount == RECOUNT_WRITTEN)
        access_outdate(&after, &space->setting);
    else
        access_forget(&after);
    uint32_t number = space_number_local(space, &after);
    memo_put(&space->recounts, key, number);
    return number;
}

void space_recount_others(struct space *space, uint32_t *locals, int position)
{
    for (int i = 0; i < space->setting.clients; i++)
        if (i != position)
            locals[i] = space_recount(space, locals[i], RECOUNT_WRITTEN);
}

bool space_follow(struct space *space, uint32_t *number, const struct roll_step *step)
{
    struct roll roll;
    pool_get(&space->rolls, *number, &roll);
    bool is_violated = roll_follow(&roll, space->setting.clients, step);
    *number = pool_put(&space->rolls, &roll, sizeof roll);
    return is_violated;
}

/* --- time --- */

uint32_t space_make_local_older(struct space *space, uint32_t local, bool are_stamps_kept)
{
    struct local after;
    space_read_local(space, local, &after);
    local_age(&after, &space->setting, are_stamps_kept);
    uint32_t number = space_number_local(space, &after);
    space->places[local].aged[are_stamps_kept] = number;
    return number;
}

uint32_t space_make_post_older(struct space *space, uint32_t post, bool are_stamps_kept)
{
    struct post after;
    space_read_post(space, post, &after);
    post_tick(&after, are_stamps_kept);
    uint32_t number = post_number(space, &after);
    space->notes[post].aged[are_stamps_kept] = number;
    return number;
}

/* --- places --- */

static uint64_t permutation_key(uint32_t number, const uint8_t *to, int count)
{
    uint64_t key = number;
    for (int i = 0; i < count; i++)
        key = key << 3 | to[i];
    return key;
}

uint32_t space_rename_local(struct space *space, uint32_t local, const uint8_t *new_position)
{
    uint64_t key = permutation_key(local, new_position, EXPLORE_CLIENTS_MAX);
    const uint64_t *known = memo_find(&space->renamed_locals, key);
    if (known)
        return (uint32_t)*known;
    struct local after;
    space_read_local(space, local, &after);
    local_rename_clients(&after, new_position);
    uint32_t number = space_number_local(space, &after);
    memo_put(&space->renamed_locals, key, number);
    return number;
}

uint32_t space_rename_post(struct space *space, uint32_t post, const uint8_t *new_position)
{
    uint64_t key = permutation_key(post, new_position, EXPLORE_CLIENTS_MAX);
    const uint64_t *known = memo_find(&space->renamed_posts, key);
    if (known)
        return (uint32_t)*known;
    struct post after;
    space_read_post(space, post, &after);
    post_rename(&after, new_position);
    uint32_t number = post_number(space, &after);
    memo_put(&space->renamed_posts, key, number);
    return number;
}

uint32_t space_rename_roll(struct space *space, uint32_t roll, const uint8_t *new_position)
{
    uint64_t key = permutation_key(roll, new_position, EXPLORE_CLIENTS_MAX);
    const uint64_t *known = memo_find(&space->renamed_rolls, key);
    if (known)
        return (uint32_t)*known;
    struct roll after;
    pool_get(&space->rolls, roll, &after);
    roll_rename(&after, new_position);
    uint32_t number = pool_put(&space->rolls, &after, sizeof after);
    memo_put(&space->renamed_rolls, key, number);
    return number;
}

uint64_t space_roll_mentions(const struct space *space, uint32_t roll, int position)
{
    struct roll it;
    pool_get(&space->rolls, roll, &it);
    const struct roll_entry *last = &it.last[position], *before = &it.before[position];
    assert(before->above == 0 && before->below == 0);
    return (uint64_t)before->flags << 56 | (uint64_t)before->rank << 48 |
           (uint64_t)last->below << 32 | (uint64_t)last->above << 16 |
           (uint64_t)last->flags << 8 | last->rank;
}

enum { KEY_SPENT = 1 }; /* above the bits of a key of clients */

uint32_t space_spend_round(struct space *space, uint32_t local)
{
    uint64_t key = (uint64_t)local | (uint64_t)KEY_SPENT << 60;
    const uint64_t *known = memo_find(&space->renamed_locals, key);
    if (known)
        return (uint32_t)*known;
    struct local after;
    space_read_local(space, local, &after);
    after.rounds--;
    uint32_t number = space_number_local(space, &after);
    memo_put(&space->renamed_locals, key, number);
    return number;
}
