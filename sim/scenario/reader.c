/* reader.c - reads a scenario file, strictly: see scenario.h. Each key has one reader; nothing bad
 * is skipped. */
#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/units.h"
#include "scenario/expectation.h"
#include "scenario/scenario.h"
#include "scenario/sentence.h"
#include "scenario/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct yaml yaml;
    struct scenario *scenario;
    struct failure *failure;
};

/* Redis keeps milliseconds; below one no lease can be told from none. */
static const int64_t lease_min_us = 1000;

static enum fail want_scalar(struct reader *reader, const struct yaml_node *node, const char *key,
                             const char *wanted)
{
    if (node->kind == YAML_SCALAR && node->text[0])
        return FAIL_NONE;
    return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure, "'%s' wants %s, not %s",
                         key, wanted,
                         node->kind == YAML_SCALAR ? "nothing" : yaml_kind_words(node));
}

static enum fail want_list(struct reader *reader, const struct yaml_node *node, const char *key,
                           const char *wanted, int most)
{
    if (node->kind != YAML_SEQUENCE)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'%s' wants a list of %s, not %s", key, wanted, yaml_kind_words(node));
    if (node->count < 1 || node->count > most)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'%s' wants 1 to %d %s, not %d", key, most, wanted, node->count);
    return FAIL_NONE;
}

/* --- a reader a key --- */

static enum fail read_name(struct reader *reader, const struct yaml_node *node)
{
    const char *path = reader->yaml.path, *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int length = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    enum fail fail = want_scalar(reader, node, "name", "the file's name without .yaml");
    if (fail)
        return fail;
    if (strlen(node->text) >= NAME_MAX_BYTES)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'name' has at most %d characters", NAME_MAX_BYTES - 1);
    for (const char *at = node->text; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            return yaml_complain(&reader->yaml, node, (int)(at - node->text), NULL, reader->failure,
                                 "'name' is made of letters, digits and '-'");
    if ((int)strlen(node->text) != length || strncmp(node->text, base, (size_t)length)) {
        char nearest[NAME_MAX_BYTES];
        snprintf(nearest, sizeof nearest, "%.*s", length, base);
        return yaml_complain(&reader->yaml, node, 0, nearest, reader->failure,
                             "'name' must be the file's own name, '%.*s'",
                             length < 100 ? length : 100, base);
    }
    memcpy(reader->scenario->name, node->text, strlen(node->text) + 1);
    return FAIL_NONE;
}

static enum fail read_source(struct reader *reader, const struct yaml_node *node)
{
    struct scenario *scenario = reader->scenario;
    enum fail fail = want_scalar(reader, node, "source", "a text that says where this comes from");
    if (fail)
        return fail;
    if (strlen(node->text) >= sizeof scenario->source)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'source' has at most %zu bytes", sizeof scenario->source - 1);
    memcpy(scenario->source, node->text, strlen(node->text) + 1);
    return FAIL_NONE;
}

static enum fail read_lease(struct reader *reader, const struct yaml_node *node)
{
    char with_unit[32] = "";
    struct failure why;
    int64_t *lease_us = &reader->scenario->lease_us;
    enum fail fail = want_scalar(reader, node, "lease", "a duration such as 250ms or 10s");
    if (fail)
        return fail;
    if (units_read_duration(node->text, lease_us, &why)) {
        if (strspn(node->text, "0123456789") == strlen(node->text) && strlen(node->text) < 10)
            snprintf(with_unit, sizeof with_unit, "%sms", node->text);
        return yaml_complain(&reader->yaml, node, 0, with_unit, reader->failure,
                             "'lease' wants a duration such as 250ms or 10s: %s", why.text);
    }
    if (*lease_us < lease_min_us)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'lease' wants a duration such as 250ms or 10s, 1ms at least");
    return FAIL_NONE;
}

static enum fail read_client_name(struct reader *reader, const struct yaml_node *node, int count)
{
    struct scenario *scenario = reader->scenario;
    enum fail fail = want_scalar(reader, node, "clients", "names such as A, B, worker1");
    if (fail)
        return fail;
    if (!sentence_is_name(node->text))
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "a client's name is letters and digits, at most %d, and not 'server'",
                             NAME_MAX_BYTES - 1);
    for (int i = 0; i < count; i++)
        if (!strcmp(scenario->names[i], node->text))
            return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                                 "client '%s' is named twice", node->text);
    memcpy(scenario->names[count], node->text, strlen(node->text) + 1);
    return FAIL_NONE;
}

