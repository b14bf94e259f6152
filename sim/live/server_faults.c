/* server_faults.c - what is done to a private server: restart, failover, eviction; and that it was
 * done. See servers.h. */
#include "live/servers.h"

#include "base/units.h"
#include "live/control.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Does it change more of a server than who can reach it, and when? */
static bool needs_private(enum fault fault)
{
    return fault == FAULT_STOPPED_SERVER || fault == FAULT_CLIENT_PAUSE ||
           fault_keys(fault) != FAULT_KEYS_KEPT || fault_effect(fault) == FAULT_LOSES_SCRIPTS ||
           fault_effect(fault) == FAULT_ENDS_CONNECTIONS ||
           fault_effect(fault) == FAULT_SAVES_KEYS || fault_effect(fault) == FAULT_CUTS_REPLICA;
}

/* Is it about the server's clock, which is not ours to change so? */
static bool lacks_clock(const struct servers *servers, enum fault fault)
{
    const enum fault_effect effect = fault_effect(fault);
    if (fault_blame(fault) != FAULT_OF_SERVER || servers->steering == STEERED)
        return false;
    return effect == FAULT_SETS_RATE ||
           (effect == FAULT_STEPS_CLOCK && servers->steering != BENT_TIME);
}

enum fail servers_can(const struct servers *servers, enum choice_kind kind, struct failure *failure)
{
    const enum fault fault = choice_fault(kind);
    if (fault == FAULT_NONE)
        return FAIL_NONE;
    if (lacks_clock(servers, fault))
        return failure_set(
            failure, FAIL_NOT_APPLICABLE,
            "no server's clock can be stepped in real time: it is the machine's own");
    if (servers->is_foreign && needs_private(fault))
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "\"%s\" would touch more of the server behind the URL than our own keys",
                           choice_name(kind));
    return FAIL_NONE;
}

/* --- did it strike? A fault that did not would be followed by a verdict about nothing. --- */

/* Without its keys; how: it got to those that it has. */
static enum fail prove_empty(const struct server *server, const char *how, struct failure *failure)
{
    int64_t keys = control_integer(server->process.control, failure, "DBSIZE");
    if (keys == INT64_MIN)
        return FAIL_UNAVAILABLE;
    return keys == 0 ? FAIL_NONE
                     : failure_set(failure, FAIL_UNKNOWN,
                                   "it %s %" PRId64 " key%s, and all should be gone", how, keys,
                                   units_plural(keys));
}

/* A replica that was cut off has heard nothing since, and one that is promoted takes writes. */
static enum fail prove_cut(struct server *server, struct failure *failure)
{
    int64_t offset =
        control_info_number(server->replica.control, "replication", "slave_repl_offset", failure);
    return offset == server->cut_offset
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN,
                             "its replica was cut off at offset %" PRId64 ", and is at %" PRId64,
                             server->cut_offset, offset);
}

static enum fail prove_promoted(const struct server *server, struct failure *failure)
{
    char role[16] = "";
    redisReply *info = control_ask(server->process.control, failure, "INFO replication");
    if (!info)
        return FAIL_UNAVAILABLE;
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, "role", role, sizeof role);
    freeReplyObject(info);
    return strcmp(role, "master") == 0
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN, "its replica was not promoted");
}

/* --- the faults --- */

/* The process in the row changes, not what its clock says. */
static void take_clock(struct process *process, const struct clock_page *was)
{
    if (process->clock)
        clock_copy(process->clock, was);
}

