/* yaml.c - see yaml.h. Builds the tree with a stack of its own, so that no input can make it
 * recurse. Source: YAML 1.1 as libyaml reads it; we take a subset. */
#include "scenario/yaml.h"

#include "base/memory.h"
#include "scenario/sentence.h"
#include "scenario/textfile.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
    DEPTH_MAX = 8,    /* a scenario needs 3 */
    NODES_MAX = 5000, /* a page has some hundred */
    LINE_SHOWN = 100, /* characters of a source line in a message */
    LINE_BEFORE = 60, /* of these at most before the caret */
    WORDS_MAX = 1200,
};

/* --- messages --- */

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The first byte of a line, or NULL when the file has fewer. */
static const char *line_start(const struct yaml *yaml, int line)
{
    const char *at = yaml->bytes;
    for (; line > 1; line--) {
        at = strchr(at, '\n');
        if (!at)
            return NULL;
        at++;
    }
    return at;
}

/* The source line and a caret under column (from 1), or as much of both as fits. */
static void draw_spot(const struct yaml *yaml, int line, int column, char *drawn, size_t size)
{
    char shown[4 * LINE_SHOWN + 1], raw[4 * LINE_SHOWN + 1];
    const char *at = line_start(yaml, line);
    drawn[0] = '\0';
    if (!at)
        return;
    int skip = column - 1 > LINE_BEFORE ? column - 1 - LINE_BEFORE : 0, count = 0;
    for (int i = 0; i < skip && *at && *at != '\n'; i++)
        for (at++; is_inside_character(*at);)
            at++;
    size_t used = 0;
    while (at[used] && at[used] != '\n' && at[used] != '\r' && used + 1 < sizeof raw) {
        if (!is_inside_character(at[used]) && ++count > LINE_SHOWN)
            break;
        raw[used] = at[used] == '\t' ? ' ' : at[used];
        used++;
    }
    raw[used] = '\0';
    sentence_show(raw, shown, sizeof shown);
    snprintf(drawn, size, "\n  %s%s\n  %*s^", skip ? "..." : "", shown,
             column - 1 - skip + (skip ? 3 : 0), "");
}

static enum fail complain_at(const struct yaml *yaml, int line, int column, const char *nearest,
                             struct failure *failure, const char *words)
{
    char drawn[4 * LINE_SHOWN + 200], shown[SENTENCE_MAX];
    bool is_near = nearest && *nearest;
    draw_spot(yaml, line, column, drawn, sizeof drawn);
    return failure_set(failure, FAIL_INPUT, "%.600s:%d:%d: %s%s%s%s%s", yaml->path, line, column,
                       words, drawn, is_near ? "\n  did you mean '" : "",
                       is_near ? sentence_show(nearest, shown, sizeof shown) : "",
                       is_near ? "'?" : "");
}

