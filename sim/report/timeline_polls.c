/* timeline_polls.c - who asks again and again, and is answered the same each time: of many such
 * rounds a timeline shows the first and the last. See timeline_polls.h. */
#include "report/timeline_polls.h"

#include "report/timeline_words.h"

enum { ROUND_MAX = 16 }; /* events: five servers are asked, and a timer rings */

static bool is_same_reply(const struct reply *one, const struct reply *other)
{
    return one->kind == other->kind && one->error == other->error && one->value == other->value &&
           one->second == other->second;
}

static bool is_same(const struct event *one, const struct event *other)
{
    return one->kind == other->kind && one->client == other->client &&
           one->server == other->server && one->lock == other->lock &&
           one->attempt == other->attempt && one->op == other->op && one->lane == other->lane &&
           event_is_same_command(one, other) && one->command.value == other->command.value &&
           is_same_reply(&one->reply, &other->reply);
}

/* Does what is sent in these events come to its end in them, without a change of the lock key? */
static bool is_round(const struct event *const *events, int length)
{
    int sent = 0, executed = 0, heard = 0;
    for (int i = 0; i < length; i++) {
        int64_t ttl_us;
        const enum event_kind kind = events[i]->kind;
        if (kind != EVENT_WAKE && kind != EVENT_SEND && kind != EVENT_EXECUTE && kind != EVENT_HEAR)
            return false;
        sent += kind == EVENT_SEND;
        executed += kind == EVENT_EXECUTE;
        heard += kind == EVENT_HEAR;
        if (executed > sent || heard > executed ||
            (kind == EVENT_EXECUTE &&
             (words_key_change(events[i]) != KEY_KEPT || words_expiry(events[i], &ttl_us))))
            return false;
    }
    return heard > 0 && heard == sent && events[length - 1]->kind == EVENT_HEAR;
}

static bool is_repeated(const struct event *const *events, int length, int64_t until_us,
                        int64_t seen_index)
{
    for (int i = 0; i < length; i++)
        if (!is_same(events[i], events[i - length]) || events[i]->time_us >= until_us ||
            events[i]->index == seen_index)
            return false;
    return true;
}

int timeline_polls(const struct event *const *events, int count, int64_t until_us,
                   int64_t seen_index, int *length)
{
    for (*length = 1; *length <= ROUND_MAX && *length <= count; ++*length) {
        int rounds = 1;
        if (!is_round(events, *length))
            continue;
        while ((rounds + 1) * *length <= count &&
               is_repeated(events + rounds * *length, *length, until_us, seen_index))
            rounds++;
        if (rounds > 1)
            return rounds;
    }
    return 1;
}
