/* timeline_text.c - prints a timeline as wide as its terminal: times, the sketch, words, and
 * what the signs mean. It judges nothing: the sentences are the results'. */
#include "base/memory.h"
#include "base/units.h"
#include "report/timeline_sketch.h"
#include "report/timeline_words.h"

#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- overlaps --- */

static void mark_overlap(struct canvas *canvas, int row, int x, enum overlap overlap)
{
    static const char *const marks[] = {
        [OVERLAP_NONE] = "", [OVERLAP_LATE] = "!", [OVERLAP_FULL] = "!!"};
    canvas_text(canvas, row, x, marks[overlap], MARK_WIDTH);
}

/* --- lines --- */

static void print_words(const struct sketch *sketch, int column, const char *words, int bytes)
{
    int pad = bytes ? sketch->words_left - column : 0;
    fprintf(sketch->out, "%*s%.*s\n", pad, "", bytes, words);
}

/* What stands in the time behind a row, as a line of its own: for gaps, and beside words that need
 * a second line. */
static void draw_between(const struct sketch *sketch, struct canvas *line, int row)
{
    const struct timeline *timeline = sketch->timeline;
    enum stroke kind;
    char mark[TIMELINE_TEXT_MAX];
    canvas_init(line, 1, sketch->width);
    mark_overlap(line, 0, sketch->mark_left, timeline->rows[row].overlap);
    if (!sketch->columns)
        return;
    for (int column = 0; column < sketch->columns; column++)
        canvas_glyph(line, 0, sketch_x(sketch, column), GLYPH_LIFE);
    for (int x = sketch_x(sketch, timeline->clients_count - 1) + 1; x < sketch->width; x++)
        if (canvas_goes_down(&sketch->canvas, row, x, &kind))
            canvas_line(line, 0, x, kind, SIDE_UP | SIDE_DOWN);
    for (int i = 0; i < timeline->bars_count; i++) {
        const struct timeline_bar *bar = &timeline->bars[i];
        int x = sketch_x(sketch, bar->column);
        if (!timeline_stands_after(bar, row))
            continue;
        if (bar->kind == BAR_KEY)
            canvas_text(line, 0, x, timeline_owner(timeline, bar->client, mark), OWNER_MOST);
        else
            canvas_glyph(line, 0, x, timeline_is_late(bar, row) ? GLYPH_HOLD_LATE : GLYPH_HOLD);
    }
}

/* The time before a row that is not drawn. */
static void print_gap(const struct sketch *sketch, int row)
{
    const char *gap = sketch->timeline->rows[row].gap;
    int left = TIME_WIDTH - (int)strlen(gap);
    struct canvas line;
    draw_between(sketch, &line, row - 1);
    canvas_glyph(&line, 0, left - 2, GLYPH_GAP);
    canvas_text(&line, 0, left, gap, TIME_WIDTH);
    canvas_print(sketch->out, &line, 0, sketch->charset);
    fputc('\n', sketch->out);
    canvas_close(&line);
}

static void print_row(struct sketch *sketch, int row)
{
    const struct timeline_row *line = &sketch->timeline->rows[row];
    const char *words = sketch->words[row];
    int left = TIME_WIDTH - (int)strlen(line->time);
    canvas_text(&sketch->canvas, row, left > 1 ? left : 1, line->time, TIME_WIDTH);
    if (line->kind == ROW_FAULT)
        canvas_text(&sketch->canvas, row, 0, "*", 1);
    if (line->is_violation)
        canvas_glyph(&sketch->canvas, row, 0, GLYPH_SEEN);
    mark_overlap(&sketch->canvas, row, sketch->mark_left, line->overlap);
    int width = canvas_print(sketch->out, &sketch->canvas, row, sketch->charset);
    int bytes = (int)text_fitting(words, sketch->width - sketch->words_left, 0);
    print_words(sketch, width, words, bytes);
    for (words += bytes; *words; words += bytes) {
        struct canvas between;
        words += *words == ' ';
        draw_between(sketch, &between, row);
        width = canvas_print(sketch->out, &between, 0, sketch->charset);
        bytes = (int)text_fitting(words, sketch->width - sketch->words_left, 0);
        print_words(sketch, width, words, bytes);
        canvas_close(&between);
    }
}

static void print_heads(const struct sketch *sketch)
{
    const struct timeline *timeline = sketch->timeline;
    struct canvas head;
    char name[TIMELINE_TEXT_MAX];
    canvas_init(&head, 1, sketch->width);
    canvas_text(&head, 0, TIME_WIDTH - 2, "ms", 2);
    for (int i = 0; i < sketch->columns; i++) {
        int most = i < timeline->clients_count ? sketch->client_step - 1 : SERVER_MOST;
        canvas_text(&head, 0, sketch_x(sketch, i), timeline_head(timeline, i, most, name), most);
    }
    canvas_print(sketch->out, &head, 0, sketch->charset);
    fputc('\n', sketch->out);
    canvas_close(&head);
}

