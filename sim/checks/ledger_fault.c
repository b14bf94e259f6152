/* ledger_fault.c - see ledger.h: what faults of servers do to lock keys, and how a tentative grant
 * is judged. */
#include "checks/ledger_parts.h"

#include "base/memory.h"

#include <string.h>

/* --- GETSET, judged by the return of the acquire --- */

/* It was taken for a winner and is told that it lost: the lock stays whose it was, overwritten
 * (which was told as a fact when it happened). */
static void swap_lost(struct ledger *ledger, const struct event *event, int server)
{
    struct ledger_client *client = &ledger->clients[event->client];
    struct ledger_key *key = &ledger->locks[client->lock].keys[server];
    struct grant before = key->previous;
    key->grant.is_tentative = false;
    if (before.index == NO_INDEX || before.client == NOBODY || before.ending != ENDING_TAKEN)
        return;
    client->owned--;
    client->owned_index = NO_INDEX;
    client->grants[server].index = NO_INDEX;
    before.ending = ENDING_NONE;
    before.is_touched = true;
    before.touch = before.by;
    key->grant = before;
    struct ledger_client *owner = &ledger->clients[before.client];
    if (owner->attempt == before.attempt && owner->lock == client->lock) {
        owner->owned++;
        owner->disowned_index = NO_INDEX;
        owner->grants[server].index = NO_INDEX;
    }
}

/* As its GETSET made it. */
static struct grant grant_of_swap(const struct ledger *ledger, const struct event *event)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct swap *swap = &client->swap;
    return (struct grant){.client = event->client,
                          .attempt = event->attempt,
                          .sent = swap->sent,
                          .index = swap->index,
                          .from_us = swap->from_us,
                          .time_us = swap->time_us,
                          .asked_us = NEVER_US,
                          .until_us = client->call_us + ledger->lease_us + ledger->unit_us,
                          .lease_us = ledger->lease_us};
}

/* It was taken for a loser and is told "granted": it is the owner since its GETSET. What has ended
 * the lock that it was written over has ended its own. */
static void swap_won(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    const struct swap *swap = &client->swap;
    struct ledger_key *key = &ledger->locks[client->lock].keys[swap->server];
    struct grant old = key->grant, won = grant_of_swap(ledger, event);
    bool is_later_touched = old.is_touched && old.touch.index > swap->index;
    struct change change = {.client = event->client,
                            .attempt = event->attempt,
                            .op = OP_ACQUIRE,
                            .sent = swap->sent,
                            .did = DID_OVERWRITTEN,
                            .wanted = EFFECT_SET,
                            .time_us = swap->time_us,
                            .index = swap->index,
                            .is_clock_struck = client->is_clock_struck,
                            .own_end_us = NEVER_US,
                            .own_ended_by = NOBODY};
    if (!key->is_present && old.ending != ENDING_NONE && old.ended_index > swap->index) {
        won.ending = old.ending;
        won.ended_us = old.ended_us;
        won.ended_index = old.ended_index;
        won.by = old.by;
        client->grants[swap->server] = won;
    }
    if (!key->is_present || old.ending != ENDING_NONE)
        return;
    bool was_touched = old.is_touched && !is_later_touched &&
                       !(old.touch.client == event->client && old.touch.attempt == event->attempt);
    key->grant.is_touched = was_touched;
    key->grant.by = change;
    struct event then = *event;
    then.index = swap->index;
    then.time_us = swap->time_us;
    ledger_end(ledger, &then, client->lock, swap->server, ENDING_TAKEN, swap->time_us);
    key->is_present = true;
    key->grant = won;
    key->grant.is_touched = is_later_touched;
    key->grant.touch = old.touch;
    client->owned++;
    client->owned_index = swap->index;
    client->owned_us = swap->time_us;
    ledger_tell(ledger, FACT_GRANT, event, client->lock, swap->server, event->client, &key->grant);
}

void ledger_judge_swap(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    for (int s = 0; s < ledger->head->servers; s++) {
        struct grant *grant = &ledger->locks[client->lock].keys[s].grant;
        if (!grant->is_tentative || grant->ending != ENDING_NONE ||
            grant->client != event->client || grant->attempt != event->attempt)
            continue;
        if (event->result == RESULT_REFUSED)
            swap_lost(ledger, event, s);
        else
            grant->is_tentative = false;
    }
    if (client->swap.index != NO_INDEX && event->result == RESULT_GRANTED)
        swap_won(ledger, event);
    client->swap.index = NO_INDEX;
}

/* --- faults of servers --- */

static void forget(struct ledger *ledger, const struct event *event, int lock, enum ending ending)
{
    struct ledger_key *key = &ledger->locks[lock].keys[event->server];
    if (!key->is_present)
        return;
    if (key->expire_us != NEVER_US && event->time_us >= key->expire_us - ledger->error_us)
        ledger_gone(ledger, event, lock, event->server, event->time_us);
    else
        ledger_end(ledger, event, lock, event->server, ending, event->time_us);
}

