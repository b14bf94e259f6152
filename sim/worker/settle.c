/* settle.c - waiting until all that follows by itself has happened: every worker is at rest, and
 * every byte that was written has arrived. See session.h.
 *
 * Loopback hands bytes over at once, but for a machine that is busy: so they are counted at both
 * ends. What is never read (a library that leaves an old connection alone) is waited for once, for
 * GRACE_TICKS of our own loop while nobody does anything: a worker that the machine lets wait uses
 * up none of them, nor does a loop that has not run. */
#include "base/monotonic.h"
#include "live/processor.h"
#include "worker/runtime.h"
#include "worker/session_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICK_MS = 20,
    GRACE_TICKS = 3,   /* bytes that have not arrived by then, while nothing happens, never will */
    ANSWER_MS = 3000,  /* a server answers at once */
    STACK_MS = 500,    /* a program that prints its stack has done so */
    LIBRARY_MS = 1000, /* a program has loaded its libraries by then */
    CREPT_US = 1000,   /* servers count whole milliseconds: less than that no verdict minds */
};

static int64_t real_ms(void)
{
    return monotonic_us() / 1000;
}

void session_fail(struct session *session, int client, const struct failure *failure)
{
    if (session->failure.code || session->is_closing)
        return;
    session->failure = *failure;
    if (client >= 0)
        failure_wrap(&session->failure, "worker %s", session->options.names[client]);
    session->activity++;
}

/* --- what has arrived --- */

static struct proxy_traffic traffic_of(const struct session *session, int client)
{
    struct proxy_traffic all = {0};
    for (int i = 0; i < session->options.servers; i++) {
        const struct proxy_traffic one = proxy_traffic(session->listeners[client][i].proxy);
        all.links += one.links;
        all.ended += one.ended;
        all.read += one.read;
        all.written += one.written;
    }
    return all;
}

/* Something was written to it, or a connection of its ended: its threads look again. */
static void make_look(struct session *session, int client)
{
    struct proxy_traffic *seen = &session->listeners[client][0].seen;
    const struct proxy_traffic now = traffic_of(session, client);
    if (now.written == seen->written && now.ended == seen->ended && now.links == seen->links)
        return;
    *seen = now;
    timekeeper_look_again(worker_time(session->clients[client].worker));
}

static bool has_arrived(struct session *session, int client, bool is_patient)
{
    struct worker_slot *slot = &session->clients[client];
    const struct time_counts *counts = &worker_time(slot->worker)->page->counts;
    const struct proxy_traffic traffic = traffic_of(session, client);
    const int64_t unknown = dials_unknown_sockets(session, client);
    struct slack now = {
        .sent = atomic_load(&counts->sent) - traffic.read,
        .received = traffic.written - atomic_load(&counts->received),
        .connections = atomic_load(&counts->connections) - traffic.links,
        .unseen = unknown < 0 ? (uint64_t)-unknown : 0,
    };
    if (dials_are_held(session, client)) /* what does not come is not waited for */
        now.connections = slot->slack.connections;
    const bool is_same = memcmp(&now, &slot->slack, sizeof now) == 0;
    if (!is_same && !is_patient)
        slot->slack = now;
    return is_same || !is_patient;
}

static bool is_alive(const struct session *session, int client)
{
    const struct worker *worker = session->clients[client].worker;
    return worker && !worker_has_ended(worker);
}

/* Nobody does anything by himself; bytes may be on their way. */
static bool is_still(const struct session *session)
{
    bool is = !session->outstanding;
    for (int i = 0; i < session->options.clients && is; i++)
        is =
            !is_alive(session, i) || timekeeper_is_at_rest(worker_time(session->clients[i].worker));
    return is;
}

static bool is_at_rest(struct session *session, bool is_patient)
{
    bool is = is_still(session);
    for (int i = 0; i < session->options.clients && is; i++)
        is = !is_alive(session, i) || has_arrived(session, i, is_patient);
    return is;
}

static bool has_message(const struct session *session, int client)
{
    const struct wire_message *message = session->first;
    while (message && (message->client != client || message->is_gone))
        message = message->next;
    return message != NULL;
}

/* It is to answer, nothing of ours would make it go on, and it has started processes (a wrapper in
 * a shell; a program that asks another): they live by the real time, and may. */
