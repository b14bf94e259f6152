/* schedule_reader.c - schedule_read() of schedule.h: strict, line by line; every complaint names
 * its line and column. */
#include "scenario/schedule.h"

#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/text_place.h"
#include "base/units.h"
#include "scenario/sentence.h"
#include "scenario/textfile.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEDULE_BYTES_MAX = 16 * 1024 * 1024, /* some 500 000 choices; a larger file is a wrong file */
};

struct schedule_reader {
    const char *path;
    const struct scheme *instead; /* of the one that the file names; NULL: that one */
    struct schedule *schedule;
    struct failure *failure;
    char *rest; /* of the file: what is not read yet */
    int line;
    const char *begin; /* of that line */
    const char *at;    /* in it: what is to blame where something is wrong */
    bool has_ended;
};

static enum fail complain(struct schedule_reader *reader, const char *nearest, const char *format,
                          ...) __attribute__((format(printf, 3, 4)));

static enum fail complain(struct schedule_reader *reader, const char *nearest, const char *format,
                          ...)
{
    char words[800], shown[800], suggestion[SUGGEST_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return failure_set(reader->failure, FAIL_INPUT, "%.600s:%d:%d: %s%s", reader->path,
                       reader->line, text_place_of(reader->begin, reader->at).column,
                       sentence_show(words, shown, sizeof shown),
                       suggest_words(nearest, "", suggestion));
}

/* The next line without its end, or NULL: then the end of the last one is to blame. */
static char *take_line(struct schedule_reader *reader)
{
    char *line = reader->rest;
    if (!*line) {
        for (reader->at = line; reader->at > reader->begin && !reader->at[-1];)
            reader->at--; /* where the line's end was cut off */
        return NULL;
    }
    size_t length = strcspn(line, "\n");
    reader->rest = line + length + (line[length] == '\n');
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    reader->line++;
    reader->begin = reader->at = line;
    return line;
}

/* Cuts the next word off a list of words; NULL: none is left. */
static char *take_name(struct schedule_reader *reader, char **list)
{
    char *word = *list + strspn(*list, " ");
    size_t length = strcspn(word, " ");
    if (length == 0)
        return NULL;
    reader->at = word;
    *list = word + length + (word[length] == ' ');
    word[length] = '\0';
    return word;
}

static int find_client(const struct schedule *schedule, const char *name)
{
    for (int i = 0; i < schedule->clients; i++)
        if (!strcmp(schedule->names[i], name))
            return i;
    return -1;
}

/* --- a reader a key --- */

/* What stands further down may say how it is known. */
static const char *find_worker(const struct schedule_reader *reader, size_t *length)
{
    static const char key[] = "\nworker: ";
    const char *found = strstr(reader->rest, key), *end = strstr(reader->rest, "\n---");
    if (!found || (end && found > end))
        return NULL;
    found += sizeof key - 1;
    *length = strcspn(found, "\r\n");
    return found;
}

static enum fail read_scheme(struct schedule_reader *reader, char *value)
{
    struct schedule *schedule = reader->schedule;
    schedule->scheme = reader->instead ? reader->instead : scheme_named(value);
    (void)snprintf(schedule->named, sizeof schedule->named, "%s", value);
    if (schedule->scheme)
        return FAIL_NONE;
    size_t length;
    const char *worker = find_worker(reader, &length);
    if (worker)
        return complain(reader, NULL,
                        "unknown scheme '%.40s': it is a worker, named with --worker \"%.*s\"",
                        value, (int)(length < 400 ? length : 400), worker);
    /* Only a slip of one letter: a name that is further off may be of a scheme in a file. */
    const char *slip = NULL;
    for (int i = 0; i < schemes_count && !slip; i++)
        if (suggest_is_slip(value, schemes[i]->name))
            slip = schemes[i]->name;
    return complain(reader, slip, "unknown scheme '%.40s'%s", value,
                    slip ? ""
                         : ": one from a file is named with --scheme FILE.so, a worker with "
                           "--worker COMMAND");
}

static enum fail read_lease(struct schedule_reader *reader, char *value)
{
    struct failure why;
    int64_t lease_us;
    char text[UNITS_TEXT_MAX];
    const struct scheme *scheme = reader->schedule->scheme;
    if (units_read_duration(value, &lease_us, &why))
        return complain(reader, NULL, "'lease' wants a duration such as 250ms or 10s: %s",
                        why.text);
    if (lease_us <= 0)
        return complain(reader, NULL, "'lease' wants a duration above 0");
    if (scheme_lease_us(scheme, lease_us) != lease_us)
        return complain(reader, units_print_duration(scheme_lease_us(scheme, lease_us), text),
                        "'%.40s' cannot be a lease of %s, which counts in whole %s", value,
                        scheme->name, scheme->unit_us == 1000 ? "milliseconds" : "seconds");
    reader->schedule->lease_us = lease_us;
    return FAIL_NONE;
}

static enum fail read_clients(struct schedule_reader *reader, char *value)
{
    struct schedule *schedule = reader->schedule;
    for (char *name = take_name(reader, &value); name; name = take_name(reader, &value)) {
        if (!sentence_is_name(name))
            return complain(reader, NULL,
                            "'%.40s' is not a client's name: letters and digits, at most %d", name,
                            NAME_MAX_BYTES - 1);
        if (find_client(schedule, name) >= 0)
            return complain(reader, NULL, "client '%s' is named twice", name);
        if (schedule->clients == ACTORS_MAX)
            return complain(reader, NULL, "more than %d clients", ACTORS_MAX);
        memcpy(schedule->names[schedule->clients++], name, strlen(name) + 1);
    }
    return schedule->clients ? FAIL_NONE
                             : complain(reader, NULL, "'clients' wants names such as A B C");
}

static enum fail read_servers(struct schedule_reader *reader, char *value)
{
    if (strlen(value) != 1 || *value < '1' || *value > '0' + SERVERS_MAX)
        return complain(reader, NULL, "'servers' wants a number from 1 to %d", SERVERS_MAX);
    reader->schedule->servers = *value - '0';
    return FAIL_NONE;
}

static enum fail read_seed(struct schedule_reader *reader, char *value)
{
    char *end;
    errno = 0;
    reader->schedule->seed = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno)
        return complain(reader, NULL, "'seed' wants a number from 0 to 18446744073709551615");
    return FAIL_NONE;
}

