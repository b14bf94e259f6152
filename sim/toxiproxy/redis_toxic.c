/* redis_toxic.c - see redis_toxic.h. */
#include "toxiproxy/redis_toxic.h"

#include "base/memory.h"
#include "base/suggest.h"
#include "proxy/rules.h"

#include <stdlib.h>
#include <string.h>

enum { SELECTORS_MAX = 24 }; /* there are fewer */

/* --- reading --- */

struct selector_words {
    char *words[SELECTORS_MAX];
    size_t count;
    bool has_point;
};

static char *join(const char *key, const json_t *list)
{
    char *joined = memory_format("%s=", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        char *longer = text ? memory_format("%s%s%s", joined, i ? "," : "", text) : NULL;
        free(joined);
        joined = longer;
        if (!joined)
            return NULL;
    }
    return joined;
}

/* As it would stand in a rules file; NULL: it is of a type that says nothing. */
static char *word_of(const char *key, const json_t *value)
{
    if (json_is_true(value))
        return memory_text(key);
    if (json_is_string(value))
        return memory_format("%s=%s", key, json_string_value(value));
    if (json_is_integer(value))
        return memory_format("%s=%lld", key, (long long)json_integer_value(value));
    return json_is_array(value) ? join(key, value) : NULL;
}

static void add_word(struct selector_words *selectors, char *word)
{
    selectors->has_point = selectors->has_point || !strcmp(word, "before") ||
                           !strcmp(word, "after") || !strcmp(word, "done");
    selectors->words[selectors->count++] = word;
}

static bool read_selectors(json_t *said, struct selector_words *selectors,
                           struct api_error *api_error)
{
    const char *key;
    json_t *value;
    json_object_foreach(said, key, value)
    {
        if (!strcmp(key, "action") || json_is_false(value))
            continue;
        char *word = word_of(key, value);
        if (!word)
            return api_error_set(api_error, 400,
                                 "attributes.%.60s: text, a whole number, true or a list of texts "
                                 "was expected",
                                 key);
        if (selectors->count + 1 == SELECTORS_MAX) {
            free(word);
            return api_error_set(api_error, 400, "attributes: more than there are selectors");
        }
        add_word(selectors, word);
    }
    return true;
}

static bool has_no_action(json_t *said, struct api_error *api_error)
{
    const char *key;
    json_t *value;
    json_object_foreach(said, key, value) if (suggest_is_slip(key, "action")) return api_error_set(
        api_error, 400, "unknown attribute '%.60s'; did you mean 'action'?", key);
    return api_error_set(api_error, 400,
                         "missing required attribute: action, as in \"cut rst\" or "
                         "\"delay 250ms\"");
}

static struct rules *rules_from(json_t *said, const struct toxic *toxic, bool is_stream_said,
                                struct api_error *api_error)
{
    const char *action = json_string_value(json_object_get(said, "action"));
    struct selector_words selectors = {.count = 0};
    struct failure failure = {0};
    struct rules *rules = NULL;
    if (!action) {
        has_no_action(said, api_error);
    } else if (read_selectors(said, &selectors, api_error)) {
        if (is_stream_said && !selectors.has_point)
            add_word(&selectors,
                     memory_text(toxic->stream == PROXY_TO_SERVER ? "before" : "after"));
        if (rules_of(&rules, (const char *const *)selectors.words, selectors.count, action,
                     &failure))
            api_error_set(api_error, 400, "attributes: %s", failure.text);
    }
    for (size_t i = 0; i < selectors.count; i++)
        free(selectors.words[i]);
    return rules;
}

/* What is said, with what was said before; null takes one away. The caller gives it back. */
static json_t *merged(const json_t *before, const json_t *attributes)
{
    json_t *all = json_object(), *value;
    const char *key;
    void *next;
    if (before)
        json_object_update(all, (json_t *)(uintptr_t)before);
    if (attributes)
        json_object_update(all, (json_t *)(uintptr_t)attributes);
    json_object_foreach_safe(all, next, key, value) if (json_is_null(value))
        json_object_del(all, key);
    return all;
}

