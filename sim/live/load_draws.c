/* load_draws.c - which fault falls on a command of a stress run. See stress.h. */
#include "live/stress.h"

bool load_request_is_past_lease(const struct load_request *request)
{
    return request->strike == STRIKE_PAST_LEASE_BEFORE ||
           request->strike == STRIKE_PAST_LEASE_AFTER;
}

/* Of the strikes that are drawn for a server: the one that part, of a million, falls on. */
static void draw_server_strike(struct load_request *request, uint64_t part)
{
    const struct stress_options *options = stress_of(request)->options;
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++) {
        const uint64_t ppm = server_strike_ppm(options, (enum server_strike)i);
        if (part < ppm) {
            request->strike = STRIKE_SERVER;
            request->server_strike = (enum server_strike)i;
            return;
        }
        part -= ppm;
    }
}

void load_request_draw(struct load_request *request)
{
    const struct stress *stress = stress_of(request);
    const struct stress_options *options = stress->options;
    uint64_t drawn = stress_draw(stress, request->load_client->number, DRAW_COMMAND,
                                 request->load_client->commands++);
    if (stress->is_healing)
        return;
    uint64_t part = drawn % 1000000;
    const uint64_t lost = options->lose_request_ppm;
    const uint64_t reply = lost + options->lose_reply_ppm;
    const uint64_t delay = reply + options->delay_ppm;
    const uint64_t late = delay + options->delay_past_lease_ppm;
    if (part < lost)
        request->strike = STRIKE_REQUEST;
    else if (part < reply)
        request->strike = STRIKE_REPLY;
    else if (part < delay)
        request->strike = drawn >> 63 ? STRIKE_DELAY_BEFORE : STRIKE_DELAY_AFTER;
    else if (part < late)
        request->strike = drawn >> 63 ? STRIKE_PAST_LEASE_BEFORE : STRIKE_PAST_LEASE_AFTER;
    else
        draw_server_strike(request, part - late);
    const bool is_server = request->strike == STRIKE_SERVER;
    request->delay_us =
        stress_spread(drawn >> 20, is_server ? server_strike_us(options, request->server_strike)
                                             : options->delay_us);
    if (load_request_is_past_lease(request))
        request->delay_us = options->lease_us + stress_spread(drawn >> 20, options->lease_us / 2);
}
