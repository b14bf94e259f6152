/* html_plots.c - what is plotted of stress runs: over the time of a run what it did, how long
 * acquires took, how many clients held a lock, what was violated, with the parts shaded in which
 * faults struck, and its memory; how long waits and holds were; and of several runs of one lock
 * its growth with clients. */
#include "report/plot.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

static int64_t per_second(int64_t count, int64_t us)
{
    return us > 0 ? count * 1000000 / us : 0;
}

/* How many held a lock on average, in thousandths. In a run that a file tells of a part may be of
 * any length. */
static int64_t thousandths_held(const struct series *series, int part, int64_t part_us)
{
    const double most = 1000 * (double)series->holders[part],
                 held = 1000 * (double)series->held_us[part] / (double)part_us;
    return (int64_t)(held < most ? held : most);
}

static void put_over_time(const struct page *page, const struct result_row *row)
{
    const struct series *series = &row->stress->series;
    int64_t faults[SERIES_PARTS_MAX];
    const int64_t end_us = series->parts_count * series->part_us;
    struct plot rates = {.title = "Per second", .curves_count = 2};
    struct plot waits = {.title = "Acquire calls", .curves_count = 2, .unit = PLOT_TIME_US};
    struct plot holds = {
        .title = "Clients that hold a lock", .curves_count = 2, .unit = PLOT_THOUSANDTHS};
    struct plot found = {.title = "Violations, all causes", .curves_count = 1, .is_bars = true};
    struct plot memory = {.title = "Memory of picklock", .curves_count = 1, .unit = PLOT_MEMORY_KB};
    rates.curves[0].name = "operations";
    rates.curves[1].name = "grants";
    waits.curves[0].name = "p50";
    waits.curves[1].name = "p99";
    holds.curves[0].name = "on average";
    holds.curves[1].name = "at most";
    for (int i = 0; i < series->parts_count; i++) {
        const struct series_part *part = &series->parts[i];
        int64_t part_us = series->part_us;
        if (i == series->parts_count - 1 && row->elapsed_us < end_us &&
            row->elapsed_us > i * part_us)
            part_us = row->elapsed_us - i * part_us; /* it was cut short */
        faults[i] = part->faults;
        rates.curves[0].values[i] = per_second(part->operations, part_us);
        rates.curves[1].values[i] = per_second(part->grants, part_us);
        waits.curves[0].values[i] = part->p50_us;
        waits.curves[1].values[i] = part->p99_us;
        holds.curves[0].values[i] = thousandths_held(series, i, part_us);
        holds.curves[1].values[i] = series->holders[i] * 1000;
        found.curves[0].values[i] = part->violations;
        memory.curves[0].values[i] = series->memory_kb[i];
    }
    struct plot *const plots[] = {&rates, &waits, series_has_holds(series) ? &holds : NULL, &found,
                                  series->memory_kb[0] ? &memory : NULL};
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        if (!plots[i])
            continue; /* older programs did not tell it */
        plots[i]->columns = series->parts_count;
        plots[i]->shades = faults;
        plots[i]->end_us = end_us;
        plot_put(page, plots[i]);
    }
}

static void put_lengths(const struct page *page, const char *title, const char *note,
                        const int64_t *steps)
{
    struct plot plot = {.title = title, .note = note, .curves_count = 1, .is_bars = true};
    int first = 0, last = SERIES_STEPS - 1;
    while (first < last && !steps[first])
        first++;
    while (last > first && !steps[last])
        last--;
    plot.columns = last - first + 1;
    for (int i = first; i <= last; i++)
        plot.curves[0].values[i - first] = steps[i];
    plot.first_step = first;
    if (steps[first])
        plot_put(page, &plot);
}

/* The caller frees. */
static char *quantiles_words(const struct latency *latency)
{
    char p50[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX], p999[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];
    return memory_format(
        "half of them up to %s, 99%% up to %s, 99.9%% up to %s, the longest %s",
        units_print_rounded(latency->p50, p50), units_print_rounded(latency->p99, p99),
        units_print_rounded(latency->p999, p999), units_print_rounded(latency->max, max));
}