static bool waits_for_child(const struct session *session, int client)
{
    const struct worker_slot *slot = &session->clients[client];
    return slot->worker && slot->asked_id && !worker_has_ended(slot->worker) &&
           !has_message(session, client) &&
           timekeeper_next_us(worker_time(slot->worker)) == TIME_NEVER &&
           worker_has_children(slot->worker);
}

/* Any of them? NOBODY_WAITS: none. */
enum { NOBODY_WAITS = -1 };
static int find_waiting_for_child(const struct session *session)
{
    for (int i = 0; i < session->options.clients; i++)
        if (waits_for_child(session, i))
            return i;
    return NOBODY_WAITS;
}

/* --- what does not come --- */

static enum fail check_connections(struct session *session, struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++) {
        const struct worker_slot *slot = &session->clients[i];
        if (!slot->worker)
            continue;
        const struct time_page *page = worker_time(slot->worker)->page;
        if (!atomic_load(&page->counts.refused))
            continue;
        return failure_set(
            failure, FAIL_INPUT,
            "worker %s wants to connect to %s, which is none of the servers that it was given: "
            "what goes "
            "past the proxy is not seen. Use the addresses of init as they are (\"servers\"); a "
            "Sentinel "
            "or a Cluster, which name others, cannot be tested: give the lock plain servers",
            session->options.names[i], page->refused);
    }
    return FAIL_NONE;
}

/* What it did by such a clock would be no answer about leases. */
static enum fail check_clocks(struct session *session, struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++) {
        const struct worker_slot *slot = &session->clients[i];
        if (!slot->worker)
            continue;
        const struct timekeeper *timekeeper = worker_time(slot->worker);
        const struct time_page *page = timekeeper->page;
        if (atomic_load(&page->counts.unsteered))
            return failure_set(failure, FAIL_UNKNOWN,
                               "worker %s goes by %s, a clock that is not steered: let it read the "
                               "monotonic clock, or the wall clock, and sleep or poll instead",
                               session->options.names[i], page->unsteered);
        /* While it begins time does not matter, and a large program reads a clock often to load. */
        if (slot->attempt && timekeeper_crept_us(timekeeper) > CREPT_US)
            return failure_set(failure, FAIL_UNKNOWN,
                               "worker %s spins on its clock: it reads it again and again without "
                               "a wait, and meanwhile no time passes for the servers and the "
                               "others: let it sleep or poll instead",
                               session->options.names[i]);
    }
    return FAIL_NONE;
}

/* What a process maps: where a new program begins in it, one after the other. A table that ends
 * before the stack was cut by that. */
struct mapped {
    bool is_whole, has_program, has_loader, has_ours, has_libc;
};

static struct mapped mapped_by(int pid)
{
    char path[64], line[600];
    struct mapped found = {.is_whole = false};
    (void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        found.has_program |= strstr(line, " r-xp ") && strchr(line, '/');
        found.has_loader |= strstr(line, "/ld-") != NULL;
        found.has_ours |= strstr(line, "picklock-time.so") != NULL;
        found.has_libc |= strstr(line, "/libc.so") || strstr(line, "/libc-");
        found.is_whole |= strstr(line, "[stack]") != NULL;
    }
    if (file) /* else it has ended: that is told elsewhere */
        (void)fclose(file);
    return found;
}

enum { LOST_LOOKS = 5 };

/* Is our library in the program that its process runs now, or are its calls answered? A wrapper may
 * have been steered, and this one not: it has the C library, behind which ours is not loaded any
 * more, or no loader; and so it is at several looks in a row. */
static bool is_steered(struct worker_slot *slot)
{
    if (atomic_load(&worker_time(slot->worker)->page->is_answered))
        return true;
    const struct mapped found = mapped_by(worker_pid(slot->worker));
    const bool is_lost = found.is_whole && !found.has_ours &&
                         (found.has_libc || (found.has_program && !found.has_loader));
    slot->lost_looks = is_lost ? slot->lost_looks + 1 : 0;
    return slot->lost_looks < LOST_LOOKS;
}