bool redis_toxic_read(struct toxic *toxic, const struct proxy_entry *entry,
                      const json_t *attributes, bool is_stream_said, struct api_error *api_error)
{
    if (toxic->rules && !json_object_size(attributes))
        return true;
    json_t *said = merged(toxic->said, attributes);
    struct rules *rules = rules_from(said, toxic, is_stream_said, api_error);
    if (rules) {
        const enum point point = rules_counts(rules, 0).point;
        const enum proxy_stream stream = point == POINT_BEFORE ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
        if (!rules_share(rules, entry->orders))
            api_error_set(api_error, 400, "attributes: too many toxics with script");
        if (is_stream_said && stream != toxic->stream)
            api_error_set(api_error, 400, "attributes: '%s' is of the stream %s, and not of %s",
                          point_name(point), stream == PROXY_TO_SERVER ? "upstream" : "downstream",
                          stream == PROXY_TO_SERVER ? "downstream" : "upstream");
        toxic->stream = api_error->status ? toxic->stream : stream;
    }
    if (api_error->status) {
        if (rules)
            rules_free(rules);
        json_decref(said);
        return false;
    }
    if (toxic->rules)
        rules_free(toxic->rules);
    json_decref(toxic->said);
    toxic->rules = rules;
    toxic->said = said;
    return true;
}

void redis_toxic_print(const struct toxic *toxic, json_t *printed)
{
    const struct rule_counts counts = rules_counts(toxic->rules, 0);
    json_object_set_new(printed, "matches", json_integer((json_int_t)counts.matches));
    json_object_set_new(printed, "strikes", json_integer((json_int_t)counts.strikes));
}

void redis_toxic_start(const struct collection *collection, const struct toxic *toxic)
{
    if (!toxic->rules || rules_are_started(toxic->rules))
        return;
    rules_start(toxic->rules, collection->loop, toxic->seed, &(const struct rules_hooks){0});
}

/* --- links --- */

struct redis_stage {
    struct redis_stage *next;
    const struct toxic *toxic;
    struct rules_link *rules;
};

static bool is_behind(const struct toxic *toxic, const struct toxic *other)
{
    for (const struct toxic *at = other->next; at; at = at->next)
        if (at == toxic)
            return true;
    return false;
}

static struct redis_stage **place_of(struct redis_stage **stages, const struct toxic *toxic)
{
    while (*stages && (*stages)->toxic != toxic && is_behind(toxic, (*stages)->toxic))
        stages = &(*stages)->next;
    return stages;
}

/* Out of the list first: what goes on may bring the next request. Takes *at. */
static void take_out(struct redis_stage **at)
{
    struct redis_stage *stage = *at;
    *at = stage->next;
    rules_link_let_go(stage->rules);
    rules_link_free(stage->rules);
    free(stage);
}

void redis_stages_update(struct redis_stage **stages, struct toxic *toxic, struct proxy_link *link)
{
    struct redis_stage **at = place_of(stages, toxic);
    const bool is_there = *at && (*at)->toxic == toxic;
    const bool is_struck = toxic_strikes(toxic, proxy_link_number(link));
    if (is_there && is_struck && rules_link_is_of((*at)->rules, toxic->rules))
        return; /* it goes on counting */
    if (is_struck) {
        struct redis_stage *stage = memory_new(1, sizeof *stage);
        stage->toxic = toxic;
        stage->rules = rules_link_new(toxic->rules, link);
        stage->next = *at;
        *at = stage;
        at = &stage->next;
    }
    if (is_there)
        take_out(at);
}

void redis_stages_remove(struct redis_stage **stages, const struct toxic *toxic)
{
    while (*stages && (*stages)->toxic != toxic)
        stages = &(*stages)->next;
    if (*stages)
        take_out(stages);
}

void redis_stages_free(struct redis_stage **stages)
{
    while (*stages) {
        struct redis_stage *stage = *stages;
        *stages = stage->next;
        rules_link_free(stage->rules);
        free(stage);
    }
}

enum proxy_decision redis_stages_request(const struct redis_stage *stages,
                                         struct proxy_request *request)
{
    enum proxy_decision decision = PROXY_PASS;
    bool is_struck = false;
    for (; stages; stages = stages->next) {
        const bool was_struck = is_struck;
        enum proxy_decision one = rules_request_among(stages->rules, request, &is_struck);
        decision = was_struck ? decision : one;
    }
    return decision;
}

enum proxy_decision redis_stages_reply(const struct redis_stage *stages,
                                       struct proxy_request *request, const char *bytes,
                                       size_t length)
{
    enum proxy_decision decision = PROXY_PASS;
    bool is_struck = false;
    for (; stages; stages = stages->next) {
        const bool was_struck = is_struck;
        enum proxy_decision one =
            rules_reply_among(stages->rules, request, bytes, length, &is_struck);
        decision = was_struck ? decision : one;
    }
    return decision;
}
