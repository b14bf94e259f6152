/* session.c - see session.h: made and freed, asks workers, moves time. */
#include "worker/session.h"

#include "base/memory.h"
#include "live/processor.h"
#include "worker/runtime.h"
#include "worker/session_state.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what workers say --- */

static struct worker_slot *slot_of(struct session *session, const struct worker *worker)
{
    for (int i = 0; i < session->options.clients; i++)
        if (session->clients[i].worker == worker)
            return &session->clients[i];
    return NULL;
}

static void wrong_answer(struct worker_slot *slot, int64_t id, const char *words)
{
    struct failure failure = {0};
    if (id > 0 && id <= slot->pending_count)
        (void)failure_set(&failure, FAIL_INPUT, "it answered request %lld (%s) %s", (long long)id,
                          worker_op_name(slot->pending[id - 1].op), words);
    else
        (void)failure_set(&failure, FAIL_INPUT, "it answered request %lld, which was never asked",
                          (long long)id);
    session_fail(slot->session, slot->number, &failure);
}

/* Does that kind of answer answer that request? */
static bool suits(enum worker_op op, enum answer_kind kind)
{
    if (op == WORKER_INIT || op == WORKER_RESET)
        return kind == ANSWER_READY;
    if (op == WORKER_TIME)
        return kind == ANSWER_TIME;
    return kind == ANSWER_OK || kind == ANSWER_NOT_OK || kind == ANSWER_ERROR;
}

static void note_promises(struct worker_slot *slot, enum worker_op op, unsigned promises)
{
    struct session *session = slot->session;
    struct failure changed;
    if (session->has_promises && worker_promises_stay(session->promises, promises, op, &changed)) {
        session_fail(session, slot->number, &changed);
        return;
    }
    session->has_promises = true;
    session->promises = promises;
}

static void on_answer(void *context, struct worker *worker, const struct worker_answer *answer)
{
    struct session *session = context;
    struct worker_slot *slot = slot_of(session, worker);
    session->activity++;
    if (!slot)
        return;
    if (answer->kind == ANSWER_LOST) {
        slot->has_notice = true;
        if (session->events.noticed)
            session->events.noticed(session->events.context, slot->number);
        return;
    }
    if (answer->id < 1 || answer->id > slot->pending_count) {
        wrong_answer(slot, answer->id, "");
        return;
    }
    struct pending *pending = &slot->pending[answer->id - 1];
    if (pending->is_answered)
        wrong_answer(slot, answer->id, "twice");
    else if (!suits(pending->op, answer->kind))
        wrong_answer(slot, answer->id, "with what is an answer to something else");
    else if (answer->kind == ANSWER_READY)
        note_promises(slot, pending->op, answer->promises);
    pending->is_answered = true;
    if (answer->id != slot->asked_id)
        return; /* late: of what was given up */
    slot->asked_id = 0;
    slot->answer = *answer;
}

static void on_printed(void *context, struct worker *worker, const char *line)
{
    struct session *session = context;
    const struct worker_slot *slot = slot_of(session, worker);
    session->activity++;
    if (slot && session->events.printed)
        session->events.printed(session->events.context, slot->number, line);
}

/* Can its lock be lost to it? It was granted, and did not give it back by itself. */
static bool can_have_lost(const struct worker_slot *slot)
{
    const bool is_pending = slot->asked_id != 0;
    switch (slot->op) {
    case WORKER_ACQUIRE:
        return !is_pending && slot->answer.kind == ANSWER_OK;
    case WORKER_EXTEND:
        return true;
    case WORKER_RELEASE:
        return is_pending || slot->answer.kind != ANSWER_OK;
    default:
        return false;
    }
}

static void on_failed(void *context, struct worker *worker, const struct failure *failure)
{
    struct session *session = context;
    struct worker_slot *slot = slot_of(session, worker);
    if (!slot)
        return;
    slot->has_exited = session->options.may_exit && worker_has_ended(worker) &&
                       session->promises >> WORKER_PROMISES_EXITS & 1 && can_have_lost(slot);
    session->activity++;
    if (!slot->has_exited)
        session_fail(session, slot->number, failure);
}