enum fail yaml_complain(const struct yaml *yaml, const struct yaml_node *node, int offset,
                        const char *nearest, struct failure *failure, const char *format, ...)
{
    char words[WORDS_MAX], shown[WORDS_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    int column = node->column + (node->inside < 0 ? 0 : node->inside + offset);
    return complain_at(yaml, node->line, column, nearest, failure,
                       sentence_show(words, shown, sizeof shown));
}

const char *yaml_kind_words(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR ? "text" : node->kind == YAML_MAPPING ? "a mapping" : "a list";
}

/* --- tree --- */

struct yaml_builder {
    struct yaml *yaml;
    struct failure *failure;
    struct yaml_node *open[DEPTH_MAX]; /* mappings and lists that have not ended */
    struct yaml_node *keys[DEPTH_MAX]; /* in a mapping: the key that waits for its value */
    int depth;
    int documents;
};

static struct yaml_node *node_new(struct yaml_builder *builder, enum yaml_kind kind,
                                  const yaml_event_t *event)
{
    struct yaml *yaml = builder->yaml;
    struct yaml_node *node = memory_new(1, sizeof *node);
    if (yaml->nodes_count % 64 == 0)
        yaml->nodes =
            memory_resize(yaml->nodes, (size_t)yaml->nodes_count + 64, sizeof *yaml->nodes);
    yaml->nodes[yaml->nodes_count++] = node;
    node->kind = kind;
    node->line = (int)event->start_mark.line + 1;
    node->column = (int)event->start_mark.column + 1;
    return node;
}

static void append(struct yaml_node *parent, struct yaml_node *node)
{
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
}

static enum fail add_key(struct yaml_builder *builder, struct yaml_node *mapping,
                         struct yaml_node *key)
{
    if (key->kind != YAML_SCALAR)
        return yaml_complain(builder->yaml, key, 0, NULL, builder->failure, "a key is text, not %s",
                             yaml_kind_words(key));
    for (const struct yaml_node *other = mapping->first; other; other = other->next)
        if (!strcmp(other->text, key->text))
            return yaml_complain(builder->yaml, key, 0, NULL, builder->failure,
                                 "'%.80s' is repeated: it stands in line %d", key->text,
                                 other->line);
    append(mapping, key);
    builder->keys[builder->depth - 1] = key;
    return FAIL_NONE;
}

/* Hangs a node into the innermost open mapping or list. */
static enum fail hang(struct yaml_builder *builder, struct yaml_node *node)
{
    if (builder->depth == 0) {
        builder->yaml->root = node;
        return FAIL_NONE;
    }
    struct yaml_node *parent = builder->open[builder->depth - 1];
    struct yaml_node **key = &builder->keys[builder->depth - 1];
    if (parent->kind == YAML_MAPPING && !*key)
        return add_key(builder, parent, node);
    append(parent->kind == YAML_MAPPING ? *key : parent, node);
    *key = NULL;
    return FAIL_NONE;
}

/* How far the text's first character is from the node's place, when columns can be counted at all.
 */
static int columns_inside(const yaml_event_t *event)
{
    size_t width = event->end_mark.column - event->start_mark.column;
    size_t quotes = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 1;
    bool is_flat = event->data.scalar.style != YAML_LITERAL_SCALAR_STYLE &&
                   event->data.scalar.style != YAML_FOLDED_SCALAR_STYLE &&
                   event->start_mark.line == event->end_mark.line &&
                   width == event->data.scalar.length + 2 * quotes;
    return is_flat ? (int)quotes : -1;
}

static enum fail add_scalar(struct yaml_builder *builder, const yaml_event_t *event)
{
    struct yaml_node *node = node_new(builder, YAML_SCALAR, event);
    const char *value = (const char *)event->data.scalar.value;
    node->text = memory_text(value);
    node->inside = columns_inside(event);
    if (strlen(value) != event->data.scalar.length)
        return yaml_complain(builder->yaml, node, 0, NULL, builder->failure,
                             "a text with a NUL character in it");
    return hang(builder, node);
}

static enum fail add_collection(struct yaml_builder *builder, enum yaml_kind kind,
                                const yaml_event_t *event)
{
    struct yaml_node *node = node_new(builder, kind, event);
    enum fail fail = hang(builder, node);
    if (fail)
        return fail;
    if (builder->depth == DEPTH_MAX)
        return yaml_complain(builder->yaml, node, 0, NULL, builder->failure,
                             "nested more than %d deep", DEPTH_MAX);
    builder->keys[builder->depth] = NULL;
    builder->open[builder->depth++] = node;
    return FAIL_NONE;
}

/* What we take no part in; NULL: it is plain. */
static const char *extra_of(const struct yaml_builder *builder, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return "aliases (*name) are not used here";
    if (event->type == YAML_DOCUMENT_START_EVENT) {
        if (event->data.document_start.version_directive ||
            event->data.document_start.tag_directives.start !=
                event->data.document_start.tag_directives.end)
            return "directives (%YAML, %TAG) are not used here";
        return builder->documents ? "a second document: a file holds one" : NULL;
    }
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    return anchor ? "anchors (&name) are not used here"
           : tag  ? "tags (!name) are not used here"
                  : NULL;
}

static enum fail add_event(struct yaml_builder *builder, const yaml_event_t *event)
{
    const char *extra = extra_of(builder, event);
    int line = (int)event->start_mark.line + 1, column = (int)event->start_mark.column + 1;
    if (extra)
        return complain_at(builder->yaml, line, column, NULL, builder->failure, extra);
    if (builder->yaml->nodes_count >= NODES_MAX)
        return complain_at(builder->yaml, line, column, NULL, builder->failure,
                           "more entries than a scenario can have");
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        builder->documents++;
        return FAIL_NONE;
    case YAML_SCALAR_EVENT:
        return add_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return add_collection(builder, YAML_SEQUENCE, event);
    case YAML_MAPPING_START_EVENT:
        return add_collection(builder, YAML_MAPPING, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        builder->depth--;
        return FAIL_NONE;
    default:
        return FAIL_NONE;
    }
}

static enum fail complain_syntax(const struct yaml_builder *builder, const yaml_parser_t *parser)
{
    char words[400];
    bool has_mark = parser->error == YAML_SCANNER_ERROR || parser->error == YAML_PARSER_ERROR;
    if (parser->error == YAML_MEMORY_ERROR)
        return failure_set(builder->failure, FAIL_INTERNAL, "out of memory");
    snprintf(words, sizeof words, "not YAML: %.150s%s%.150s",
             parser->problem ? parser->problem : "it cannot be read",
             has_mark && parser->context ? ", " : "",
             has_mark && parser->context ? parser->context : "");
    /* the reader stops at a character and knows its offset only */
    const yaml_mark_t *mark = has_mark ? &parser->problem_mark : &parser->mark;
    return complain_at(builder->yaml, (int)mark->line + 1, (int)mark->column + 1, NULL,
                       builder->failure, words);
}

static enum fail build(struct yaml_builder *builder, yaml_parser_t *parser)
{
    enum fail fail = FAIL_NONE;
    bool is_end = false;
    while (!fail && !is_end) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return complain_syntax(builder, parser);
        is_end = event.type == YAML_STREAM_END_EVENT;
        fail = add_event(builder, &event);
        yaml_event_delete(&event);
    }
    return fail;
}

