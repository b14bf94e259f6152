/* rules.c - see rules.h. Every rule that can meet a request is asked about it, whatever the others
 * said: then each one's counts are its own. The first in the file that strikes does. */
#include "proxy/fault.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "proxy/glob.h"
#include "proxy/rules_index.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *point_name(enum point point)
{
    static const char *const names[] = {"before", "after", "done"};
    return names[point];
}

/* Of the rules that were started: a request remembers which of them looked at it. */
static uint16_t generations;

struct rules_orders *rules_orders_new(void)
{
    struct rules_orders *orders = memory_new(1, sizeof *orders);
    orders->references = 1;
    orders->generation = ++generations;
    orders->scripts_last = SCRIPTS_MAX - 1;
    return orders;
}

/* Not one that was given back just now: a request that is on its way may still carry it. -1: none
 * is free. */
static int script_bit(struct rules_orders *orders)
{
    for (int i = 1; i <= SCRIPTS_MAX; i++) {
        int bit = (orders->scripts_last + i) % SCRIPTS_MAX;
        if (orders->scripts >> bit & 1)
            continue;
        orders->scripts |= UINT64_C(1) << bit;
        return orders->scripts_last = bit;
    }
    return -1;
}

static void leave_orders(struct rules *rules)
{
    for (int i = 0; i < rules->count && rules->orders; i++)
        if (rules->rules[i].script.bytes && rules->rules[i].script_bit >= 0)
            rules->orders->scripts &= ~(UINT64_C(1) << rules->rules[i].script_bit);
    rules_orders_free(rules->orders);
    rules->orders = NULL;
}

void rules_orders_free(struct rules_orders *orders)
{
    if (!orders || --orders->references > 0)
        return;
    assert(!orders->waits);
    free(orders->labels);
    free(orders);
}

bool rules_share(struct rules *rules, struct rules_orders *orders)
{
    assert(!rules->orders);
    orders->references++;
    rules->orders = orders;
    for (int i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->rules[i];
        if (rule->script.bytes && (rule->script_bit = script_bit(orders)) < 0)
            return false;
    }
    return true;
}

bool rules_are_started(const struct rules *rules)
{
    return rules->index != NULL;
}

void rules_start(struct rules *rules, uv_loop_t *loop, uint64_t seed,
                 const struct rules_hooks *hooks)
{
    rules->loop = loop;
    rules->seed = seed;
    rules->hooks = *hooks;
    rules->started_us = monotonic_us();
    rules->index = rules_index_new(rules);
    if (!rules->orders) {
        struct rules_orders *orders = rules_orders_new();
        bool has_room = rules_share(rules, orders);
        assert(has_room); /* counted when they were read */
        rules_orders_free(orders);
    }
}

struct rules_link *rules_link_new(struct rules *rules, struct proxy_link *link)
{
    struct rules_link *made = memory_new(1, sizeof *made);
    made->rules = rules;
    rules->references++;
    made->link = link;
    made->matches = memory_new((size_t)rules->count, sizeof *made->matches);
    return made;
}

void rules_link_free(struct rules_link *link)
{
    for (int i = 0; i < 2; i++)
        if (link->waits[i])
            wait_free(link->waits[i]);
    free(link->matches);
    rules_free(link->rules);
    free(link);
}

void rules_link_let_go(struct rules_link *link)
{
    for (int i = 0; i < 2; i++) {
        struct wait *wait = link->waits[i];
        if (!wait)
            continue;
        if (wait->strike.rule->fault->strike == fault_silence)
            proxy_link_speak(link->link);
        wait_forward(wait);
    }
}

bool rules_link_is_of(const struct rules_link *link, const struct rules *rules)
{
    return link->rules == rules;
}

bool rules_link_is_idle(const struct rules_link *link)
{
    return !link->waits[0] && !link->waits[1];
}

int rules_count(const struct rules *rules)
{
    return rules->count;
}

struct rule_counts rules_counts(const struct rules *rules, int row)
{
    const struct rule *rule = &rules->rules[row];
    return (struct rule_counts){rule->name, rule->fault->name, rule->point, rule->matches,
                                rule->strikes};
}

void rules_free(struct rules *rules)
{
    if (--rules->references > 0)
        return;
    leave_orders(rules);
    rules_index_free(rules->index);
    for (int i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->rules[i];
        free(rule->commands);
        free(rule->key.bytes);
        free(rule->script.bytes);
        free(rule->reply.bytes);
        free(rule->client_name.bytes);
        free(rule->arguments.bytes);
    }
    free(rules->rules);
    free(rules);
}

void rules_tell(const struct strike *strike, const char *words)
{
    struct rules *rules = strike->link->rules;
    const struct rules_told told = {strike->request, strike->rule->name, strike->rule->fault->name,
                                    strike->point, words};
    if (rules->hooks.told)
        rules->hooks.told(rules->hooks.context, strike->link, &told);
}

struct label *rules_label(struct rules *rules, const char *name)
{
    struct rules_orders *orders = rules->orders;
    for (int i = 0; i < orders->labels_count; i++)
        if (!strcmp(orders->labels[i].name, name))
            return &orders->labels[i];
    orders->labels =
        memory_resize(orders->labels, (size_t)orders->labels_count + 1, sizeof *orders->labels);
    struct label *label = &orders->labels[orders->labels_count++];
    *label = (struct label){0};
    snprintf(label->name, sizeof label->name, "%s", name);
    return label;
}

/* --- matching --- */

static bool text_matches(const struct rule_text *pattern, const char *bytes, size_t length)
{
    return !pattern->bytes ||
           (bytes && glob_matches(pattern->bytes, pattern->length, bytes, length));
}

