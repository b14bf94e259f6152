/* timeline.h - a history, or the part of it around a violation, as a space-time diagram: a column a
 * client and a server, time downwards.
 *
 * It draws what the history says (who believed what, whose key stood at the server) and judges
 * nothing: verdicts are the checks'. timeline_read.c picks the events, timeline_build.c lays them
 * out, timeline_draw.c prints SVG, timeline_sketch.c and
 * timeline_text.c print text for a terminal. */
#ifndef PICKLOCK_REPORT_TIMELINE_H
#define PICKLOCK_REPORT_TIMELINE_H

#include "history/event.h"

#include <stdio.h>

enum {
    TIMELINE_EVENTS_MAX = 300, /* a history with more is drawn around the violation only */
    TIMELINE_CLIENTS_MAX = 12, /* columns that are still told apart */
    TIMELINE_ROWS_MAX =
        2 * TIMELINE_EVENTS_MAX, /* a row an event, and the deadlines that events set */
    TIMELINE_BARS_MAX = TIMELINE_EVENTS_MAX,
    TIMELINE_ARROWS_MAX = TIMELINE_EVENTS_MAX,
    TIMELINE_TEXT_MAX = 200,
};

enum row_kind {
    ROW_PLAIN,
    ROW_QUIET, /* a deadline passes */
    ROW_FAULT, /* something was injected */
    ROW_ALERT, /* a command struck another client's key */
};

struct timeline_row {
    int64_t time_us;
    enum row_kind kind;
    bool is_violation; /* the event at which the check saw it */
    char text[TIMELINE_TEXT_MAX];
};

enum bar_kind { BAR_HOLD, BAR_KEY };

/* A hold in a client's column, or a key's life in a server's; from row to row. */
struct timeline_bar {
    enum bar_kind kind;
    int column;
    int client; /* whose: gives the colour; -1: nobody's we know of */
    int from, to;
    int late_from; /* BAR_HOLD: the row at which the own lease ended, or -1 */
    bool is_open;  /* goes on behind the last row */
};

enum arrow_kind { ARROW_REQUEST, ARROW_REPLY, ARROW_REQUEST_LOST, ARROW_REPLY_LOST, ARROW_PENDING };

struct timeline_arrow {
    enum arrow_kind kind;
    int client; /* colour */
    int from_column, from, to_column, to;
};

struct timeline {
    /* what was read */
    struct history_head head; /* names: owned by the timeline */
    struct event *events;     /* owned */
    int events_count;
    int64_t first_index; /* the event at which the violation was seen, or -1 */
    bool is_part;        /* not the whole history */

    /* what is drawn */
    int clients[TIMELINE_CLIENTS_MAX]; /* column -> client */
    int clients_count;
    int servers_count; /* their columns follow */
    struct timeline_row rows[TIMELINE_ROWS_MAX];
    int rows_count;
    struct timeline_bar bars[TIMELINE_BARS_MAX];
    int bars_count;
    struct timeline_arrow arrows[TIMELINE_ARROWS_MAX];
    int arrows_count;
};

/* Reads the history at path and lays it out; *timeline: timeline_free. *timeline is NULL without a
 * failure when the history is too long to be drawn and no violation says where to look.
 * first_index: of the event at which a violation was seen, or less than 1. */
enum fail timeline_new(struct timeline **timeline, const char *path, int64_t first_index,
                       struct failure *failure);
void timeline_free(struct timeline *timeline);

/* Prints an SVG element; label is its title. Both borrowed. */
void timeline_draw(FILE *out, const struct timeline *timeline, const char *label);

/* --- between the files of the timeline --- */

/* Fills events, events_count, head, is_part. */
enum fail timeline_read(struct timeline *timeline, const char *path, bool *is_drawable,
                        struct failure *failure);
/* Fills what is drawn. */
void timeline_build(struct timeline *timeline);
/* The column of a client or server, or -1. */
int timeline_column_of_client(const struct timeline *timeline, int client);
int timeline_column_of_server(const struct timeline *timeline, int server);

#endif
