/* asking.c - see asking.h. */
#include "ask/asking.h"

#include "ask/asking_state.h"
#include "base/memory.h"
#include "explore/search/schedule.h"
#include "live/control.h"

#include <stdlib.h>
#include <string.h>

static const char key[] = "lock";

/* --- the search's view of it --- */

/* The history, the last moment that counts, the servers that it has met, and how far its wall clock
 * has jumped. */
static const enum scheme_field fields[] = {FIELD_STEP, FIELD_TIME, FIELD_COUNT, FIELD_COUNT};

static void fill_scheme(const struct asking *asking, struct scheme *scheme)
{
    const unsigned promises = worker_program_promises(asking->program);
    scheme->fields = fields;
    scheme->fields_count = sizeof fields / sizeof *fields;
    scheme->token = asking->token;
    scheme->promises_expiry = promises & PROMISE_EXPIRY;
    scheme->promises_notice = promises & PROMISE_NOTICE;
    scheme->promises_token = promises & PROMISE_TOKEN;
    scheme->mints_fence = promises & PROMISE_FENCE;
    scheme->needs_quorum = asking->servers > 1;
    scheme->is_even_handed = asking->is_even_handed;
    scheme->needs_script = true; /* whatever a server knows of scripts is part of its state */
}

/* --- begin and end --- */

/* Scripts that it loads while it begins are there when the search begins. */
static void on_executed(void *context, const struct wire_message *message)
{
    struct asking *asking = context;
    if (!asking->session)
        server_asker_note(&asking->server, message->bytes, message->length);
}

/* It writes nothing to a disk, and has no replica: there is nothing that it must look after often.
 */
static enum fail let_rest(struct session *session, int server, struct failure *failure)
{
    return control_do(session_control(session, server), failure, "CONFIG SET hz 10");
}

enum fail asking_start_session(struct asking *asking, struct session **session, int clients,
                               uint64_t seed, struct failure *failure)
{
    static const char names[SESSION_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D",
                                                                    "E", "F", "G", "H"};
    const struct session_options options = {.command = asking->program->command,
                                            .redis_server = asking->program->redis_server,
                                            .clients = clients,
                                            .servers = asking->servers,
                                            .names = names,
                                            .key = key,
                                            .lease_us = asking->lease_us,
                                            .wait_us = asking->program->wait_us,
                                            .seed = seed,
                                            .repeats_info = true,
                                            .stop = asking->program->stop,
                                            .events = {.executed = on_executed, .context = asking}};
    enum fail fail = session_start(session, &options, failure);
    for (int s = 0; s < asking->servers && !fail; s++)
        fail = let_rest(*session, s, failure);
    return fail;
}

enum fail asking_check_session(struct asking *asking, struct session *session,
                               struct failure *failure)
{
    const enum fail fail = session_check_past(session, failure);
    if (fail && session_is_past(session) && !asking->past.code)
        asking->past = *failure;
    return fail;
}

const struct failure *asking_find_past(struct asking *asking)
{
    struct failure failure;
    if (asking_check_session(asking, asking->session, &failure) ||
        asking_check_session(asking, asking->peers_session, &failure))
        if (!asking->failure.code)
            asking->failure = failure;
    return &asking->past;
}

static enum fail open_session(struct asking *asking, struct session **session, int clients,
                              struct failure *failure)
{
    struct session *made;
    enum fail fail = asking_start_session(asking, &made, clients, asking->seed, failure);
    if (!fail)
        fail = session_finish(made, failure);
    if (fail)
        session_free(made);
    else
        *session = made;
    return fail;
}

static void learn_program(struct asking *asking)
{
    struct worker_program *program = asking->program;
    program->is_known = true;
    program->promises = session_promises(asking->session);
    (void)strcpy(program->library, session_library(asking->session));
    (void)strncpy(program->server_version, session_server_version(asking->session),
                  sizeof program->server_version - 1);
}

static enum fail check_promises(const struct asking *asking, struct failure *failure)
{
    const unsigned promises = asking->program->promises;
    if (promises & 1u << WORKER_PROMISES_RENEWS)
        return failure_set(failure, FAIL_UNKNOWN,
                           "a lock that renews by itself is not decided by asking yet: "
                           "--search random runs it");
    if (promises & 1u << WORKER_PROMISES_EXITS)
        return failure_set(failure, FAIL_UNKNOWN,
                           "a worker that ends when its lock is lost is not decided by asking yet: "
                           "--search random runs it");
    if (asking->servers > 1 && !(promises & 1u << WORKER_PROMISES_QUORUM))
        return failure_set(failure, FAIL_UNKNOWN,
                           "it does not promise a quorum: it uses the first of several servers");
    return FAIL_NONE;
}

void asking_give_tokens(struct asking *asking)
{
    const struct token_pool *others = &asking->worker.pools[1];
    asking->server.own = asking->worker.sample;
    asking->server.other = others->count ? others->tokens[0] : token_unlike(&asking->server.own);
}

