/* text.c - see text.h. UTF-8 as in RFC 3629; the characters that XML 1.0 forbids are left out
 * everywhere. */
#include "report/text.h"

#include "base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MIN = 40 }; /* narrower than that, lines stay as they are */

static const uint32_t broken = 0xFFFD;

uint32_t text_next(const char **at)
{
    const unsigned char *byte = (const unsigned char *)*at;
    int more = byte[0] < 0x80   ? 0
               : byte[0] < 0xC2 ? -1
               : byte[0] < 0xE0 ? 1
               : byte[0] < 0xF0 ? 2
               : byte[0] < 0xF5 ? 3
                                : -1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    *at += 1;
    if (more < 0)
        return broken;
    if (more == 0)
        return byte[0];
    uint32_t rune = byte[0] & (0x3Fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((byte[i] & 0xC0) != 0x80)
            return broken;
        rune = rune << 6 | (byte[i] & 0x3Fu);
    }
    if (rune < least[more] || rune > 0x10FFFF || (rune >= 0xD800 && rune < 0xE000))
        return broken;
    *at += more;
    return rune;
}

/* Characters that nobody sees but that change what is seen, or that XML forbids. */
static bool is_unwanted(uint32_t rune)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},       {0x61C, 0x61C},
        {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2069},   {0xFEFF, 0xFEFF},
        {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (rune >= ranges[i].first && rune <= ranges[i].last)
            return true;
    return false;
}

static int encode(uint32_t rune, char *bytes)
{
    if (rune < 0x80) {
        bytes[0] = (char)rune;
        return 1;
    }
    int more = rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
    for (int i = more; i > 0; i--, rune >>= 6)
        bytes[i] = (char)(0x80 | (rune & 0x3F));
    bytes[0] = (char)((0xF0u << (3 - more) & 0xFFu) | rune);
    return more + 1;
}

static const char *escape_markup(uint32_t rune)
{
    switch (rune) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* A backslash before every character that Markdown gives a meaning to inside a line; a mention
 * notifies a person, so that an @ is kept from being one. */
static const char *escape_markdown(uint32_t rune, char *pair)
{
    if (rune == '@')
        return "&#64;<!-- -->";
    if (rune == '&' || rune == '<' || rune == '>')
        return escape_markup(rune);
    if (rune < 0x80 && rune && strchr("\\`*_{}[]()#|~!", (int)rune)) {
        pair[0] = '\\';
        pair[1] = (char)rune;
        pair[2] = 0;
        return pair;
    }
    return NULL;
}

static void print_rune(FILE *out, enum text_for use, uint32_t rune)
{
    char bytes[8];
    const char *escaped = use == TEXT_MARKUP     ? escape_markup(rune)
                          : use == TEXT_MARKDOWN ? escape_markdown(rune, bytes)
                                                 : NULL;
    if (escaped)
        fputs(escaped, out);
    else if (rune == '\t' || (rune == '\n' && use != TEXT_MARKUP))
        fputc(' ', out);
    else
        fwrite(bytes, 1, (size_t)encode(rune, bytes), out);
}

void text_print(FILE *out, enum text_for use, const char *text)
{
    for (const char *at = text; at && *at;) {
        uint32_t rune = text_next(&at);
        if (!is_unwanted(rune))
            print_rune(out, use, rune);
    }
}

enum { CONVERSION_BYTES = 16 };

/* conversion: "%d", "%.0e". */
static void print_value(FILE *out, enum text_for use, const char *conversion, va_list *values)
{
    const char kind = conversion[strlen(conversion) - 1];
    if (!strcmp(conversion, "%s"))
        text_print(out, use, va_arg(*values, const char *));
    else if (kind == 'e')
        fprintf(out, conversion, va_arg(*values, double));
    else if (strchr(conversion, 'l'))
        fprintf(out, conversion, va_arg(*values, int64_t));
    else
        fprintf(out, conversion, va_arg(*values, int));
}

void text_format_list(FILE *out, enum text_for use, const char *format, va_list *values)
{
    while (*format) {
        char conversion[CONVERSION_BYTES];
        size_t ours = strcspn(format, "%");
        fwrite(format, 1, ours, out);
        format += ours;
        size_t length = *format ? strcspn(format, "sde") + 1 : 0;
        assert(length < sizeof conversion);
        memcpy(conversion, format, length);
        conversion[length] = '\0';
        format += length;
        if (length)
            print_value(out, use, conversion, values);
    }
}

void text_format(FILE *out, enum text_for use, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    text_format_list(out, use, format, &values);
    va_end(values);
}

char *text_clean(const char *text)
{
    if (!text)
        return NULL;
    char *clean = memory_new(strlen(text) * 3 + 1, 1); /* a broken byte grows to three */
    char *end = clean;
    for (const char *at = text; *at;) {
        uint32_t rune = text_next(&at);
        if (!is_unwanted(rune))
            end += encode(rune == '\t' ? ' ' : rune, end);
    }
    return clean;
}

int text_width(const char *text)
{
    int width = 0;
    for (const char *at = text; at && *at;)
        width += !is_unwanted(text_next(&at));
    return width;
}

int text_columns(FILE *out)
{
    struct winsize size;
    const int fd = fileno(out);
    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_MIN)
        return 0;
    return size.ws_col;
}

bool text_can_draw(FILE *out)
{
    const char *term = getenv("TERM");
    const int fd = fileno(out);
    return fd >= 0 && isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

int text_room(FILE *out)
{
    enum { LEAST = 60, MOST = 200, OF_A_FILE = 100 };
    const int there = text_columns(out);
    return !there ? OF_A_FILE : there < LEAST ? LEAST : there > MOST ? MOST : there;
}

size_t text_fitting(const char *text, int columns, size_t from)
{
    const char *at = text, *blank = NULL;
    for (int width = 0; *at && width < columns; width++) {
        if (*at == ' ' && at > text + from)
            blank = at;
        text_next(&at);
    }
    return (size_t)((*at && *at != ' ' && blank ? blank : at) - text);
}

/* column: so many stand on the line already. The first line begins behind margin blanks, the others
 * behind indent. */
static void wrap(FILE *out, const char *text, int column, int margin, int indent, int columns)
{
    const int there = text_columns(out);
    if (there && there < columns)
        columns = there;
    char *clean = text_clean(text), *rest = clean, *word;
    bool has_word = column > margin;
    while ((word = strsep(&rest, " \n"))) {
        int width = text_width(word);
        if (!width)
            continue;
        if (has_word && column + 1 + width > columns) {
            fputc('\n', out);
            column = 0;
            margin = indent;
            has_word = false;
        }
        if (has_word || column < margin)
            column += fprintf(out, "%*s", has_word ? 1 : margin - column, "");
        fputs(word, out);
        column += width;
        has_word = true;
    }
    if (column)
        fputc('\n', out);
    free(clean);
}

void text_print_wrapped(FILE *out, const char *text, int indent, int columns)
{
    wrap(out, text, 0, indent, indent, columns);
}

void text_print_hanging(FILE *out, const char *text, int margin, int indent)
{
    wrap(out, text, 0, margin, indent, text_room(out));
}

void text_print_beside(FILE *out, const char *name, const char *text, int indent)
{
    char *clean = text_clean(name);
    fputs(clean, out);
    wrap(out, text, text_width(clean), indent, indent, text_room(out));
    free(clean);
}
