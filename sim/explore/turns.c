/* turns.c - see turns.h. */
#include "explore/turns.h"

#include "explore/order.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* A list in the making. */
struct turn_list {
    struct space *space;
    const uint32_t *words;
    uint32_t payable; /* bit a fault */
    struct turn *turns;
    int size, count; /* there may be more than are kept */
};

static inline const struct place *place_of(const struct turn_list *list, int client)
{
    return space_place(list->space, list->words[client]);
}

static inline int clients_of(const struct turn_list *list)
{
    return list->space->setting.clients;
}

static inline uint32_t post_of(const struct turn_list *list, int server)
{
    return list->words[clients_of(list) + server];
}

static inline bool is_possible(const struct turn_list *list, const struct move *move)
{
    return move->kind != MOVE_STRIKE || list->payable >> move->fault & 1;
}

static void add(struct turn_list *list, int client, int server, uint32_t move, int lead)
{
    if (!is_possible(list, &list->space->moves[move]))
        return;
    if (list->count < list->size)
        list->turns[list->count] = (struct turn){
            .client = client, .server = server, .move = move, .lead = lead, .doomed = -1};
    list->count++;
}

static inline bool arrives_at(const struct move *move, int server)
{
    return move->kind == MOVE_ARRIVE && move->server == server;
}

/* All that happens at that server: what arrives there, of anybody, and what befalls itself. */
static void add_server(struct turn_list *list, int server, int lead)
{
    for (int i = 0; i < clients_of(list); i++) {
        const struct place *place = place_of(list, i);
        for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++)
            if (arrives_at(&list->space->moves[m], server))
                add(list, i, -1, m, lead);
    }
    const struct post_note *note = space_post(list->space, post_of(list, server));
    for (uint32_t m = note->moves_start; m < note->moves_start + note->moves_count; m++)
        add(list, -1, server, m, lead);
}

/* What befalls the server, after some of what arrives there, or nothing. */
static void add_doom(struct turn_list *list, int server, int lead)
{
    int first = list->count;
    add_server(list, server, lead);
    for (int i = first; i < list->count && i < list->size; i++)
        if (list->turns[i].client >= 0)
            list->turns[i].doomed = server;
}

/* What a client can do itself, but hear what it will count in good time. */
static void add_own(struct turn_list *list, int client)
{
    const struct place *place = place_of(list, client);
    for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++) {
        const struct move *move = &list->space->moves[m];
        if (move->hearing != HEARD_BY_IMPATIENT && move->kind != MOVE_ARRIVE)
            add(list, client, -1, m, LEAD_NOBODY);
    }
}

static int count_arrivals(const struct turn_list *list, int server)
{
    int count = 0;
    for (int i = 0; i < clients_of(list); i++)
        count += (int)(place_of(list, i)->arrivals >> (4 * server) & 15);
    return count;
}

/* Can anything befall the server itself? */
static bool is_endangered(const struct turn_list *list, int server)
{
    const struct post_note *note = space_note(list->space, post_of(list, server));
    return note->has_follow || note->strikes & list->payable;
}

/* --- races --- */

enum { MEETING_MAX = 4 };

/* What can arrive at a server, and what has come of it so far. */
struct meeting {
    struct space *space;
    int count;
    struct {
        int client, parcel;
        bool is_awaited;
    } arrivals[MEETING_MAX];
    uint32_t locals[EXPLORE_CLIENTS_MAX], post;
};

/* False: there are too many. */
static bool meeting_read(const struct turn_list *list, int server, struct meeting *it)
{
    it->space = list->space;
    it->count = 0;
    it->post = post_of(list, server);
    for (int i = 0; i < clients_of(list); i++) {
        const struct place *place = place_of(list, i);
        it->locals[i] = list->words[i];
        for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++) {
            const struct move *move = &list->space->moves[m];
            if (!arrives_at(move, server))
                continue;
            if (it->count == MEETING_MAX)
                return false;
            it->arrivals[it->count].client = i;
            it->arrivals[it->count].parcel = move->parcel;
            it->arrivals[it->count++].is_awaited = move->is_awaited;
        }
    }
    return true;
}

/* What nobody waits for is gone then, and those behind it move up. */
static unsigned meeting_arrive(struct meeting *it, int arrival)
{
    int client = it->arrivals[arrival].client, parcel = it->arrivals[arrival].parcel;
    unsigned judged = space_arrive(it->space, &it->locals[client], parcel, &it->post, client);
    if (judged & COUNTER_WRITTEN)
        space_recount_others(it->space, it->locals, client);
    for (int i = 0; i < it->count && !it->arrivals[arrival].is_awaited; i++)
        it->arrivals[i].parcel -=
            it->arrivals[i].client == client && it->arrivals[i].parcel > parcel;
    return judged;
}