static enum fail learn_token(struct asking *asking, struct failure *failure)
{
    if (worker_asker_learn(&asking->worker, failure) ||
        worker_asker_attempt(&asking->worker, failure) ||
        server_asker_learn_key(&asking->server, failure) ||
        seat_reset(&asking->worker, &asking->worker.seat, failure))
        return failure->code;
    asking_give_tokens(asking);
    return FAIL_NONE;
}

static enum fail open_peers(struct asking *asking, int attempts, struct failure *failure)
{
    if (open_session(asking, &asking->peers_session, asking->clients, failure))
        return failure->code;
    for (int i = 0; i < asking->clients; i++)
        asking->peers[i] = (struct seat){.session = asking->peers_session, .client = i};
    const enum fail fail = asking_compare_tokens(asking, attempts, failure);
    return fail ? fail : asking_find_counters(asking, failure);
}

static enum fail learn_all(struct asking *asking, int attempts, bool *is_stale,
                           struct failure *failure)
{
    worker_asker_open(&asking->worker, asking->session, &asking->book, asking->server.key,
                      &asking->server.knows_key, asking->servers, asking->tick_us);
    asking->worker.tick_of_wait_us =
        asking->adds_waits ? asking->lease_us / asking->lease_ticks : 0;
    const struct proxy_address address =
        servers_address(session_servers(asking->session), SERVER_ONE);
    if (check_promises(asking, failure) ||
        server_asker_open(&asking->server, asking->session, address.host, address.port, failure) ||
        asking_take_kept(asking, is_stale, failure))
        return failure->code;
    if (*is_stale)
        return FAIL_NONE;
    if (!asking->kept && learn_token(asking, failure))
        return failure->code;
    if (open_peers(asking, attempts, failure))
        return failure->code;
    return asking->servers > 1 ? asking_measure_servers(asking, failure) : FAIL_NONE;
}

static enum fail begin(struct asking *asking, int attempts, bool *is_stale, struct failure *failure)
{
    server_asker_init(&asking->server, &asking->book, key, asking->tick_us);
    if (open_session(asking, &asking->session, 2, failure))
        return failure->code;
    learn_program(asking);
    enum fail fail = learn_all(asking, attempts, is_stale, failure);
    /* It was ready, and then ended, or said what is no answer: nothing is decided. */
    if (fail == FAIL_INPUT)
        fail = failure->code = FAIL_UNKNOWN;
    return fail;
}

static struct asking *asking_made(const struct asking_options *options)
{
    struct asking *asking = memory_new(1, sizeof *asking);
    asking->subject = asking_subject_ops;
    asking->program = options->program;
    asking->servers = options->servers ? options->servers : 1;
    asking->clients = options->clients ? options->clients : 3;
    asking->lease_ticks = options->lease_ticks ? options->lease_ticks : 2;
    asking->seed = options->seed;
    asking->adds_waits = options->adds_waits;
    const struct config config = {.ttl = asking->lease_ticks};
    asking->lease_us = translate_lease_us(&config);
    asking->tick_us = translate_tick_us(&config);
    intern_init(&asking->book.table);
    intern_init(&asking->kinds);
    intern_init(&asking->late.kinds);
    intern_init(&asking->attempt_kinds);
    intern_init(&asking->attempt_forms);
    intern_init(&asking->sequences.items);
    intern_init(&asking->classes.keys);
    intern_init(&asking->classes.rows_seen);
    asking->classes.are_wanted = options->merges;
    asking->classes.learns = options->learns;
    return asking;
}

static enum fail open_cache(struct asking *asking, const struct asking_options *options,
                            struct failure *failure)
{
    const struct cache_subject subject = {.command = options->program->command,
                                          .redis_server = options->program->redis_server,
                                          .depends = options->depends,
                                          .seed = options->seed,
                                          .wait_us = options->program->wait_us,
                                          .servers = asking->servers,
                                          .lease_ticks = asking->lease_ticks};
    if (!options->keeps)
        return FAIL_NONE;
    enum fail fail = cache_open(&asking->cache, &subject, failure);
    if (!fail && options->forgets)
        cache_drop(&asking->cache, options->forgets);
    return fail;
}

enum fail asking_new(struct asking **made, const struct asking_options *options,
                     struct scheme *scheme, struct failure *failure)
{
    struct asking *asking = asking_made(options);
    const int attempts = options->rounds ? options->rounds : 2;
    bool is_stale = false;
    *made = NULL;
    enum fail fail = open_cache(asking, options, failure);
    if (!fail)
        fail = begin(asking, attempts, &is_stale, failure);
    if (is_stale) { /* its file is gone: all is asked anew */
        struct cache cache = asking->cache;
        asking->cache = (struct cache){0};
        asking_free(asking);
        asking = asking_made(options);
        asking->cache = cache;
        fail = begin(asking, attempts, &is_stale, failure);
    }
    if (fail) {
        asking_free(asking);
        return fail;
    }
    fill_scheme(asking, scheme);
    *made = asking;
    return FAIL_NONE;
}

