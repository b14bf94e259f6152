/* search.c - see search.h. */
#include "explore/search.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* States in the order in which they will be expanded. */
struct line {
    uint32_t *words;   /* space_words() each */
    uint32_t *numbers; /* of the state; of its parent, in a line of seeds */
    int *depths;       /* seeds only */
    size_t count, size;
};

/* A state that a step led to, on its way into the table: the memory it will need is fetched
 * meanwhile. */
struct candidate {
    uint64_t print;
    uint32_t from;
    uint32_t words[WORDS_MAX];
};

enum { RING = 32 };

/* One run under way. */
struct run_of {
    struct search *search;
    struct line now, next, seeds, later; /* later: the seeds of the next layer */
    int words, layer, depth;
    uint32_t state; /* in hand */
    int step;       /* of it */
    bool is_over;
    struct candidate ring[RING];
    unsigned ring_first, ring_count;
};

enum { LINE_FIRST = 1024, CHECK_EVERY = 4096 };

/* A list that must grow: doubled while it is small, by a quarter when that would be much. */
static size_t larger(size_t size)
{
    enum { MUCH = 1 << 20 };
    return size == 0 ? LINE_FIRST : size < MUCH ? 2 * size : size + size / 4;
}

static void line_add(struct line *line, int words, const uint32_t *state, uint32_t number,
                     int depth)
{
    if (line->count == line->size) {
        line->size = larger(line->size);
        line->words = memory_resize(line->words, line->size, (size_t)words * sizeof *line->words);
        line->numbers = memory_resize(line->numbers, line->size, sizeof *line->numbers);
        line->depths = memory_resize(line->depths, line->size, sizeof *line->depths);
    }
    memcpy(line->words + line->count * (size_t)words, state, (size_t)words * sizeof *state);
    line->numbers[line->count] = number;
    line->depths[line->count++] = depth;
}

static void line_close(struct line *line)
{
    free(line->words);
    free(line->numbers);
    free(line->depths);
}

static size_t line_bytes(const struct line *line, int words)
{
    return line->size *
           ((size_t)words * sizeof *line->words + sizeof *line->numbers + sizeof *line->depths);
}

/* --- what is remembered --- */

static void sight(struct run_of *run, unsigned violated, int faults)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct sighting *sighting = &run->search->sightings[i];
        if (!(violated >> i & 1) || sighting->state != VISITED_NONE)
            continue;
        *sighting = (struct sighting){
            .state = run->state, .step = run->step, .faults = faults, .events = run->depth + 1};
    }
}

/* The states up to this one have no more edges than are there now. */
static void starts_fill(struct search *search, uint32_t state)
{
    while (search->starts_count <= state) {
        if (search->starts_count == search->starts_size) {
            search->starts_size = larger(search->starts_size);
            search->edges_start = memory_resize(search->edges_start, search->starts_size,
                                                sizeof *search->edges_start);
        }
        search->edges_start[search->starts_count++] = search->edges_count;
    }
}

static void edge_add(struct search *search, uint32_t from, uint32_t to)
{
    starts_fill(search, from);
    if (search->edges_count == search->edges_size) {
        search->edges_size = larger(search->edges_size);
        search->edges = memory_resize(search->edges, search->edges_size, sizeof *search->edges);
    }
    search->edges[search->edges_count++] = to;
}

static void note_state(struct search *search, uint32_t state, uint8_t note)
{
    while (state >= search->notes_size) {
        size_t old = search->notes_size;
        search->notes_size = larger(old);
        search->notes = memory_resize(search->notes, search->notes_size, 1);
        memset(search->notes + old, 0, search->notes_size - old);
    }
    search->notes[state] |= note;
}

/* --- one state --- */

/* The oldest candidate reaches the table. */
static void ring_pop(struct run_of *run)
{
    struct search *search = run->search;
    const struct candidate *it = &run->ring[run->ring_first];
    bool is_new;
    uint32_t number = visited_put(&search->visited, it->print, it->words, it->from, &is_new);
    if (is_new)
        line_add(&run->next, run->words, it->words, number, run->depth + 1);
    if (search->keeps_edges)
        edge_add(search, it->from, number);
    run->ring_first = (run->ring_first + 1) % RING;
    run->ring_count--;
}

static void ring_push(struct run_of *run, const uint32_t *words)
{
    if (run->ring_count == RING)
        ring_pop(run);
    struct candidate *it = &run->ring[(run->ring_first + run->ring_count++) % RING];
    it->print = visited_print(&run->search->visited, words);
    it->from = run->state;
    memcpy(it->words, words, sizeof it->words);
    VISITED_PREFETCH(&run->search->visited, it->print);
}

static void ring_flush(struct run_of *run)
{
    while (run->ring_count > 0)
        ring_pop(run);
}

