/* asking_sequences.c - attempts of one client, one behind the other, asked for whole: does each go
 * on as it does alone? See asking.h.
 *
 * In the search an attempt that has ended leaves a new worker. How one can end a search has met;
 * so those attempts are made again in one process, in other orders, told the same in each of them,
 * and every step is held against what was answered. */
#include "ask/asking_state.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- how attempts end --- */

static struct met_ends *find_met(const struct asking *asking, const struct explore_options *options)
{
    for (int i = 0; i < asking->met_count; i++)
        if (memcmp(asking->met[i].budget, options->budget, sizeof options->budget) == 0 &&
            asking->met[i].rounds == options->rounds)
            return &asking->met[i];
    return NULL;
}

void asking_meet_attempts(struct asking *asking, const struct explore_options *options)
{
    struct met_ends *met = find_met(asking, options);
    if (!met) {
        asking->met =
            memory_resize(asking->met, (size_t)asking->met_count + 1, sizeof *asking->met);
        met = &asking->met[asking->met_count++];
        *met = (struct met_ends){.rounds = options->rounds};
        memcpy(met->budget, options->budget, sizeof met->budget);
    }
    asking->met_now = (int)(met - asking->met);
}

void asking_note_attempt(struct asking *asking, uint32_t node)
{
    struct met_ends *met = &asking->met[asking->met_now];
    while (met->size <= node) {
        met->are_noted = memory_resize(met->are_noted, (size_t)met->size + 1, 1);
        met->are_noted[met->size++] = false;
    }
    if (met->are_noted[node])
        return;
    met->are_noted[node] = true;
    met->nodes = memory_resize(met->nodes, (size_t)met->count + 1, sizeof *met->nodes);
    met->nodes[met->count++] = node;
}

void asking_sequences_free(struct asking *asking)
{
    for (int i = 0; i < asking->met_count; i++) {
        free(asking->met[i].nodes);
        free(asking->met[i].are_noted);
    }
    free(asking->met);
    intern_close(&asking->attempt_kinds);
    intern_close(&asking->attempt_forms);
    intern_close(&asking->sequences.items);
    free(asking->sequences.are_made);
}

enum { WAY_MAX = 100, OPERATIONS_MAX = 4 };

/* The steps of a history, from the first one. */
struct attempt_steps {
    uint32_t nodes[WAY_MAX];
    int count;
};

/* False: it is longer. */
static bool find_way(const struct asking *asking, uint32_t node, struct attempt_steps *way)
{
    way->count = 0;
    for (uint32_t at = node; at != NODE_ROOT; at = worker_asker_edge(&asking->worker, at).from) {
        if (way->count == WAY_MAX)
            return false;
        way->nodes[way->count++] = at;
    }
    for (int i = 0, k = way->count - 1; i < k; i++, k--) {
        const uint32_t node_at = way->nodes[i];
        way->nodes[i] = way->nodes[k];
        way->nodes[k] = node_at;
    }
    return true;
}

/* What of an attempt a worker may remember: how each of its operations ended, by which happening,
 * behind which reply, and how many ticks were told from the operation before; whether a connection
 * broke by then, or it heard of another's token. */
struct end_told {
    uint32_t operation, answer, happening, has_notice, reply, ticks;
};
struct told_kind {
    struct end_told ends[OPERATIONS_MAX];
    uint32_t has_broken, has_heard, slow; /* these operations, as bits */
};
/* How its first and its last operation ended, behind which reply; and which were slow. */
struct told_form {
    uint32_t first_answer, operation, answer, reply, slow;
};

/* False: it is not one attempt, from its beginning to its end. */
static bool read_attempt(const struct asking *asking, const struct attempt_steps *way,
                         struct told_kind *kind)
{
    enum happening operation = HAPPENING_COUNT;
    int attempts = 0, ended = 0;
    uint32_t ticks = 0;
    memset(kind, 0, sizeof *kind);
    for (int i = 0; i < way->count; i++) {
        const struct history_edge edge = worker_asker_edge(&asking->worker, way->nodes[i]);
        const struct remembered_step *step = &asking->worker.answers[way->nodes[i] - 1];
        attempts += edge.happening == HAPPENS_ACQUIRE;
        if (happening_asks((enum happening)edge.happening))
            operation = (enum happening)edge.happening;
        kind->has_broken |= edge.happening == HAPPENS_RESET || edge.happening == HAPPENS_CUT;
        kind->has_heard |= edge.whose == WHOSE_OTHER || edge.whose == WHOSE_SAME;
        ticks += edge.elapsed > 0 ? (uint32_t)edge.elapsed : 0;
        if (!step->has_ended || ended == OPERATIONS_MAX)
            continue;
        kind->slow |= (uint32_t)(ticks > 0) << ended;
        kind->ends[ended++] = (struct end_told){.operation = (uint32_t)operation + 1,
                                                .answer = step->answer,
                                                .happening = edge.happening,
                                                .has_notice = step->has_notice,
                                                .reply = edge.reply,
                                                .ticks = ticks};
        ticks = 0;
    }
    return attempts == 1 && ended > 0;
}

