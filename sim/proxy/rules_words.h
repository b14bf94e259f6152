/* rules_words.h - the words of one line of a rules file, each with its column. For rules_read.c and
 * rules_action.c. */
#ifndef PICKLOCK_PROXY_RULES_WORDS_H
#define PICKLOCK_PROXY_RULES_WORDS_H

#include "proxy/fault.h"

enum { WORDS_MAX = 32, WORD_MAX = 1024 };

struct word {
    int column; /* from 1 */
    size_t length;
    char text[WORD_MAX]; /* quotes and escapes resolved; a 0 behind it */
};

struct rules_line {
    const char *path; /* NULL: of no file, and its place is not told */
    int number;
    int count;
    struct word words[WORDS_MAX];
};

/* FAIL_INPUT, "path:line:column: " in front of the words. column 0: of the line as a whole. */
enum fail line_wrong(const struct rules_line *line, int column, struct failure *failure,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Splits one line (borrowed, no line feed). '#' where a word could begin starts a comment. */
enum fail line_split(struct rules_line *line, const char *text, size_t length,
                     struct failure *failure);

/* Behind the words that it has: those of text; text itself, as one. */
enum fail line_split_more(struct rules_line *line, const char *text, size_t length,
                          struct failure *failure);
enum fail line_word(struct rules_line *line, const char *text, struct failure *failure);

/* Reads a file and splits its lines: take() is called with each that is not blank. FAIL_INPUT, or
 * what take() fails with. */
typedef enum fail line_taker(void *context, const struct rules_line *line, struct failure *failure);
enum fail lines_read(const char *path, line_taker *take, void *context, struct failure *failure);

/* Rules that are made line by line, for whoever reads them. */
struct rules *rules_new(void);
enum fail rules_add(struct rules *rules, const struct rules_line *line, struct failure *failure);

/* Reads a whole number of 1 or more. */
bool word_read_count(const char *text, uint64_t *count);

/* ". Did you mean 'x'?" of what a word could have been, or the list of all. text: 512 bytes. */
const char *word_near(const char *word, const char *const *candidates, size_t count, char *text);

/* Reads the action behind the arrow: words[from] is its name. */
enum fail action_read(const struct rules_line *line, int from, struct rule *rule,
                      struct failure *failure);

#endif