static enum fail read_same_token(struct schedule_reader *reader, char *value)
{
    for (char *name = take_name(reader, &value); name; name = take_name(reader, &value)) {
        int client = find_client(reader->schedule, name);
        if (client < 0)
            return complain(reader, NULL, "'%.40s' is not a client", name);
        reader->schedule->same_token |= 1u << client;
    }
    return FAIL_NONE;
}

static enum fail read_yes_or_no(struct schedule_reader *reader, const char *key, const char *value,
                                bool *is_yes)
{
    *is_yes = !strcmp(value, "yes");
    return strcmp(value, "yes") && strcmp(value, "no")
               ? complain(reader, NULL, "'%s' wants yes or no", key)
               : FAIL_NONE;
}

static enum fail read_replica(struct schedule_reader *reader, char *value)
{
    return read_yes_or_no(reader, "replica", value, &reader->schedule->has_replica);
}

static enum fail read_cluster(struct schedule_reader *reader, char *value)
{
    if (reader->schedule->servers != MASTERS)
        return complain(reader, NULL, "a cluster has %d servers", MASTERS);
    return read_yes_or_no(reader, "cluster", value, &reader->schedule->is_cluster);
}

static enum fail read_delex(struct schedule_reader *reader, char *value)
{
    return read_yes_or_no(reader, "delex", value, &reader->schedule->has_delex);
}

static enum fail read_foreign(struct schedule_reader *reader, char *value)
{
    return read_yes_or_no(reader, "foreign", value, &reader->schedule->is_foreign);
}

static enum fail read_worker(struct schedule_reader *reader, char *value)
{
    reader->schedule->worker = memory_text(value);
    return FAIL_NONE;
}

static enum fail read_wait(struct schedule_reader *reader, char *value)
{
    struct failure why;
    if (units_read_duration(value, &reader->schedule->wait_us, &why))
        return complain(reader, NULL, "%s", why.text);
    return FAIL_NONE;
}

static enum fail read_property(struct schedule_reader *reader, char *value)
{
    const char *names[PROPERTY_COUNT];
    for (int i = 0; i < PROPERTY_COUNT; i++)
        names[i] = property_name((enum property)i);
    reader->schedule->has_property = true;
    return property_read(value, &reader->schedule->property)
               ? FAIL_NONE
               : complain(reader, suggest_nearest(value, names, PROPERTY_COUNT),
                          "'%.40s' is no property", value);
}

/* Keys stand in this order; a later one may speak of an earlier one. */
static const struct header_row {
    const char *name;
    enum fail (*read)(struct schedule_reader *reader, char *value);
    bool is_optional;
} headers[] = {
    {"scheme", read_scheme, false},    {"lease", read_lease, false},
    {"clients", read_clients, false},  {"servers", read_servers, false},
    {"seed", read_seed, false},        {"same-token", read_same_token, true},
    {"replica", read_replica, true},   {"cluster", read_cluster, true},
    {"delex", read_delex, true},       {"foreign", read_foreign, true},
    {"worker", read_worker, true},     {"wait", read_wait, true},
    {"violates", read_property, true},
};
enum { HEADERS_COUNT = sizeof headers / sizeof headers[0] };

