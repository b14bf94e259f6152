/* timeline_canvas.c - see timeline_canvas.h. */
#include "report/timeline_canvas.h"

#include "base/memory.h"
#include "report/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What is seen of a cell: its character, else its glyph, else its lines; a life only where no line
 * goes. */
struct canvas_cell {
    char letter[5]; /* of UTF-8, or none */
    uint8_t glyph;
    uint8_t request, reply; /* sets of sides */
};

BITS_FIT(SIDES, struct canvas_cell, request);

static const char *const glyphs[GLYPH_COUNT][2] = {
    [GLYPH_NONE] = {" ", " "},       [GLYPH_LIFE] = {".", "·"},
    [GLYPH_HOLD_START] = {"#", "▄"}, [GLYPH_HOLD] = {"#", "█"},
    [GLYPH_HOLD_END] = {"#", "▀"},   [GLYPH_HOLD_LATE] = {":", "░"},
    [GLYPH_HEAD_RIGHT] = {">", "▶"}, [GLYPH_HEAD_LEFT] = {"<", "◀"},
    [GLYPH_LOST] = {"x", "✗"},       [GLYPH_GAP] = {":", "⋮"},
    [GLYPH_SEEN] = {">", "▶"},       [GLYPH_KEY] = {"?", "?"},
};

/* By the set of sides: up 1, down 2, left 4, right 8. */
static const char *const joints[SIDES_ALL + 1][2] = {
    {" ", " "}, {"|", "╵"}, {"|", "╷"}, {"|", "│"}, {"-", "╴"}, {"+", "╯"}, {"+", "╮"}, {"+", "┤"},
    {"-", "╶"}, {"+", "╰"}, {"+", "╭"}, {"+", "├"}, {"-", "─"}, {"+", "┴"}, {"+", "┬"}, {"+", "┼"},
};

static struct canvas_cell *cell_at(const struct canvas *canvas, int row, int column)
{
    if (row < 0 || row >= canvas->rows || column < 0 || column >= canvas->columns)
        return NULL;
    return &canvas->cells[(size_t)row * (size_t)canvas->columns + (size_t)column];
}

void canvas_init(struct canvas *canvas, int rows, int columns)
{
    assert(rows >= 0);
    assert(columns > 0);
    *canvas = (struct canvas){.rows = rows, .columns = columns};
    canvas->cells = memory_new((size_t)rows * (size_t)columns + 1, sizeof(struct canvas_cell));
}

void canvas_close(struct canvas *canvas)
{
    free(canvas->cells);
    canvas->cells = NULL;
}

void canvas_line(struct canvas *canvas, int row, int column, enum stroke line, unsigned sides)
{
    struct canvas_cell *cell = cell_at(canvas, row, column);
    if (!cell)
        return;
    uint8_t *set = line == LINE_REQUEST ? &cell->request : &cell->reply;
    *set = (uint8_t)(*set | sides);
}

void canvas_glyph(struct canvas *canvas, int row, int column, enum glyph glyph)
{
    struct canvas_cell *cell = cell_at(canvas, row, column);
    if (cell)
        cell->glyph = (uint8_t)glyph;
}

void canvas_text(struct canvas *canvas, int row, int column, const char *text, int most)
{
    char *clean = text_clean(text);
    for (const char *at = clean; *at && most > 0; most--, column++) {
        struct canvas_cell *cell = cell_at(canvas, row, column);
        const char *start = at;
        text_next(&at);
        if (cell)
            snprintf(cell->letter, sizeof cell->letter, "%.*s", (int)(at - start), start);
    }
    free(clean);
}

bool canvas_is_free(const struct canvas *canvas, int row, int column)
{
    const struct canvas_cell *cell = cell_at(canvas, row, column);
    return cell && !*cell->letter && !cell->request && !cell->reply &&
           (cell->glyph == GLYPH_NONE || cell->glyph == GLYPH_LIFE);
}

bool canvas_goes_down(const struct canvas *canvas, int row, int column, enum stroke *line)
{
    const struct canvas_cell *cell = cell_at(canvas, row, column);
    if (!cell || !((cell->request | cell->reply) & SIDE_DOWN))
        return false;
    *line = cell->request & SIDE_DOWN ? LINE_REQUEST : LINE_REPLY;
    return true;
}

void canvas_print_glyph(FILE *out, enum glyph glyph, enum charset charset)
{
    fputs(glyphs[glyph][charset == CHARSET_UTF8], out);
}

static void print_cell(FILE *out, const struct canvas_cell *cell, enum charset charset)
{
    int set = cell->request | cell->reply;
    int utf8 = charset == CHARSET_UTF8;
    if (*cell->letter && (utf8 || !cell->letter[1]))
        fputs(cell->letter, out);
    else if (*cell->letter) /* a text was cut here, or something that ASCII has no letter for */
        fputs(strcmp(cell->letter, "…") == 0 ? "~" : "?", out);
    else if (cell->glyph > GLYPH_LIFE || !set)
        canvas_print_glyph(out, cell->glyph, charset);
    else if (utf8 && !cell->request && set == (SIDE_LEFT | SIDE_RIGHT))
        fputs("╌", out);
    else if (utf8 && !cell->request && set == (SIDE_UP | SIDE_DOWN))
        fputs("╎", out);
    else
        fputs(joints[set][utf8], out);
}

static bool is_blank(const struct canvas_cell *cell)
{
    return !*cell->letter && !cell->glyph && !cell->request && !cell->reply;
}

int canvas_print(FILE *out, const struct canvas *canvas, int row, enum charset charset)
{
    int width = canvas->columns;
    while (width > 0 && is_blank(cell_at(canvas, row, width - 1)))
        width--;
    for (int column = 0; column < width; column++)
        print_cell(out, cell_at(canvas, row, column), charset);
    return width;
}
