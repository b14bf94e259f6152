/* load_life.c - do the servers of a stress run, and the processes that hold its connections, live,
 * and do clocks keep ours? And the end of a run in which one does not. See stress.h. */
#include "live/stress.h"

#include "base/units.h"
#include "live/control.h"
#include "proxy/carrier.h"

void load_life_check_carriers(struct stress *stress)
{
    struct failure why;
    if (!stress->failure.code && load_carriers_check(stress, &why)) {
        stress->failure = why;
        stress->has_seen_death = true;
    }
}

void load_life_check(struct stress *stress)
{
    struct failure why;
    if (servers_check(&stress->live->servers, &why)) {
        stress->failure = why;
        stress->has_seen_death = true;
    }
    load_life_check_carriers(stress);
}

/* Of those that are with that server, the one that has been there for the longest time. */
static const struct load_request *oldest_with(const struct stress *stress, int server)
{
    const struct load_request *oldest = NULL;
    for (int i = 0; i < stress->options->clients; i++)
        for (const struct load_request *request = stress->load_clients[i].requests; request;
             request = request->next)
            if (request->place == PLACE_RUNNING && request->server == server &&
                (!oldest || request->exchange->released_us < oldest->exchange->released_us))
                oldest = request;
    return oldest;
}

void load_life_check_answers(struct stress *stress)
{
    if (stress->carriers && carriers_are_slow(stress->carriers))
        return; /* it may be one of these that has the answer */
    for (int i = 0; i < stress->options->servers && !stress->failure.code; i++) {
        struct queue *queue = &stress->queues[i];
        if (!queue->running || ++queue->silent * (int64_t)CHECK_EVERY_US < control_patience_us())
            continue;
        const struct load_request *request = oldest_with(stress, i);
        (void)control_not_in_time(verb_name(request->command.verb), "", &stress->failure);
        (void)failure_wrap(&stress->failure, "server %d", request->node + 1);
    }
}

void load_life_forget_silence(struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++)
        stress->queues[i].silent = 0;
}

bool load_life_is_silent(const struct stress *stress)
{
    for (int i = 0; i < stress->options->servers; i++)
        if (stress->queues[i].silent)
            return true;
    return false;
}

void load_life_compare_clocks(struct stress *stress)
{
    struct failure why;
    if (stress->failure.code || stress->doubt.code)
        return;
    const struct stress_options *options = stress->options;
    const enum fail fail = live_compare_clocks(stress->live, &why);
    if (fail == FAIL_UNKNOWN)
        stress->doubt = why;
    else if (fail)
        stress->failure = why;
    else if (options->proved)
        options->proved(options->proved_context);
}

/* Is a process gone? *why: its end, else what failed. How a process ended is told once: who asks
 * again hears that it does not run. */
static bool has_died(const struct stress *stress, struct failure *why)
{
    if (!stress->has_seen_death &&
        (live_server_died(stress->live, why) || load_carriers_check(stress, why)))
        return true;
    *why = stress->failure;
    return stress->has_seen_death;
}

/* What was recorded up to there is as it was: a process is gone, or there is no room for more. */
static bool is_true_so_far(const struct stress *stress, enum fail fail)
{
    for (int i = 0; i < stress->options->servers; i++)
        if (stress->live->endpoints[i].is_misread)
            return false;
    return fail == FAIL_UNAVAILABLE || fail == FAIL_UNKNOWN;
}

/* What the clock of one that is gone did since it was last asked nobody knows. */
static bool are_servers_there(struct live *live)
{
    struct failure ignored;
    for (int i = 0; i < live->looked_at; i++)
        if (live->servers.rows[i].is_dead)
            return false;
    return !servers_check(&live->servers, &ignored);
}

enum fail load_life_unbegun(struct stress *stress, struct stress_outcome *outcome,
                            struct failure *failure)
{
    struct failure why;
    stress->failure = *failure;
    if (!is_true_so_far(stress, failure->code) || !has_died(stress, &why))
        return failure->code;
    failure_set(&outcome->ended, FAIL_UNKNOWN, "it ended while its clients connected: %s",
                why.text);
    stress->doubt = outcome->ended;
    return FAIL_NONE;
}

enum fail load_life_end(struct stress *stress, struct stress_outcome *outcome,
                        struct failure *failure)
{
    struct failure failed;
    char ran[UNITS_TEXT_MAX];
    if (!stress->failure.code)
        return FAIL_NONE;
    (void)has_died(stress, &failed);
    if (!is_true_so_far(stress, failed.code)) {
        *failure = failed;
        return failed.code;
    }
    stress->failure.code = FAIL_NONE;
    if (are_servers_there(stress->live))
        load_life_compare_clocks(stress);
    stress->failure = failed;
    failure_set(&outcome->ended, FAIL_UNKNOWN, "it ended after %s: %s",
                units_print_duration(outcome->elapsed_us / 1000 * 1000, ran), failed.text);
    if (!stress->doubt.code)
        stress->doubt = outcome->ended;
    return FAIL_NONE;
}
