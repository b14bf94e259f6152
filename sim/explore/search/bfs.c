/* bfs.c - see bfs.h. */
#include "explore/search/bfs.h"

#include "base/memory.h"
#include "explore/reduce/lower_bound.h"
#include "explore/search/remaining.h"

#include <assert.h>
#include <string.h>

/* A record: the words of a state, then its parent, and the depth that it would have. */
enum { FRONTIER_PARENT, FRONTIER_DEPTH, FRONTIER_WORDS };

/* One run under way. */
struct bfs_run {
    struct search *search;
    struct chunked_array frontier, next_frontier; /* of this layer, by depth; of the next one */
    uint64_t frontier_at;                         /* the next to be merged */
    int words;                                    /* of a state, with the 0 after an odd number */
    int layer, depth;
    uint32_t state;         /* in hand */
    int injections;         /* of it: steps that went to the next layer's frontier */
    int left_out;           /* of it: steps that lead too far away */
    unsigned pushed_before; /* into the queue, its other steps */
    bool is_merging;
    bool is_over;
    uint32_t depth_end; /* the first state behind those of this depth */
    struct remaining remaining;
    int64_t began_us;
    struct insert_queue queue;
};

enum { NOTES_FIRST = 1024, MUCH = 1 << 20 };

/* States between two looks at the limits: a subject that has to ask somebody takes its time. */
enum { CHECK_EVERY = 4096, CHECK_EVERY_ASKED = 64 };

/* Of the state in hand. */
static int steps_so_far(const struct bfs_run *run)
{
    return run->injections + run->left_out +
           (int)(run->queue.pushed - run->pushed_before + run->queue.skipped);
}

/* --- what is remembered --- */

/* A step that costs a fault is met in the layer before its own: what is found there later, or
 * sooner in its own, is shorter. */
static bool is_before(const struct violation *it, const struct violation *known)
{
    if (known->state == STATE_NONE || it->is_by_leftover != known->is_by_leftover)
        return known->state == STATE_NONE || known->is_by_leftover;
    return it->faults < known->faults ||
           (it->faults == known->faults && it->events < known->events);
}

bool violation_is_final(const struct violation *violation, int faults, int depth)
{
    return violation->state != STATE_NONE && !violation->is_by_leftover &&
           (violation->faults < faults ||
            (violation->faults == faults && violation->events <= depth + 1));
}

static void record_violation(struct bfs_run *run, unsigned violated, int faults)
{
    const struct explore_options *options = run->search->options;
    unsigned by_leftover =
        options->leftovers == LEFTOVERS_LAST ? violated_by_leftover(violated) : 0;
    struct violation it = {
        .state = run->state, .step = steps_so_far(run), .faults = faults, .events = run->depth + 1};
    violated = violated_for(options, violated);
    for (; violated != 0; violated &= violated - 1) {
        int property = __builtin_ctz(violated);
        struct violation *known = &run->search->first_violations[property];
        it.is_by_leftover = by_leftover >> property & 1;
        if (is_before(&it, known))
            *known = it;
    }
}

static void edge_add(struct search *search, uint32_t from, uint32_t to, bool is_tick)
{
    assert(to <= EDGE_STATE);
    bool is_first = search->edges_from != from;
    if (is_first)
        search->notes[from] |= STATE_LEADS;
    search->edges_from = from;
    *chunked_array_push(&search->edges) =
        to | (is_tick ? EDGE_TICK : 0) | (is_first ? EDGE_FIRST : 0);
}

/* A state that was not there before. */
static void notes_add(struct search *search, uint32_t state, bool is_by_fault, bool is_tick)
{
    size_t size = search->notes_size;
    if (state >= size) {
        search->notes_size = size == 0 ? NOTES_FIRST : size < MUCH ? 2 * size : size + size / 4;
        search->notes = memory_extend(search->notes, size, search->notes_size, 1);
    }
    search->notes[state] = is_by_fault ? STATE_BY_FAULT : is_tick ? STATE_BY_TICK : 0;
}

/* --- one state --- */

/* Of progress: what there is to be kept about a step without a fault. */
static void note_arrival(struct bfs_run *run, uint32_t from, uint32_t number, bool is_new,
                         bool is_tick)
{
    struct search *search = run->search;
    if (is_new)
        notes_add(search, number, run->is_merging, is_tick);
    else if (!run->is_merging && !(search->notes[from] & STATE_GRANTS))
        edge_add(search, from, number, is_tick);
}

