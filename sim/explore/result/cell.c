/* cell.c - see cell.h. */
#include "explore/result/cell.h"

#include "base/memory.h"
#include "base/suggest.h"
#include "explore/model/faults/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cell_init(struct cell *cell, const struct scheme *scheme)
{
    memset(cell, 0, sizeof *cell);
    cell->options = (struct explore_options){.scheme = scheme,
                                             .clients = scheme->needs_quorum ? 2 : 3,
                                             .rounds = 2,
                                             .servers = scheme->needs_quorum ? 3 : 1,
                                             .reductions = REDUCE_ALL};
    snprintf(cell->faults, sizeof cell->faults, "none");
}

/* --- the name of a budget --- */

static enum fail unknown_fault(const char *name, struct failure *failure)
{
    const char *names[FAULT_COUNT];
    for (int i = 0; i < FAULT_COUNT; i++)
        names[i] = fault_name((enum fault)i);
    char suggestion[SUGGEST_BYTES];
    enum fault part;
    if (fault_read(name, &part) && part >= FAULT_COUNT)
        return failure_set(failure, FAIL_INPUT,
                           "'%s' is told in histories, and may be a step of a scenario: it is no "
                           "fault that is searched for",
                           name);
    const char *nearest = suggest_nearest(name, names, FAULT_COUNT);
    return failure_set(failure, FAIL_INPUT, "there is no fault '%s'%s", name,
                       suggest_words(nearest, " (picklock list faults)", suggestion));
}

static void name_budget(struct cell *cell)
{
    size_t used = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int k = 0; k < cell->options.budget[i] && used < sizeof cell->faults; k++)
            used += (size_t)snprintf(cell->faults + used, sizeof cell->faults - used, "%s%s",
                                     used ? "+" : "", fault_name((enum fault)i));
    if (used == 0)
        snprintf(cell->faults, sizeof cell->faults, "none");
}

enum fail cell_add_faults(struct cell *cell, const char *text, struct failure *failure)
{
    char name[NAME_MAX_BYTES];
    enum fault fault;
    while (*text) {
        size_t length = strcspn(text, "+");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 text);
        text += length + (text[length] == '+');
        if (strcmp(name, "none") == 0)
            continue;
        if (!fault_read(name, &fault) || fault >= FAULT_COUNT)
            return unknown_fault(name, failure);
        cell->options.budget[fault]++;
    }
    name_budget(cell);
    return FAIL_NONE;
}

/* --- running --- */

static int64_t now_us(const struct cell *cell)
{
    return cell->options.now_us ? cell->options.now_us() : 0;
}

void cell_witness_say(struct cell_witness *witness, const struct finding *found)
{
    witness->cause = found->cause;
    witness->first_index = found->first_index;
    witness->lines = found->witness_lines;
    witness->text = memory_new((size_t)found->witness_lines + 1, sizeof *witness->text);
    memcpy(witness->text, found->witness, (size_t)found->witness_lines * sizeof *witness->text);
}

/* That all ways lead nowhere need not show in any one of them. */
static void say_without_replay(const struct cell *cell, struct cell_witness *witness)
{
    const struct explore_finding *finding = &cell->outcome.findings[PROPERTY_PROGRESS];
    struct finding said = {.cause = CAUSE_STUCK, .first_index = -1, .witness_lines = 2};
    snprintf(said.witness[0], sizeof said.witness[0], "%s",
             finding->is_endless
                 ? "From here on nobody can ever acquire the lock: no way leads to a grant."
                 : "From here on nobody is granted the lock in time, although nobody holds it.");
    snprintf(
        said.witness[1], sizeof said.witness[1],
        "Every continuation was searched. No single path shows it, so there is nothing to replay.");
    cell_witness_say(witness, &said);
}

static void drop(struct explore_finding *finding)
{
    free(finding->choices);
    *finding = (struct explore_finding){.verdict = VERDICT_UNKNOWN};
}

/* In another world it did not show, or was not replayed: nothing is a finding before that. */
static void take_back(struct cell *cell, enum property property, const char *how, const char *why)
{
    char *words =
        memory_format("a violation of %s was found, and %s: %s", property_name(property), how, why);
    cell_doubt(cell, words);
    free(words);
    drop(&cell->outcome.findings[property]);
}

/* A replay in another world takes time. */
static bool has_time_to_replay(const struct cell *cell)
{
    return !cell->world ||
           (!explore_is_stopped(&cell->options) && !explore_is_out_of_time(&cell->options));
}

/* Where a fault of the witness lets time pass, a timer may be late by it. Slow work is done by who
 * has the lock, so while nobody has none is late. */
static enum retime how_to_retime(const struct cell *cell, const struct explore_finding *finding)
{
    enum retime how = cell->retime;
    if (how == RETIME_FILL)
        return cell->options.budget[FAULT_STALL] ? RETIME_FILL_LATE : how;
    for (enum fault fault = 0; fault < FAULT_COUNT && finding->faults > 0; fault++)
        if (cell->options.budget[fault] && fault_lets_time_pass(fault)) {
            if (fault != FAULT_SLOW_WORK)
                return RETIME_NEVER;
            how = RETIME_CUT_UNHELD;
        }
    return how;
}

