/* timeline_sketch.c - draws a laid out timeline in characters: lanes, columns, lines.
 *
 *     at        A       B     server
 *     0.1 ms    ├───────────────╮      A asks: its request leaves
 *     0.2 ms    ·       ·       ├▶A    the server executes it: A's key stands
 *     0.3 ms    ▄◀╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯ A    A hears, and has the lock
 *
 * A message runs down beside its server for as long as it is under way, so that what is late looks
 * late. Time is not to scale. It draws and judges nothing. */
#include "report/timeline_sketch.h"

#include "base/memory.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS_LEAST = 30, /* less room than that for the words: a list instead */
    STEP_LEAST = 4,   /* from one client to the next, at least and at most */
    STEP_MOST = 9,
    LANES_MOST = 4,
};

/* --- words --- */

/* text in the charset; the caller frees. */
static char *words_in(enum charset charset, const char *text)
{
    char *clean = text_clean(text), *end, *plain;
    if (charset == CHARSET_UTF8)
        return clean;
    plain = end = memory_new(strlen(clean) * 2 + 1, 1);
    for (const char *at = clean; *at;) {
        uint32_t rune = text_next(&at);
        if (rune == 0x2192)
            *end++ = '-';
        *end++ = rune == 0x2192 ? '>' : rune < 0x80 ? (char)rune : '?';
    }
    free(clean);
    return plain;
}

/* --- where things go --- */

int sketch_x(const struct sketch *sketch, int column)
{
    int server = column - sketch->timeline->clients_count;
    return server < 0 ? COLUMNS_LEFT + column * sketch->client_step
                      : sketch->first_server + server * sketch->server_step;
}

static bool is_request(const struct timeline_arrow *arrow)
{
    return arrow->kind != ARROW_REPLY && arrow->kind != ARROW_REPLY_LOST;
}

static int server_column(const struct timeline_arrow *arrow)
{
    return is_request(arrow) ? arrow->to_column : arrow->from_column;
}

static int client_column(const struct timeline_arrow *arrow)
{
    return is_request(arrow) ? arrow->from_column : arrow->to_column;
}

/* A reply goes back in the lane in which its request came. */
static bool is_answer(const struct timeline_arrow *arrow, const struct timeline_arrow *request)
{
    return !is_request(arrow) && request->kind == ARROW_REQUEST && arrow->from == request->to &&
           arrow->client == request->client && arrow->from_column == request->to_column;
}

/* A client that hears and sends on at once: the line turns round. */
static bool is_followed(const struct timeline_arrow *arrow, const struct timeline_arrow *next)
{
    return !is_request(arrow) && is_request(next) && arrow->to == next->from &&
           arrow->client == next->client;
}

static bool do_meet(const struct timeline_arrow *one, const struct timeline_arrow *other)
{
    return server_column(one) == server_column(other) && one->from <= other->to &&
           other->from <= one->to && !is_answer(one, other) && !is_answer(other, one) &&
           !is_followed(one, other) && !is_followed(other, one);
}

/* The lowest lane that no message beside it uses; what arrives first chooses first, so that a late
 * one makes room. What the limit leaves over shares the last. */
static void choose_lanes(struct sketch *sketch)
{
    const struct timeline *timeline = sketch->timeline;
    sketch->lanes = 1;
    for (int i = 0; i < timeline->arrows_count; i++)
        sketch->lane[i] = -1;
    for (int i = 0; i < timeline->arrows_count; i++) {
        const struct timeline_arrow *arrow = &timeline->arrows[i];
        unsigned taken = 0;
        int lane = 0;
        for (int j = 0; j < timeline->arrows_count; j++) {
            if (j == i || sketch->lane[j] < 0)
                continue;
            if (do_meet(arrow, &timeline->arrows[j]))
                taken |= 1u << sketch->lane[j];
        }
        while (lane < LANES_MOST - 1 && (taken & 1u << lane))
            lane++;
        for (int j = 0; j < i; j++)
            if (is_answer(arrow, &timeline->arrows[j]))
                lane = sketch->lane[j];
        sketch->lane[i] = lane;
        if (lane >= sketch->lanes)
            sketch->lanes = lane + 1;
    }
}

