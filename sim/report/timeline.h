/* timeline.h - a history, or the part of it around a violation, as a space-time diagram: a column a
 * client and a server, time downwards.
 *
 * It draws what the history says (who believed what, whose key stood at the server) and judges
 * nothing: verdicts are the checks'. There is one layout: timeline_read.c picks the events,
 * timeline_build.c makes rows, bars and arrows of them, timeline_layout.c what follows from those
 * (times, gaps, overlaps, names). Two renderers print it and decide nothing but where things go:
 * timeline_svg.c for the page, timeline_sketch.c and timeline_text.c for a terminal. */
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
    TIMELINE_TIME_MAX = 24,
    OWNER_MOST = 3,
};

enum row_kind {
    ROW_PLAIN,
    ROW_QUIET, /* a deadline passes */
    ROW_FAULT, /* something was injected */
    ROW_ALERT, /* a command changed another client's key */
};

/* Do two hold at once, and both inside their own leases? */
enum overlap { OVERLAP_NONE, OVERLAP_LATE, OVERLAP_FULL };

struct timeline_row {
    int64_t time_us;
    enum row_kind kind;
    bool is_violation;            /* the event at which the check saw it */
    char time[TIMELINE_TIME_MAX]; /* "1010.4", in milliseconds */
    char gap[TIMELINE_TIME_MAX];  /* "999 ms" that are not drawn before it, or "" */
    enum overlap overlap;         /* in the time behind it */
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

/* A time in which two clients hold at once. One that becomes late makes two of them. */
struct timeline_overlap {
    int left, right; /* columns */
    int from, to;    /* rows */
    bool is_late;    /* one of the two has outlived its own lease */
    bool is_open;
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
    struct timeline_overlap *overlaps; /* owned */
    int overlaps_count;
};

/* Reads the history at path and lays it out; *timeline: timeline_free. *timeline is NULL without a
 * failure when the history is too long to be drawn and no violation says where to look.
 * first_index: of the event at which a violation was seen, or less than 1. */
enum fail timeline_new(struct timeline **timeline, const char *path, int64_t first_index,
                       struct failure *failure);
void timeline_free(struct timeline *timeline);

/* Prints an SVG element; label is its title. Both borrowed. */
void timeline_print_svg(FILE *out, const struct timeline *timeline, const char *label);

/* What the renderers ask. --- Does the bar stand in the time behind the row? Has its own lease
 * ended at the row? */
bool timeline_stands_after(const struct timeline_bar *bar, int row);
bool timeline_is_late(const struct timeline_bar *bar, int row);

/* The head of a column in at most so many characters: a client's name, cut with an ellipsis;
 * "server", "server 2" or, where that is too long, "s2". text: TIMELINE_TEXT_MAX bytes. */
const char *timeline_head(const struct timeline *timeline, int column, int most, char *text);

/* "c12": what stands for a client beside its key, in at most OWNER_MOST characters. Of a long name
 * with a number at its end, the number's last digits. text: TIMELINE_TEXT_MAX bytes. */
const char *timeline_owner(const struct timeline *timeline, int client, char *text);

/* --- between the files of the timeline --- */

/* Fills what is drawn: rows, bars, arrows; then what follows from them. */
void timeline_build(struct timeline *timeline);
void timeline_lay_out(struct timeline *timeline);
/* The column of a client or server, or -1. */
int timeline_column_of_client(const struct timeline *timeline, int client);
int timeline_column_of_server(const struct timeline *timeline, int server);

#endif