static void take(void *context, const struct step_taken *step)
{
    struct run_of *run = context;
    struct search *search = run->search;
    search->transitions++;
    bool is_fault = step_is_fault(step);
    if (step->is_unsupported && search->end == END_COMPLETE)
        search->end = END_UNSUPPORTED;
    if (step->violated)
        sight(run, step->violated, run->layer + is_fault);
    if (is_fault)
        line_add(&run->later, run->words, step->words, run->state, run->depth + 1);
    else
        ring_push(run, step->words);
    if (step->is_grant && search->keeps_edges)
        note_state(search, run->state, STATE_GRANTS);
    run->step++;
}

static void measure(struct run_of *run)
{
    struct search *search = run->search;
    uint64_t bytes = visited_bytes(&search->visited) + space_bytes(&search->space) +
                     line_bytes(&run->now, run->words) + line_bytes(&run->next, run->words) +
                     line_bytes(&run->seeds, run->words) + line_bytes(&run->later, run->words) +
                     search->edges_size * sizeof *search->edges +
                     search->starts_size * sizeof *search->edges_start + search->notes_size;
    if (bytes > search->bytes)
        search->bytes = bytes;
}

/* A limit that is reached ends the search; what was seen so far stands. */
static bool is_spent(struct run_of *run)
{
    struct search *search = run->search;
    const struct explore_options *options = search->options;
    measure(run);
    if (options->states_max && search->visited.count >= options->states_max)
        search->end = END_STATES;
    else if (options->bytes_max && search->bytes >= options->bytes_max)
        search->end = END_BYTES;
    else if (options->deadline_us && options->now_us && options->now_us() >= options->deadline_us)
        search->end = END_TIME;
    return search->end != END_COMPLETE;
}

static void expand(struct run_of *run, uint32_t state, const uint32_t *words)
{
    struct search *search = run->search;
    run->state = state;
    run->step = 0;
    if (search->keeps_edges && stepper_wants_lock(&search->stepper, words))
        note_state(search, state, STATE_WANTS);
    stepper_expand(&search->stepper, words);
}

/* --- layers --- */

/* Seeds of this depth join what the last depth led to. */
static size_t sow(struct run_of *run, size_t seed)
{
    struct search *search = run->search;
    for (; seed < run->seeds.count && run->seeds.depths[seed] == run->depth; seed++) {
        const uint32_t *words = run->seeds.words + seed * (size_t)run->words;
        bool is_new;
        uint32_t number = visited_put(&search->visited, visited_print(&search->visited, words),
                                      words, run->seeds.numbers[seed], &is_new);
        if (is_new)
            line_add(&run->now, run->words, words, number, run->depth);
    }
    return seed;
}

static void swap_lines(struct line *a, struct line *b)
{
    struct line kept = *a;
    *a = *b;
    *b = kept;
}

static void run_layer(struct run_of *run)
{
    size_t seed = 0;
    run->now.count = run->next.count = 0;
    run->depth = run->seeds.count > 0 ? run->seeds.depths[0] : 0;
    while (!run->is_over) {
        if (run->now.count == 0 && seed < run->seeds.count)
            run->depth = run->seeds.depths[seed];
        seed = sow(run, seed);
        if (run->now.count == 0)
            return;
        if (run->depth > run->search->depth)
            run->search->depth = run->depth;
        for (size_t i = 0; i < run->now.count && !run->is_over; i++) {
            uint32_t words[WORDS_MAX] = {0};
            memcpy(words, run->now.words + i * (size_t)run->words,
                   (size_t)run->words * sizeof *words);
            expand(run, run->now.numbers[i], words);
            if (i % CHECK_EVERY == 0)
                run->is_over = is_spent(run);
        }
        ring_flush(run);
        swap_lines(&run->now, &run->next);
        run->next.count = 0;
        run->depth++;
    }
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
    search->visited.tells_numbers = search->keeps_edges;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        search->sightings[i].state = VISITED_NONE;
}

void search_run(struct search *search)
{
    struct run_of run = {.search = search, .words = space_words(&search->space)};
    uint32_t start[WORDS_MAX] = {0};
    search->stepper.take = take;
    search->stepper.context = &run;
    stepper_start(&search->stepper, search->options, start);
    line_add(&run.seeds, run.words, start, VISITED_NONE, 0);
    for (; run.seeds.count > 0 && !run.is_over; run.layer++) {
        run_layer(&run);
        swap_lines(&run.seeds, &run.later);
        run.later.count = 0;
    }
    measure(&run);
    if (search->keeps_edges) {
        starts_fill(search, search->visited.count);
        note_state(search, search->visited.count, 0);
    }
    line_close(&run.now);
    line_close(&run.next);
    line_close(&run.seeds);
    line_close(&run.later);
}

void search_close(struct search *search)
{
    space_close(&search->space);
    visited_close(&search->visited);
    free(search->edges);
    free(search->edges_start);
    free(search->notes);
}