static void note_pending(struct worker_slot *slot, enum worker_op op)
{
    slot->pending =
        memory_resize(slot->pending, (size_t)slot->pending_count + 1, sizeof *slot->pending);
    slot->pending[slot->pending_count++] = (struct pending){.op = op};
}

enum fail session_ask(struct session *session, int client, struct worker_request request,
                      struct failure *failure)
{
    struct worker_slot *slot = &session->clients[client];
    assert(!slot->asked_id);
    if (request.op == WORKER_ACQUIRE)
        request.wait_us = session->options.wait_us;
    note_pending(slot, request.op);
    slot->attempt += request.op == WORKER_ACQUIRE;
    slot->op = request.op;
    slot->asked_id = worker_ask(slot->worker, request);
    return session_settle(session, failure);
}

/* Its answer is one of its own: what is cancelled has still to be answered. */
enum fail session_cancel(struct session *session, int client, struct failure *failure)
{
    struct worker_slot *slot = &session->clients[client];
    assert(slot->asked_id);
    note_pending(slot, WORKER_CANCEL);
    (void)worker_ask(slot->worker,
                     (struct worker_request){.op = WORKER_CANCEL, .of = slot->asked_id});
    return session_settle(session, failure);
}

bool session_is_asked(const struct session *session, int client)
{
    return session->clients[client].asked_id != 0;
}

const struct worker_answer *session_answer(const struct session *session, int client)
{
    return &session->clients[client].answer;
}

unsigned session_promises(const struct session *session)
{
    return session->promises;
}

const char *session_unsteady(const struct session *session)
{
    return runtime_lacks_flags(worker_pid(session->clients[0].worker));
}

int session_pid(const struct session *session, int client)
{
    return worker_pid(session->clients[client].worker);
}

const char *session_folder(const struct session *session)
{
    return session->servers.folder.path;
}

const char *session_library(const struct session *session)
{
    return session->library;
}

bool session_has_idle_reads(const struct session *session, int client)
{
    return runtime_reads_clock(worker_pid(session->clients[client].worker));
}

const char *session_untold(const struct session *session, int client)
{
    static const char *const words[TIME_TOLD_COUNT] = {
        [TIME_UNTOLD_NATIVE] = "the program has loaded a native module",
        [TIME_UNTOLD_ENTRIES] = "the program takes the time from an observer, a histogram or the "
                                "figures of the event loop (node:perf_hooks)",
        [TIME_UNTOLD_EVENT] = "the program goes by the timeStamp of an Event",
        [TIME_UNTOLD_THREAD] = "the program has a thread with options or an environment of its own",
        [TIME_UNTOLD_WASI] = "the program uses node:wasi",
    };
    const struct time_counts *counts = session_counts(session, client);
    if (!atomic_load(&counts->tells_reads))
        return "picklock-clocks.js, which NODE_OPTIONS names, is not in it";
    const uint32_t untold = atomic_load(&counts->untold);
    return untold && untold < TIME_TOLD_COUNT ? words[untold] : NULL;
}

const struct time_counts *session_counts(const struct session *session, int client)
{
    return &worker_time(session->clients[client].worker)->page->counts;
}

bool session_has_notice(const struct session *session, int client)
{
    return session->clients[client].has_notice;
}

bool session_has_exited(const struct session *session, int client)
{
    return session->clients[client].has_exited;
}

void session_forget_notice(struct session *session, int client)
{
    session->clients[client].has_notice = false;
}

/* --- time --- */

int64_t session_now_us(const struct session *session)
{
    return session->now_us;
}

enum { SECOND_US = 1000000 };

/* What its own clocks show when a page of the others shows that. */
static int64_t own_us(const struct own_time *own, int64_t page_us)
{
    return page_us + own->gained_us + (page_us - own->since_us) * own->gains_us / SECOND_US;
}

