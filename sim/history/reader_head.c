/* reader_head.c - the first line of a log file: what the run was. See reader.h. */
#include "history/reader.h"

#include "base/memory.h"
#include "history/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const head_fields[] = {
    "history", "scheme",   "scenario", "world",          "server_version", "clients", "servers",
    "locks",   "lease_us", "unit_us",  "clock_error_us", "seed",           "names"};
enum { HEAD_FIELDS = sizeof head_fields / sizeof head_fields[0] };

static enum fail check_fields(struct history_reader *reader, json_t *object,
                              struct history_head *head, struct failure *failure)
{
    (void)head;
    const char *name;
    json_t *value;
    for (int i = 0; i < HEAD_FIELDS; i++)
        if (!json_object_get(object, head_fields[i]))
            return reader_refuses(reader, failure, "the head has no '%s'", head_fields[i]);
    json_object_foreach(object, name, value)
    {
        bool is_known = false;
        for (int i = 0; i < HEAD_FIELDS; i++)
            is_known |= !strcmp(head_fields[i], name);
        if (!is_known)
            return reader_refuses(reader, failure, "the head has an unknown field '%.40s'", name);
    }
    return FAIL_NONE;
}

static enum fail read_counts(struct history_reader *reader, json_t *object,
                             struct history_head *head, struct failure *failure)
{
    const struct {
        const char *name;
        int64_t least, most;
        int64_t *number;
    } rows[] = {
        {"clients", 1, CLIENTS_MAX, &(int64_t){0}},
        {"servers", 1, SERVERS_MAX, &(int64_t){0}},
        {"locks", 1, LOCKS_MAX, &(int64_t){0}},
        {"lease_us", 0, HISTORY_LONGEST_US, &head->lease_us},
        {"unit_us", 0, HISTORY_LONGEST_US, &head->unit_us},
        {"clock_error_us", 0, HISTORY_LONGEST_US, &head->clock_error_us},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum fail fail = reader_number(reader, rows[i].name, json_object_get(object, rows[i].name),
                                       rows[i].least, rows[i].most, rows[i].number, failure);
        if (fail)
            return fail;
    }
    head->clients = reader->clients = (int)*rows[0].number;
    head->servers = reader->servers = (int)*rows[1].number;
    head->locks = reader->locks = (int)*rows[2].number;
    return FAIL_NONE;
}

static enum fail read_seed(struct history_reader *reader, json_t *object, struct history_head *head,
                           struct failure *failure)
{
    char digits[24], *end = digits;
    enum fail fail = reader_text(reader, "seed", json_object_get(object, "seed"), digits,
                                 sizeof digits, failure);
    if (fail)
        return fail;
    errno = 0;
    head->seed = strtoull(digits, &end, 10);
    if (errno || *end || digits[0] < '0' || digits[0] > '9')
        return reader_refuses(reader, failure,
                              "'seed' wants a number of at most 64 bits, as a text");
    return FAIL_NONE;
}

static enum fail read_names(struct history_reader *reader, json_t *object,
                            struct history_head *head, struct failure *failure)
{
    json_t *names = json_object_get(object, "names");
    if (!json_is_array(names) || json_array_size(names) != (size_t)head->clients)
        return reader_refuses(reader, failure,
                              "'names' wants a list of %d names, one for each client",
                              head->clients);
    reader->names = memory_new((size_t)head->clients, sizeof *reader->names);
    head->names = reader->names;
    for (int i = 0; i < head->clients; i++) {
        enum fail fail = reader_text(reader, "names", json_array_get(names, (size_t)i),
                                     reader->names[i], NAME_MAX_BYTES, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

static enum fail read_texts(struct history_reader *reader, json_t *object,
                            struct history_head *head, struct failure *failure)
{
    const struct {
        const char *name;
        char *text;
        size_t size;
    } rows[] = {
        {"scheme", head->scheme, sizeof head->scheme},
        {"scenario", head->scenario, sizeof head->scenario},
        {"world", head->world, sizeof head->world},
        {"server_version", head->server_version, sizeof head->server_version},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum fail fail = reader_text(reader, rows[i].name, json_object_get(object, rows[i].name),
                                     rows[i].text, rows[i].size, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

static enum fail read_version(struct history_reader *reader, json_t *object,
                              struct history_head *head, struct failure *failure)
{
    (void)head;
    const char *version = json_string_value(json_object_get(object, "history"));
    if (!version)
        return reader_refuses(reader, failure,
                              "not a history: the first line wants \"history\": \"%s\"",
                              HISTORY_VERSION);
    if (strcmp(version, HISTORY_VERSION) != 0)
        return reader_refuses(reader, failure,
                              "a history of version '%.40s'; this program reads '%s'", version,
                              HISTORY_VERSION);
    return FAIL_NONE;
}

enum fail reader_head(struct history_reader *reader, json_t *object, struct history_head *head,
                      struct failure *failure)
{
    enum fail (*const parts[])(struct history_reader *, json_t *, struct history_head *,
                               struct failure *) = {read_version, check_fields, read_texts,
                                                    read_counts,  read_seed,    read_names};
    enum fail fail = FAIL_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !fail; i++)
        fail = parts[i](reader, object, head, failure);
    return fail;
}