/* But for how slow each was, and what it heard. */
static uint32_t outline_of(struct asking *asking, struct told_kind kind)
{
    for (int i = 0; i < OPERATIONS_MAX; i++)
        kind.ends[i].reply = kind.ends[i].ticks = 0;
    return intern_put(&asking->attempt_kinds, &kind, sizeof kind);
}

static uint32_t form_of(struct asking *asking, const struct told_kind *kind)
{
    struct told_form form = {.first_answer = kind->ends[0].answer, .slow = kind->slow};
    for (int i = 0; i < OPERATIONS_MAX && kind->ends[i].operation; i++) {
        form.operation = kind->ends[i].operation;
        form.answer = kind->ends[i].answer;
        form.reply = kind->ends[i].reply;
    }
    return intern_put(&asking->attempt_forms, &form, sizeof form);
}

static struct attempt_end end_of(struct asking *asking, uint32_t node, const struct told_kind *kind)
{
    struct attempt_end end = {.node = node,
                              .kind = intern_put(&asking->attempt_kinds, kind, sizeof *kind),
                              .outline = outline_of(asking, *kind),
                              .form = form_of(asking, kind),
                              .is_struck = kind->has_broken};
    for (int i = 0; i < OPERATIONS_MAX && kind->ends[i].operation; i++) {
        const bool is_acquire = kind->ends[i].operation == HAPPENS_ACQUIRE + 1;
        end.operations |= 1u << (kind->ends[i].operation - 1);
        end.is_refused |= is_acquire && kind->ends[i].answer == ANSWER_NOT_OK;
        end.is_struck |= kind->ends[i].answer == ANSWER_ERROR ||
                         (kind->ends[i].answer == ANSWER_NOT_OK && !is_acquire);
    }
    return end;
}

/* The first one of each kind that this search has met: it goes breadth-first. */
static int find_ends(struct asking *asking, const struct met_ends *met, struct attempt_end *ends)
{
    int count = 0;
    for (uint32_t i = 0; met && i < met->count && count < SEQUENCE_ENDS_MAX; i++) {
        struct attempt_steps way;
        struct told_kind kind;
        if (!find_way(asking, met->nodes[i], &way) || !read_attempt(asking, &way, &kind))
            continue;
        ends[count] = end_of(asking, met->nodes[i], &kind);
        bool is_new = true;
        for (int k = 0; k < count; k++)
            is_new &= ends[k].kind != ends[count].kind;
        count += is_new;
    }
    return count;
}

/* --- one sequence --- */

enum { LOG_MAX = 700, TOKENS_MAX = 4 * SEQUENCE_MAX };

struct sequence_token {
    struct spoken_token token;
    int attempt;
    bool is_free; /* that attempt was refused, and has written nothing: as good as a new one */
};

struct sequence_run {
    struct asking *asking;
    const uint8_t *budget;
    const struct attempt_end *ends;
    struct seat *seat;
    struct sequence_token tokens[TOKENS_MAX];
    int tokens_count, attempt;
    /* In this attempt: it was asked to acquire (until then its token is that of the one before); a
     * connection broke. */
    bool has_begun, has_broken;
    char log[LOG_MAX]; /* how its operations have ended */
    bool has_differed;
};

bool asking_has_written_nothing(const uint8_t *budget, bool is_struck)
{
    bool is_prompt = true;
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
        is_prompt &= !budget[fault] || fault == FAULT_SLOW_WORK ||
                     (!is_struck && (fault == FAULT_LOSE_REQUEST || fault == FAULT_LOSE_REPLY));
    return is_prompt;
}

static enum fail differs(struct sequence_run *run, const char *when, const char *did,
                         const char *alone, struct failure *failure)
{
    run->has_differed = true;
    return failure_set(failure, FAIL_UNKNOWN,
                       "asked for more attempts, one behind the other, it does otherwise than in "
                       "each of them alone: %c, whose operations ended so far: %s; when %s, it "
                       "%s; alone it %s. What it does hangs on more of what was before than was "
                       "asked for; --search random runs it",
                       'A' + run->seat->client, run->log[0] ? run->log : "none", when, did, alone);
}