static bool is_same_in_any_order(const struct meeting *before, int one, int other)
{
    struct meeting way = *before, back = *before;
    unsigned one_first = meeting_arrive(&way, one), other_first = meeting_arrive(&back, other);
    bool is_written = (one_first | other_first) & COUNTER_WRITTEN;
    if (way.post == before->post && back.post == before->post && !is_written)
        return true; /* they only look */
    unsigned other_second = meeting_arrive(&way, other), one_second = meeting_arrive(&back, one);
    return one_first == one_second && other_first == other_second && way.post == back.post &&
           memcmp(way.locals, back.locals,
                  (size_t)before->space->setting.clients * sizeof *way.locals) == 0;
}

/* Does it make no difference when that one arrives, whichever of the others have, in any order?
 * left: bit an arrival that has not yet. */
static bool is_free(const struct meeting *now, int one, unsigned left)
{
    for (int i = 0; i < now->count; i++) {
        if (i == one || !(left >> i & 1))
            continue;
        if (!is_same_in_any_order(now, one, i))
            return false;
        struct meeting next = *now;
        meeting_arrive(&next, i);
        if (!is_free(&next, one, left & ~(1u << i)))
            return false;
    }
    return true;
}

/* Does it matter at that server when that client's request arrives? Two compare-and-deletes, say,
 * never meet each other. */
static bool has_race(const struct turn_list *list, int server, int client)
{
    struct meeting meeting;
    if (is_endangered(list, server))
        return true;
    if (count_arrivals(list, server) == 1)
        return false;
    if (!meeting_read(list, server, &meeting))
        return true;
    int one = 0;
    while (meeting.arrivals[one].client != client || !meeting.arrivals[one].is_awaited)
        one++;
    return !is_free(&meeting, one, (1u << meeting.count) - 1);
}

/* --- who is next --- */

/* Who has asked that server: the leader, or anybody who must not keep time waiting. */
static int asker(const struct turn_list *list, int server, int lead)
{
    int client = lead - 1;
    if (lead == LEAD_TIME)
        for (client = 0; !(place_of(list, client)->asked >> server & 1);)
            client++;
    return client;
}

/* Of those servers, one without a race, or else the one where least arrives; -1: there are none. */
static int quietest(const struct turn_list *list, unsigned servers, int lead, bool *is_quiet)
{
    int best = -1, fewest = INT_MAX;
    *is_quiet = false;
    for (int s = 0; s < list->space->setting.servers; s++) {
        if (!(servers >> s & 1))
            continue;
        *is_quiet = !has_race(list, s, asker(list, s, lead));
        if (*is_quiet)
            return s;
        int count = count_arrivals(list, s);
        if (count < fewest) {
            fewest = count;
            best = s;
        }
    }
    return best;
}

static unsigned asked_of_all(const struct turn_list *list)
{
    unsigned asked = 0;
    for (int i = 0; i < clients_of(list); i++)
        asked |= place_of(list, i)->asked;
    return asked;
}

/* Where there is no race, that one request arrives. */
static void add_quiet(struct turn_list *list, int server, int lead)
{
    int client = asker(list, server, lead);
    uint32_t m = place_of(list, client)->moves_start;
    while (!arrives_at(&list->space->moves[m], server) || !list->space->moves[m].is_awaited)
        m++;
    add(list, client, -1, m, lead);
}

/* False: nothing is left for which others may have to come first. */
static bool add_work(struct turn_list *list, unsigned servers, int lead)
{
    bool is_quiet;
    int server = quietest(list, servers, lead, &is_quiet);
    if (server < 0)
        return false;
    if (is_quiet)
        add_quiet(list, server, lead);
    else
        add_server(list, server, lead);
    return true;
}

/* Of those servers, which may break all their connections, or have a replica cut off first; and all
 * where a failover may follow: bits. What is sent before is lost by it, and what is sent later is
 * not. */
static unsigned breakable(const struct turn_list *list, unsigned servers)
{
    const struct setting *setting = &list->space->setting;
    unsigned found = 0;
    for (int s = 0; s < setting->servers && setting->breakers; s++) {
        const struct post_note *note = space_note(list->space, post_of(list, s));
        bool may_strike = servers >> s & 1 && note->strikes & list->payable & setting->breakers;
        found |= (unsigned)(may_strike || note->has_follow) << s;
    }
    return found;
}

/* Does it come to nothing more, with what a client does now, than that it hears and tells? */
static bool is_silent_end(const struct turn_list *list, int client)
{
    uint32_t local = list->words[client];
    for (int heard = 0; heard <= PARCELS_MAX; heard++) {
        const struct place place = *space_place(list->space, local);
        uint32_t next = UNKNOWN_ID;
        for (uint32_t m = place.moves_start; m < place.moves_start + place.moves_count; m++) {
            const struct move *move = &list->space->moves[m];
            if (!move->is_urgent || move->hearing == HEARD_BY_IMPATIENT)
                continue;
            if (next != UNKNOWN_ID)
                return false;
            next = move->to;
        }
        if (next == UNKNOWN_ID)
            return false;
        const struct place after = *space_place(list->space, next);
        if (!after.is_hearing)
            return !after.asked && !after.is_acting;
        local = next;
    }
    return false;
}