static bool client_matches(const struct rule *rule, const struct rules_link *link)
{
    const char *name = proxy_link_name(link->link);
    if (rule->client && rule->client != proxy_link_number(link->link))
        return false;
    return text_matches(&rule->client_name, name, strlen(name));
}

static bool time_matches(const struct rule *rule, const struct rules *rules)
{
    int64_t now_us = (rule->from_us || rule->till_us) ? monotonic_us() - rules->started_us : 0;
    return now_us >= rule->from_us && (!rule->till_us || now_us < rule->till_us);
}

/* A script can be seen only while its request is there: remembered in the request for its reply. */
static void remember_scripts(const struct rules *rules, struct proxy_request *request)
{
    uint64_t bits = 0;
    struct rules_set set = *rules_index_scripts(rules->index);
    for (int at; (at = rules_set_take(&set)) >= 0;) {
        const struct rule *rule = &rules->rules[at];
        if (text_matches(&rule->script, request->script, request->script_length))
            bits |= UINT64_C(1) << rule->script_bit;
    }
    const uint64_t generation = rules->orders->generation;
    const bool is_ours =
        request->marks >> SCRIPTS_MAX == generation; /* others have marked it, too */
    request->marks = bits | (is_ours ? request->marks : generation << SCRIPTS_MAX);
}

static bool script_matches(const struct rule *rule, const struct rules *rules,
                           const struct proxy_request *request)
{
    return !rule->script.bytes || (request->marks >> SCRIPTS_MAX == rules->orders->generation &&
                                   (request->marks >> rule->script_bit & 1));
}

static bool request_matches(const struct rule *rule, const struct rules_link *link,
                            const struct proxy_request *request)
{
    bool is_multi_right =
        rule->multi == MULTI_ANY || (rule->multi == MULTI_INSIDE) == request->in_transaction;
    return is_multi_right &&
           text_matches(&rule->key, request->first_key, request->first_key_length) &&
           script_matches(rule, link->rules, request) && client_matches(rule, link) &&
           time_matches(rule, link->rules);
}

/* FNV-1a: which stream of random numbers belongs to a name. */
uint64_t names_stream(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

/* Whose chances they are: those of a name are the same whichever connection it comes over. */
static uint64_t client_of(const struct rules_link *link)
{
    const char *name = proxy_link_name(link->link);
    return *name ? names_stream(name) : proxy_link_number(link->link);
}

enum { DRAWS_OF_MATCH = 64, DRAWS_OF_CHANCE = 32 }; /* a draw may need a few numbers */

static struct random of_match(const struct rules_link *link, const struct rule *rule)
{
    const struct rules *rules = link->rules;
    return (struct random){.seed = rules->seed,
                           .stream = random_at(rule->stream, client_of(link), 0),
                           .next = link->matches[rule - rules->rules] * DRAWS_OF_MATCH};
}

struct random rules_draw(const struct rules_link *link, const struct rule *rule)
{
    struct random random = of_match(link, rule);
    random.next += DRAWS_OF_CHANCE;
    return random;
}

/* It matched: is it one of those that are meant? */
static bool is_due(struct rule *rule, struct rules_link *link)
{
    struct rules *rules = link->rules;
    uint64_t of_client = ++link->matches[rule - rules->rules];
    uint64_t of_all = ++rule->matches;
    uint64_t n = rule->is_each_client ? of_client : of_all;
    if ((rule->nth && n != rule->nth) || (rule->first && n > rule->first) ||
        (rule->beyond && n <= rule->beyond) || (rule->every && n % rule->every != 0))
        return false;
    if (!rule->has_chance)
        return true;
    struct random random = of_match(link, rule);
    return random_chance(&random, rule->chance_ppm);
}

static enum proxy_decision ask_rules(struct rules_link *link, struct proxy_request *request,
                                     const char *reply, size_t length, bool *is_struck)
{
    struct rules *rules = link->rules;
    struct rule *striking = NULL;
    struct rules_set set;
    if (!rules_index_find(rules->index, request, reply != NULL, &set))
        return PROXY_PASS;
    for (int at; (at = rules_set_take(&set)) >= 0;) {
        struct rule *rule = &rules->rules[at];
        if (!request_matches(rule, link, request) ||
            (reply && !text_matches(&rule->reply, reply, length)))
            continue;
        if (is_due(rule, link) && !striking)
            striking = rule;
    }
    if (!striking || *is_struck)
        return PROXY_PASS;
    *is_struck = true;
    const struct strike strike = {link, striking, request, striking->point};
    striking->strikes++;
    rules_tell(&strike, NULL);
    return striking->fault->strike(&strike);
}

enum proxy_decision rules_request_among(struct rules_link *link, struct proxy_request *request,
                                        bool *is_struck)
{
    if (request->script)
        remember_scripts(link->rules, request);
    return ask_rules(link, request, NULL, 0, is_struck);
}

enum proxy_decision rules_reply_among(struct rules_link *link, struct proxy_request *request,
                                      const char *bytes, size_t length, bool *is_struck)
{
    return ask_rules(link, request, bytes, length, is_struck);
}

bool rules_may_meet(const struct rules_link *link, const struct proxy_request *request)
{
    return rules_index_may_meet(link->rules->index, request);
}

enum proxy_decision rules_request(struct rules_link *link, struct proxy_request *request)
{
    bool is_struck = false;
    return rules_request_among(link, request, &is_struck);
}

enum proxy_decision rules_reply(struct rules_link *link, struct proxy_request *request,
                                const char *bytes, size_t length)
{
    bool is_struck = false;
    return rules_reply_among(link, request, bytes, length, &is_struck);
}