static int widest_words(const struct sketch *sketch)
{
    int widest = 0;
    for (int i = 0; i < sketch->timeline->rows_count; i++) {
        int width = text_width(sketch->words[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void place_columns(struct sketch *sketch, int client_step, int server_step)
{
    const struct timeline *timeline = sketch->timeline;
    int last_client = COLUMNS_LEFT + (timeline->clients_count - 1) * client_step;
    /* heads on both sides, and a dash between them where there is room */
    int room = sketch->lanes + (client_step > STEP_LEAST ? 4 : 3);
    sketch->client_step = client_step;
    sketch->server_step = server_step;
    sketch->first_server = last_client + (room > client_step ? room : client_step);
    int last = sketch_x(sketch, timeline->clients_count + timeline->servers_count - 1);
    int wide = timeline->servers_count == 1 ? SERVER_MOST : sketch->owner_width;
    sketch->mark_left = last + (timeline->servers_count ? wide : 1) + 1;
    sketch->words_left = sketch->mark_left + MARK_WIDTH + 1;
}

/* As wide as the words allow, else as narrow as can be; none when even that is too wide. */
static void choose_columns(struct sketch *sketch)
{
    int widest = widest_words(sketch), owner = 1;
    char mark[TIMELINE_TEXT_MAX];
    for (int i = 0; i < sketch->timeline->clients_count; i++) {
        int width =
            text_width(timeline_owner(sketch->timeline, sketch->timeline->clients[i], mark));
        owner = width > owner ? width : owner;
    }
    sketch->owner_width = owner < OWNER_MOST ? owner : OWNER_MOST;
    int server_least = sketch->lanes + 2 + sketch->owner_width;
    for (int step = STEP_MOST; step >= STEP_LEAST; step--) {
        place_columns(sketch, step, step > server_least ? step : server_least);
        if (sketch->words_left + widest <= sketch->width)
            return;
    }
    if (sketch->words_left + WORDS_LEAST <= sketch->width)
        return;
    sketch->columns = 0;
    sketch->mark_left = COLUMNS_LEFT;
    sketch->words_left = sketch->mark_left + MARK_WIDTH + 1;
}

/* --- drawing --- */

static void draw_across(struct sketch *sketch, int row, int left, int right, enum stroke line)
{
    for (int x = left; x <= right; x++)
        canvas_line(&sketch->canvas, row, x, line, SIDE_LEFT | SIDE_RIGHT);
}

static void draw_request(struct sketch *sketch, const struct timeline_arrow *arrow, int lane_x)
{
    struct canvas *canvas = &sketch->canvas;
    int client_x = sketch_x(sketch, arrow->from_column);
    int server_x = sketch_x(sketch, arrow->to_column);
    canvas_line(canvas, arrow->from, client_x, LINE_REQUEST, SIDE_UP | SIDE_DOWN | SIDE_RIGHT);
    draw_across(sketch, arrow->from, client_x + 1, lane_x - 1, LINE_REQUEST);
    canvas_line(canvas, arrow->from, lane_x, LINE_REQUEST, SIDE_LEFT | SIDE_DOWN);
    for (int row = arrow->from + 1; row < arrow->to; row++)
        canvas_line(canvas, row, lane_x, LINE_REQUEST, SIDE_UP | SIDE_DOWN);
    canvas_line(canvas, arrow->to, lane_x, LINE_REQUEST, SIDE_UP);
    if (arrow->kind == ARROW_PENDING)
        canvas_line(canvas, arrow->to, lane_x, LINE_REQUEST, SIDE_DOWN);
    if (arrow->kind == ARROW_REQUEST_LOST)
        canvas_glyph(canvas, arrow->to, lane_x, GLYPH_LOST);
    if (arrow->kind != ARROW_REQUEST)
        return;
    canvas_line(canvas, arrow->to, lane_x, LINE_REQUEST, SIDE_RIGHT);
    draw_across(sketch, arrow->to, lane_x + 1, server_x - 2, LINE_REQUEST);
    canvas_glyph(canvas, arrow->to, server_x - 1, GLYPH_HEAD_RIGHT);
}

static void draw_reply(struct sketch *sketch, const struct timeline_arrow *arrow, int lane_x)
{
    struct canvas *canvas = &sketch->canvas;
    int client_x = sketch_x(sketch, arrow->to_column);
    canvas_line(canvas, arrow->from, lane_x, LINE_REPLY, SIDE_DOWN);
    for (int row = arrow->from + 1; row < arrow->to; row++)
        canvas_line(canvas, row, lane_x, LINE_REPLY, SIDE_UP | SIDE_DOWN);
    canvas_line(canvas, arrow->to, lane_x, LINE_REPLY, SIDE_UP);
    if (arrow->kind == ARROW_REPLY_LOST) {
        canvas_glyph(canvas, arrow->to, lane_x, GLYPH_LOST);
        return;
    }
    canvas_line(canvas, arrow->to, lane_x, LINE_REPLY, SIDE_LEFT);
    draw_across(sketch, arrow->to, client_x + 2, lane_x - 1, LINE_REPLY);
    canvas_glyph(canvas, arrow->to, client_x + 1, GLYPH_HEAD_LEFT);
}

static void draw_arrow(struct sketch *sketch, int index)
{
    const struct timeline_arrow *arrow = &sketch->timeline->arrows[index];
    int lane_x = sketch_x(sketch, server_column(arrow)) - 2 - sketch->lane[index];
    if (lane_x <= sketch_x(sketch, client_column(arrow)) + 1)
        return; /* no room between the two: cannot be with columns as they are placed */
    if (is_request(arrow))
        draw_request(sketch, arrow, lane_x);
    else
        draw_reply(sketch, arrow, lane_x);
}

static void draw_hold(struct sketch *sketch, const struct timeline_bar *bar)
{
    int x = sketch_x(sketch, bar->column);
    for (int row = bar->from; row <= bar->to; row++) {
        enum glyph glyph = timeline_is_late(bar, row)        ? GLYPH_HOLD_LATE
                           : row == bar->from                ? GLYPH_HOLD_START
                           : row == bar->to && !bar->is_open ? GLYPH_HOLD_END
                                                             : GLYPH_HOLD;
        if (row < bar->to || bar->is_open || glyph != GLYPH_HOLD_LATE)
            canvas_glyph(&sketch->canvas, row, x, glyph);
    }
}

static void draw_key(struct sketch *sketch, const struct timeline_bar *bar)
{
    const struct timeline *timeline = sketch->timeline;
    int x = sketch_x(sketch, bar->column);
    char mark[TIMELINE_TEXT_MAX];
    for (int row = bar->from; row <= bar->to; row++)
        if (timeline_stands_after(bar, row))
            canvas_text(&sketch->canvas, row, x, timeline_owner(timeline, bar->client, mark),
                        OWNER_MOST);
    if (!bar->is_open && timeline->rows[bar->to].kind == ROW_ALERT &&
        canvas_is_free(&sketch->canvas, bar->to, x))
        canvas_glyph(&sketch->canvas, bar->to, x, GLYPH_LOST);
}

static void draw(struct sketch *sketch)
{
    const struct timeline *timeline = sketch->timeline;
    for (int row = 0; row < timeline->rows_count; row++)
        for (int column = 0; column < sketch->columns; column++)
            canvas_glyph(&sketch->canvas, row, sketch_x(sketch, column), GLYPH_LIFE);
    for (int i = 0; i < timeline->arrows_count; i++)
        draw_arrow(sketch, i);
    for (int i = timeline->bars_count - 1; i >= 0; i--)
        if (timeline->bars[i].kind == BAR_HOLD)
            draw_hold(sketch, &timeline->bars[i]);
        else
            draw_key(sketch, &timeline->bars[i]);
}

struct sketch *sketch_new(FILE *out, const struct timeline *timeline, enum charset charset)
{
    struct sketch *sketch = memory_new(1, sizeof *sketch);
    *sketch = (struct sketch){
        .out = out, .timeline = timeline, .charset = charset, .width = text_room(out)};
    sketch->words = memory_new((size_t)timeline->rows_count + 1, sizeof *sketch->words);
    for (int i = 0; i < timeline->rows_count; i++)
        sketch->words[i] = words_in(charset, timeline->rows[i].text);
    sketch->columns = timeline->clients_count + timeline->servers_count;
    choose_lanes(sketch);
    choose_columns(sketch);
    canvas_init(&sketch->canvas, timeline->rows_count, sketch->width);
    if (sketch->columns)
        draw(sketch);
    return sketch;
}

void sketch_free(struct sketch *sketch)
{
    for (int i = 0; i < sketch->timeline->rows_count; i++)
        free(sketch->words[i]);
    free(sketch->words);
    canvas_close(&sketch->canvas);
    free(sketch);
}
