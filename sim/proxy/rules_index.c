/* rules_index.c - see rules_index.h: a table of names with open addressing, built once. */
#include "proxy/rules_index.h"

#include "base/memory.h"
#include "proxy/rules_keys.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 2 }; /* before; after and done */

struct indexed_command {
    char name[PROXY_NAME_MAX];
    size_t length; /* 0: a free row */
    struct rules_set rules[POINTS];
    struct rules_set at_any;
    bool has_any;
};

struct rules_index {
    struct rules_set others[POINTS]; /* for commands that no rule names */
    struct indexed_command *rows;
    size_t mask;
    bool has[POINTS]; /* any rule at all */
    struct rules_keys *keys;
    struct rules_set scripts;
};

static struct indexed_command *row_of(const struct rules_index *index, const char *name,
                                      size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    for (size_t at = (size_t)(hash ^ hash >> 32) & index->mask;; at = (at + 1) & index->mask) {
        struct indexed_command *row = &index->rows[at];
        if (!row->length || (row->length == length && !memcmp(row->name, name, length)))
            return row;
    }
}

/* The row of the next command that a rule names; *at goes on behind it. NULL: no more. One whose
 * name is longer than any that a request is known by meets none. */
static struct indexed_command *next_row(const struct rules_index *index, const char **at)
{
    while (*(*at + 1)) {
        const char *name = *at + 1;
        const size_t length = strcspn(name, ",");
        *at = name + length;
        if (length >= PROXY_NAME_MAX)
            continue;
        struct indexed_command *row = row_of(index, name, length);
        memcpy(row->name, name, length);
        row->length = length;
        return row;
    }
    return NULL;
}

static size_t count_names(const struct rules *rules)
{
    size_t count = 0;
    for (int i = 0; i < rules->count; i++)
        for (const char *at = rules->rules[i].commands; at && *at; at++)
            count += *at == ',';
    return count;
}

static void make_rows(struct rules_index *index, const struct rules *rules)
{
    size_t size = 4, names = count_names(rules);
    while (size < names * 2)
        size *= 2;
    index->mask = size - 1;
    index->rows = memory_new(size, sizeof *index->rows);
}

static void add(struct rules_index *index, const struct rule *rule, int place)
{
    const int point = rule->point != POINT_BEFORE;
    const char *at = rule->commands;
    index->has[point] = true;
    if (rule->script.bytes)
        rules_set_add(&index->scripts, place);
    if (!at)
        rules_set_add(&index->others[point], place);
    for (struct indexed_command *row; at && (row = next_row(index, &at));)
        rules_set_add(&row->rules[point], place);
}

static void complete(const struct rules_index *index, struct indexed_command *row)
{
    for (int point = 0; point < POINTS; point++) {
        rules_set_join(&row->rules[point], &index->others[point]);
        rules_set_join(&row->at_any, &row->rules[point]);
    }
    row->has_any = !rules_set_is_empty(&row->at_any);
}

struct rules_index *rules_index_new(const struct rules *rules)
{
    struct rules_index *index = memory_new(1, sizeof *index);
    make_rows(index, rules);
    for (int i = 0; i < rules->count; i++)
        add(index, &rules->rules[i], i);
    for (size_t i = 0; i <= index->mask; i++)
        complete(index, &index->rows[i]);
    index->keys = rules_keys_new(rules);
    return index;
}

void rules_index_free(struct rules_index *index)
{
    if (!index)
        return;
    rules_keys_free(index->keys);
    free(index->rows);
    free(index);
}

bool rules_index_find(const struct rules_index *index, const struct proxy_request *request,
                      bool is_reply, struct rules_set *found)
{
    if (!index->has[is_reply])
        return false;
    /* A free row has what is for all commands. */
    const struct rules_set *named =
        &row_of(index, request->name, strlen(request->name))->rules[is_reply];
    return !rules_set_is_empty(named) &&
           rules_set_meet(
               named, rules_keys_find(index->keys, request->first_key, request->first_key_length),
               found);
}

bool rules_index_may_meet(const struct rules_index *index, const struct proxy_request *request)
{
    struct rules_set found;
    const struct indexed_command *row = row_of(index, request->name, strlen(request->name));
    return row->has_any &&
           rules_set_meet(
               &row->at_any,
               rules_keys_find(index->keys, request->first_key, request->first_key_length), &found);
}

const struct rules_set *rules_index_scripts(const struct rules_index *index)
{
    return &index->scripts;
}
