/* load_send_thread.c - in a stress run a thread sends what the proxies pass to their servers. See
 * stress.h and send_thread.h. */
#include "live/stress.h"

#include "proxy/send_thread.h"

static void send_by(struct stress *stress, struct send_thread *thread)
{
    for (int i = 0; i < stress->options->servers; i++)
        proxy_send_by(stress->live->endpoints[i].proxy, thread);
}

enum fail load_send_thread_begin(struct stress *stress, struct failure *failure)
{
    if (stress->options->is_direct || stress->carriers)
        return FAIL_NONE;
    if (send_thread_start(&stress->send_thread, &stress->live->loop, SEND_THREAD_FEW,
                          proxy_sent_back, failure))
        return failure->code;
    send_by(stress, stress->send_thread);
    return FAIL_NONE;
}

void load_send_thread_end(struct stress *stress)
{
    if (!stress->send_thread)
        return;
    send_thread_stop(stress->send_thread);
    send_by(stress, NULL);
    stress->send_thread = NULL;
    (void)uv_run(&stress->live->loop, UV_RUN_NOWAIT);
}