/* The oldest queued states reach the table. Without edges nobody asks for their numbers. */
static INLINE void settle_some(struct bfs_run *run, unsigned count, bool keeps_edges)
{
    struct fingerprint_set *visited = &run->search->visited;
    struct fingerprint_batch batch = fingerprint_batch_begin(visited);
    for (; count > 0; count--) {
        const struct queued_state *it = insert_queue_pop(&run->queue);
        uint32_t number;
        bool is_new;
        if (!fingerprint_batch_put(&batch, it->fingerprint, it->words, it->from, &number,
                                   &is_new)) {
            fingerprint_batch_end(visited, &batch);
            number = fingerprint_set_put(visited, it->fingerprint, it->words, it->from, &is_new);
            batch = fingerprint_batch_begin(visited);
        }
        if (keeps_edges)
            note_arrival(run, it->from, number, is_new, it->is_tick);
    }
    fingerprint_batch_end(visited, &batch);
}

static void settle(struct bfs_run *run, unsigned count)
{
    if (run->search->keeps_edges)
        settle_some(run, count, true);
    else
        settle_some(run, count, false);
}

/* So that there is room in the queue. */
static inline void settle_oldest(struct bfs_run *run)
{
    while (insert_queue_is_full(&run->queue))
        settle(run, QUEUE_FULL - QUEUE_KEPT);
}

static void settle_all(struct bfs_run *run)
{
    settle(run, run->queue.pushed - run->queue.popped);
}

/* A step that costs a fault waits for the next layer. */
static void frontier_add(struct bfs_run *run, const uint32_t *words)
{
    uint32_t *record = chunked_array_push(&run->next_frontier);
    record[FRONTIER_PARENT] = run->state;
    record[FRONTIER_DEPTH] = (uint32_t)run->depth + 1;
    words_copy(record + FRONTIER_WORDS, words, run->words);
}

/* Ways that are not looked for are not all there: what they violate may be so sooner. */
static unsigned violations_wanted(const struct bfs_run *run, const struct successor *step)
{
    const struct search *search = run->search;
    bool is_wanted =
        run->depth < search->bound && run->layer + step_is_fault(step) == search->faults_due;
    if (!search->bound)
        return step->violated;
    return is_wanted ? step->violated & (search->options->sought | BY_LEFTOVER) : 0;
}

/* Is every way by this step to what is sought longer than is wanted? */
static bool leads_too_far(struct bfs_run *run, const struct successor *step, int faults)
{
    struct search *search = run->search;
    int bound = lower_bound_to(&search->space, step->words, search->options->sought,
                               successors_breaks(&search->successors, step->words));
    int events = run->depth + 1 + bound + search->faults_due - faults;
    if (faults > search->faults_due)
        return true;
    if (events <= search->bound)
        return false;
    if (events < search->next_bound)
        search->next_bound = events;
    return true;
}

static void take(void *context, const struct successor *step)
{
    struct bfs_run *run = context;
    struct search *search = run->search;
    bool is_fault = step_is_fault(step);
    if (step->is_unsupported && search->end == END_COMPLETE)
        search->end = END_UNSUPPORTED;
    if (step->violated)
        record_violation(run, violations_wanted(run, step), run->layer + is_fault);
    if (search->bound && leads_too_far(run, step, run->layer + is_fault)) {
        run->left_out++;
    } else if (is_fault) {
        frontier_add(run, step->words);
        run->injections++;
    } else {
        settle_oldest(run);
        insert_queue_push(&run->queue, step->words, run->state, step->is_tick);
    }
    if (step->is_grant && !is_fault && search->keeps_edges)
        search->notes[run->state] |= step->is_tick ? STATE_GRANTS_LATER : STATE_GRANTS;
}

static void measure(struct bfs_run *run)
{
    struct search *search = run->search;
    uint64_t bytes = fingerprint_set_bytes(&search->visited) + space_bytes(&search->space) +
                     chunked_array_bytes(&run->frontier) +
                     chunked_array_bytes(&run->next_frontier) +
                     chunked_array_bytes(&search->edges) + search->notes_size;
    if (bytes > search->bytes)
        search->bytes = bytes;
}

/* Only the last layer leads to no other. A search that leaves out what is too far has no curve. */
static bool can_guess(const struct bfs_run *run)
{
    int faults = 0;
    for (int fault = 0; fault < FAULT_COUNT; fault++)
        faults += run->search->options->budget[fault];
    return run->remaining.is_guess && run->layer == faults && !run->search->bound;
}

