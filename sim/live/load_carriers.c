/* load_carriers.c - a stress run of more clients than there are open files for: the proxy's ends of
 * their connections are held by processes of their own. See stress.h and carrier.h.
 *
 * Links are accepted, dialled and decided on here all the same; so the order of execution, and all
 * that strikes, is what it is without. */
#include "live/stress.h"

#include "proxy/carrier.h"

enum fail load_carriers_begin(struct stress *stress, struct failure *failure)
{
    const int processes = load_room_processes(stress->options);
    if (!processes)
        return FAIL_NONE;
    if (carriers_start(&stress->carriers, &stress->live->loop, processes,
                       stress_hurried_by(stress->options), failure))
        return failure->code;
    carriers_ask_every(stress->carriers, stress->options->lease_us / LOOKS_A_LEASE / 1000);
    for (int i = 0; i < stress->options->servers; i++)
        proxy_carry(stress->live->endpoints[i].proxy, stress->carriers);
    return FAIL_NONE;
}

enum fail load_carriers_check(const struct stress *stress, struct failure *failure)
{
    return stress->carriers ? carriers_check(stress->carriers, failure) : FAIL_NONE;
}

int64_t load_carriers_end(struct stress *stress)
{
    if (!stress->carriers)
        return 0;
    for (int i = 0; i < stress->options->servers; i++) {
        struct proxy *proxy = stress->live->endpoints[i].proxy;
        proxy_carry(proxy, NULL);
        while (proxy_links_count(proxy))
            (void)uv_run(&stress->live->loop, UV_RUN_ONCE);
    }
    while (!carriers_are_empty(stress->carriers))
        (void)uv_run(&stress->live->loop, UV_RUN_ONCE);
    load_life_check_carriers(stress);
    const int64_t cpu_us = carriers_stop(stress->carriers);
    stress->carriers = NULL;
    (void)uv_run(&stress->live->loop, UV_RUN_NOWAIT);
    return cpu_us;
}
