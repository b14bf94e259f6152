/* search.c - see search.h. */
#include "explore/search.h"

#include "base/memory.h"
#include "explore/distance.h"

#include <assert.h>
#include <string.h>

/* A seed: the words of a state, then its parent, and the depth that it would have. */
enum { SEED_PARENT, SEED_DEPTH, SEED_WORDS };

/* One run under way. */
struct run_of {
    struct search *search;
    struct tape seeds, later; /* of this layer, by depth; of the next one */
    uint64_t seed;            /* the next to be sown */
    int words;                /* of a state, with the 0 after an odd number */
    int layer, depth;
    uint32_t state;         /* in hand */
    int strikes;            /* of it: steps that became seeds */
    int left_out;           /* of it: steps that lead too far away */
    unsigned pushed_before; /* into the ring, its other steps */
    bool is_sowing;
    bool is_over;
    struct ring ring;
};

enum { NOTES_FIRST = 1024, MUCH = 1 << 20, CHECK_EVERY = 4096 };

/* Of the state in hand. */
static int steps_so_far(const struct run_of *run)
{
    return run->strikes + run->left_out +
           (int)(run->ring.pushed - run->pushed_before + run->ring.slept);
}

/* --- what is remembered --- */

/* A step that costs a fault is met in the layer before its own: what is found there later, or
 * sooner in its own, is shorter. */