void html_plots(const struct page *page, const struct result_row *row)
{
    if (!row->stress || !row->stress->series.part_us || !row->stress->series.parts_count)
        return;
    html_put(
        page,
        "<details class=\"plots\" open><summary>Over the time of the run</summary>\n"
        "<p class=\"soft\">Shaded: faults struck, the darker the more. Lengths: each "
        "bar counts lengths up to twice those of the one before.</p>\n<div class=\"figures\">\n");
    put_over_time(page, row);
    char *quantiles = quantiles_words(&row->stress->latency_us);
    put_lengths(page, "Acquire calls by their length", quantiles, row->stress->series.waits);
    put_lengths(page, "Holds by their length", NULL, row->stress->series.holds);
    free(quantiles);
    html_put(page, "</div>\n</details>\n");
}

/* --- growth with clients --- */

/* The stress runs of one lock, by their number of clients. */
struct growth {
    const struct result_row *rows[SERIES_PARTS_MAX];
    int count;
};

static bool is_other_number(const struct growth *growth)
{
    return growth->count > 1 &&
           growth->rows[0]->stress->clients != growth->rows[growth->count - 1]->stress->clients;
}

/* Those that run the lock of the row `at`; more than a plot has columns for: the first ones. */
static struct growth growth_of(const struct view *view, int at)
{
    struct growth made = {.count = 0};
    for (int i = at; i < view->count && made.count < SERIES_PARTS_MAX; i++) {
        const struct result_row *row = view->rows[i];
        if (!row->stress || row->not_applicable ||
            strcmp(result_lock(row), result_lock(view->rows[at])) != 0)
            continue;
        int place = made.count++;
        for (; place > 0 && made.rows[place - 1]->stress->clients > row->stress->clients; place--)
            made.rows[place] = made.rows[place - 1];
        made.rows[place] = row;
    }
    return made;
}

static void put_growth(const struct page *page, const struct growth *growth)
{
    int64_t clients[SERIES_PARTS_MAX];
    bool has_cpu = true;
    struct plot rates = {.title = "Per second", .curves_count = 2};
    struct plot cpu = {
        .title = "CPU of picklock, an operation", .curves_count = 1, .unit = PLOT_TIME_US};
    struct plot waits = {.title = "Acquire calls", .curves_count = 2, .unit = PLOT_TIME_US};
    rates.curves[0].name = "operations";
    rates.curves[1].name = "grants";
    waits.curves[0].name = "p50";
    waits.curves[1].name = "p99";
    for (int i = 0; i < growth->count; i++) {
        const struct stress_figures *figures = growth->rows[i]->stress;
        clients[i] = figures->clients;
        has_cpu &= figures->cpu_us > 0 && figures->operations > 0;
        rates.curves[0].values[i] = figures->operations_per_second;
        rates.curves[1].values[i] = per_second(figures->grants, growth->rows[i]->elapsed_us);
        cpu.curves[0].values[i] = has_cpu ? figures->cpu_us / figures->operations : 0;
        waits.curves[0].values[i] = figures->latency_us.p50;
        waits.curves[1].values[i] = figures->latency_us.p99;
    }
    struct plot *const plots[] = {&rates, &waits, &cpu};
    for (int i = 0; i < 2 + has_cpu; i++) {
        plots[i]->columns = growth->count;
        plots[i]->named = clients;
        plot_put(page, plots[i]);
    }
}

void html_growth(const struct page *page)
{
    const struct view *view = page->view;
    const int first = view_first(view, KIND_STRESS), end = view_first(view, KIND_CELL);
    bool has_any = false;
    for (int at = first; at < end; at++) {
        bool is_first = true;
        for (int i = first; i < at; i++)
            is_first &= strcmp(result_lock(view->rows[i]), result_lock(view->rows[at])) != 0;
        const struct growth growth = growth_of(view, at);
        if (!is_first || !is_other_number(&growth))
            continue;
        if (!has_any)
            html_put(page, "<section class=\"growth\">\n<h2>Growth with clients</h2>\n"
                           "<p class=\"soft\">Each point is a run; the number below it is that of "
                           "its clients.</p>\n");
        has_any = true;
        html_put(page, "<h3>%s</h3>\n<div class=\"figures\">\n", result_lock(view->rows[at]));
        put_growth(page, &growth);
        html_put(page, "</div>\n");
    }
    if (has_any)
        html_put(page, "</section>\n");
}