/* When they show that, at the earliest; what the others' show then. */
static int64_t due_us(const struct own_time *own, int64_t own_us)
{
    const int64_t left_us = own_us - own->gained_us - own->since_us;
    const int64_t rate = SECOND_US + own->gains_us;
    if (own->gains_us == 0)
        return own->since_us + left_us;
    return own->since_us + left_us / rate * SECOND_US +
           (left_us % rate * SECOND_US + rate - 1) / rate;
}

int64_t session_own_us(const struct session *session, int client)
{
    return own_us(&session->clients[client].own_time, session_page_us(session));
}

int64_t session_next_us(struct session *session, int client)
{
    int64_t next_us = TIME_NEVER;
    for (int i = 0; i < session->options.clients; i++) {
        const struct worker_slot *slot = &session->clients[i];
        struct worker *worker = slot->worker;
        if ((client >= 0 && client != i) || !worker || worker_has_ended(worker))
            continue;
        int64_t one_us = timekeeper_next_us(worker_time(worker));
        if (one_us < TIME_NEVER)
            one_us = due_us(&slot->own_time, one_us) - session->origin_us;
        next_us = one_us < next_us ? one_us : next_us;
    }
    for (const struct wire_message *it = session->first; it; it = it->next)
        if (it->transit == TRANSIT_WAITING && !it->is_gone && !it->is_silent &&
            (client < 0 || client == it->client) && it->until_us < next_us)
            next_us = it->until_us;
    return next_us;
}

enum fail session_set_now(struct session *session, int64_t now_us, struct failure *failure)
{
    session->now_us = now_us;
    servers_set_clock(&session->servers, session_page_us(session));
    for (int i = 0; i < session->options.clients; i++)
        session_catch_up(session, i);
    return session_settle(session, failure);
}

void session_let_pass(struct session *session, int64_t now_us)
{
    session->now_us = now_us;
    servers_set_clock(&session->servers, session_page_us(session));
    for (int i = 0; i < session->options.clients; i++)
        if (session_next_us(session, i) > now_us)
            session_catch_up(session, i);
}

uint64_t session_traffic(const struct session *session, int client)
{
    struct worker *worker = session->clients[client].worker;
    if (!worker)
        return 0;
    const struct time_counts *counts = &worker_time(worker)->page->counts;
    return atomic_load(&counts->sent) + atomic_load(&counts->received) +
           atomic_load(&counts->connections);
}

void session_catch_up(struct session *session, int client)
{
    struct worker *worker = session->clients[client].worker;
    if (worker && !worker_has_ended(worker))
        timekeeper_set_now(worker_time(worker), session_own_us(session, client));
}

void session_jump_clock(struct session *session, int client, int64_t amount_us)
{
    struct time_page *page = worker_time(session->clients[client].worker)->page;
    atomic_fetch_add(&page->wall_offset_us, amount_us);
}

void session_set_rate(struct session *session, int client, int64_t gains_us)
{
    const int64_t page_us = session_page_us(session);
    struct own_time *own = &session->clients[client].own_time;
    assert(gains_us > -SECOND_US);
    *own = (struct own_time){
        .since_us = page_us, .gained_us = own_us(own, page_us) - page_us, .gains_us = gains_us};
}

void session_kill(struct session *session, int client)
{
    struct worker_slot *slot = &session->clients[client];
    worker_kill(slot->worker);
    slot->asked_id = 0;
}

struct servers *session_servers(struct session *session)
{
    return &session->servers;
}

void session_set_dead(struct session *session, int server, bool is_dead)
{
    const unsigned bit = 1u << server;
    session->dead = is_dead ? session->dead | bit : session->dead & ~bit;
}

void session_follow_server(struct session *session, int server)
{
    const struct proxy_address upstream = servers_address(&session->servers, server);
    for (int i = 0; i < session->options.clients; i++)
        proxy_set_upstream(session->listeners[i][server].proxy, &upstream);
}