/* --- the whole --- */

/* "key: value": cuts the key off; NULL: no such line. */
static char *cut_value(char *line)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return NULL;
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " ");
    size_t length = strlen(value);
    while (length > 0 && value[length - 1] == ' ')
        value[--length] = '\0';
    return value;
}

/* A key that does not stand where it should: next is the row that was to come. */
static enum fail refuse_header(struct schedule_reader *reader, const char *key, int next)
{
    const char *names[HEADERS_COUNT];
    int row = NAMES_FIND_ROW(headers, key);
    for (int i = 0; i < HEADERS_COUNT; i++)
        names[i] = headers[i].name;
    if (row < 0)
        return complain(reader, suggest_nearest(key, names, HEADERS_COUNT), "unknown key '%.40s'",
                        key);
    if (row < next)
        return complain(reader, NULL, "'%s' is repeated, or comes too late", key);
    return complain(reader, NULL, "the line '%s: ..' must come before '%s'", names[next], key);
}

/* Reads "key: value" lines up to the line "---". */
static enum fail read_head(struct schedule_reader *reader)
{
    char *line;
    int next = 0;
    while ((line = take_line(reader)) && strcmp(line, "---")) {
        char *value = cut_value(line);
        int row = next;
        if (!value)
            return complain(reader, NULL, "'key: value' or the line '---' was expected");
        while (row < HEADERS_COUNT && strcmp(headers[row].name, line) && headers[row].is_optional)
            row++;
        if (row == HEADERS_COUNT || strcmp(headers[row].name, line))
            return refuse_header(reader, line, next);
        reader->at = value;
        enum fail fail = headers[row].read(reader, value);
        if (fail)
            return fail;
        next = row + 1;
    }
    bool lacks_key = next < HEADERS_COUNT && !headers[next].is_optional;
    if (!line || lacks_key)
        return complain(reader, NULL, "the line '%s' is missing",
                        lacks_key ? headers[next].name : "---");
    return FAIL_NONE;
}

static enum fail read_choices(struct schedule_reader *reader)
{
    struct schedule *schedule = reader->schedule;
    const struct cast cast = {.names = (const char(*)[64])schedule->names,
                              .clients = schedule->clients,
                              .servers = schedule->servers,
                              .is_foreign = schedule->is_foreign};
    for (char *line; (line = take_line(reader));) {
        struct choice choice;
        struct mishap mishap;
        const char *text = line + strspn(line, " \t");
        if (!*text || *text == '#')
            continue;
        if (reader->has_ended)
            return complain(reader, NULL, "text follows the line 'end'");
        reader->has_ended = !strcmp(text, "end");
        if (reader->has_ended)
            continue;
        if (choice_read(line, &cast, &choice, &mishap)) {
            reader->at = line + mishap.offset;
            return complain(reader, mishap.nearest, "%s", mishap.words);
        }
        schedule_add(schedule, &choice);
        schedule->lines[schedule->choices_count - 1] = reader->line;
    }
    if (!reader->has_ended)
        return complain(reader, NULL, "the line 'end' is missing: the file is cut off");
    return FAIL_NONE;
}

static enum fail read_all(struct schedule_reader *reader)
{
    static const char magic[] = "picklock schedule ";
    const char *first = take_line(reader);
    if (!first) {
        reader->line = 1;
        return complain(reader, NULL, "the file is empty");
    }
    if (strncmp(first, magic, sizeof magic - 1))
        return complain(reader, NULL,
                        "not a schedule: the first line of one is 'picklock schedule 1'");
    reader->at = first + sizeof magic - 1;
    if (strcmp(reader->at, "1"))
        return complain(reader, NULL,
                        "a schedule of version '%.20s'; this picklock reads version 1", reader->at);
    enum fail fail = read_head(reader);
    return fail ? fail : read_choices(reader);
}

enum fail schedule_read(const char *path, const struct scheme *instead, struct schedule **schedule,
                        struct failure *failure)
{
    struct schedule_reader reader = {.path = path, .instead = instead, .failure = failure};
    char *bytes;
    size_t size;
    enum fail fail = textfile_read(path, SCHEDULE_BYTES_MAX, &bytes, &size, failure);
    if (fail)
        return fail;
    reader.rest = bytes;
    reader.begin = bytes;
    reader.schedule = memory_new(1, sizeof *reader.schedule);
    fail = read_all(&reader);
    free(bytes);
    if (fail) {
        schedule_free(reader.schedule);
        return fail;
    }
    *schedule = reader.schedule;
    return FAIL_NONE;
}
