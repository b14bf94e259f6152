/* cell_words.c - what is told of a cell's searches in words: how far they came, what was tried, why
 * something is unknown. Which causes a cell names says run/cell_causes.c. See cell.h. */
#include "explore/result/cell.h"

#include "base/units.h"

#include <stdio.h>

bool cell_is_sampled(const struct cell *cell)
{
    return cell->is_sample && cell->outcome.end == END_RUNS && (!cell->doubt || cell->is_unstruck);
}

bool cell_is_violated(const struct cell *cell)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (cell->outcome.findings[i].verdict == VERDICT_VIOLATED &&
            cause_blame(cell->witnesses[i].cause) != BLAME_NOBODY)
            return true;
    return false;
}

bool cell_is_schemes_fault(const struct cell *cell)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (cell->outcome.findings[i].verdict == VERDICT_VIOLATED &&
            cause_blame(cell->witnesses[i].cause) == BLAME_SCHEME)
            return true;
    return false;
}

static bool is_random(const struct cell *cell)
{
    return cell->options.search != SEARCH_EXHAUSTIVE && cell->outcome.end != END_UNSUPPORTED;
}

/* How far a random search has come without finding it. */
static void print_not_found(const struct cell *cell, enum property property, char *text,
                            size_t size)
{
    const unsigned long long runs = cell->outcome.findings[property].runs;
    const bool is_stopped = cell->outcome.end == END_STOPPED;
    const char *end =
        is_stopped || cell->outcome.end == END_TIME ? explore_end_words(cell->outcome.end) : "";
    if (is_stopped && !runs)
        snprintf(text, size, "%s", end);
    else
        snprintf(text, size, "not found in %llu run%s, seed %llu%s%s", runs,
                 units_plural((int64_t)runs), (unsigned long long)cell->options.seed,
                 *end ? ", then " : "", end);
}

const char *cell_tried(const struct cell *cell, char *text, size_t size)
{
    const struct fallback *first = NULL;
    bool is_one = true;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < SECTION_COUNT; i++) {
        const struct fallback *tried = &cell->searches[i].tried;
        if (!tried->is_due)
            continue;
        first = first ? first : tried;
        is_one &= fallback_is_same(first, tried);
    }
    if (first && is_one)
        return fallback_print(first, text, size);
    for (int i = 0; i < SECTION_COUNT && used < size; i++) {
        const struct fallback *tried = &cell->searches[i].tried;
        char words[FALLBACK_TEXT_MAX];
        if (tried->is_due)
            used += (size_t)snprintf(text + used, size - used, "%ssection %s: %s", used ? "; " : "",
                                     section_name((enum section)i),
                                     fallback_print(tried, words, sizeof words));
    }
    return text;
}

const char *cell_found_by(const struct cell *cell, enum property property, char *text, size_t size)
{
    const struct explore_finding *finding = &cell->outcome.findings[property];
    text[0] = '\0';
    if (cell->options.search != SEARCH_EXHAUSTIVE || finding->verdict != VERDICT_VIOLATED)
        return text;
    if (finding->clients > 0)
        snprintf(text, size, "%d client%s with %d round%s", finding->clients,
                 units_plural(finding->clients), finding->rounds, units_plural(finding->rounds));
    else if (finding->run > 0)
        snprintf(text, size, "random run %llu with seed %llu", (unsigned long long)finding->run,
                 (unsigned long long)cell->options.seed);
    return text;
}

/* The search was cut short; what was tried then could not find progress violated. */
static void print_cut_short(const struct cell *cell, const struct fallback *tried, char *text,
                            size_t size)
{
    char words[FALLBACK_TEXT_MAX];
    const char *end = explore_end_words(cell->outcome.end);
    if (tried && tried->is_due)
        snprintf(text, size, "%s; tried: %s", end, fallback_print(tried, words, sizeof words));
    else
        snprintf(text, size, "%s", end);
}

const char *cell_why(const struct cell *cell, enum property property, char *text, size_t size)
{
    enum section section;
    if (cell->witnesses[property].error)
        snprintf(text, size, "%s", cell->witnesses[property].error);
    else if (cell->doubt)
        snprintf(text, size, "%s", cell->doubt);
    else if (!cell_asks(cell, property, &section) && !cell_promises(cell, property))
        snprintf(text, size, "the scheme makes no such promise");
    else if (!cell_asks(cell, property, &section))
        snprintf(text, size, "not checked: critical sections do not touch what it is about");
    else if (!is_random(cell))
        print_cut_short(cell, property == PROPERTY_PROGRESS ? NULL : &cell->searches[section].tried,
                        text, size);
    else if (property == PROPERTY_PROGRESS)
        snprintf(text, size, "a random search cannot judge it: that needs every state");
    else
        print_not_found(cell, property, text, size);
    return text;
}

const char *cell_print_silent(const struct cell *cell, char *text, size_t size)
{
    char why[CELL_WHY_MAX];
    if (cell->outcome.end == END_COMPLETE)
        snprintf(text, size, "safe");
    else if (cell_is_sampled(cell))
        snprintf(text, size, "%s in %llu run%s", cell->is_unstruck ? "not struck" : "not found",
                 (unsigned long long)cell->outcome.runs, units_plural((int64_t)cell->outcome.runs));
    else /* of any property that is not progress */
        snprintf(text, size, "unknown (%s)",
                 is_random(cell) ? cell_why(cell, PROPERTY_MUTUAL_EXCLUSION, why, sizeof why)
                                 : explore_end_words(cell->outcome.end));
    return text;
}
