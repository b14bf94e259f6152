/* load_waits.c - how long faults keep the clients of a stress run waiting. See stress.h. */
#include "live/stress.h"

void load_request_hold_back(struct load_request *request)
{
    if (request->is_held_back || request->is_abandoned)
        return;
    request->is_held_back = true;
    injected_wait_begins(&request->load_client->wait, stress_now_us(stress_of(request)));
}

void load_request_let_on(struct load_request *request)
{
    if (request->is_held_back)
        injected_wait_ends(&request->load_client->wait, stress_now_us(stress_of(request)));
    request->is_held_back = false;
}

int64_t load_waits_us(const struct stress *stress, int64_t now_us)
{
    int64_t waited_us = 0;
    for (int i = 0; i < stress->options->clients; i++)
        waited_us += injected_wait_us(&stress->load_clients[i].wait, now_us);
    return waited_us;
}
