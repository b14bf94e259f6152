/* timeline_sketch.h - a timeline on a canvas of characters: which column, lane and word goes where.
 *
 * Between timeline_sketch.c, which draws, and timeline_text.c, which prints. */
#ifndef PICKLOCK_REPORT_TIMELINE_SKETCH_H
#define PICKLOCK_REPORT_TIMELINE_SKETCH_H

#include "report/report.h"
#include "report/timeline.h"
#include "report/timeline_canvas.h"

enum {
    TIME_WIDTH = 9,    /* right edge of the times; left of them stands the row's mark */
    COLUMNS_LEFT = 11, /* the first client */
    SERVER_MOST = 6,   /* "server" */
    MARK_WIDTH = 2,    /* of an overlap */
};

struct sketch {
    FILE *out;
    const struct timeline *timeline; /* borrowed */
    enum charset charset;
    struct canvas canvas; /* a row each */
    int width;            /* of a line, text_room() */
    int columns;          /* all of them, or 0: they do not fit, and the events stand alone */
    int client_step, server_step, first_server; /* where they are */
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

#endif
