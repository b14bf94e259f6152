/* help_text.h - what the help of a command says, in parts: the one source of `--help`, of man pages
 * and of what a shell completes.
 *
 * An item is a line that begins with two blanks: its term ends at the next two blanks, its words go
 * on in the lines below that are indented further. Whatever else stands there is prose. */
#ifndef PICKLOCK_CMD_HELP_TEXT_H
#define PICKLOCK_CMD_HELP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct help_part {
    char *term;    /* "--on redis|sim"; NULL: prose */
    char *words;   /* in one line */
    bool is_apart; /* a blank line stands before it */
};

struct help_text {
    struct help_part *parts;
    size_t count;
};

/* The parts of help (borrowed); documents are named by where they are, if they are installed. Freed
 * by help_text_free(). */
struct help_text help_text_read(const char *help);
void help_text_free(struct help_text *text);

/* Prints help (borrowed) as it stands, or in narrower lines where its terminal is narrower, with
 * documents named like that. */
void help_text_print(FILE *out, const char *help);

/* An option in a term: "--redis URL, --redis-server PATH" has two. */
struct help_option {
    char name[32];  /* "--on" */
    char value[96]; /* "redis|sim"; "" for a flag */
};

/* The next option of a term; *at begins with the term and moves on. false: there is none left. */
bool help_option_next(const char **at, struct help_option *option);

/* The size of the first clause of words, without its end: what a shell shows beside a name. */
int help_clause(const char *words);

#endif
