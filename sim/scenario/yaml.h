/* yaml.h - a small YAML file as a tree of nodes that know their place, and messages that point at
 * the spot.
 *
 * Strict on purpose: one document, no anchors, aliases, tags or directives, text keys, no key
 * twice, no deep nesting. By libyaml's events. Knows nothing of scenarios. */
#ifndef PICKLOCK_SCENARIO_YAML_H
#define PICKLOCK_SCENARIO_YAML_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

/* Children of a mapping are its keys; a key's value is the key's only child. */
struct yaml_node {
    enum yaml_kind kind;
    char *text;       /* scalars: what they say, without a 0 byte inside */
    int line, column; /* from 1; columns count characters */
    int inside;       /* columns from there to the first character of text; -1: no simple mapping */
    int count;        /* children */
    struct yaml_node *first, *last, *next;
};

struct yaml {
    char path[4096];
    char *bytes; /* the file, with a final 0 */
    size_t size;
    struct yaml_node *root;
    struct yaml_node **nodes; /* all of them, to be freed */
    int nodes_count;
};

/* Reads at most bytes_max bytes of a regular file and parses them. On failure nothing is left to
 * close. */
enum fail yaml_open(struct yaml *yaml, const char *path, size_t bytes_max, struct failure *failure);
void yaml_close(struct yaml *yaml);

/* The value under key of a mapping, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);

/* "path:line:column: words", the source line, a caret under the spot, and "did you mean" unless
 * nearest is NULL or "". offset: characters into the node's text. Always FAIL_INPUT. */
enum fail yaml_complain(const struct yaml *yaml, const struct yaml_node *node, int offset,
                        const char *nearest, struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* "a mapping", "a list", "text": for messages. */
const char *yaml_kind_words(const struct yaml_node *node);

#endif
