/* timeline_draw.c - prints a laid out timeline as SVG. Colours and fonts come from reports/page.css
 * by class, so that the page's light and dark forms hold for it too. */
#include "report/timeline.h"

#include "report/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    TIME_RIGHT = 76,    /* right edge of the times */
    COLUMNS_LEFT = 118, /* middle of the first column */
    COLUMN_STEP = 74,
    HEAD_HEIGHT = 40,
    ROW_STEP = 25,
    GAP_STEP = 22, /* added where time passes that is not drawn */
    BAR_HALF = 8,
    CHARACTER = 7, /* generous: fonts differ */
    TEXT_GAP = 40,
    COLOURS = 6,
};

/* More than this between two rows is a gap in the picture. */
static const int64_t gap_us = 5000;

struct drawing {
    FILE *out;
    const struct timeline *timeline;
    int y[TIMELINE_ROWS_MAX];
    int width, height;
    int text_left;
};

static int column_x(int column)
{
    return COLUMNS_LEFT + column * COLUMN_STEP;
}

static int colour_of(const struct timeline *timeline, int client)
{
    int column = timeline_column_of_client(timeline, client);
    return column < 0 ? COLOURS : column % COLOURS;
}

static bool has_gap(const struct timeline *timeline, int row)
{
    return row > 0 && timeline->rows[row].time_us - timeline->rows[row - 1].time_us >= gap_us;
}

static void measure(struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    int y = HEAD_HEIGHT, widest = 0;
    for (int i = 0; i < timeline->rows_count; i++) {
        y += ROW_STEP + (has_gap(timeline, i) ? GAP_STEP : 0);
        drawing->y[i] = y;
        int width = text_width(timeline->rows[i].text);
        widest = width > widest ? width : widest;
    }
    drawing->text_left = column_x(timeline->clients_count + timeline->servers_count - 1) + TEXT_GAP;
    drawing->width = drawing->text_left + widest * CHARACTER + 12;
    drawing->height = y + ROW_STEP;
}