/* States that there is room for, by the memory that those so far take. */
static uint64_t room(const struct search *search)
{
    const struct explore_options *options = search->options;
    const uint64_t states = search->visited.count;
    uint64_t room = UINT64_MAX;
    if (options->states_max)
        room = options->states_max > states ? options->states_max - states : 0;
    if (!options->bytes_max || !states || search->bytes < states)
        return room;
    if (search->bytes >= options->bytes_max)
        return 0;
    const uint64_t more = (options->bytes_max - search->bytes) / (search->bytes / states);
    return more < room ? more : room;
}

static int64_t clock_us(const struct search *search)
{
    return search->options->now_us ? search->options->now_us() : 0;
}

static void tell(const struct bfs_run *run)
{
    const struct search *search = run->search;
    const struct explore_options *options = search->options;
    const uint64_t states = search->visited.count;
    struct explore_progress told = {.states = states,
                                    .depth = run->depth,
                                    .looked_at = run->state,
                                    .left = states - run->state,
                                    .is_guess = can_guess(run),
                                    .took_us = clock_us(search) - run->began_us};
    if (told.is_guess && run->depth_end - run->state + run->remaining.below > told.left)
        told.left = run->depth_end - run->state + run->remaining.below;
    if (told.left - (states - run->state) > room(search))
        told.left = states - run->state + room(search);
    options->watch(options->watch_context, &told);
}

/* A limit that is reached ends the search; what was seen so far stands. */
static bool is_spent(struct bfs_run *run)
{
    struct search *search = run->search;
    const struct explore_options *options = search->options;
    measure(run);
    fingerprint_set_forget(&search->visited, run->state);
    if (options->watch)
        tell(run);
    if (options->states_max && search->visited.count >= options->states_max)
        search->end = END_STATES;
    else if (options->bytes_max && search->bytes >= options->bytes_max)
        search->end = END_BYTES;
    else if (explore_is_out_of_time(options))
        search->end = END_TIME;
    else if (explore_is_stopped(options))
        search->end = END_STOPPED;
    else if (search->is_enough &&
             search->is_enough(search->context, search, run->layer, run->depth))
        search->end = END_ENOUGH;
    return search->end != END_COMPLETE;
}

/* Of progress: what there is to be kept of the state itself. */
static uint8_t note_of(const struct successors *successors, const uint32_t *words)
{
    return (uint8_t)((successors_want_lock(successors, words) ? STATE_WANTS : 0) |
                     (successors_have_holder(successors, words) ? STATE_HELD : 0));
}

static void expand(struct bfs_run *run, const uint32_t *words)
{
    struct search *search = run->search;
    run->injections = run->left_out = 0;
    run->pushed_before = run->queue.pushed;
    if (search->keeps_edges)
        search->notes[run->state] |= note_of(&search->successors, words);
    run->queue.from = run->state;
    run->queue.has_grant = false;
    run->queue.skipped = 0;
    run->queue.sleep_set = search->has_sleep_sets ? words[search->visited.words] : 0;
    successors_expand(&search->successors, words);
    if (search->keeps_edges && run->queue.has_grant)
        search->notes[run->state] |= STATE_GRANTS;
    search->transitions += (uint64_t)steps_so_far(run);
    search->skipped += run->queue.skipped;
    settle_oldest(run);
    if (search->space.violation) {
        search->end = END_CONTRACT;
        run->is_over = true;
    }
    run->is_over |= search->space.has_guessed;
    if (search->space.config.has_partial_order &&
        (search->space.breaks_promise || search->space.can_states_be_wrong))
        search->is_precondition_violated = run->is_over = true;
}

/* --- layers --- */

/* Seeds of this depth join what the last depth led to. */
static void frontier_merge(struct bfs_run *run)
{
    run->is_merging = true;
    for (; run->frontier_at < run->frontier.count; run->frontier_at++) {
        const uint32_t *record = chunked_array_at(&run->frontier, run->frontier_at);
        if (record[FRONTIER_DEPTH] != (uint32_t)run->depth)
            break;
        settle_oldest(run);
        insert_queue_push(&run->queue, record + FRONTIER_WORDS, record[FRONTIER_PARENT], false);
    }
    settle_all(run);
    chunked_array_drop(&run->frontier, run->frontier_at);
    run->is_merging = false;
}

