/* reader_head.c - the first line of a log file: what the run was. See reader.h. */
#include "history/reader.h"

#include "base/memory.h"
#include "base/names.h"
#include "history/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const head_fields[] = {
    "history", "scheme",   "scenario", "world",          "server_version", "clients", "servers",
    "locks",   "lease_us", "unit_us",  "clock_error_us", "seed",           "names"};
/* Since version 2; not needed. */
static const char *const new_fields[] = {"program", "promises",     "processes", "incomplete",
                                         "closed",  "all_commands", "directed",  "streamed"};
enum {
    HEAD_FIELDS = sizeof head_fields / sizeof head_fields[0],
    NEW_FIELDS = sizeof new_fields / sizeof new_fields[0],
};

static enum fail other_field(struct history_reader *reader, const char *name,
                             struct failure *failure)
{
    const char *names[HEAD_FIELDS + NEW_FIELDS];
    memcpy(names, head_fields, sizeof head_fields);
    memcpy(names + HEAD_FIELDS, new_fields, sizeof new_fields);
    reader_at(reader, name);
    return reader_other(reader, "the head has an unknown field", name, names,
                        HEAD_FIELDS + NEW_FIELDS,
                        HEAD_FIELDS + (reader->version > 1 ? NEW_FIELDS : 0), failure);
}

static enum fail check_fields(struct history_reader *reader, json_t *object,
                              struct history_head *head, struct failure *failure)
{
    (void)head;
    const char *name;
    json_t *value;
    reader_at(reader, NULL);
    for (int i = 0; i < HEAD_FIELDS; i++)
        if (!json_object_get(object, head_fields[i]))
            return reader_refuses(reader, failure, "the head has no '%s'", head_fields[i]);
    json_object_foreach(object, name, value)
    {
        bool is_new = reader->version > 1 && NAMES_FIND(new_fields, name) >= 0;
        if (is_new || NAMES_FIND(head_fields, name) >= 0)
            continue;
        enum fail fail = other_field(reader, name, failure);
        if (fail)
            return fail;
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
        reader_at(reader, rows[i].name);
        enum fail fail = reader_number(reader, rows[i].name, json_object_get(object, rows[i].name),
                                       rows[i].least, rows[i].most, rows[i].number, failure);
        if (fail)
            return fail;
    }
    head->clients = reader->clients = (int)*rows[0].number;
    reader->calls = memory_new((size_t)reader->clients, sizeof *reader->calls);
    for (int i = 0; i < reader->clients; i++)
        reader->calls[i].attempt = -1;
    head->servers = reader->servers = (int)*rows[1].number;
    head->locks = reader->locks = (int)*rows[2].number;
    return FAIL_NONE;
}