/* Before any of them is replayed: a way that goes on behind another one does so afterwards. */
static void retime_findings(struct cell *cell, char (*names)[NAME_MAX_BYTES])
{
    const struct run run = confirm_run(&cell->options, &cell->outcome, names);
    cell->stretched = 0;
    for (int i = 0; i < PROPERTY_COUNT && cell->retime != RETIME_NEVER; i++) {
        struct explore_finding *finding = &cell->outcome.findings[i];
        if (finding->verdict != VERDICT_VIOLATED ||
            !retime_is_wanted(finding, cell->rounds_waits) || !has_time_to_replay(cell))
            continue;
        const enum retime how = how_to_retime(cell, finding);
        if (how != RETIME_NEVER && retime(&run, finding, how, cell->world))
            cell->stretched |= 1u << i;
    }
}

static void cell_confirm(struct cell *cell, enum property property, char (*names)[NAME_MAX_BYTES],
                         struct finding *findings)
{
    const bool is_retimed = cell->stretched >> property & 1;
    const char *unplayed = "not replayed";
    const char *unshown = is_retimed
                              ? "did not show when each timer rang when it was due (a larger "
                                "--lease-ticks tries it on a finer grid of time)"
                              : "did not show when it was replayed";
    struct cell_witness *witness = &cell->witnesses[property];
    struct failure failure = {0};
    struct run run = confirm_run(&cell->options, &cell->outcome, names);
    struct confirm_world world = cell->world ? *cell->world : (struct confirm_world){0};
    world.wanted = cell->outcome.findings;
    if (!has_time_to_replay(cell)) {
        take_back(cell, property, unplayed,
                  explore_is_stopped(&cell->options)
                      ? explore_end_words(END_STOPPED)
                      : "the time was up, and a larger --budget helps");
        return;
    }
    if (confirm(&run, &cell->outcome.findings[property], &world, findings, &failure)) {
        if (cell->world)
            take_back(cell, property, explore_is_stopped(&cell->options) ? unplayed : unshown,
                      explore_is_stopped(&cell->options) ? explore_end_words(END_STOPPED)
                                                         : failure.text);
        else
            witness->error = memory_text(failure.text);
        return;
    }
    const struct finding *found = &findings[property];
    witness->is_confirmed = found->verdict == VERDICT_VIOLATED;
    if (witness->is_confirmed)
        cell->stretched &= ~(1u << property);
    if (witness->is_confirmed)
        cell_witness_say(witness, found);
    else if (cell->world)
        take_back(cell, property, unshown, "the checks do not see it");
    else if (property == PROPERTY_PROGRESS)
        say_without_replay(cell, witness);
    else
        witness->error = memory_text("the checks do not see it in the replay");
}

static void drop_ignored(struct cell *cell)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!(cell->ignored >> i & 1))
            continue;
        drop(&cell->outcome.findings[i]);
    }
}

/* --- searches with a section of their own --- */

static enum section section_for(const struct cell *cell, enum property property)
{
    for (int i = 0; i < SECTION_COUNT && !cell->has_one_section; i++)
        if (!explore_judges(cell->options.section, property) &&
            explore_judges((enum section)i, property))
            return (enum section)i;
    return cell->options.section;
}

bool cell_promises(const struct cell *cell, enum property property)
{
    return cell->is_run || property_is_promised(property, cell->options.scheme);
}

bool cell_asks(const struct cell *cell, enum property property, enum section *section)
{
    struct explore_options options = cell->options;
    *section = options.section = section_for(cell, property);
    if (cell->is_run)
        return true;
    bool is_own = *section == cell->options.section;
    return explore_promises(&options, property) &&
           (is_own || property != PROPERTY_FENCE_ORDER || options.scheme->mints_fence);
}

/* What that section's search is about, as bits. */
static unsigned sought_with(const struct cell *cell, enum section section)
{
    unsigned sought = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum section asked;
        if (cell_asks(cell, (enum property)i, &asked) && asked == section)
            sought |= 1u << i;
    }
    return sought & ~cell->ignored;
}

/* Takes over what the other search was about; frees the rest of it. */
static void merge(struct explore_outcome *outcome, struct explore_outcome *other, unsigned sought)
{
    outcome->states += other->states;
    outcome->transitions += other->transitions;
    outcome->lost += other->lost;
    outcome->runs += other->runs;
    if (other->new_per_1000 > outcome->new_per_1000)
        outcome->new_per_1000 = other->new_per_1000;
    /* The least of them, so that it is true of each witness. */
    if (outcome->shorter_states == 0 ||
        (other->shorter_states > 0 && other->shorter_states < outcome->shorter_states))
        outcome->shorter_states = other->shorter_states;
    outcome->bytes = other->bytes > outcome->bytes ? other->bytes : outcome->bytes;
    outcome->depth = other->depth > outcome->depth ? other->depth : outcome->depth;
    if (outcome->end == END_COMPLETE && !explore_end_answers(other->end))
        outcome->end = other->end;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!(sought >> i & 1))
            continue;
        free(outcome->findings[i].choices);
        outcome->findings[i] = other->findings[i];
        other->findings[i].choices = NULL;
    }
    explore_outcome_free(other);
}