enum fail servers_seat(struct servers *servers, int number, const struct process *next,
                       const struct clock_page *was, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    const bool feeds = server->replica.pid != 0 && !server->is_cut;
    server->process = *next;
    take_clock(&server->process, was);
    if (servers_prove_clock(servers, number, failure))
        return FAIL_UNAVAILABLE;
    if (!server->feed)
        return FAIL_NONE;
    const struct proxy_address upstream = {.host = "127.0.0.1", .port = server->process.port};
    proxy_set_upstream(server->feed, &upstream);
    if (!feeds)
        return FAIL_NONE;
    if (replica_reconnect(server, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return replica_wait_in_step(servers, server, failure);
}

enum fail servers_restart(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    struct process next;
    if (spares_take(servers, &next, failure))
        return failure_wrap(failure, "server %d", number + 1);
    servers->spares.wanted = SPARES_WANTED;
    take_clock(&next, server->process.clock);
    if (servers->steering == STEERED)
        spares_park(servers, &server->process);
    else
        servers_end_process(servers, &server->process);
    server->process = next;
    if (prove_empty(server, "came back with", failure))
        return failure_wrap(failure, "server %d", number + 1);
    return servers_seat(servers, number, &next, next.clock, failure);
}

enum fail servers_cut_replica(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (replica_wait_in_step(servers, server, failure))
        return failure->code;
    server->is_cut = true;
    if (server->feed_link)
        proxy_link_silence(server->feed_link);
    server->cut_offset =
        control_info_number(server->replica.control, "replication", "slave_repl_offset", failure);
    return server->cut_offset >= 0
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN, "replica of server %d tells no offset",
                             number + 1);
}

enum fail servers_before_promotion(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (!server->is_cut)
        return replica_wait_in_step(servers, server, failure);
    return prove_cut(server, failure) ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}

enum fail servers_seat_replica(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    server->process = server->replica;
    memset(&server->replica, 0, sizeof server->replica);
    replica_release(servers, server);
    if (prove_promoted(server, failure))
        return failure_wrap(failure, "server %d", number + 1);
    return servers_prove_clock(servers, number, failure);
}

enum fail servers_failover(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (servers_before_promotion(servers, number, failure))
        return failure->code;
    if (control_do(server->replica.control, failure, "REPLICAOF NO ONE"))
        return failure_wrap(failure, "replica of server %d", number + 1);
    spares_park(servers, &server->process);
    return servers_seat_replica(servers, number, failure);
}

enum { PROOF_S = 1000, SECOND_US = 1000000, KILL_TURNS = 200 };

/* As if it had run so for long already: it says then what it has gained. */
static enum fail prove_rate(const struct server *server, struct failure *failure)
{
    struct timespec real;
    int64_t says_us = 0;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    const int64_t real_us = (int64_t)real.tv_sec * SECOND_US + real.tv_nsec / 1000;
    clock_set_rate(server->process.clock, server->gains_us, real_us - (int64_t)PROOF_S * SECOND_US);
    enum fail fail = control_time_us(server->process.control, &says_us, failure);
    const int64_t gained_us = says_us - real_us;
    const int64_t wanted_us = PROOF_S * server->gains_us;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    clock_set_rate(server->process.clock, server->gains_us,
                   (int64_t)real.tv_sec * SECOND_US + real.tv_nsec / 1000);
    if (fail || llabs(gained_us - wanted_us) < llabs(wanted_us) / 2)
        return fail;
    return failure_set(failure, FAIL_UNKNOWN,
                       "its clock was to gain %" PRId64 " us in %d s, and gained %" PRId64 " us",
                       wanted_us, PROOF_S, gained_us);
}

enum fail servers_set_rate(struct servers *servers, int number, int64_t gains_us,
                           struct failure *failure)
{
    struct server *server = &servers->rows[number];
    assert(servers->steering == BENT_TIME && gains_us != 0);
    server->gains_us = gains_us;
    enum fail fail = prove_rate(server, failure);
    if (server->replica.clock) /* a promotion shall not change it */
        clock_copy(server->replica.clock, server->process.clock);
    if (!fail)
        fail = pace_look(&servers->paces[number], server->process.control, failure);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}

enum fail servers_step_clock(struct servers *servers, int number, int64_t amount_us,
                             struct failure *failure)
{
    const struct server *server = &servers->rows[number];
    int64_t before_us = 0, after_us = 0;
    assert(servers->steering == BENT_TIME && amount_us > 0);
    if (control_time_us(server->process.control, &before_us, failure))
        return failure_wrap(failure, "server %d", number + 1);
    servers_jump_clock(servers, number, amount_us);
    if (control_time_us(server->process.control, &after_us, failure) ||
        pace_look(&servers->paces[number], server->process.control, failure))
        return failure_wrap(failure, "server %d", number + 1);
    return after_us - before_us >= amount_us
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN,
                             "the clock of server %d was to jump %" PRId64
                             " us, and went on by %" PRId64 " us",
                             number + 1, amount_us, after_us - before_us);
}

enum fail servers_stop(struct servers *servers, int number, struct failure *failure)
{
    return process_stop(&servers->rows[number].process, failure)
               ? failure_wrap(failure, "server %d", number + 1)
               : FAIL_NONE;
}

enum fail servers_go_on(struct servers *servers, int number, struct failure *failure)
{
    if (servers_let_write(servers, number, failure))
        return failure->code;
    return process_go_on(&servers->rows[number].process, failure)
               ? failure_wrap(failure, "server %d", number + 1)
               : FAIL_NONE;
}

enum fail servers_flush_scripts(struct servers *servers, int number, struct failure *failure)
{
    redisContext *control = servers_control(servers, number);
    if (control_do(control, failure, "SCRIPT FLUSH"))
        return failure_wrap(failure, "server %d", number + 1);
    int64_t scripts = control_info_number(control, "memory", "number_of_cached_scripts", failure);
    return scripts <= 0
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN, "server %d still knows %" PRId64 " script%s",
                             number + 1, scripts, units_plural(scripts));
}

enum fail servers_flush_keys(struct servers *servers, int number, struct failure *failure)
{
    const struct server *server = &servers->rows[number];
    if (control_do(server->process.control, failure, "FLUSHALL"))
        return failure_wrap(failure, "server %d", number + 1);
    return prove_empty(server, "still has", failure)
               ? failure_wrap(failure, "server %d", number + 1)
               : FAIL_NONE;
}

static int64_t kill_clients(redisContext *control, struct failure *failure)
{
    int64_t ended = control_integer(control, failure, "CLIENT KILL TYPE normal");
    if (ended == INT64_MIN)
        return ended;
    int64_t told = control_integer(control, failure, "CLIENT KILL TYPE pubsub");
    return told == INT64_MIN ? told : ended + told;
}

/* One that was made a moment ago the server takes up at its next turn. */
enum fail servers_kill_clients(struct servers *servers, int number, int least,
                               struct failure *failure)
{
    redisContext *control = servers_control(servers, number);
    int64_t ended = 0;
    for (int turn = 0; turn == 0 || (ended < least && turn < KILL_TURNS); turn++) {
        const int64_t more = kill_clients(control, failure);
        if (more == INT64_MIN)
            return failure_wrap(failure, "server %d", number + 1);
        ended += more;
    }
    return ended >= least
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN,
                             "server %d has ended %" PRId64 " connection%s, and clients had %d",
                             number + 1, ended, units_plural(ended), least);
}
