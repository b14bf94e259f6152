/* rules_index.c - see rules_index.h: a table of names with open addressing, built once. */
#include "proxy/rules_index.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 2 }; /* before; after and done */

struct indexed_command {
    char name[PROXY_NAME_MAX]; /* "": a free row */
    struct rules_list lists[POINTS];
};

struct rules_index {
    struct rules_list others[POINTS]; /* for commands that no rule names */
    struct indexed_command *rows;
    size_t mask;
    bool has[POINTS]; /* any rule at all */
};

static struct indexed_command *row_of(const struct rules_index *index, const char *name,
                                      size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    for (size_t at = (size_t)(hash ^ hash >> 32) & index->mask;; at = (at + 1) & index->mask) {
        struct indexed_command *row = &index->rows[at];
        if (!row->name[0] || (!strncmp(row->name, name, length) && !row->name[length]))
            return row;
    }
}

static void list_add(struct rules_list *list, struct rule *rule)
{
    if (list->count && list->rules[list->count - 1] == rule)
        return; /* it names the command twice */
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 4;
        list->rules = memory_resize(list->rules, (size_t)list->capacity, sizeof *list->rules);
    }
    list->rules[list->count++] = rule;
}

/* Calls so for the row of each command that the rule names. One whose name is longer than any that
 * a request is known by meets none. */
static void each_row(struct rules_index *index, struct rule *rule,
                     void (*call)(struct indexed_command *row, const char *name, size_t length,
                                  struct rule *rule))
{
    for (const char *name = rule->commands + 1; *name;) {
        size_t length = strcspn(name, ",");
        if (length < PROXY_NAME_MAX)
            call(row_of(index, name, length), name, length, rule);
        name += length + 1;
    }
}

static void take_row(struct indexed_command *row, const char *name, size_t length,
                     struct rule *rule)
{
    (void)rule;
    memcpy(row->name, name, length);
}

static int point_of(const struct rule *rule)
{
    return rule->point != POINT_BEFORE;
}

static void add_to_row(struct indexed_command *row, const char *name, size_t length,
                       struct rule *rule)
{
    (void)name, (void)length;
    list_add(&row->lists[point_of(rule)], rule);
}

static void add_to_all(struct rules_index *index, struct rule *rule)
{
    list_add(&index->others[point_of(rule)], rule);
    for (size_t i = 0; i <= index->mask; i++)
        if (index->rows[i].name[0])
            list_add(&index->rows[i].lists[point_of(rule)], rule);
}

static size_t count_names(const struct rules *rules)
{
    size_t count = 0;
    for (int i = 0; i < rules->count; i++)
        for (const char *at = rules->rules[i].commands; at && *at; at++)
            count += *at == ',';
    return count;
}

struct rules_index *rules_index_new(struct rules *rules)
{
    struct rules_index *index = memory_new(1, sizeof *index);
    size_t size = 4, names = count_names(rules);
    while (size < names * 2)
        size *= 2;
    index->mask = size - 1;
    index->rows = memory_new(size, sizeof *index->rows);
    for (int i = 0; i < rules->count; i++)
        if (rules->rules[i].commands)
            each_row(index, &rules->rules[i], take_row);
    for (int i = 0; i < rules->count; i++) {
        index->has[point_of(&rules->rules[i])] = true;
        if (rules->rules[i].commands)
            each_row(index, &rules->rules[i], add_to_row);
        else
            add_to_all(index, &rules->rules[i]);
    }
    return index;
}

static void lists_free(struct rules_list *lists)
{
    for (int i = 0; i < POINTS; i++)
        free(lists[i].rules);
}

void rules_index_free(struct rules_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i <= index->mask; i++)
        lists_free(index->rows[i].lists);
    lists_free(index->others);
    free(index->rows);
    free(index);
}

const struct rules_list *rules_index_find(const struct rules_index *index, const char *name,
                                          bool is_reply)
{
    if (!index->has[is_reply])
        return &index->others[is_reply];
    const struct indexed_command *row = row_of(index, name, strlen(name));
    return row->name[0] ? &row->lists[is_reply] : &index->others[is_reply];
}
