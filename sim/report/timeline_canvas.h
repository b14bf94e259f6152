/* timeline_canvas.h - a grid of characters in which lines join: corners and crossings come out
 * right whatever the order of drawing, in box characters or in ASCII. */
#ifndef PICKLOCK_REPORT_TIMELINE_CANVAS_H
#define PICKLOCK_REPORT_TIMELINE_CANVAS_H

#include "base/bits.h"
#include "report/report.h"

#include <stdint.h>

/* The sides of a cell that a line leaves by. */
#define SIDES(BIT) BIT(SIDE_UP) BIT(SIDE_DOWN) BIT(SIDE_LEFT) BIT(SIDE_RIGHT)
BITS(side, SIDES);

enum stroke { LINE_REQUEST, LINE_REPLY };

enum glyph {
    GLYPH_NONE,
    GLYPH_LIFE, /* nothing happens in the column; lines go over it */
    GLYPH_HOLD_START,
    GLYPH_HOLD,
    GLYPH_HOLD_END,
    GLYPH_HOLD_LATE,
    GLYPH_HEAD_RIGHT,
    GLYPH_HEAD_LEFT,
    GLYPH_LOST,
    GLYPH_GAP,  /* time that is not drawn */
    GLYPH_SEEN, /* the row of the violation */
    GLYPH_KEY,  /* a key whose owner is not known */
    GLYPH_COUNT
};

struct canvas {
    struct canvas_cell *cells; /* owned */
    int rows, columns;
};

/* canvas_close frees. */
void canvas_init(struct canvas *canvas, int rows, int columns);
void canvas_close(struct canvas *canvas);

/* Each draws in a cell; places outside are left alone. */
void canvas_line(struct canvas *canvas, int row, int column, enum stroke line, unsigned sides);
void canvas_glyph(struct canvas *canvas, int row, int column, enum glyph glyph);
/* The first characters of text, at most `most` of them, a cell each. */
void canvas_text(struct canvas *canvas, int row, int column, const char *text, int most);

/* Nothing but a column's life, or nothing at all, is there. */
bool canvas_is_free(const struct canvas *canvas, int row, int column);
/* Is a line going on from this cell into the row below? */
bool canvas_goes_down(const struct canvas *canvas, int row, int column, enum stroke *line);

/* Prints a row without its blanks at the right; the return is its width. */
int canvas_print(FILE *out, const struct canvas *canvas, int row, enum charset charset);
void canvas_print_glyph(FILE *out, enum glyph glyph, enum charset charset);

#endif