static void add_each(struct turn_list *list, unsigned servers, int lead,
                     void (*add_one)(struct turn_list *list, int server, int lead))
{
    for (int s = 0; s < list->space->setting.servers; s++)
        if (servers >> s & 1)
            add_one(list, s, lead);
}

/* The leader's turn; false: it has nothing left to do that must come first. Its last move may come
 * before or after what nobody waits for, and before or after a server that has answered breaks its
 * connections, or one fails over. */
static bool add_led(struct turn_list *list, int client)
{
    const struct place place = *place_of(list, client);
    if (add_work(list, place.asked | place.asked_late, client + 1))
        return true;
    if (!place.is_acting)
        return false;
    unsigned sent_to = is_silent_end(list, client) ? place.unheard : ALL_SERVERS;
    unsigned doomed = breakable(list, sent_to) & ~(unsigned)place.strays;
    add_own(list, client);
    add_each(list, place.strays, client + 1, add_server);
    add_each(list, doomed, client + 1, add_doom);
    return true;
}

/* What must happen before a tick. */
static bool add_before_time(struct turn_list *list)
{
    return add_work(list, asked_of_all(list), LEAD_TIME);
}

static bool add_lead(struct turn_list *list, int lead)
{
    return lead == LEAD_TIME ? add_before_time(list) : add_led(list, lead - 1);
}

/* A client that must act at once while it waits for an answer: nothing is known of such. */
static bool is_irregular(const struct place *place)
{
    return place->asked && place->is_acting;
}

/* Somebody takes the lead, or does what needs no lead. */
static bool add_any(struct turn_list *list)
{
    bool must_move = false, is_anybody_free = false;
    unsigned strays = 0;
    if (asked_of_all(list) == 0)
        return false;
    for (int i = 0; i < clients_of(list); i++)
        if (is_irregular(place_of(list, i)))
            return false;
    for (int i = 0; i < clients_of(list); i++) {
        const struct place place = *place_of(list, i);
        add_own(list, i);
        if (place.asked || place.asked_late)
            add_led(list, i);
        must_move |= place.asked && !place.is_held_up;
        strays |= place.asked ? 0 : place.strays;
        is_anybody_free |= !place.asked;
    }
    add_each(list, strays, LEAD_NOBODY, add_server);
    if (is_anybody_free)
        add_each(list, breakable(list, ALL_SERVERS) & ~strays, LEAD_NOBODY, add_doom);
    if (!must_move)
        add_before_time(list);
    return true;
}

/* Places are listed before any is looked at: pointers to them stay good. */
static void list_all(const struct turn_list *list)
{
    for (int i = 0; i < clients_of(list); i++)
        space_place(list->space, list->words[i]);
    for (int s = 0; s < list->space->setting.servers; s++)
        space_post(list->space, post_of(list, s));
}

int turns_list(struct space *space, const uint32_t *words, uint32_t payable, struct turn *turns)
{
    struct turn_list list = {space, words, payable, turns, TURNS_MAX, 0};
    list_all(&list);
    int lead = turns_lead(words[space_words(space) - 1]);
    bool is_led = lead != LEAD_NOBODY && add_lead(&list, lead);
    if (!is_led && !add_any(&list))
        return -1;
    assert(list.count <= TURNS_MAX);
    return list.count;
}

/* A client that hears its replies in turn does nothing else. */
static void add_hearing(struct turn_list *list, int client)
{
    const struct place *place = place_of(list, client);
    for (uint32_t m = place->moves_start; m < place->moves_start + place->moves_count; m++)
        if (list->space->moves[m].hearing == HEARD_BY_PATIENT)
            add(list, client, -1, m, LEAD_NOBODY);
}

int turns_before_doom(struct space *space, const uint32_t *words, uint32_t payable, int server,
                      int lead, struct turn *turns)
{
    struct turn_list list = {space, words, payable, turns, DOOM_MAX, 0};
    list_all(&list);
    add_doom(&list, server, lead);
    assert(list.count <= DOOM_MAX);
    return list.count;
}

bool turns_only(struct space *space, const uint32_t *words, uint32_t payable, struct turn *turn)
{
    struct turn_list list = {space, words, payable, turn, 1, 0};
    int lead = turns_lead(words[space_words(space) - 1]);
    for (int i = 0; i < clients_of(&list) && list.count == 0; i++)
        if (place_of(&list, i)->is_hearing)
            add_hearing(&list, i);
    if (list.count == 0 && lead == LEAD_NOBODY)
        return false;
    list_all(&list);
    return (list.count > 0 || add_lead(&list, lead)) && list.count == 1;
}