void asking_free(struct asking *asking)
{
    if (!asking)
        return;
    if (asking->worker.book)
        worker_asker_close(&asking->worker);
    if (asking->server.book)
        server_asker_close(&asking->server);
    intern_close(&asking->book.table);
    session_free(asking->session);
    for (int i = 0; i < SESSION_CLIENTS_MAX; i++)
        seat_close(&asking->peers[i]);
    session_free(asking->peers_session);
    session_free(asking->audit.ahead);
    intern_close(&asking->kinds);
    intern_close(&asking->late.kinds);
    free(asking->late.nodes);
    asking_ends_free(&asking->ends);
    asking_sequences_free(asking);
    asking_classes_free(&asking->classes);
    cache_shut(&asking->cache);
    free(asking);
}

/* --- figures --- */

struct subject *asking_subject(struct asking *asking)
{
    return &asking->subject;
}

enum asking_extend asking_extend(const struct asking *asking)
{
    if (!(asking->program->promises & 1u << WORKER_PROMISES_EXTENDS))
        return EXTEND_IS_NO_PROMISE;
    if (asking->program->skips_extend)
        return EXTEND_IS_SKIPPED;
    return EXTEND_IS_ASKED;
}

bool asking_adds_waits(const struct asking *asking)
{
    return asking->adds_waits;
}

int asking_lease_ticks(const struct asking *asking)
{
    return asking->lease_ticks;
}

bool asking_cuts(enum fault fault)
{
    return fault_blame(fault) == FAULT_OF_SERVER && fault_breaks(fault) == FAULT_BREAKS_ALL;
}

void asking_expect(struct asking *asking, const struct explore_options *options)
{
    const uint8_t *budget = options->budget;
    if (options->rounds > asking->rounds) /* what was compared was compared for fewer */
        asking_forget_ends(asking);
    if (options->rounds > asking->rounds)
        asking->rounds = options->rounds;
    int faults = 0;
    asking->expects_cuts = false;
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        asking->expects_cuts |= budget[fault] && asking_cuts(fault);
        faults += budget[fault];
    }
    asking->has_one_fault = faults == 1;
    asking->untried_delay[0] = '\0';
    asking_forget_long_ago(asking);
    asking_meet_attempts(asking, options);
    asking->rounds_waits = false;
    asking->expects_jumps = budget[FAULT_CLIENT_CLOCK];
    asking->expects_late = budget[FAULT_SLOW_WORK] || budget[FAULT_STALL];
    asking->worker.runs_max = asking->worker.runs + EXECUTIONS_MAX;
}

const char *asking_cannot(enum fault fault)
{
    switch (fault) {
    case FAULT_RESEND:
        return "to send a lost command again is for the library itself to do";
    case FAULT_SAME_TOKEN:
        return "a worker draws its own tokens";
    case FAULT_CLIENT_PAUSE:
        return "which commands of a worker may write is for its server to say";
    case FAULT_REFUSING_SERVER:
        return "connections that are refused are not decided by asking yet";
    case FAULT_SLOW_DIAL:
        return "connections that are made slowly are not decided by asking: --search random runs "
               "them";
    case FAULT_HALF_OPEN:
        return "connections that fall silent are not decided by asking: --search random runs them";
    default:
        return NULL;
    }
}

const struct failure *asking_failure(const struct asking *asking)
{
    return &asking->failure;
}

bool asking_go_on(struct asking *asking)
{
    if (asking->worker.has_two_answers)
        return false;
    asking->failure.code = FAIL_NONE;
    asking->worker.seat.at = NODE_LOST;
    return true;
}

struct asking_figures asking_figures(const struct asking *asking)
{
    return (struct asking_figures){.executions = asking->worker.runs,
                                   .histories = asking->worker.questions.count,
                                   .questions = asking->server.questions.count,
                                   .compared = asking->worker.compared,
                                   .audited = asking->worker.audited + asking->server.audited,
                                   .ends = asking->ends.compared,
                                   .refusals = asking_refusals(asking),
                                   .timed_ends = asking->ends.joined,
                                   .timed = asking->worker.timed,
                                   .far_key_ticks = asking->server.has_far_keys ? LEFT_FAR : 0,
                                   .far_ticks = asking->worker.has_far_timers ? FAR_TICKS : 0,
                                   .has_idle_reads = asking->worker.has_idle_reads,
                                   .untold = asking->worker.untold,
                                   .draws_tokens = asking->worker.token_word > 0,
                                   .is_even_handed = asking->is_even_handed,
                                   .kept = asking->kept,
                                   .replayed = asking->replayed,
                                   .sequences = asking->sequences_asked,
                                   .classes = asking->classes.firsts_count,
                                   .joined = asking->classes.joined,
                                   .walks = asking->classes.walks,
                                   .learned_ways =
                                       asking->classes.firsts_count ? asking->classes.learns : 0,
                                   .apart = asking->classes.apart};
}
