/* timeline_svg.c - prints a laid out timeline as SVG. Colours and fonts come from reports/page.css
 * by class, so that the page's light and dark forms hold for it too. */
#include "report/timeline.h"

#include "report/text.h"

enum {
    TIME_RIGHT = 76,    /* right edge of the times */
    FIRST_COLUMN = 118, /* middle of the first column */
    COLUMN_STEP = 74,
    HEAD_HEIGHT = 40,
    ROW_STEP = 25,
    GAP_STEP = 22, /* added where time passes that is not drawn */
    BAR_HALF = 8,
    CHARACTER = 7, /* generous: fonts differ */
    TEXT_GAP = 40,
    HEAD_MOST = 9,   /* characters of a name that are as wide as its column */
    OWNER_WIDTH = 2, /* characters that are as wide as a bar */
    COLOURS = 6,
};

struct drawing {
    FILE *out;
    const struct timeline *timeline;
    int y[TIMELINE_ROWS_MAX];
    int width, height;
    int text_left;
};

static int column_x(int column)
{
    return FIRST_COLUMN + column * COLUMN_STEP;
}

static int colour_of(const struct timeline *timeline, int client)
{
    int column = timeline_column_of_client(timeline, client);
    return column < 0 ? COLOURS : column % COLOURS;
}

static void measure(struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    int y = HEAD_HEIGHT, widest = 0;
    for (int i = 0; i < timeline->rows_count; i++) {
        y += ROW_STEP + (*timeline->rows[i].gap ? GAP_STEP : 0);
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
    text_format(drawing->out, TEXT_MARKUP, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n",
                style, x, y, text);
}

static void draw_heads(const struct drawing *drawing)
{
    const struct timeline *timeline = drawing->timeline;
    char name[TIMELINE_TEXT_MAX], style[32] = "head";
    for (int i = 0; i < timeline->clients_count + timeline->servers_count; i++) {
        int x = column_x(i);
        snprintf(style, sizeof style, i < timeline->clients_count ? "head t%d" : "head",
                 i % COLOURS);
        draw_text(drawing, style, x, HEAD_HEIGHT - 14, timeline_head(timeline, i, HEAD_MOST, name));
        fprintf(drawing->out, "<line class=\"life\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", x,
                HEAD_HEIGHT - 4, x, drawing->height - 8);
    }
}

static void draw_rows(const struct drawing *drawing)
{
    static const char *const styles[] = {[ROW_PLAIN] = "row",
                                         [ROW_QUIET] = "row quiet",
                                         [ROW_FAULT] = "row fault",
                                         [ROW_ALERT] = "row alert"};
    const struct timeline *timeline = drawing->timeline;
    char text[TIMELINE_TIME_MAX + 8];
    for (int i = 0; i < timeline->rows_count; i++) {
        const struct timeline_row *row = &timeline->rows[i];
        int y = drawing->y[i];
        if (row->is_violation)
            fprintf(drawing->out,
                    "<rect class=\"hit\" x=\"4\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n",
                    y - 12, drawing->width - 8, ROW_STEP - 1);
        text_format(drawing->out, TEXT_MARKUP,
                    "<g class=\"step\" data-ms=\"%s\"><rect class=\"reach\" x=\"0\" y=\"%d\" "
                    "width=\"%d\" height=\"%d\"/>\n",
                    row->time, y - 12, drawing->width, ROW_STEP);
        draw_text(drawing, "time", TIME_RIGHT, y + 4, row->time);
        draw_text(drawing, styles[row->kind], drawing->text_left, y + 4, row->text);
        fputs("</g>\n", drawing->out);
        if (!*row->gap)
            continue;
        snprintf(text, sizeof text, "⋮ %s", row->gap);
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
        char owner[TIMELINE_TEXT_MAX];
        if (text_width(timeline_owner(timeline, bar->client, owner)) <= OWNER_WIDTH)
            draw_text(drawing, "owner", x, from + 15, owner);
    }
}

/* Where two clients hold at once: red when both are inside their own leases, amber when one of them
 * has outlived its own. */
static void draw_overlap(const struct drawing *drawing, const struct timeline_overlap *overlap)
{
    int top = drawing->y[overlap->from];
    int bottom = overlap->is_open ? drawing->height - 8 : drawing->y[overlap->to];
    int left = column_x(overlap->left) - BAR_HALF - 6;
    fprintf(drawing->out,
            "<rect class=\"overlap%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
            overlap->is_late ? " late" : "", left, top,
            column_x(overlap->right) + BAR_HALF + 6 - left, bottom - top);
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

void timeline_print_svg(FILE *out, const struct timeline *timeline, const char *label)
{
    struct drawing drawing = {.out = out, .timeline = timeline};
    measure(&drawing);
    text_format(out, TEXT_MARKUP,
                "<svg class=\"timeline\" role=\"img\" width=\"%d\" height=\"%d\" "
                "style=\"--wide:%dpx\" viewBox=\"0 0 %d %d\">\n<title>%s</title>\n",
                drawing.width, drawing.height, drawing.width, drawing.width, drawing.height, label);
    draw_text(&drawing, "time unit", TIME_RIGHT, HEAD_HEIGHT - 14, "ms");
    draw_heads(&drawing);
    for (int i = 0; i < timeline->overlaps_count; i++)
        draw_overlap(&drawing, &timeline->overlaps[i]);
    draw_rows(&drawing);
    for (int i = 0; i < timeline->bars_count; i++)
        draw_bar(&drawing, &timeline->bars[i]);
    for (int i = 0; i < timeline->arrows_count; i++)
        draw_arrow(&drawing, &timeline->arrows[i]);
    fputs("</svg>\n", out);
}
