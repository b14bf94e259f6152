/* timeline_layout.c - what follows from the rows, bars and arrows of a timeline, decided once for
 * whoever prints it: times, gaps, overlaps, names. */
#include "report/timeline.h"

#include "base/memory.h"
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

/* More than this between two rows is a gap in the picture. */
static const int64_t gap_us = 5000;

int timeline_column_of_client(const struct timeline *timeline, int client)
{
    for (int i = 0; i < timeline->clients_count; i++)
        if (timeline->clients[i] == client)
            return i;
    return -1;
}

int timeline_column_of_server(const struct timeline *timeline, int server)
{
    return server >= 0 && server < timeline->servers_count ? timeline->clients_count + server : -1;
}

bool timeline_stands_after(const struct timeline_bar *bar, int row)
{
    return bar->from <= row && (bar->is_open || row < bar->to);
}

bool timeline_is_late(const struct timeline_bar *bar, int row)
{
    return bar->late_from >= 0 && bar->late_from <= row;
}

/* --- names --- */

/* The first characters of text, and an ellipsis in the place of the last where there are more. */
static void cut(char *text, int most)
{
    char *at = text;
    if (text_width(text) <= most)
        return;
    for (int i = 0; i < most - 1; i++)
        text_next((const char **)&at);
    memcpy(at, "…", sizeof "…");
}

const char *timeline_head(const struct timeline *timeline, int column, int most, char *text)
{
    int server = column - timeline->clients_count;
    const char *name = server < 0 ? timeline->head.names[timeline->clients[column]] : "server";
    snprintf(text, TIMELINE_TEXT_MAX, "%.*s", NAME_MAX_BYTES, name);
    if (server < 0)
        cut(text, most);
    else if (timeline->head.servers > 1)
        snprintf(text, TIMELINE_TEXT_MAX, most < (int)strlen("server 2") ? "s%d" : "server %d",
                 server + 1);
    return text;
}

const char *timeline_owner(const struct timeline *timeline, int client, char *text)
{
    const char *name =
        client >= 0 && client < timeline->head.clients ? timeline->head.names[client] : "?";
    size_t length = strlen(name);
    bool is_number = length > OWNER_MOST && name[length - 1] >= '0' && name[length - 1] <= '9';
    snprintf(text, TIMELINE_TEXT_MAX, "%s", is_number ? name + length - OWNER_MOST : name);
    return text;
}

/* --- times --- */

static void name_times(struct timeline *timeline)
{
    for (int i = 0; i < timeline->rows_count; i++) {
        struct timeline_row *row = &timeline->rows[i];
        int64_t passed_us = i > 0 ? row->time_us - row[-1].time_us : 0;
        snprintf(row->time, sizeof row->time, "%" PRId64 ".%" PRId64, row->time_us / 1000,
                 row->time_us % 1000 / 100);
        if (passed_us >= gap_us * 2000)
            snprintf(row->gap, sizeof row->gap, "%" PRId64 " s", passed_us / 1000000);
        else if (passed_us >= gap_us)
            snprintf(row->gap, sizeof row->gap, "%" PRId64 " ms", passed_us / 1000);
    }
}

/* --- overlaps --- */

static int later(int a, int b)
{
    return a > b ? a : b;
}

static void add_overlap(struct timeline *timeline, const struct timeline_overlap *overlap)
{
    size_t count = (size_t)timeline->overlaps_count;
    if (overlap->to <= overlap->from && !overlap->is_open)
        return;
    timeline->overlaps = memory_resize(timeline->overlaps, count + 1, sizeof *overlap);
    timeline->overlaps[timeline->overlaps_count++] = *overlap;
}

/* From the later start to the earlier end; in two parts where a lease ends on the way. */
static void meet(struct timeline *timeline, const struct timeline_bar *a,
                 const struct timeline_bar *b)
{
    struct timeline_overlap overlap = {.left = a->column < b->column ? a->column : b->column,
                                       .right = later(a->column, b->column),
                                       .from = later(a->from, b->from),
                                       .to = a->to < b->to ? a->to : b->to,
                                       .is_open = a->is_open && b->is_open};
    struct timeline_overlap late = overlap;
    int end = overlap.is_open ? overlap.to + 1 : overlap.to, row = overlap.from;
    while (row < end && !timeline_is_late(a, row) && !timeline_is_late(b, row))
        row++;
    late.is_late = true;
    late.from = row;
    if (row < end) {
        overlap.to = row;
        overlap.is_open = false;
    }
    if (row > overlap.from)
        add_overlap(timeline, &overlap);
    if (row < end)
        add_overlap(timeline, &late);
}

static void find_overlaps(struct timeline *timeline)
{
    for (int i = 0; i < timeline->bars_count; i++)
        for (int j = i + 1; j < timeline->bars_count; j++) {
            const struct timeline_bar *a = &timeline->bars[i], *b = &timeline->bars[j];
            if (a->kind == BAR_HOLD && b->kind == BAR_HOLD && a->column != b->column)
                meet(timeline, a, b);
        }
    for (int i = 0; i < timeline->overlaps_count; i++) {
        const struct timeline_overlap *overlap = &timeline->overlaps[i];
        int end = overlap->is_open ? timeline->rows_count : overlap->to;
        for (int row = overlap->from; row < end; row++)
            if (timeline->rows[row].overlap != OVERLAP_FULL)
                timeline->rows[row].overlap = overlap->is_late ? OVERLAP_LATE : OVERLAP_FULL;
    }
}

void timeline_lay_out(struct timeline *timeline)
{
    name_times(timeline);
    find_overlaps(timeline);
}
