/* timeline_sketch.h - a timeline on a canvas of characters: which column, lane and word goes where.
 *
 * Between timeline_sketch.c, which draws, and timeline_text.c, which prints. */
#ifndef PICKLOCK_REPORT_TIMELINE_SKETCH_H
#define PICKLOCK_REPORT_TIMELINE_SKETCH_H

#include "report/report.h"
#include "report/timeline.h"
#include "report/timeline_canvas.h"

enum {
    SKETCH_WIDTH = 100,
    TIME_WIDTH = 9,    /* right edge of the times; left of them stands the row's mark */
    COLUMNS_LEFT = 11, /* the first client */
    OWNER_MOST = 3,    /* characters of an owner's name under a server */
    MARK_WIDTH = 2,    /* of an overlap */
};

struct sketch {
    FILE *out;
    const struct timeline *timeline; /* borrowed */
    enum charset charset;
    struct canvas canvas;                       /* a row each */
    bool is_fitting;                            /* the columns fit; else nothing is drawn */
    int client_step, server_step, first_server; /* where columns are */
    int mark_left, words_left;
    int lanes; /* messages side by side at the busiest server */
    int owner_width;
    char **words; /* of each row, in the charset; owned */
    int lane[TIMELINE_ARROWS_MAX];
};

/* Lays the timeline out and draws what stands left of the words. Keeps out and timeline. */
struct sketch *sketch_new(FILE *out, const struct timeline *timeline, enum charset charset);
void sketch_free(struct sketch *sketch);

int sketch_x(const struct sketch *sketch, int column);

/* Does the bar stand in the time behind the row? Has its own lease ended at the row? */
bool sketch_stands_after(const struct timeline_bar *bar, int row);
bool sketch_is_late(const struct timeline_bar *bar, int row);

/* "c12": what stands for a client under a server. Of a long name with a number at its end, the
 * number's last digits. text: NAME_MAX_BYTES. */
const char *sketch_owner(const struct timeline *timeline, int client, char *text);

#endif