/* --- what the signs mean --- */

struct sign {
    bool is_used;
    enum glyph glyph;
    const char *letters; /* or NULL: the glyph */
    const char *words;
};

static void print_signs(const struct sketch *sketch, const struct sign *signs, int count)
{
    int column = 0;
    fputc('\n', sketch->out);
    for (int i = 0; i < count; i++) {
        const char *letters = signs[i].letters;
        int width = (letters ? text_width(letters) : 1) + 1 + text_width(signs[i].words);
        if (!signs[i].is_used)
            continue;
        if (column && column + 3 + width > sketch->width) {
            fputc('\n', sketch->out);
            column = 0;
        }
        column += fprintf(sketch->out, "%*s", column ? 3 : 2, "") + width;
        if (letters)
            text_print(sketch->out, TEXT_PLAIN, letters);
        else
            canvas_print_glyph(sketch->out, signs[i].glyph, sketch->charset);
        fprintf(sketch->out, " %s", signs[i].words);
    }
    if (column)
        fputc('\n', sketch->out);
}

static void print_legend(const struct sketch *sketch)
{
    const struct timeline *timeline = sketch->timeline;
    enum { HOLD, LATE, KEY, ALONE, BOTH, SEEN, FAULT, SIGNS };
    struct sign signs[SIGNS] = {
        [HOLD] = {false, GLYPH_HOLD, NULL, "believes that it has the lock"},
        [LATE] = {false, GLYPH_HOLD_LATE, NULL, "and its own lease is over"},
        [KEY] = {false, GLYPH_NONE, "", "whose key the server has"},
        [ALONE] = {false, GLYPH_NONE, "!", "two hold at once, not both within their leases"},
        [BOTH] = {false, GLYPH_NONE, "!!", "two hold at once, both within their leases"},
        [SEEN] = {false, GLYPH_SEEN, NULL, "seen here"},
        [FAULT] = {false, GLYPH_NONE, "*", "injected"},
    };
    char owner[TIMELINE_TEXT_MAX];
    for (int i = 0; i < timeline->bars_count && sketch->columns; i++) {
        const struct timeline_bar *bar = &timeline->bars[i];
        signs[HOLD].is_used |= bar->kind == BAR_HOLD;
        signs[LATE].is_used |= bar->kind == BAR_HOLD && bar->late_from >= 0;
        if (bar->kind == BAR_KEY && !signs[KEY].is_used) {
            signs[KEY].is_used = true;
            signs[KEY].letters = timeline_owner(timeline, bar->client, owner);
        }
    }
    for (int row = 0; row < timeline->rows_count; row++) {
        enum overlap overlap = timeline->rows[row].overlap;
        signs[ALONE].is_used |= overlap == OVERLAP_LATE;
        signs[BOTH].is_used |= overlap == OVERLAP_FULL;
        signs[SEEN].is_used |= timeline->rows[row].is_violation;
        signs[FAULT].is_used |= timeline->rows[row].kind == ROW_FAULT;
    }
    print_signs(sketch, signs, SIGNS);
    char *more[] = {words_tokens(timeline), words_processes(timeline)};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (more[i])
            text_print_wrapped(sketch->out, more[i], 2, sketch->width);
        free(more[i]);
    }
}

static void print_timeline(FILE *out, const struct timeline *timeline, enum charset charset)
{
    struct sketch *sketch = sketch_new(out, timeline, charset);
    if (timeline->is_part)
        fprintf(out, "(the events around the violation, of %d of %d clients)\n",
                timeline->clients_count, timeline->head.clients);
    if (!sketch->columns) {
        char *words =
            memory_format("(%d client%s and %d server%s do not fit side by side: the events alone)",
                          timeline->clients_count, units_plural(timeline->clients_count),
                          timeline->servers_count, units_plural(timeline->servers_count));
        text_print_wrapped(out, words, 0, sketch->width);
        free(words);
    }
    print_heads(sketch);
    for (int row = 0; row < timeline->rows_count; row++) {
        if (*timeline->rows[row].gap)
            print_gap(sketch, row);
        print_row(sketch, row);
    }
    print_legend(sketch);
    sketch_free(sketch);
}

enum fail report_timeline(FILE *out, const char *history_path, int64_t first_index,
                          enum charset charset, struct failure *failure)
{
    struct timeline *timeline;
    if (timeline_new(&timeline, history_path, first_index, failure))
        return failure->code;
    if (timeline)
        print_timeline(out, timeline, charset);
    else
        fputs("(too long to be drawn, and no violation says where to look)\n", out);
    timeline_free(timeline);
    return FAIL_NONE;
}