/* What was said of a token that comes back holds for each search in which somebody has it still. */
static enum fail token_differs(struct sequence_run *run, bool is_free, struct failure *failure)
{
    struct asking *asking = run->asking;
    const bool is_clients = asking->token == TOKEN_CLIENT;
    const enum fail fail =
        differs(run, "it is asked to acquire",
                is_clients ? "draws another token than in its attempts before"
                           : "draws a token that it has had in an attempt before",
                is_clients ? "has one token" : "draws a new one", failure);
    if (!is_free || is_clients)
        return fail;
    (void)snprintf(asking->token_comes_back, sizeof asking->token_comes_back, "%s", failure->text);
    *failure = (struct failure){0};
    run->has_differed = false;
    return FAIL_NONE;
}

static bool is_same_token(const struct spoken_token *a, const struct spoken_token *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static enum fail take_token(struct sequence_run *run, struct failure *failure)
{
    const struct spoken_token own = run->seat->own;
    const bool is_clients = run->asking->token == TOKEN_CLIENT;
    const int last = run->tokens_count - 1;
    if (!run->has_begun || !own.length || run->tokens_count == TOKENS_MAX ||
        (last >= 0 && run->tokens[last].attempt == run->attempt &&
         is_same_token(&run->tokens[last].token, &own)))
        return FAIL_NONE;
    for (int i = 0; i <= last; i++)
        if (run->tokens[i].attempt != run->attempt &&
            is_same_token(&run->tokens[i].token, &own) != is_clients &&
            token_differs(run, run->tokens[i].is_free, failure))
            return failure->code;
    run->tokens[run->tokens_count++] =
        (struct sequence_token){.token = own, .attempt = run->attempt};
    return FAIL_NONE;
}

static void note_end(struct sequence_run *run, enum happening operation,
                     const struct remembered_step *told)
{
    static const char *const words[HAPPENING_COUNT][ANSWER_LOST + 1] = {
        [HAPPENS_ACQUIRE] = {[ANSWER_OK] = "granted", [ANSWER_NOT_OK] = "refused"},
        [HAPPENS_RELEASE] = {[ANSWER_OK] = "released", [ANSWER_NOT_OK] = "not mine"},
        [HAPPENS_EXTEND] = {[ANSWER_OK] = "extended", [ANSWER_NOT_OK] = "not mine"}};
    const char *word = words[operation][told->answer];
    const size_t used = strlen(run->log);
    (void)snprintf(run->log + used, sizeof run->log - used, "%s%s", used ? ", " : "",
                   word ? word : "failed");
    if (operation != HAPPENS_ACQUIRE || told->answer != ANSWER_NOT_OK ||
        !asking_has_written_nothing(run->budget, run->has_broken))
        return;
    for (int i = 0; i < run->tokens_count; i++)
        run->tokens[i].is_free |= run->tokens[i].attempt == run->attempt;
}

static enum fail make_step(struct sequence_run *run, uint32_t node, bool is_same_holder,
                           struct failure *failure)
{
    struct worker_asker *worker = &run->asking->worker;
    const struct remembered_step *known = &worker->answers[node - 1];
    struct history_edge edge = worker_asker_edge(worker, node);
    struct remembered_step told;
    char when[200], did[600], alone[600];
    bool reads_clock;
    if (edge.whose == WHOSE_OTHER && is_same_holder && run->seat->before.length)
        edge.whose = WHOSE_SAME;
    run->has_begun |= edge.happening == HAPPENS_ACQUIRE;
    run->has_broken |= edge.happening == HAPPENS_RESET || edge.happening == HAPPENS_CUT;
    if (edge.happening == HAPPENS_RESET)
        edge.happening = HAPPENS_CUT; /* its idle connections to that server, too */
    if (seat_step(worker, run->seat, &edge, &told, &reads_clock, failure))
        return failure->code;
    worker->compared++;
    if (!remembered_is_same(known, &told)) {
        worker_asker_tell_step(worker, node, when, sizeof when, alone, sizeof alone);
        worker_asker_tell_did(worker, &told, known, did, sizeof did);
        return differs(run, when, did, alone, failure);
    }
    worker_asker_compare_fences(worker, edge.from, known, &told);
    if (known->counts)
        seat_note_moment(run->seat);
    return take_token(run, failure);
}

/* Who is refused again is so by the same holder. */
static enum fail make_attempt(struct sequence_run *run, const struct attempt_end *end,
                              bool was_refused, struct failure *failure)
{
    struct attempt_steps way;
    enum happening operation = HAPPENS_ACQUIRE;
    enum fail fail = FAIL_NONE;
    (void)find_way(run->asking, end->node, &way);
    run->has_begun = run->has_broken = false;
    for (int i = 0; i < way.count && !fail; i++) {
        const enum happening happening =
            (enum happening)worker_asker_edge(&run->asking->worker, way.nodes[i]).happening;
        const struct remembered_step *known = &run->asking->worker.answers[way.nodes[i] - 1];
        if (happening_asks(happening))
            operation = happening;
        fail = make_step(run, way.nodes[i], was_refused, failure);
        if (!fail && known->has_ended)
            note_end(run, operation, known);
    }
    return fail;
}

static enum fail make_sequence(struct sequence_run *run, const struct attempt_sequence *sequence,
                               struct failure *failure)
{
    bool was_refused = false;
    enum fail fail = seat_reset(&run->asking->worker, run->seat, failure);
    run->tokens_count = 0;
    run->log[0] = '\0';
    for (run->attempt = 0; run->attempt < sequence->count && !fail; run->attempt++) {
        const struct attempt_end *end = &run->ends[sequence->ends[run->attempt]];
        fail = make_attempt(run, end, was_refused, failure);
        was_refused = end->is_refused;
    }
    run->seat->at = NODE_LOST;
    return fail;
}

/* A difference is told of a process that is new. */
static enum fail make_anew(struct sequence_run *run, const struct attempt_sequence *sequence,
                           struct failure *failure)
{
    struct session *session = NULL;
    struct seat seat = {.client = run->seat->client, .is_new = true};
    run->has_differed = false;
    enum fail fail = asking_start_session(run->asking, &session, run->asking->clients,
                                          run->asking->seed, failure);
    if (!fail)
        fail = session_finish(session, failure);
    seat.session = session;
    run->seat = &seat;
    if (!fail)
        fail = make_sequence(run, sequence, failure);
    seat_close(&seat);
    session_free(session);
    return fail;
}

static enum fail ask_sequence(struct sequence_run *run, const struct attempt_sequence *sequence,
                              struct failure *failure)
{
    struct failure again = {0};
    const enum fail fail = make_sequence(run, sequence, failure);
    if (!fail || !run->has_differed)
        return fail;
    if (make_anew(run, sequence, &again))
        *failure = again;
    else
        run->asking->worker.has_two_answers = true;
    return fail;
}

/* --- all of a search --- */

/* Clients by turns, until nothing is added for any of them. */
static enum fail ask_sequences(struct sequence_run *run, struct sequence_choice *choice,
                               int clients, int most, struct failure *failure)
{
    struct asking *asking = run->asking;
    const volatile int *stop = asking->program->stop;
    for (int i = 0, idle = 0; most > 0 && idle < clients && !(stop && *stop); i++) {
        const int client = (i + 1) % clients; /* A was asked for all the rest */
        const struct attempt_sequence *sequence = sequence_choice_next(choice, client);
        idle = sequence ? 0 : idle + 1;
        if (!sequence)
            continue;
        run->seat = &asking->peers[client];
        if (ask_sequence(run, sequence, failure))
            return failure->code;
        sequence_choice_made(choice, client);
        asking->sequences_asked.sequences++;
        most--;
    }
    return FAIL_NONE;
}

enum fail asking_ask_sequences(struct asking *asking, const struct explore_options *options,
                               int most, struct failure *failure)
{
    struct attempt_end ends[SEQUENCE_ENDS_MAX];
    const int count = find_ends(asking, find_met(asking, options), ends);
    const uint64_t runs = asking->worker.runs;
    struct sequence_bounds bounds = {.rounds = options->rounds, .clients = options->clients};
    struct sequence_run run = {.asking = asking, .budget = options->budget, .ends = ends};
    uint32_t all, left;
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++)
        bounds.faults += options->budget[fault];
    if (asking->token_comes_back[0] && !asking_has_written_nothing(options->budget, true))
        return failure_set(failure, FAIL_UNKNOWN, "%s", asking->token_comes_back);
    struct sequence_choice *choice =
        sequence_choice_new(ends, count, &bounds, asking->seed, &asking->sequences);
    const enum fail fail = ask_sequences(&run, choice, options->clients, most, failure);
    sequence_choice_count(choice, &all, &left);
    asking->sequences_asked.orders += all;
    asking->sequences_asked.left += left;
    sequence_choice_free(choice);
    asking->worker.runs = runs;
    return fail;
}