static enum fail read_clients(struct reader *reader, const struct yaml_node *node)
{
    enum fail fail = want_list(reader, node, "clients", "names", ACTORS_MAX);
    for (const struct yaml_node *at = node->first; !fail && at; at = at->next)
        fail = read_client_name(reader, at, reader->scenario->clients++);
    return fail;
}

static enum fail read_servers(struct reader *reader, const struct yaml_node *node)
{
    enum fail fail = want_scalar(reader, node, "servers", "how many there are");
    if (fail)
        return fail;
    reader->scenario->is_cluster = strcmp(node->text, "cluster") == 0;
    if (reader->scenario->is_cluster) {
        reader->scenario->servers = MASTERS;
        return FAIL_NONE;
    }
    if (strlen(node->text) != 1 || node->text[0] < '1' || node->text[0] > '0' + SERVERS_MAX)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'servers' wants a number from 1 to %d, or 'cluster'", SERVERS_MAX);
    reader->scenario->servers = node->text[0] - '0';
    return FAIL_NONE;
}

static enum fail read_replica(struct reader *reader, const struct yaml_node *node)
{
    static const char *const words[] = {"yes", "no", "true", "false"};
    enum fail fail = want_scalar(reader, node, "replica", "yes or no");
    if (fail)
        return fail;
    const int word = NAMES_FIND(words, node->text);
    if (reader->scenario->is_cluster)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "the masters of a cluster have no replicas here");
    reader->scenario->has_replica = word >= 0 && word % 2 == 0;
    return word >= 0 ? FAIL_NONE
                     : yaml_complain(&reader->yaml, node, 0, suggest_nearest(node->text, words, 2),
                                     reader->failure, "'replica' wants yes or no");
}

static enum fail read_same_token(struct reader *reader, const struct yaml_node *node)
{
    struct scenario *scenario = reader->scenario;
    const char *names[ACTORS_MAX];
    enum fail fail = want_list(reader, node, "same-token", "clients", ACTORS_MAX);
    if (!fail && node->count < 2)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "'same-token' wants two clients at least");
    for (int i = 0; i < scenario->clients; i++)
        names[i] = scenario->names[i];
    for (const struct yaml_node *at = node->first; !fail && at; at = at->next) {
        fail = want_scalar(reader, at, "same-token", "names of clients");
        if (fail)
            return fail;
        int client = names_row(names, sizeof *names, (size_t)scenario->clients, at->text);
        if (client < 0)
            return yaml_complain(&reader->yaml, at, 0,
                                 suggest_nearest(at->text, names, (size_t)scenario->clients),
                                 reader->failure, "'%.40s' is not a client", at->text);
        if (scenario->same_token & 1u << client)
            return yaml_complain(&reader->yaml, at, 0, NULL, reader->failure,
                                 "client '%s' is named twice", at->text);
        scenario->same_token |= 1u << client;
    }
    return fail;
}

static bool is_of_replica(enum step_kind kind)
{
    return step_choice(kind) != CHOICE_COUNT && choice_needs_replica(step_choice(kind));
}

/* A cluster is one server to its clients, and of the faults of servers only its own strike it. */
static const char *cluster_objects(enum step_kind kind, bool is_cluster)
{
    const enum choice_kind choice = step_choice(kind);
    if (choice == CHOICE_COUNT || !choice_is_fault(choice))
        return NULL;
    const bool is_slots = choice_needs_cluster(choice);
    if (is_slots && !is_cluster)
        return "there is no slot: this step needs the line 'servers: cluster'";
    return !is_slots && is_cluster && fault_blame(choice_fault(choice)) == FAULT_OF_SERVER
               ? "of a cluster only the slot is struck: 'server 2 begins to import the slot', .."
               : NULL;
}

static enum fail read_step(struct reader *reader, const struct yaml_node *node, struct step *step)
{
    struct scenario *scenario = reader->scenario;
    struct cast cast = {.names = (const char(*)[64])scenario->names,
                        .clients = scenario->clients,
                        .servers = scenario->servers,
                        .knows_leases = true};
    struct mishap mishap;
    enum fail fail = want_scalar(reader, node, "steps", "sentences such as 'A acquires'");
    if (fail)
        return fail;
    if (step_read(node->text, &cast, step, &mishap))
        return yaml_complain(&reader->yaml, node, mishap.offset, mishap.nearest, reader->failure,
                             "%s", mishap.words);
    if (is_of_replica(step->kind) && !scenario->has_replica)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure,
                             "there is no replica: this step needs the line 'replica: yes'");
    const char *objection = cluster_objects(step->kind, scenario->is_cluster);
    if (objection)
        return yaml_complain(&reader->yaml, node, 0, NULL, reader->failure, "%s", objection);
    step->line = node->line;
    step->column = node->column;
    return FAIL_NONE;
}