static enum fail check_libraries(struct session *session, struct failure *failure)
{
    for (int i = 0; i < session->options.clients; i++) {
        struct worker_slot *slot = &session->clients[i];
        if (slot->worker && !worker_has_ended(slot->worker) && !is_steered(slot))
            return failure_set(
                failure, FAIL_UNAVAILABLE,
                "worker %s does not follow our time: the library preloaded for that "
                "(LD_PRELOAD) is dropped by a wrapper that unsets it, and by a program that "
                "is set-user-id, has file capabilities, or comes from a snap; one that is "
                "statically linked or of Go is steered where the command names it, not a "
                "wrapper",
                session->options.names[i]);
    }
    return FAIL_NONE;
}

/* What is ready now. True: something happened. */
static bool turn(struct session *session, uv_run_mode mode)
{
    const int64_t before = session->activity;
    (void)uv_run(&session->loop, mode);
    for (int i = 0; i < session->options.clients; i++)
        if (session->clients[i].worker)
            make_look(session, i);
    return session->activity != before;
}

/* Where it is, as far as it says so; the clock of session_settle() ticks. */
static const char *stack_of(struct session *session, struct worker *worker)
{
    const int64_t began_ms = real_ms();
    if (worker_ask_stack(worker))
        while (!worker_has_stack(worker) && real_ms() - began_ms < STACK_MS)
            (void)turn(session, UV_RUN_ONCE);
    return worker_stack(worker);
}

/* A request of its that is held, and of which more is to come than is looked at; NULL: none. */
static const struct wire_message *large_request(const struct session *session, int client)
{
    const struct wire_message *message = session->first;
    while (message && (message->client != client || message->transit != TRANSIT_REQUEST ||
                       message->length < SESSION_LOOKED_AT))
        message = message->next;
    return message;
}

/* What else may keep it busy, as the end of a sentence. */
static const char *busy_around(const struct session *session, int client, char *text, size_t size)
{
    const struct worker *worker = session->clients[client].worker;
    const struct wire_message *large = large_request(session, client);
    const int pid = worker_pid(worker);
    const char *runtime = runtime_lacks_flags(pid), *silent = runtime_without_stack(pid);
    char child[WORKER_CHILD_BYTES];
    *text = '\0';
    if (large)
        (void)snprintf(
            text, size,
            "; it may wait to write the rest of its %s, which is held, and longer than a "
            "connection takes (3 MB fit): let the lock send less at once",
            large->name);
    else if (worker_has_children(worker))
        (void)snprintf(text, size,
                       "; it has started another process%s, whose time is not steered, and may "
                       "wait for that: where that is the lock's own program, behind a wrapper, "
                       "name it first in the command",
                       worker_child_name(worker, child));
    else if (runtime)
        (void)snprintf(text, size,
                       "; %s is not what the command names first, so that its flags could not be "
                       "set: its own timers may keep it busy",
                       runtime);
    else if (silent)
        (void)snprintf(text, size, "; where it computes, %s does not tell: it has no stack to show",
                       silent);
    return text;
}

/* Others may keep it from coming to rest. */
static const char *busy_machine(char *text, size_t size)
{
    double load;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *text = '\0';
    if (getloadavg(&load, 1) == 1 && load > 2 * (double)processors)
        (void)snprintf(text, size,
                       "; this machine is busy, too (load %.0f on %ld processors): "
                       "`picklock test --patience` waits for longer",
                       load, processors);
    return text;
}