static enum fail parse_bytes(struct yaml *yaml, struct failure *failure)
{
    struct yaml_builder builder = {.yaml = yaml, .failure = failure};
    yaml_parser_t parser;
    enum fail fail = textfile_check(yaml->path, yaml->bytes, yaml->size, failure);
    if (fail)
        return fail;
    if (!yaml_parser_initialize(&parser))
        return failure_set(failure, FAIL_INTERNAL, "out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml->bytes, yaml->size);
    fail = build(&builder, &parser);
    yaml_parser_delete(&parser);
    if (!fail && !yaml->root)
        return failure_set(failure, FAIL_INPUT, "%.600s:1:1: the file is empty: nothing but %s",
                           yaml->path, yaml->size ? "blanks and comments" : "0 bytes");
    return fail;
}

enum fail yaml_open(struct yaml *yaml, const char *path, size_t bytes_max, struct failure *failure)
{
    *yaml = (struct yaml){0};
    if (strlen(path) >= sizeof yaml->path)
        return failure_set(failure, FAIL_INPUT, "%.60s...: a path of %zu bytes is too long", path,
                           strlen(path));
    memcpy(yaml->path, path, strlen(path) + 1);
    enum fail fail = textfile_read(path, bytes_max, &yaml->bytes, &yaml->size, failure);
    if (!fail)
        fail = parse_bytes(yaml, failure);
    if (fail)
        yaml_close(yaml);
    return fail;
}

void yaml_close(struct yaml *yaml)
{
    for (int i = 0; i < yaml->nodes_count; i++) {
        free(yaml->nodes[i]->text);
        free(yaml->nodes[i]);
    }
    free(yaml->nodes);
    free(yaml->bytes);
    *yaml = (struct yaml){0};
}

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    assert(mapping->kind == YAML_MAPPING);
    for (const struct yaml_node *node = mapping->first; node; node = node->next)
        if (!strcmp(node->text, key))
            return node->first;
    return NULL;
}
