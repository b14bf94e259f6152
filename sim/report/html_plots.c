/* html_plots.c - plots of stress runs, as static SVG: over the time of a run what it did, how long
 * acquires took, and what was violated, with the parts shaded in which faults struck; and how long
 * waits and holds were. Colours come from reports/page.css; no script. */
#include "report/html.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    WIDTH = 500,
    HEIGHT = 152,
    LEFT = 64, /* of what is drawn; right of the numbers */
    TOP = 8,
    INNER_WIDTH = WIDTH - LEFT - 12,
    INNER_HEIGHT = HEIGHT - TOP - 28,
    CURVES_MAX = 3,
    TICKS_MAX = 4, /* what a length's axis says, but for its end */
};

/* One plot: columns of numbers, and what they are called. */
struct plot {
    const char *title;
    const char *note; /* in words behind the title, or NULL */
    int columns;
    int curves_count;
    struct {
        const char *name;
        int64_t values[SERIES_PARTS_MAX];
    } curves[CURVES_MAX];
    const int64_t *shades; /* a column each, faults; NULL: none */
    int64_t end_us;        /* over time: where the axis ends; 0: */
    int first_step;        /* by length: of the first column, see series.h */
    bool is_bars, is_time; /* bars of the first curve; the numbers are us */
};

static int64_t largest(const int64_t *values, int count)
{
    int64_t most = 0;
    for (int i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static int64_t highest(const struct plot *plot)
{
    int64_t most = 0;
    for (int i = 0; i < plot->curves_count; i++) {
        const int64_t one = largest(plot->curves[i].values, plot->columns);
        most = one > most ? one : most;
    }
    return most;
}

/* In the middle of its column; a hundredth of a pixel is enough. */
static double x_of(const struct plot *plot, int column)
{
    return LEFT + (column + 0.5) * INNER_WIDTH / plot->columns;
}

static double y_of(int64_t value, int64_t most)
{
    return TOP + INNER_HEIGHT - (most ? (double)value * INNER_HEIGHT / (double)most : 0);
}

static void put_shades(const struct page *page, const struct plot *plot)
{
    const int64_t most = plot->shades ? largest(plot->shades, plot->columns) : 0;
    const double width = (double)INNER_WIDTH / plot->columns;
    for (int i = 0; most && i < plot->columns; i++)
        if (plot->shades[i])
            fprintf(page->out,
                    "<rect class=\"faults\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
                    "opacity=\"%.2f\"/>\n",
                    LEFT + i * width, TOP, width, INNER_HEIGHT,
                    0.25 + 0.75 * (double)plot->shades[i] / (double)most);
}

static void put_curve(const struct page *page, const struct plot *plot, int curve, int64_t most)
{
    fprintf(page->out, "<polyline class=\"curve-%d\" points=\"", curve);
    for (int i = 0; i < plot->columns; i++)
        fprintf(page->out, "%s%.2f,%.2f", i ? " " : "", x_of(plot, i),
                y_of(plot->curves[curve].values[i], most));
    fputs("\"/>\n", page->out);
}

static void put_bars(const struct page *page, const struct plot *plot, int64_t most)
{
    const double width = (double)INNER_WIDTH / plot->columns;
    for (int i = 0; i < plot->columns; i++) {
        const double top = y_of(plot->curves[0].values[i], most);
        fprintf(page->out,
                "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                "height=\"%.2f\"/>\n",
                x_of(plot, i) - width / 2 + 1, top, width > 3 ? width - 2 : 1,
                TOP + INNER_HEIGHT - top);
    }
}

static void put_text(const struct page *page, int x, int y, const char *anchor, const char *text)
{
    html_put(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text);
}

/* What stands below: the ends of the time, or lengths where one column ends and another begins. */
static void put_axis(const struct page *page, const struct plot *plot)
{
    char text[UNITS_TEXT_MAX];
    const int below = HEIGHT - 10, every = (plot->columns + TICKS_MAX - 1) / TICKS_MAX;
    if (plot->end_us) {
        put_text(page, LEFT, below, "start", "0 s");
        put_text(page, LEFT + INNER_WIDTH, below, "end", units_print_rounded(plot->end_us, text));
        return;
    }
    for (int i = 0; i <= plot->columns; i += every)
        put_text(page, LEFT + i * INNER_WIDTH / plot->columns, below,
                 i == plot->columns ? "end" : "middle",
                 units_print_rounded(INT64_C(1) << (plot->first_step + i), text));
}

static void put_legend(const struct page *page, const struct plot *plot)
{
    html_put(page, "<figcaption><b>%s</b>%s%s", plot->title, plot->note ? ": " : "", plot->note);
    for (int i = 0; plot->curves_count > 1 && i < plot->curves_count; i++)
        html_put(page, "<span class=\"curve-%d\"> ― %s</span>", i, plot->curves[i].name);
    html_put(page, "</figcaption>\n");
}

static void put_plot(const struct page *page, const struct plot *plot)
{
    const int64_t most = highest(plot);
    char number[UNITS_TEXT_MAX];
    if (plot->is_time)
        (void)units_print_rounded(most, number);
    else
        (void)snprintf(number, sizeof number, "%" PRId64, most);
    html_put(page, "<figure class=\"plot\">\n");
    put_legend(page, plot);
    html_put(page,
             "<svg role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
             "<title>%s: at most %s</title>\n",
             WIDTH, HEIGHT, WIDTH, HEIGHT, plot->title, number);
    put_shades(page, plot);
    html_put(page, "<path class=\"axis\" d=\"M%d %dv%dh%dm0 %dh-%d\"/>\n", LEFT, TOP, INNER_HEIGHT,
             INNER_WIDTH, -INNER_HEIGHT / 2, INNER_WIDTH);
    put_text(page, LEFT - 6, TOP + 10, "end", number);
    put_text(page, LEFT - 6, TOP + INNER_HEIGHT, "end", "0");
    put_axis(page, plot);
    if (plot->is_bars)
        put_bars(page, plot, most);
    for (int i = 0; !plot->is_bars && i < plot->curves_count; i++)
        put_curve(page, plot, i, most);
    html_put(page, "</svg>\n</figure>\n");
}

/* --- what is plotted --- */

static int64_t per_second(int64_t count, int64_t us)
{
    return us > 0 ? count * 1000000 / us : 0;
}

static void put_over_time(const struct page *page, const struct result_row *row)
{
    const struct series *series = &row->stress->series;
    int64_t faults[SERIES_PARTS_MAX];
    const int64_t end_us = series->parts_count * series->part_us;
    struct plot rates = {.title = "Per second", .curves_count = 2};
    struct plot waits = {.title = "Acquire calls", .curves_count = 2, .is_time = true};
    struct plot found = {.title = "Violations, all causes", .curves_count = 1, .is_bars = true};
    rates.curves[0].name = "operations";
    rates.curves[1].name = "grants";
    waits.curves[0].name = "p50";
    waits.curves[1].name = "p99";
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
        found.curves[0].values[i] = part->violations;
    }
    struct plot *const plots[] = {&rates, &waits, &found};
    for (int i = 0; i < 3; i++) {
        plots[i]->columns = series->parts_count;
        plots[i]->shades = faults;
        plots[i]->end_us = end_us;
        put_plot(page, plots[i]);
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
        put_plot(page, &plot);
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
    html_put(page, "<details class=\"plots\" open><summary>Over the time of the run</summary>\n"
                   "<p class=\"soft\">Shaded: faults struck, the darker the more. Lengths: each "
                   "bar twice as long as the one before.</p>\n<div class=\"figures\">\n");
    put_over_time(page, row);
    char *quantiles = quantiles_words(&row->stress->latency_us);
    put_lengths(page, "Acquire calls by their length", quantiles, row->stress->series.waits);
    put_lengths(page, "Holds by their length", NULL, row->stress->series.holds);
    free(quantiles);
    html_put(page, "</div>\n</details>\n");
}
