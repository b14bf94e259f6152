/* text.h - text from outside on its way into a report: made harmless and readable, whatever bytes
 * it holds.
 *
 * Every text goes through here: broken UTF-8 becomes U+FFFD, control and direction characters are
 * left out, and what the format would take for markup is escaped. */
#ifndef PICKLOCK_REPORT_TEXT_H
#define PICKLOCK_REPORT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum text_for {
    TEXT_PLAIN,    /* a terminal: one line */
    TEXT_MARKUP,   /* HTML or XML, inside an element or a quoted attribute */
    TEXT_MARKDOWN, /* one line, also inside a table cell */
};

/* Prints text (borrowed, NULL prints nothing). Line ends stay in TEXT_MARKUP and become blanks
 * elsewhere. */
void text_print(FILE *out, enum text_for use, const char *text);

/* As fprintf(), and every %s goes through text_print(): what stands in the format is ours, what is
 * put into it is not. Knows %s, %d, %e and PRId64, with their flags (%s has none). */
void text_format(FILE *out, enum text_for use, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_format_list(FILE *out, enum text_for use, const char *format, va_list *values);

/* How wide the terminal is that out leads to; 0: it is none, or too narrow to mind. */
int text_columns(FILE *out);
/* Does out lead to a terminal that takes colours, and lets a line be drawn over? TERM names one,
 * and not "dumb". */
bool text_can_draw(FILE *out);

/* How wide what is printed there may be: as its terminal is, from 60 to 200; 100 where it is none,
 * so that a file and a pipe have the same text everywhere. */
int text_room(FILE *out);

/* Prints text in lines of at most columns characters, and no wider than its terminal, each behind
 * indent blanks, broken at blanks. */
void text_print_wrapped(FILE *out, const char *text, int indent, int columns);

/* The same, as wide as there is room for, the first line behind margin blanks, the others behind
 * indent. */
void text_print_hanging(FILE *out, const char *text, int margin, int indent);

/* The name, and beside it, behind indent columns, the text, as wide as there is room for. */
void text_print_beside(FILE *out, const char *name, const char *text, int indent);

/* A copy with nothing but valid characters, line ends kept: for JSON. NULL stays NULL. The caller
 * frees. */
char *text_clean(const char *text);

/* How many bytes of text fit into so many columns: broken at the last blank behind byte `from`,
 * where there is one. */
size_t text_fitting(const char *text, int columns, size_t from);

/* How many characters text has once printed. */
int text_width(const char *text);

/* The next character of a text that does not stand at its final 0: *at moves on, broken bytes come
 * back as U+FFFD one by one. */
uint32_t text_next(const char **at);

#endif