redisContext *session_control(const struct session *session, int server)
{
    return servers_control(&session->servers, server);
}

/* They live by the real time, and are not waited for: what they would still do nobody here sees. */
static enum fail check_helpers(const struct session *session, struct failure *failure)
{
    char name[WORKER_CHILD_BYTES];
    for (int i = 0; i < session->options.clients; i++) {
        const struct worker_slot *slot = &session->clients[i];
        if (slot->worker && worker_has_ring(slot->worker))
            return failure_set(failure, FAIL_UNKNOWN,
                               "worker %s has a ring of io_uring: what the kernel does there for "
                               "it takes real time, and is not waited for. Let it wait by calls "
                               "(poll, read)",
                               session->options.names[i]);
        if (!slot->worker || slot->beginning.has_children ||
            !worker_has_living_children(slot->worker))
            continue;
        return failure_set(failure, FAIL_UNKNOWN,
                           "worker %s has started a process that is still there at the end%s: what "
                           "it does is not waited for. Let the worker wait for its end, or start "
                           "it in init",
                           session->options.names[i], worker_child_name(slot->worker, name));
    }
    return FAIL_NONE;
}

/* What is said past the proxy nobody here sees; so what a worker did there, or was told, is not
 * known. */
enum fail session_check_past(struct session *session, struct failure *failure)
{
    struct failure found;
    enum fail fail = servers_find_strangers(&session->servers, &found);
    fail = fail ? fail : check_helpers(session, &found);
    session->is_past |= fail == FAIL_UNKNOWN;
    return fail ? failure_set(failure, FAIL_UNKNOWN, "%s", found.text) : FAIL_NONE;
}

bool session_is_past(const struct session *session)
{
    return session->is_past;
}

const char *session_server_version(const struct session *session)
{
    return session->servers.version;
}

/* --- begin and end --- */

enum fail session_start(struct session **made, const struct session_options *options,
                        struct failure *failure)
{
    struct session *session = memory_new(1, sizeof *session);
    assert(options->clients > 0 && options->clients <= SESSION_CLIENTS_MAX);
    assert(options->servers > 0 && options->servers <= SERVERS_MAX);
    *made = NULL;
    session->options = *options;
    if (!session->options.patience_us)
        session->options.patience_us = SESSION_PATIENCE_US;
    session->events = options->events;
    session->worker_events = (struct worker_events){
        .answered = on_answer, .printed = on_printed, .failed = on_failed, .context = session};
    (void)signal(SIGPIPE, SIG_IGN); /* a worker that is gone is an error of write(), not our end */
    int error = uv_loop_init(&session->loop);
    if (error < 0) {
        free(session);
        return failure_set(failure, FAIL_UNAVAILABLE, "libuv: %s", uv_strerror(error));
    }
    (void)uv_timer_init(&session->loop, &session->tick);
    enum fail fail = session_begin(session, failure);
    if (fail)
        session_free(session);
    else
        *made = session;
    return fail;
}

enum fail session_new(struct session **made, const struct session_options *options,
                      struct failure *failure)
{
    enum fail fail = session_start(made, options, failure);
    if (!fail)
        fail = session_finish(*made, failure);
    if (fail) {
        session_free(*made);
        *made = NULL;
    }
    return fail;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    session->is_closing = true;
    if (session->shares_processor)
        processor_leave();
    for (int i = 0; i < session->options.clients; i++) {
        worker_free(session->clients[i].worker);
        for (int j = 0; j < session->options.servers; j++)
            if (session->listeners[i][j].proxy)
                proxy_close(session->listeners[i][j].proxy, NULL, NULL);
    }
    servers_close(&session->servers);
    uv_close((uv_handle_t *)&session->tick, NULL);
    (void)uv_run(&session->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&session->loop);
    assert(left == 0);
    while (session->first)
        session_forget(session, session->first);
    for (int i = 0; i < session->options.clients; i++)
        free(session->clients[i].pending);
    free(session->names);
    told_info_free(session->told_info);
    free(session);
}