static void keep(const struct ledger *ledger, struct ledger_copy *copy,
                 const struct ledger_lock *it, int server)
{
    if (!copy->keys) {
        copy->keys = memory_new((size_t)ledger->head->servers, sizeof *copy->keys);
        copy->is_kept = memory_new((size_t)ledger->head->servers, sizeof *copy->is_kept);
    }
    copy->keys[server] = it->keys[server];
    copy->is_kept[server] = true;
}

/* The copy's key takes the place of the server's. What it brings back was granted long ago. */
static void restore(struct ledger *ledger, const struct event *event, int lock,
                    const struct ledger_copy *copy)
{
    const bool is_replica = fault_keys(event->fault) == FAULT_KEYS_REPLICAS;
    if (!copy->is_kept || !copy->is_kept[event->server])
        return;
    const struct ledger_key *kept = &copy->keys[event->server];
    struct ledger_key *key = &ledger->locks[lock].keys[event->server];
    bool is_same = kept->is_present && key->is_present && kept->grant.index == key->grant.index;
    const bool is_gone =
        !kept->is_present || (kept->expire_us != NEVER_US && event->time_us > kept->latest_us);
    if (is_same && is_gone)
        forget(ledger, event, lock, ENDING_BACK);
    else if (!is_same)
        forget(ledger, event, lock, is_replica ? ENDING_FAILOVER : ENDING_RESTART_OLD);
    if (is_gone)
        return;
    ledger->locks[lock].busy_index = event->index;
    const bool is_set_back = is_same && kept->expire_us < key->expire_us;
    struct grant grant = is_same ? key->grant : kept->grant;
    *key = *kept;
    key->grant = grant;
    key->is_set_back |= is_set_back;
    if (is_same || grant.client == NOBODY)
        return;
    key->grant.is_restored = true;
    key->grant.restored_by = fault_keys(event->fault);
    key->grant.restored_index = event->index;
    key->grant.left = (struct left){0};
    struct ledger_client *client = &ledger->clients[grant.client];
    if (client->attempt != grant.attempt || client->lock != lock)
        return;
    client->owned++;
    if (client->owned >= ledger->quorum) /* its lock is over no more */
        client->disowned_index = NO_INDEX;
}

static void fail_over(struct ledger *ledger, const struct event *event, int lock)
{
    struct ledger_copy *replicas = &ledger->locks[lock].replicas;
    restore(ledger, event, lock, replicas);
    if (replicas->is_kept)
        replicas->is_kept[event->server] = false;
}

/* What becomes of the times of a key, of the server's or of a copy, when its clock is changed.
 * before: what that clock gained a second. */
typedef void change_times(const struct ledger *ledger, const struct event *event,
                          struct ledger_key *key, int64_t before);

/* A snapshot and a replica are read by the same clock. */
static void change_clock(struct ledger *ledger, const struct event *event, int lock,
                         change_times *change, int64_t before)
{
    struct ledger_lock *it = &ledger->locks[lock];
    struct ledger_copy *const copies[] = {&it->snapshots, &it->replicas};
    change(ledger, event, &it->keys[event->server], before);
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (copies[i]->is_kept && copies[i]->is_kept[event->server])
            change(ledger, event, &copies[i]->keys[event->server], before);
}

static void step_times(const struct ledger *ledger, const struct event *event,
                       struct ledger_key *key, int64_t before)
{
    (void)ledger;
    (void)before;
    if (!key->is_present || key->expire_us == NEVER_US)
        return;
    if (event->amount_us > 0 && key->expire_us <= event->time_us)
        return; /* it had run out in its own time; a step back may yet bring it back */
    key->expire_us -= event->amount_us;
    key->latest_us -= event->amount_us;
    key->is_clock_shifted = true;
    key->stepped_us = event->time_us;
    key->shifted_us -= event->amount_us;
}

enum { SECOND_US = 1000000 };

int64_t ledger_lasts_us(const struct ledger *ledger, int server, int64_t own_us)
{
    const int64_t rate = SECOND_US + ledger->gains_us[server];
    return rate == SECOND_US ? own_us
                             : own_us / rate * SECOND_US + own_us % rate * SECOND_US / rate;
}

int64_t ledger_skew_us(const struct ledger_client *client, int64_t time_us)
{
    return client->skew_us + (time_us - client->rate_since_us) / SECOND_US * client->gains_us +
           (time_us - client->rate_since_us) % SECOND_US * client->gains_us / SECOND_US;
}

/* What lasts so long yet lasts so much longer from here on. before: what that clock gained a
 * second.
 */