/* States are expanded in the order of their numbers: those of this depth are the next up to
 * the last that there is. */
static void run_depth(struct bfs_run *run)
{
    struct search *search = run->search;
    struct fingerprint_set *visited = &search->visited;
    const uint32_t every = search->options->subject ? CHECK_EVERY_ASKED : CHECK_EVERY;
    if (run->depth > search->depth)
        search->depth = run->depth;
    search->layer = run->layer;
    search->layer_depth = run->depth;
    run->depth_end = (uint32_t)visited->count;
    remaining_add(&run->remaining, run->depth_end - run->state);
    for (uint32_t i = 0; run->state < run->depth_end && !run->is_over; i++, run->state++) {
        expand(run, fingerprint_set_words(visited, run->state));
        if (i % every == 0)
            run->is_over = is_spent(run);
    }
    settle_all(run);
}

static void run_layer(struct bfs_run *run)
{
    const struct fingerprint_set *visited = &run->search->visited;
    for (run->depth = 0; !run->is_over; run->depth++) {
        if (run->state == visited->count && run->frontier_at < run->frontier.count)
            run->depth = (int)chunked_array_at(&run->frontier, run->frontier_at)[FRONTIER_DEPTH];
        frontier_merge(run);
        if (run->state < visited->count)
            run_depth(run);
        else if (run->frontier_at == run->frontier.count)
            return; /* else the frontier's states of this depth led nowhere new, and deeper ones may
                     */
    }
}

/* The frontier that waits is that of the layer that begins. */
static void next_layer(struct bfs_run *run)
{
    chunked_array_close(&run->frontier);
    run->frontier = run->next_frontier;
    run->frontier_at = 0;
    run->remaining = (struct remaining){0};
    chunked_array_init(&run->next_frontier, FRONTIER_WORDS + run->words);
}

/* Where nothing must be known of a step but its state, and there is room for a sleep set. */
static bool can_use_sleep_sets(const struct search *search)
{
    return successors_have_quick(&search->successors) && search->successors.reductions == 0 &&
           !search->keeps_edges && fingerprint_set_has_spare(&search->visited);
}

void search_init(struct search *search, const struct explore_options *options)
{
    memset(search, 0, sizeof *search);
    search->options = options;
    search->keeps_edges = !options->skips_progress;
    space_init(&search->space, options);
    successors_init(&search->successors, &search->space, options);
    fingerprint_set_init(&search->visited, space_words(&search->space), options->hash_seed,
                         options->has_full_states);
    search->space.cache.visited = &search->visited;
    search->has_sleep_sets = can_use_sleep_sets(search);
    chunked_array_init(&search->edges, 1);
    search->edges_from = STATE_NONE;
    search->next_bound = WITHOUT_END;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        search->first_violations[i].state = STATE_NONE;
}

void search_partial_order(struct search *search)
{
    search->space.config.has_partial_order = true;
}

void search_bounded(struct search *search, int events, int faults)
{
    search->bound = events;
    search->faults_due = faults;
    search->space.config.has_lower_bound = true;
}

void search_run(struct search *search)
{
    struct bfs_run run = {
        .search = search, .words = search->visited.words, .queue.visited = &search->visited};
    uint32_t start[WORDS_MAX] = {0};
    search->successors.take = take;
    search->successors.context = &run;
    search->successors.queue = successors_have_quick(&search->successors) ? &run.queue : NULL;
    successors_start(&search->successors, search->options, start);
    chunked_array_init(&run.frontier, FRONTIER_WORDS + run.words);
    chunked_array_init(&run.next_frontier, FRONTIER_WORDS + run.words);
    run.began_us = clock_us(search);
    run.state = STATE_NONE;
    run.depth = -1;
    frontier_add(&run, start);
    run.state = 0;
    for (; run.next_frontier.count > 0 && !run.is_over; run.layer++) {
        next_layer(&run);
        run_layer(&run);
    }
    measure(&run);
    search->successors.queue = NULL;
    chunked_array_close(&run.frontier);
    chunked_array_close(&run.next_frontier);
}

void search_close(struct search *search)
{
    space_close(&search->space);
    fingerprint_set_close(&search->visited);
    chunked_array_close(&search->edges);
    memory_drop(search->notes, search->notes_size, sizeof *search->notes);
    memory_drop(search->waits, search->waits_size, sizeof *search->waits);
}