static enum fail read_steps(struct reader *reader, const struct yaml_node *node)
{
    struct scenario *scenario = reader->scenario;
    enum fail fail = want_list(reader, node, "steps", "sentences", STEPS_MAX);
    if (fail)
        return fail;
    scenario->steps = memory_new((size_t)node->count, sizeof *scenario->steps);
    for (const struct yaml_node *at = node->first; !fail && at; at = at->next)
        fail = read_step(reader, at, &scenario->steps[scenario->steps_count++]);
    return fail;
}

static enum fail read_expect(struct reader *reader, const struct yaml_node *node)
{
    return expectations_read(&reader->yaml, node, reader->scenario, reader->failure);
}

/* --- the whole --- */

/* In the order in which they are read: steps speak of clients and servers, whatever stands first in
 * the file. */
static const struct entry {
    const char *name;
    enum fail (*read)(struct reader *reader, const struct yaml_node *node);
    bool is_optional;
} keys[] = {
    {"name", read_name, false},
    {"source", read_source, false},
    {"lease", read_lease, false},
    {"clients", read_clients, false},
    {"servers", read_servers, true},
    {"replica", read_replica, true},
    {"same-token", read_same_token, true},
    {"steps", read_steps, false},
    {"expect", read_expect, false},
};
enum { KEYS_COUNT = sizeof keys / sizeof keys[0] };

static enum fail check_keys(struct reader *reader, const struct yaml_node *root)
{
    const char *names[KEYS_COUNT];
    for (int i = 0; i < KEYS_COUNT; i++)
        names[i] = keys[i].name;
    if (root->kind != YAML_MAPPING)
        return yaml_complain(&reader->yaml, root, 0, NULL, reader->failure,
                             "a scenario is a mapping (name: .., steps: ..), not %s",
                             yaml_kind_words(root));
    for (const struct yaml_node *at = root->first; at; at = at->next) {
        if (NAMES_FIND(names, at->text) < 0)
            return yaml_complain(&reader->yaml, at, 0, suggest_nearest(at->text, names, KEYS_COUNT),
                                 reader->failure, "unknown key '%.40s'", at->text);
    }
    return FAIL_NONE;
}

static enum fail read_keys(struct reader *reader)
{
    const struct yaml_node *root = reader->yaml.root;
    enum fail fail = check_keys(reader, root);
    for (int i = 0; !fail && i < KEYS_COUNT; i++) {
        const struct yaml_node *node = yaml_get(root, keys[i].name);
        if (node)
            fail = keys[i].read(reader, node);
        else if (!keys[i].is_optional)
            fail = yaml_complain(&reader->yaml, root, 0, NULL, reader->failure,
                                 "the key '%s' is missing", keys[i].name);
    }
    return fail;
}

/* The comment block that the file begins with, without its #s. */
static char *read_story(const char *bytes)
{
    char *story = memory_text(bytes), *to = story;
    const char *at = bytes;
    if (!strncmp(at, "\xef\xbb\xbf", 3)) /* a byte order mark */
        at += 3;
    while (*at == '#') {
        at++;
        if (*at == ' ')
            at++;
        if (to != story)
            *to++ = '\n';
        while (*at && *at != '\n' && *at != '\r')
            *to++ = *at++;
        at += strspn(at, "\r");
        if (*at == '\n')
            at++;
    }
    *to = '\0';
    return story;
}

enum fail scenario_read(const char *path, struct scenario **scenario, struct failure *failure)
{
    struct reader reader = {.failure = failure};
    enum fail fail = yaml_open(&reader.yaml, path, SCENARIO_BYTES_MAX, failure);
    if (fail)
        return fail;
    reader.scenario = memory_new(1, sizeof *reader.scenario);
    snprintf(reader.scenario->path, sizeof reader.scenario->path, "%s", path);
    reader.scenario->servers = 1;
    reader.scenario->story = read_story(reader.yaml.bytes);
    fail = read_keys(&reader);
    yaml_close(&reader.yaml);
    if (fail) {
        scenario_free(reader.scenario);
        return fail;
    }
    *scenario = reader.scenario;
    return FAIL_NONE;
}

void scenario_free(struct scenario *scenario)
{
    if (!scenario)
        return;
    free(scenario->story);
    free(scenario->steps);
    free(scenario->expectations);
    free(scenario);
}