static void sight(struct run_of *run, unsigned violated, int faults)
{
    const struct sighting it = {
        .state = run->state, .step = steps_so_far(run), .faults = faults, .events = run->depth + 1};
    for (; violated != 0; violated &= violated - 1) {
        struct sighting *known = &run->search->sightings[__builtin_ctz(violated)];
        if (known->state == VISITED_NONE || it.faults < known->faults ||
            (it.faults == known->faults && it.events < known->events))
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
    *tape_push(&search->edges) = to | (is_tick ? EDGE_TICK : 0) | (is_first ? EDGE_FIRST : 0);
}

/* A state that was not there before. */
static void notes_add(struct search *search, uint32_t state, bool is_seed, bool is_tick)
{
    size_t size = search->notes_size;
    if (state >= size) {
        search->notes_size = size == 0 ? NOTES_FIRST : size < MUCH ? 2 * size : size + size / 4;
        search->notes = memory_extend(search->notes, size, search->notes_size, 1);
    }
    search->notes[state] = is_seed ? STATE_SEEDED : is_tick ? STATE_AGED : 0;
}

/* --- one state --- */

/* Of progress: what there is to be kept about a step without a fault. */
static void note_arrival(struct run_of *run, uint32_t from, uint32_t number, bool is_new,
                         bool is_tick)
{
    struct search *search = run->search;
    if (is_new)
        notes_add(search, number, run->is_sowing, is_tick);
    else if (!run->is_sowing && !(search->notes[from] & STATE_GRANTS))
        edge_add(search, from, number, is_tick);
}

/* The oldest candidates reach the table. Without edges nobody asks for their numbers. */
static INLINE void settle_some(struct run_of *run, unsigned count, bool keeps_edges)
{
    struct visited *visited = &run->search->visited;
    struct visited_burst burst = visited_burst_begin(visited);
    for (; count > 0; count--) {
        const struct candidate *it = ring_pop(&run->ring);
        uint32_t number;
        bool is_new;
        if (!visited_burst_put(&burst, it->print, it->words, it->from, &number, &is_new)) {
            visited_burst_end(visited, &burst);
            number = visited_put(visited, it->print, it->words, it->from, &is_new);
            burst = visited_burst_begin(visited);
        }
        if (keeps_edges)
            note_arrival(run, it->from, number, is_new, it->is_tick);
    }
    visited_burst_end(visited, &burst);
}

static void settle(struct run_of *run, unsigned count)
{
    if (run->search->keeps_edges)
        settle_some(run, count, true);
    else
        settle_some(run, count, false);
}

/* So that there is room in the ring. */
static inline void settle_oldest(struct run_of *run)
{
    while (ring_is_full(&run->ring))
        settle(run, RING_FULL - RING_WAITS);
}

static void settle_all(struct run_of *run)
{
    settle(run, run->ring.pushed - run->ring.popped);
}

/* A step that costs a fault waits for the next layer. */
static void seed_add(struct run_of *run, const uint32_t *words)
{
    uint32_t *seed = tape_push(&run->later);
    seed[SEED_PARENT] = run->state;
    seed[SEED_DEPTH] = (uint32_t)run->depth + 1;
    words_copy(seed + SEED_WORDS, words, run->words);
}

/* Ways that are not looked for are not all there: what they violate may be so sooner. */
static unsigned violations_wanted(const struct run_of *run, const struct step_taken *step)
{
    const struct search *search = run->search;
    bool is_wanted =
        run->depth < search->within && run->layer + step_is_fault(step) == search->faults_due;
    if (!search->within)
        return step->violated;
    return is_wanted ? step->violated & search->options->sought : 0;
}

/* Is every way by this step to what is sought longer than is wanted? */
static bool leads_too_far(struct run_of *run, const struct step_taken *step, int faults)
{
    struct search *search = run->search;
    int distance = distance_to(&search->space, step->words, search->options->sought,
                               stepper_breaks(&search->stepper, step->words));
    int events = run->depth + 1 + distance + search->faults_due - faults;
    if (faults > search->faults_due)
        return true;
    if (events <= search->within)
        return false;
    if (events < search->beyond)
        search->beyond = events;
    return true;
}

static void take(void *context, const struct step_taken *step)
{
    struct run_of *run = context;
    struct search *search = run->search;
    bool is_fault = step_is_fault(step);
    if (step->is_unsupported && search->end == END_COMPLETE)
        search->end = END_UNSUPPORTED;
    if (step->violated)
        sight(run, violations_wanted(run, step), run->layer + is_fault);
    if (search->within && leads_too_far(run, step, run->layer + is_fault)) {
        run->left_out++;
    } else if (is_fault) {
        seed_add(run, step->words);
        run->strikes++;
    } else {
        settle_oldest(run);
        ring_push(&run->ring, step->words, run->state, step->is_tick);
    }
    if (step->is_grant && !is_fault && search->keeps_edges)
        search->notes[run->state] |= step->is_tick ? STATE_GRANTS_LATER : STATE_GRANTS;
}

static void measure(struct run_of *run)
{
    struct search *search = run->search;
    uint64_t bytes = visited_bytes(&search->visited) + space_bytes(&search->space) +
                     tape_bytes(&run->seeds) + tape_bytes(&run->later) +
                     tape_bytes(&search->edges) + search->notes_size;
    if (bytes > search->bytes)
        search->bytes = bytes;
}

/* A limit that is reached ends the search; what was seen so far stands. */
static bool is_spent(struct run_of *run)
{
    struct search *search = run->search;
    const struct explore_options *options = search->options;
    measure(run);
    visited_forget(&search->visited, run->state);
    if (options->states_max && search->visited.count >= options->states_max)
        search->end = END_STATES;
    else if (options->bytes_max && search->bytes >= options->bytes_max)
        search->end = END_BYTES;
    else if (options->deadline_us && options->now_us && options->now_us() >= options->deadline_us)
        search->end = END_TIME;
    else if (options->stop && *options->stop)
        search->end = END_STOPPED;
    else if (search->is_enough &&
             search->is_enough(search->context, search, run->layer, run->depth))
        search->end = END_ENOUGH;
    return search->end != END_COMPLETE;
}

/* Of progress: what there is to be kept of the state itself. */
static uint8_t note_of(const struct stepper *stepper, const uint32_t *words)
{
    return (uint8_t)((stepper_wants_lock(stepper, words) ? STATE_WANTS : 0) |
                     (stepper_has_holder(stepper, words) ? STATE_HELD : 0));
}

static void expand(struct run_of *run, const uint32_t *words)
{
    struct search *search = run->search;
    run->strikes = run->left_out = 0;
    run->pushed_before = run->ring.pushed;
    if (search->keeps_edges)
        search->notes[run->state] |= note_of(&search->stepper, words);
    run->ring.from = run->state;
    run->ring.has_grant = false;
    run->ring.slept = 0;
    run->ring.asleep = search->has_sleep ? words[search->visited.words] : 0;
    stepper_expand(&search->stepper, words);
    if (search->keeps_edges && run->ring.has_grant)
        search->notes[run->state] |= STATE_GRANTS;
    search->transitions += (uint64_t)steps_so_far(run);
    search->slept += run->ring.slept;
    settle_oldest(run);
    if (search->space.breach) {
        search->end = END_BREACH;
        run->is_over = true;
    }
    if (search->space.setting.is_ordered &&
        (search->space.is_hasty || search->space.can_states_be_wrong))
        search->is_unsuited = run->is_over = true;
}

/* --- layers --- */

/* Seeds of this depth join what the last depth led to. */
static void sow(struct run_of *run)
{
    run->is_sowing = true;
    for (; run->seed < run->seeds.count; run->seed++) {
        const uint32_t *seed = tape_at(&run->seeds, run->seed);
        if (seed[SEED_DEPTH] != (uint32_t)run->depth)
            break;
        settle_oldest(run);
        ring_push(&run->ring, seed + SEED_WORDS, seed[SEED_PARENT], false);
    }
    settle_all(run);
    tape_drop(&run->seeds, run->seed);
    run->is_sowing = false;
}

/* States are expanded in the order of their numbers: those of this depth are the next up to
 * the last that there is. */
static void run_depth(struct run_of *run)
{
    struct search *search = run->search;
    struct visited *visited = &search->visited;
    uint32_t end = (uint32_t)visited->count;
    if (run->depth > search->depth)
        search->depth = run->depth;
    search->layer = run->layer;
    search->layer_depth = run->depth;
    for (uint32_t i = 0; run->state < end && !run->is_over; i++, run->state++) {
        expand(run, visited_words(visited, run->state));
        if (i % CHECK_EVERY == 0)
            run->is_over = is_spent(run);
    }
    settle_all(run);
}

static void run_layer(struct run_of *run)
{
    const struct visited *visited = &run->search->visited;
    for (run->depth = 0; !run->is_over; run->depth++) {
        if (run->state == visited->count && run->seed < run->seeds.count)
            run->depth = (int)tape_at(&run->seeds, run->seed)[SEED_DEPTH];
        sow(run);
        if (run->state < visited->count)
            run_depth(run);
        else if (run->seed == run->seeds.count)
            return; /* else seeds of this depth led nowhere new, and deeper ones may */
    }
}

/* The seeds that wait are those of the layer that begins. */
static void next_layer(struct run_of *run)
{
    tape_close(&run->seeds);
    run->seeds = run->later;
    run->seed = 0;
    tape_init(&run->later, SEED_WORDS + run->words);
}

/* Where nothing must be known of a step but its state, and there is room for what sleeps in it. */
static bool can_sleep(const struct search *search)
{
    return stepper_has_quick(&search->stepper) && search->stepper.reductions == 0 &&
           !search->keeps_edges && visited_has_spare(&search->visited);
}

void search_init(struct search *search, const struct explore_options *options)
{
    memset(search, 0, sizeof *search);
    search->options = options;
    search->keeps_edges = !options->skips_progress;
    space_init(&search->space, options);
    stepper_init(&search->stepper, &search->space, options);
    visited_init(&search->visited, space_words(&search->space), options->hash_seed,
                 options->has_full_states);
    search->space.heirs.visited = &search->visited;
    search->has_sleep = can_sleep(search);
    tape_init(&search->edges, 1);
    search->edges_from = VISITED_NONE;
    search->beyond = WITHOUT_END;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        search->sightings[i].state = VISITED_NONE;
}

void search_in_order(struct search *search)
{
    search->space.setting.is_ordered = true;
}

void search_within(struct search *search, int events, int faults)
{
    search->within = events;
    search->faults_due = faults;
    search->space.setting.has_distance = true;
}

void search_run(struct search *search)
{
    struct run_of run = {
        .search = search, .words = search->visited.words, .ring.visited = &search->visited};
    uint32_t start[WORDS_MAX] = {0};
    search->stepper.take = take;
    search->stepper.context = &run;
    search->stepper.ring = stepper_has_quick(&search->stepper) ? &run.ring : NULL;
    stepper_start(&search->stepper, search->options, start);
    tape_init(&run.seeds, SEED_WORDS + run.words);
    tape_init(&run.later, SEED_WORDS + run.words);
    run.state = VISITED_NONE;
    run.depth = -1;
    seed_add(&run, start);
    run.state = 0;
    for (; run.later.count > 0 && !run.is_over; run.layer++) {
        next_layer(&run);
        run_layer(&run);
    }
    measure(&run);
    search->stepper.ring = NULL;
    tape_close(&run.seeds);
    tape_close(&run.later);
}

void search_close(struct search *search)
{
    space_close(&search->space);
    visited_close(&search->visited);
    tape_close(&search->edges);
    memory_drop(search->notes, search->notes_size, sizeof *search->notes);
    memory_drop(search->waits, search->waits_size, sizeof *search->waits);
}