static int64_t longer_us(const struct ledger *ledger, int server, int64_t left_us, int64_t before)
{
    const int64_t own_us =
        left_us + left_us / SECOND_US * before + left_us % SECOND_US * before / SECOND_US;
    return ledger_lasts_us(ledger, server, own_us) - left_us;
}

static void bend_times(const struct ledger *ledger, const struct event *event,
                       struct ledger_key *key, int64_t before)
{
    if (!key->is_present || key->expire_us == NEVER_US || key->expire_us < event->time_us)
        return;
    const int64_t moved_us =
        longer_us(ledger, event->server, key->expire_us - event->time_us, before);
    key->expire_us += moved_us;
    key->latest_us += longer_us(ledger, event->server, key->latest_us - event->time_us, before);
    key->is_clock_shifted = true;
    key->stepped_us = event->time_us;
    key->shifted_us += moved_us;
}

static void lose_keys(struct ledger *ledger, const struct event *event, int lock)
{
    switch (fault_keys(event->fault)) {
    case FAULT_KEYS_KEPT:
        break;
    case FAULT_KEYS_LOCK_LOST:
        forget(ledger, event, lock, ENDING_EVICTED);
        break;
    case FAULT_KEYS_ALL_LOST:
        forget(ledger, event, lock,
               fault_breaks(event->fault) == FAULT_BREAKS_NONE ? ENDING_FLUSHED : ENDING_RESTART);
        break;
    case FAULT_KEYS_REPLICAS:
        fail_over(ledger, event, lock);
        break;
    case FAULT_KEYS_SNAPSHOT:
        restore(ledger, event, lock, &ledger->locks[lock].snapshots);
        break;
    }
}

/* What only ends connections, or loses keys, keeps none. */
static bool may_keep(enum fault fault)
{
    const enum fault_effect effect = fault_effect(fault);
    const enum fault_keys keys = fault_keys(fault);
    return fault_blame(fault) == FAULT_OF_SERVER && keys != FAULT_KEYS_LOCK_LOST &&
           keys != FAULT_KEYS_ALL_LOST && effect != FAULT_ENDS_CONNECTIONS &&
           effect != FAULT_PUTS_OUT_OF_REACH && effect != FAULT_PUTS_WITHIN_REACH;
}

void ledger_fault(struct ledger *ledger, const struct event *event)
{
    const enum fault_effect effect = fault_effect(event->fault);
    const bool is_of_one_lock = fault_keys(event->fault) == FAULT_KEYS_LOCK_LOST;
    ledger->is_struck |= event->server >= 0 && fault_blame(event->fault) == FAULT_OF_SERVER;
    ledger->may_be_kept |= may_keep(event->fault);
    if (event->server < 0 || fault_blame(event->fault) != FAULT_OF_SERVER ||
        effect == FAULT_LOSES_SCRIPTS || effect == FAULT_ENDS_CONNECTIONS ||
        effect == FAULT_MOVES_SLOT)
        return;
    const int64_t gained_us = ledger->gains_us[event->server];
    if (effect == FAULT_SETS_RATE)
        ledger->gains_us[event->server] = event->amount_us;
    for (int lock = 0; lock < ledger->head->locks; lock++) {
        if (is_of_one_lock && lock != event->lock)
            continue;
        ledger_settle(ledger, lock);
        ledger_lose_sight(ledger, lock, event->server, event->from_us, event->time_us);
        if (effect == FAULT_CUTS_REPLICA)
            keep(ledger, &ledger->locks[lock].replicas, &ledger->locks[lock], event->server);
        else if (effect == FAULT_SAVES_KEYS)
            keep(ledger, &ledger->locks[lock].snapshots, &ledger->locks[lock], event->server);
        else if (effect == FAULT_STEPS_CLOCK)
            change_clock(ledger, event, lock, step_times, 0);
        else if (effect == FAULT_SETS_RATE)
            change_clock(ledger, event, lock, bend_times, gained_us);
        else
            lose_keys(ledger, event, lock);
    }
}

/* --- faults of clients --- */

void ledger_strike(struct ledger *ledger, int number)
{
    struct ledger_client *client = &ledger->clients[number];
    client->is_struck = true;
    if (!client->attempt || client->cancelled_us == NEVER_US)
        return;
    for (int s = 0; s < ledger->head->servers; s++) {
        struct grant *grant = &ledger->locks[client->lock].keys[s].grant;
        if (grant_is_of(grant, number, client->attempt))
            grant->left.was_smooth = false;
    }
}

bool ledger_is_own_doing(const struct ledger_client *client, const struct event *event)
{
    const enum fault_effect effect = fault_effect(event->fault);
    return effect == FAULT_CANCELS ||
           (effect == FAULT_GIVES_UP && client->cancelled_us == event->time_us);
}