bool cell_has_search(const struct cell *cell, enum section section)
{
    return section == cell->options.section || sought_with(cell, section) != 0;
}

enum fail cell_search(struct cell *cell, enum section section, struct failure *failure)
{
    struct cell_search *search = &cell->searches[section];
    struct explore_options options = cell->options;
    int64_t began_us = now_us(cell);
    if (section != cell->options.section) {
        options.section = section;
        options.skips_progress = true; /* the cell's own search answers it */
        options.sought = sought_with(cell, section);
    }
    unsigned wanted = sought_with(cell, section);
    bool is_exhaustive = options.search == SEARCH_EXHAUSTIVE;
    options.deadline_us =
        is_exhaustive ? fallback_deadline_us(&cell->options) : options.deadline_us;
    enum fail fail = explore(&options, &search->outcome, failure);
    options.deadline_us = cell->options.deadline_us;
    if (!fail && fallback_is_due(&options, &search->outcome, wanted))
        fail = fallback_search(&options, wanted, &search->outcome, &search->tried, failure);
    search->elapsed_us = now_us(cell) - began_us;
    return fail;
}

/* Where the scheme needs a command that is not there, one search is enough to say so. */
static void put_together(struct cell *cell)
{
    struct cell_search *own = &cell->searches[cell->options.section];
    cell->outcome = own->outcome;
    memset(&own->outcome, 0, sizeof own->outcome);
    cell->elapsed_us += own->elapsed_us;
    for (int i = 0; i < SECTION_COUNT && cell->outcome.end != END_UNSUPPORTED; i++) {
        if (i == (int)cell->options.section || !cell_has_search(cell, (enum section)i))
            continue;
        merge(&cell->outcome, &cell->searches[i].outcome, sought_with(cell, (enum section)i));
        cell->elapsed_us += cell->searches[i].elapsed_us;
    }
}

/* What is about two clients cannot be violated by one: that it was not says nothing. */
static void doubt_alone(struct cell *cell)
{
    if (cell->options.clients > 1 || cell->outcome.end != END_COMPLETE)
        return;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &cell->outcome.findings[i];
        if (!property_needs_two((enum property)i) || cell->ignored >> i & 1 ||
            finding->verdict != VERDICT_HOLDS)
            continue;
        finding->verdict = VERDICT_UNKNOWN;
        cell->outcome.end = END_ALONE;
    }
}

void cell_doubt(struct cell *cell, const char *why)
{
    if (cell->doubt && !cell->doubted)
        return;
    free(cell->doubt);
    cell->doubt = memory_text(why);
    cell->doubted = 0;
}

void cell_doubt_property(struct cell *cell, enum property property, const char *why)
{
    if (cell->doubt)
        return;
    cell->doubt = memory_text(why);
    cell->doubted = 1u << property;
}

/* That nobody gets the lock any more is said of all ways: not where one of them is in doubt. */
static void doubt_undecided(struct cell *cell)
{
    if (!cell->doubt)
        return;
    if (cell->outcome.end != END_STOPPED)
        cell->outcome.end = END_UNANSWERED;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct explore_finding *finding = &cell->outcome.findings[i];
        if (cell->doubted && !(cell->doubted >> i & 1))
            continue;
        finding->is_shortest = false;
        if (finding->verdict == VERDICT_HOLDS || i == PROPERTY_PROGRESS)
            drop(finding);
    }
}

void cell_doubt_finished(struct cell *cell, const char *why)
{
    cell_doubt(cell, why);
    doubt_undecided(cell);
}

static void forget_witness(struct cell_witness *witness)
{
    free(witness->text);
    free(witness->error);
    *witness = (struct cell_witness){0};
}

void cell_disbelieve(struct cell *cell, const char *why)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (cell->outcome.findings[i].verdict == VERDICT_VIOLATED)
            drop(&cell->outcome.findings[i]);
        forget_witness(&cell->witnesses[i]);
    }
    cell->stretched = 0;
    cell_doubt_finished(cell, why);
}

void cell_finish(struct cell *cell)
{
    /* A world may keep them for those that follow (worker_replays.h). */
    static char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};
    int64_t began_us = now_us(cell);
    put_together(cell);
    drop_ignored(cell);
    doubt_alone(cell);
    doubt_undecided(cell);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    retime_findings(cell, names);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (cell->outcome.findings[i].verdict == VERDICT_VIOLATED)
            cell_confirm(cell, (enum property)i, names, findings);
    doubt_undecided(cell);
    free(findings);
    cell->elapsed_us += now_us(cell) - began_us;
}

void cell_close(struct cell *cell)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        forget_witness(&cell->witnesses[i]);
    for (int i = 0; i < SECTION_COUNT; i++)
        explore_outcome_free(&cell->searches[i].outcome);
    explore_outcome_free(&cell->outcome);
    free(cell->doubt);
}
