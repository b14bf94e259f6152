/* load_waits.c - how long faults keep the clients of a stress run waiting, and how long we do. See
 * stress.h. */
#include "live/stress.h"

enum { ON_ITS_WAY_US = 100000 }; /* at most: whoever has it may be stopped */

/* --- we --- */

static void count_own(struct load_client *load_client)
{
    const struct stress *stress = load_client->stress;
    own_delay_count(&load_client->own, &load_client->wait, &stress->held_up, stress_now_us(stress));
}

void load_own_delay_begins(struct load_client *load_client)
{
    const struct stress *stress = load_client->stress;
    own_delay_begins(&load_client->own, &load_client->wait, &stress->held_up,
                     stress_now_us(stress));
}

static int64_t own_delay_us(struct load_client *load_client)
{
    count_own(load_client);
    return load_client->own.total_us;
}

void load_own_delay_tell(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    struct event event = stress_event(stress, EVENT_WAKE, load_client, -1);
    if (2 * (event.time_us - load_client->called_us) < stress->options->lease_us)
        return;
    event.op = OP_ACQUIRE;
    event.amount_us = own_delay_us(load_client) - load_client->own.told_us;
    if (event.amount_us > 0)
        stress_write(stress, &event);
}

void load_request_queue_begins(struct load_request *request)
{
    if (request->is_queued || request->is_abandoned)
        return;
    request->is_queued = true;
    count_own(request->load_client);
    request->load_client->own.queued++;
}

void load_request_queue_ends(struct load_request *request)
{
    if (!request->is_queued)
        return;
    request->is_queued = false;
    count_own(request->load_client);
    request->load_client->own.queued--;
}

/* --- time-outs --- */

bool load_request_may_be_heard(struct load_request *request)
{
    const int64_t now_us = stress_now_us(stress_of(request));
    const struct exchange *exchange = request->exchange;
    const bool is_first = !request->due_us;
    if (is_first)
        request->due_us = now_us;
    return is_first || (exchange && exchange->may_be_delivered && exchange_is_answered(exchange) &&
                        now_us < request->due_us + ON_ITS_WAY_US);
}

/* --- faults --- */

void load_wait_begins(struct load_client *load_client)
{
    const struct stress *stress = load_client->stress;
    own_delay_wait_begins(&load_client->own, &load_client->wait, &stress->held_up,
                          stress_now_us(stress));
}

void load_wait_ends(struct load_client *load_client)
{
    const struct stress *stress = load_client->stress;
    own_delay_wait_ends(&load_client->own, &load_client->wait, &stress->held_up,
                        stress_now_us(stress), stress->rings_late_us);
}

void load_request_hold_back(struct load_request *request)
{
    if (request->is_held_back || request->is_abandoned)
        return;
    request->is_held_back = true;
    load_wait_begins(request->load_client);
}

void load_request_let_on(struct load_request *request)
{
    if (request->is_held_back)
        load_wait_ends(request->load_client);
    request->is_held_back = false;
}

int64_t load_waits_us(const struct stress *stress, int64_t now_us)
{
    int64_t waited_us = 0;
    for (int i = 0; i < stress->options->clients; i++)
        waited_us += injected_wait_us(&stress->load_clients[i].wait, now_us);
    return waited_us;
}