static void draw_text(const struct drawing *drawing, const char *style, int x, int y,
                      const char *text)
{
    fprintf(drawing->out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", style, x, y);
    text_print(drawing->out, TEXT_MARKUP, text);
    fputs("</text>\n", drawing->out);
}

/* A name that is as wide as its column. */
static void draw_head(const struct drawing *drawing, int column, const char *style,
                      const char *name)
{
    char text[NAME_MAX_BYTES + 8];
    snprintf(text, sizeof text, text_width(name) > 9 ? "%.8s…" : "%s", name);
    draw_text(drawing, style, column_x(column), HEAD_HEIGHT - 14, text);
    fprintf(drawing->out, "<line class=\"life\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
            column_x(column), HEAD_HEIGHT - 4, column_x(column), drawing->height - 8);
}

static void draw_heads(const struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    char name[32], style[32];
    for (int i = 0; i < timeline->clients_count; i++) {
        snprintf(style, sizeof style, "head t%d", i % COLOURS);
        draw_head(drawing, i, style, timeline->head.names[timeline->clients[i]]);
    }
    for (int i = 0; i < timeline->servers_count; i++) {
        snprintf(name, sizeof name, timeline->servers_count > 1 ? "server %d" : "server", i + 1);
        draw_head(drawing, timeline->clients_count + i, "head", name);
    }
}

static void draw_rows(const struct drawing *drawing)
{
    static const char *const styles[] = {[ROW_PLAIN] = "row",
                                         [ROW_QUIET] = "row quiet",
                                         [ROW_FAULT] = "row fault",
                                         [ROW_ALERT] = "row alert"};
    const struct timeline *timeline = drawing->timeline;
    char text[48];
    for (int i = 0; i < timeline->rows_count; i++) {
        const struct timeline_row *row = &timeline->rows[i];
        int y = drawing->y[i];
        if (row->is_violation)
            fprintf(drawing->out,
                    "<rect class=\"hit\" x=\"4\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
                    y - 12, drawing->width - 8, ROW_STEP - 1);
        snprintf(text, sizeof text, "%" PRId64 ".%" PRId64, row->time_us / 1000,
                 row->time_us % 1000 / 100);
        draw_text(drawing, "time", TIME_RIGHT, y + 4, text);
        draw_text(drawing, styles[row->kind], drawing->text_left, y + 4, row->text);
        if (!has_gap(timeline, i))
            continue;
        int64_t gap_ms = (row->time_us - timeline->rows[i - 1].time_us) / 1000;
        snprintf(text, sizeof text, "⋮ %" PRId64 " ms", gap_ms);
        draw_text(drawing, "gap", TIME_RIGHT, (drawing->y[i - 1] + y) / 2 + 4, text);
    }
}

static void draw_rect(const struct drawing *drawing, const char *style, int x, int from, int to)
{
    int height = to > from ? to - from : 4;
    fprintf(drawing->out,
            "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>\n", style,
            x - BAR_HALF, from, 2 * BAR_HALF, height);
}

static void draw_bar(const struct drawing *drawing, const struct timeline_bar *bar)
{
    const struct timeline *timeline = drawing->timeline;
    char style[40];
    int x = column_x(bar->column), colour = colour_of(timeline, bar->client);
    int from = drawing->y[bar->from];
    int to = bar->is_open ? drawing->height - 8 : drawing->y[bar->to];
    int late = bar->late_from < 0 ? to : drawing->y[bar->late_from];
    if (late > from) {
        snprintf(style, sizeof style, "%s c%d", bar->kind == BAR_HOLD ? "hold" : "key", colour);
        draw_rect(drawing, style, x, from, late);
    }
    if (late < to) {
        snprintf(style, sizeof style, "hold late c%d", colour);
        draw_rect(drawing, style, x, late, to);
        fprintf(drawing->out, "<line class=\"end\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
                x - BAR_HALF - 5, late, x + BAR_HALF + 5, late);
    }
    if (bar->kind == BAR_KEY && to - from >= ROW_STEP && bar->client >= 0) {
        char name[8];
        snprintf(name, sizeof name, "%.2s", timeline->head.names[bar->client]);
        if (text_width(timeline->head.names[bar->client]) <= 2)
            draw_text(drawing, "owner", x, from + 15, name);
    }
}

/* Where two clients hold at once: red when both are inside their own leases, amber when one of them
 * has outlived its own. */
static void draw_overlap(const struct drawing *drawing, const struct timeline_bar *one,
                         const struct timeline_bar *other)
{
    int from = one->from > other->from ? one->from : other->from;
    int to = one->to < other->to ? one->to : other->to;
    int left = one->column < other->column ? one->column : other->column;
    int right = one->column < other->column ? other->column : one->column;
    bool is_late = (one->late_from >= 0 && one->late_from <= from) ||
                   (other->late_from >= 0 && other->late_from <= from);
    bool is_open = one->is_open && other->is_open;
    int top = drawing->y[from], bottom = is_open ? drawing->height - 8 : drawing->y[to];
    if (one->column == other->column || bottom <= top)
        return;
    fprintf(drawing->out,
            "<rect class=\"overlap%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
            is_late ? " late" : "", column_x(left) - BAR_HALF - 6, top,
            column_x(right) - column_x(left) + 2 * BAR_HALF + 12, bottom - top);
}

static void draw_overlaps(const struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    for (int i = 0; i < timeline->bars_count; i++)
        for (int j = i + 1; j < timeline->bars_count; j++)
            if (timeline->bars[i].kind == BAR_HOLD && timeline->bars[j].kind == BAR_HOLD)
                draw_overlap(drawing, &timeline->bars[i], &timeline->bars[j]);
}

static void draw_arrow(const struct drawing *drawing, const struct timeline_arrow *arrow)
{
    static const char *const styles[] = {[ARROW_REQUEST] = "request",
                                         [ARROW_REPLY] = "reply",
                                         [ARROW_REQUEST_LOST] = "request lost",
                                         [ARROW_REPLY_LOST] = "reply lost",
                                         [ARROW_PENDING] = "request pending"};
    int x1 = column_x(arrow->from_column), x2 = column_x(arrow->to_column);
    int y1 = drawing->y[arrow->from], y2 = drawing->y[arrow->to];
    int way = x2 > x1 ? 1 : -1;
    bool is_whole = arrow->kind == ARROW_REQUEST || arrow->kind == ARROW_REPLY;
    int colour = colour_of(drawing->timeline, arrow->client);
    x1 += way * (BAR_HALF + 1);
    x2 -= way * (BAR_HALF + 1);
    if (!is_whole) {
        x2 = (x1 + x2) / 2;
        y2 = (y1 + y2) / 2;
    }
    fprintf(drawing->out, "<line class=\"%s s%d\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
            styles[arrow->kind], colour, x1, y1, x2, y2);
    if (is_whole)
        fprintf(drawing->out, "<path class=\"tip c%d\" d=\"M%d %dl%d -3.5v7z\"/>\n", colour, x2, y2,
                -7 * way);
    else if (arrow->kind != ARROW_PENDING)
        fprintf(drawing->out, "<path class=\"cross\" d=\"M%d %dl8 8m0 -8l-8 8\"/>\n", x2 - 4,
                y2 - 4);
}

void timeline_draw(FILE *out, const struct timeline *timeline, const char *label)
{
    struct drawing drawing = {.out = out, .timeline = timeline};
    measure(&drawing);
    fprintf(
        out,
        "<svg class=\"timeline\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
        "<title>",
        drawing.width, drawing.height, drawing.width, drawing.height);
    text_print(out, TEXT_MARKUP, label);
    fputs("</title>\n", out);
    draw_text(&drawing, "time unit", TIME_RIGHT, HEAD_HEIGHT - 14, "ms");
    draw_heads(&drawing);
    draw_overlaps(&drawing);
    draw_rows(&drawing);
    for (int i = 0; i < timeline->bars_count; i++)
        draw_bar(&drawing, &timeline->bars[i]);
    for (int i = 0; i < timeline->arrows_count; i++)
        draw_arrow(&drawing, &timeline->arrows[i]);
    fputs("</svg>\n", out);
}
