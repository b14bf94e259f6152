/* worker_rest.c - does a worker wait for what will never come? See world_state.h.
 *
 * It does where it is asked for something, nothing is on its way to or from it, and no timer of its
 * runs. A process may have timers that have nothing to do with its lock: so it does, too, where
 * timers rang so often and for so long, and none sent a byte or tried to connect. A time-out of its
 * own rings before; what polls or tries again sends, and that begins anew. */
#include "worker/world_state.h"

enum { VAIN_US = 300000000, VAIN_LEASES = 30, VAIN_RINGS = 5 };

/* Is anything of the client on its way that can still come? */
static bool has_message(const struct workers *workers, int client)
{
    for (const struct wire_message *message = session_messages(workers->session); message;
         message = message->next)
        if (message->client == client && !message->is_gone && !message->is_silent)
            return true;
    return false;
}

static bool rests(const struct workers *workers, int client)
{
    const struct session *session = workers->session;
    return session_is_asked(session, client) && !has_message(workers, client) &&
           !session_is_subscribed(session, client) && !session_has_silence(session, client) &&
           !session_connecting(session, client);
}

static int64_t bound_us(const struct workers *workers)
{
    const int64_t leases_us = VAIN_LEASES * workers->run->lease_us;
    return leases_us > VAIN_US ? leases_us : VAIN_US;
}

bool workers_is_stranded(struct workers *workers, int client)
{
    struct worker_rest *rest = &workers->faces[client].rest;
    const bool is_one = rests(workers, client);
    const uint64_t traffic = session_traffic(workers->session, client);
    const int64_t now_us = session_now_us(workers->session);
    if (!is_one || !rest->is_one || traffic != rest->traffic)
        *rest = (struct worker_rest){.is_one = is_one, .since_us = now_us, .traffic = traffic};
    rest->is_endless = rest->rings >= VAIN_RINGS && now_us - rest->since_us > bound_us(workers);
    return is_one && (rest->is_endless || session_next_us(workers->session, client) == TIME_NEVER);
}

bool workers_is_kept_waiting(const struct workers *workers, int client)
{
    const struct session *session = workers->session;
    const struct worker_rest *rest = &workers->faces[client].rest;
    if (workers->faces[client].phase == PHASE_DEAD || !session_is_asked(session, client))
        return false;
    if (rest->is_one &&
        (rest->is_endless || session_next_us(workers->session, client) == TIME_NEVER))
        return false;
    return session_has_half_open(session, client) ||
           (rest->is_one && session_now_us(session) - rest->since_us > workers->run->lease_us);
}