static enum fail not_settled(struct session *session, struct failure *failure)
{
    char words[600];
    const double patience = (double)session->options.patience_us / 1e6;
    if (session->outstanding)
        return failure_set(failure, FAIL_UNKNOWN,
                           "the server has not answered %s within %d s of real time: this machine "
                           "is busy, the reply is longer than 20 MB, or it waits at the server, as "
                           "only pops that block, and WAIT, "
                           "may (XREAD with BLOCK may not yet)",
                           session->waited_for, ANSWER_MS / 1000);
    for (int i = 0; i < session->options.clients; i++) {
        struct worker_slot *slot = &session->clients[i];
        if (!slot->worker || worker_has_ended(slot->worker) ||
            timekeeper_is_at_rest(worker_time(slot->worker)))
            continue;
        struct timekeeper *timekeeper = worker_time(slot->worker);
        if (!atomic_load(&timekeeper->page->pid))
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "worker %s does not follow our time: the library preloaded for that "
                               "(LD_PRELOAD) is dropped by a program that is set-user-id, has file "
                               "capabilities, or comes from a snap",
                               session->options.names[i]);
        timekeeper_describe(timekeeper, words, sizeof words);
        const char *stack = stack_of(session, slot->worker);
        char around[300], machine[160];
        return failure_set(
            failure, FAIL_UNKNOWN,
            "worker %s is busy: it has not come to rest within %g s of real time (%s)%s%s%s%s",
            session->options.names[i], patience, words, *stack ? ": " : "", stack,
            busy_around(session, i, around, sizeof around), busy_machine(machine, sizeof machine));
    }
    const int waiting = find_waiting_for_child(session);
    char child[WORKER_CHILD_BYTES];
    if (waiting != NOBODY_WAITS)
        return failure_set(
            failure, FAIL_UNKNOWN,
            "worker %s has not answered %s within %g s of real time, and a process "
            "that it has started is still there%s: it may wait for that, whose time "
            "is not steered",
            session->options.names[waiting],
            worker_op_name(
                session->clients[waiting].pending[session->clients[waiting].asked_id - 1].op),
            patience, worker_child_name(session->clients[waiting].worker, child));
    return failure_set(failure, FAIL_UNKNOWN, "what was sent has not arrived");
}

static enum fail look_after(struct session *session, int64_t began_ms, struct failure *failure)
{
    const int64_t limit_ms = session->outstanding ? ANSWER_MS : session->options.patience_us / 1000;
    if (session->options.stop && *session->options.stop)
        return failure_set(failure, FAIL_UNKNOWN, "it was interrupted");
    for (int i = 0; i < session->options.clients; i++)
        if (session->clients[i].worker)
            worker_read(session->clients[i].worker);
    if (check_clocks(session, failure))
        return FAIL_UNKNOWN;
    if (servers_check(&session->servers, failure) ||
        (real_ms() - began_ms > LIBRARY_MS && check_libraries(session, failure)))
        return FAIL_UNAVAILABLE;
    return real_ms() - began_ms > limit_ms ? not_settled(session, failure) : FAIL_NONE;
}

static enum fail failure_of(const struct session *session, struct failure *failure)
{
    return failure_set(failure, session->failure.code, "%s", session->failure.text);
}

static void on_tick(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

enum fail session_settle(struct session *session, struct failure *failure)
{
    bool has_ticked = false;
    enum fail fail = FAIL_NONE;
    const int64_t began_ms = real_ms();
    int64_t seen = session->activity;
    int still_ticks = 0;
    processor_look();
    session->tick.data = &has_ticked;
    uv_update_time(&session->loop);
    (void)uv_timer_start(&session->tick, on_tick, TICK_MS, TICK_MS);
    (void)turn(session, UV_RUN_NOWAIT);
    while (!fail) {
        const bool is_patient = still_ticks < GRACE_TICKS;
        if (session->failure.code) {
            fail = failure_of(session, failure);
            break;
        }
        const bool is_quiet = is_at_rest(session, is_patient);
        if (is_quiet && find_waiting_for_child(session) == NOBODY_WAITS) {
            /* Answers are in their pipes by now; and what came meanwhile is looked at once more. */
            if (!turn(session, UV_RUN_NOWAIT) && is_at_rest(session, true) &&
                !session->failure.code && find_waiting_for_child(session) == NOBODY_WAITS)
                break;
            continue;
        }
        (void)turn(session, UV_RUN_ONCE);
        if (session->activity != seen || !is_still(session)) {
            seen = session->activity;
            still_ticks = 0;
        }
        if (has_ticked) {
            has_ticked = false;
            still_ticks++;
            fail = look_after(session, began_ms, failure);
        }
    }
    (void)uv_timer_stop(&session->tick);
    if (!fail) {
        session_take_left(session);
        dials_find(session);
    }
    /* A worker that ends, or says no answer, where it could not connect: that is why. */
    struct failure past;
    if ((!fail || fail == FAIL_INPUT) &&
        (check_connections(session, &past) || check_clocks(session, &past))) {
        *failure = past;
        fail = past.code;
    }
    return fail;
}