static enum fail read_seed(struct history_reader *reader, json_t *object, struct history_head *head,
                           struct failure *failure)
{
    char digits[24], *end = digits;
    reader_at(reader, "seed");
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

/* A list of a text for each client; *texts is the reader's. */
static enum fail read_list(struct history_reader *reader, const char *name, json_t *list,
                           int clients, char (**texts)[NAME_MAX_BYTES], struct failure *failure)
{
    reader_at(reader, name);
    if (!json_is_array(list) || json_array_size(list) != (size_t)clients)
        return reader_refuses(reader, failure, "'%s' wants a list of %d names, one for each client",
                              name, clients);
    *texts = memory_new((size_t)clients, sizeof **texts);
    for (int i = 0; i < clients; i++) {
        enum fail fail = reader_text(reader, name, json_array_get(list, (size_t)i), (*texts)[i],
                                     NAME_MAX_BYTES, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

static enum fail read_names(struct history_reader *reader, json_t *object,
                            struct history_head *head, struct failure *failure)
{
    json_t *processes = json_object_get(object, "processes");
    enum fail fail = read_list(reader, "names", json_object_get(object, "names"), head->clients,
                               &reader->names, failure);
    if (!fail && processes)
        fail =
            read_list(reader, "processes", processes, head->clients, &reader->processes, failure);
    head->names = reader->names;
    head->processes = reader->processes;
    return fail;
}

static enum fail read_promises(struct history_reader *reader, json_t *object,
                               struct history_head *head, struct failure *failure)
{
    const char *names[PROMISE_BITS_WIDTH];
    json_t *list = json_object_get(object, "promises"), *word;
    size_t i;
    if (!list)
        return FAIL_NONE;
    for (int k = 0; k < PROMISE_BITS_WIDTH; k++)
        names[k] = promise_name((enum promise)(1 << k));
    reader_at(reader, "promises");
    if (!json_is_array(list))
        return reader_refuses(reader, failure, "'promises' wants a list of what the lock promises");
    const struct scheme *scheme = scheme_named(head->scheme);
    if (scheme && !scheme_is_plugin(scheme))
        return reader_refuses(reader, failure,
                              "'promises' are stated of a foreign lock; '%s' is a scheme of ours",
                              head->scheme);
    head->has_promises = true;
    json_array_foreach(list, i, word)
    {
        enum promise promise;
        const char *text = json_string_value(word);
        if (!text)
            return reader_refuses(reader, failure, "a promise is a text");
        if (!promise_read(text, &promise))
            return reader_unknown(reader, "no lock promises", text, names, PROMISE_BITS_WIDTH,
                                  failure);
        if (head->promises & promise)
            return reader_refuses(reader, failure, "'promises' has '%s' twice", text);
        head->promises |= promise;
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
        reader_at(reader, rows[i].name);
        enum fail fail = reader_text(reader, rows[i].name, json_object_get(object, rows[i].name),
                                     rows[i].text, rows[i].size, failure);
        if (fail)
            return fail;
    }
    json_t *program = json_object_get(object, "program");
    json_t *incomplete = json_object_get(object, "incomplete");
    enum fail fail = FAIL_NONE;
    reader_at(reader, "program");
    if (program)
        fail =
            reader_text(reader, "program", program, head->program, sizeof head->program, failure);
    if (!fail)
        reader_at(reader, "incomplete");
    if (!fail && incomplete)
        fail = reader_text(reader, "incomplete", incomplete, head->incomplete,
                           sizeof head->incomplete, failure);
    return fail;
}

static enum fail read_flags(struct history_reader *reader, json_t *object,
                            struct history_head *head, struct failure *failure)
{
    const struct {
        const char *name;
        bool *flag;
    } rows[] = {
        {"closed", &head->is_closed},
        {"all_commands", &head->has_all_commands},
        {"directed", &head->is_directed},
        {"streamed", &head->is_streamed},
    };
    enum fail fail = FAIL_NONE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !fail; i++) {
        json_t *flag = json_object_get(object, rows[i].name);
        reader_at(reader, rows[i].name);
        if (flag)
            fail = reader_flag(reader, rows[i].name, flag, rows[i].flag, failure);
    }
    reader->is_streamed = head->is_streamed;
    return fail;
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
    reader->version = !strcmp(version, HISTORY_VERSION)    ? 2
                      : !strcmp(version, HISTORY_VERSION1) ? 1
                                                           : 0;
    reader_at(reader, "history");
    if (reader->version == 0)
        return reader_refuses(reader, failure,
                              "a history of version '%.40s'; this program reads '%s' and '%s'",
                              version, HISTORY_VERSION, HISTORY_VERSION1);
    return FAIL_NONE;
}

enum fail reader_head(struct history_reader *reader, json_t *object, struct history_head *head,
                      struct failure *failure)
{
    enum fail (*const parts[])(struct history_reader *, json_t *, struct history_head *,
                               struct failure *) = {read_version, check_fields, read_texts,
                                                    read_flags,   read_counts,  read_seed,
                                                    read_names,   read_promises};
    enum fail fail = FAIL_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !fail; i++)
        fail = parts[i](reader, object, head, failure);
    return fail;
}
