/* help_text.c - see help_text.h. */
#include "cmd/help_text.h"

#include "base/memory.h"
#include "base/place.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *piece(const char *from, size_t size)
{
    char *copy = memory_new(size + 1, 1);
    memcpy(copy, from, size);
    return copy;
}

/* Takes more. */
static void add_words(struct help_part *part, char *more)
{
    char *old = part->words;
    part->words = *old ? memory_format("%s %s", old, more) : memory_text(more);
    free(old);
    free(more);
}

static struct help_part *add_part(struct help_text *text, char *term)
{
    text->parts = memory_resize(text->parts, text->count + 1, sizeof *text->parts);
    text->parts[text->count] = (struct help_part){.term = term, .words = memory_text("")};
    return &text->parts[text->count++];
}

/* Behind the term: two blanks, or the end of the line. */
static size_t term_size(const char *line, size_t size)
{
    const char *gap = memmem(line, size, "  ", 2);
    return gap ? (size_t)(gap - line) : size;
}

/* The size of the name of a document, which a text begins with: "sim/docs/WORKERS.md"; or 0. */
static size_t document_size(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz/";
    const size_t size = strspn(text, letters);
    return !strncmp(text, "sim/", 4) && !strncmp(text + size, ".md", 3) ? size + 3 : 0;
}

/* As documents are named where they are: below their folder where they are installed. To be freed;
 * NULL: as they are named in help. */
static char *with_documents(const char *help)
{
    char folder[PLACE_BYTES], *made = NULL;
    size_t size;
    if (!strstr(help, "sim/") || !place_documents(folder))
        return NULL;
    FILE *out = open_memstream(&made, &size);
    if (!out)
        return NULL;
    while (*help) {
        const size_t name = document_size(help);
        if (name)
            fprintf(out, "%s/", folder);
        fwrite(help, 1, name ? name : 1, out);
        help += name ? name : 1;
    }
    (void)fclose(out);
    return made;
}

static struct help_text read_parts(const char *help)
{
    struct help_text text = {0};
    struct help_part *open = NULL; /* the part that the next line may belong to */
    bool is_apart = false;
    for (const char *line = help; *line;) {
        size_t size = strcspn(line, "\n"), indent = strspn(line, " ");
        const char *next = line + size + (line[size] == '\n');
        if (size == 0) {
            open = NULL;
            is_apart = true;
        } else if (indent == 2) {
            size_t term = term_size(line + 2, size - 2);
            open = add_part(&text, piece(line + 2, term));
            open->is_apart = is_apart;
            is_apart = false;
            size_t words = 2 + term + strspn(line + 2 + term, " ");
            add_words(open, piece(line + words, size - words));
        } else {
            if (!open || (indent == 0 && open->term)) {
                open = add_part(&text, NULL);
                open->is_apart = is_apart;
                is_apart = false;
            }
            add_words(open, piece(line + indent, size - indent));
        }
        line = next;
    }
    return text;
}

struct help_text help_text_read(const char *help)
{
    char *own = with_documents(help);
    struct help_text text = read_parts(own ? own : help);
    free(own);
    return text;
}

void help_text_free(struct help_text *text)
{
    for (size_t i = 0; i < text->count; i++) {
        free(text->parts[i].term);
        free(text->parts[i].words);
    }
    free(text->parts);
    *text = (struct help_text){0};
}

/* --- on a terminal --- */

enum { WRITTEN_FOR = 100, WORDS_AT = 25, WORDS_BELOW = 6, BESIDE_FROM = 72 };

/* column: where the first line begins, the others at indent. */
static void print_words(FILE *out, const char *words, int column, int indent, int room)
{
    do {
        const size_t size = text_fitting(words, room - indent, 0);
        fprintf(out, "%*s%.*s\n", indent - column, "", (int)size, words);
        words += size + strspn(words + size, " ");
        column = 0;
    } while (*words);
}

static void print_part(FILE *out, const struct help_part *part, int room)
{
    if (part->is_apart)
        fputc('\n', out);
    if (!part->term) {
        print_words(out, part->words, 0, 0, room);
        return;
    }
    const int column = fprintf(out, "  %s", part->term);
    const bool is_beside = room >= BESIDE_FROM && column < WORDS_AT;
    if (!is_beside)
        fputc('\n', out);
    if (*part->words)
        print_words(out, part->words, is_beside ? column : 0, is_beside ? WORDS_AT : WORDS_BELOW,
                    room);
    else if (is_beside)
        fputc('\n', out);
}

void help_text_print(FILE *out, const char *help)
{
    const int room = text_room(out);
    char *own = with_documents(help); /* with longer words than it was written with */
    const bool is_written_so = room >= WRITTEN_FOR && !own;
    free(own);
    if (is_written_so) {
        fputs(help, out);
        return;
    }
    struct help_text text = help_text_read(help);
    for (size_t i = 0; i < text.count; i++)
        print_part(out, &text.parts[i], room);
    help_text_free(&text);
}

bool help_option_next(const char **at, struct help_option *option)
{
    const char *start = strstr(*at, "--");
    if (!start)
        return false;
    size_t name = strcspn(start, " ,");
    const char *value = start + name + (start[name] == ' ');
    size_t size = start[name] == ' ' ? strcspn(value, " ") : 0;
    if (size > 2 && !strncmp(value, "--", 2))
        size = 0;
    const char *end = value + size;
    if (size && value[size - 1] == ',' && value[size] == ' ') /* "URL, --other"; not "A,B" */
        size--;
    snprintf(option->name, sizeof option->name, "%.*s", (int)name, start);
    snprintf(option->value, sizeof option->value, "%.*s", (int)size, value);
    *at = end;
    return true;
}

int help_clause(const char *words)
{
    size_t size = strcspn(words, ";:(");
    const char *stop = memmem(words, size, ". ", 2);
    if (stop)
        size = (size_t)(stop - words);
    while (size > 0 && strchr(" .,", words[size - 1]))
        size--;
    return (int)size;
}
