/* plot.c - see plot.h. */
#include "report/plot.h"

#include "base/units.h"

#include <inttypes.h>

enum {
    WIDTH = 500,
    HEIGHT = 152,
    LEFT = 64, /* of what is drawn; right of the numbers */
    TOP = 8,
    INNER_WIDTH = WIDTH - LEFT - 12,
    INNER_HEIGHT = HEIGHT - TOP - 28,
    TICKS_MAX = 4, /* what a length's axis says, but for its end */
    NAMES_MAX = 10,
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
    for (int i = 0; plot->named && i < plot->columns; i++)
        fprintf(page->out, "<circle class=\"curve-%d\" cx=\"%.2f\" cy=\"%.2f\" r=\"2.5\"/>\n",
                curve, x_of(plot, i), y_of(plot->curves[curve].values[i], most));
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

/* What stands below: the ends of the time, what columns are named by, or lengths where one column
 * ends and another begins. */
static void put_axis(const struct page *page, const struct plot *plot)
{
    char text[UNITS_TEXT_MAX];
    const int below = HEIGHT - 10, most = plot->named ? NAMES_MAX : TICKS_MAX;
    const int every = (plot->columns + most - 1) / most;
    if (plot->end_us) {
        put_text(page, LEFT, below, "start", "0 s");
        put_text(page, LEFT + INNER_WIDTH, below, "end", units_print_rounded(plot->end_us, text));
        return;
    }
    for (int i = 0; plot->named && i < plot->columns; i += every) {
        (void)snprintf(text, sizeof text, "%" PRId64, plot->named[i]);
        put_text(page, (int)x_of(plot, i), below, "middle", text);
    }
    for (int i = 0; !plot->named && i <= plot->columns; i += every)
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

static void print_number(enum plot_unit unit, int64_t value, char *text)
{
    if (unit == PLOT_TIME_US)
        (void)units_print_rounded(value, text);
    else if (unit == PLOT_MEMORY_KB)
        (void)snprintf(text, UNITS_TEXT_MAX, "%.1f MB", (double)value / 1024);
    else if (unit == PLOT_THOUSANDTHS && value < 100000)
        (void)snprintf(text, UNITS_TEXT_MAX, "%.3g", (double)value / 1000);
    else
        (void)snprintf(text, UNITS_TEXT_MAX, "%" PRId64,
                       unit == PLOT_THOUSANDTHS ? value / 1000 : value);
}

void plot_put(const struct page *page, const struct plot *plot)
{
    const int64_t most = highest(plot);
    char number[UNITS_TEXT_MAX];
    print_number(plot->unit, most, number);
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
