/* plot.h - one plot of the page, as static SVG: columns of numbers as curves or bars. Colours come
 * from reports/page.css; no script. */
#ifndef PICKLOCK_REPORT_PLOT_H
#define PICKLOCK_REPORT_PLOT_H

#include "report/html.h"

enum { PLOT_CURVES_MAX = 2 };

/* What the numbers of a plot are. */
enum plot_unit { PLOT_COUNT, PLOT_THOUSANDTHS, PLOT_TIME_US, PLOT_MEMORY_KB };

/* All borrowed. */
struct plot {
    const char *title;
    const char *note; /* in words behind the title, or NULL */
    enum plot_unit unit;
    bool is_bars; /* of the first curve */
    int columns;  /* 1 to SERIES_PARTS_MAX */
    int curves_count;
    struct {
        const char *name;
        int64_t values[SERIES_PARTS_MAX];
    } curves[PLOT_CURVES_MAX];
    const int64_t *shades; /* a column each, faults; NULL: none */
    /* What stands below: */
    int64_t end_us;       /* over time: where the axis ends; 0: */
    const int64_t *named; /* the number that each column is named by; NULL: */
    int first_step;       /* columns are lengths: the first one's, see series.h */
};

void plot_put(const struct page *page, const struct plot *plot);

#endif
