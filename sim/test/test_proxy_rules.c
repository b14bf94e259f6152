/* test_proxy_rules.c - the rules of a proxy are looked up by command and key, and do what a plain
 * loop over all of them does: who strikes, and what each counts, on random rules and requests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy/glob.h"
#include "proxy/internal.h"
#include "proxy/rules_words.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 12, LINKS = 3, ROUNDS = 60, REQUESTS = 150, TEXT = 8 };

static const char *const commands[] = {"SET", "GET", "DEL", "EVAL"};

/* Of letters that clash: patterns that begin alike, and escapes, sets and stars at any place. */
static size_t random_text(struct random *random, const char *letters, size_t at_least, char *text)
{
    const size_t length = at_least + random_below(random, TEXT - 1 - at_least);
    for (size_t i = 0; i < length; i++)
        text[i] = letters[random_below(random, strlen(letters))];
    text[length] = 0;
    return length;
}

static bool now_and_then(struct random *random)
{
    return random_below(random, 3) == 0;
}

static void say(struct rules_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct rules_line *line, const char *format, ...)
{
    struct failure failure;
    char text[64];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    assert_int_equal(line_word(line, text, &failure), FAIL_NONE);
}

static void say_pattern(struct rules_line *line, const char *selector, struct random *random)
{
    char pattern[TEXT];
    random_text(random, now_and_then(random) ? "aab*?[]^\\" : "aab", 1, pattern);
    say(line, "%s%s", selector, pattern);
}

static void say_selectors(struct rules_line *line, bool is_reply, struct random *random)
{
    if (!now_and_then(random))
        say(line, "command=%s,%s", commands[random_below(random, 4)],
            commands[random_below(random, 4)]);
    if (!now_and_then(random))
        say_pattern(line, "key=", random);
    if (random_below(random, 10) == 0)
        say_pattern(line, "script=", random);
    if (is_reply && now_and_then(random))
        say_pattern(line, "reply=", random);
    if (now_and_then(random))
        say(line, random_below(random, 2) ? "client=2" : "client=n*");
    if (now_and_then(random))
        say(line, random_below(random, 2) ? "in-multi" : "outside-multi");
    if (now_and_then(random))
        say(line, random_below(random, 2) ? "every=2" : "beyond=1");
    if (now_and_then(random))
        say(line, "each-client");
    if (now_and_then(random))
        say(line, "chance=50%%");
}

static struct rules *random_rules(struct random *random)
{
    struct rules *rules = rules_new();
    struct rules_line *line = calloc(1, sizeof *line);
    struct failure failure = {0};
    const int count = (int)(now_and_then(random) ? RULES_MAX : 1 + random_below(random, 20));
    for (int i = 0; i < count; i++) {
        static const char *const actions[] = {"drop-request", "duplicate", "drop-reply"};
        const int action = (int)random_below(random, 3);
        line->count = 0;
        say(line, "r%d:", i);
        say_selectors(line, action == 2, random);
        say(line, "->");
        say(line, "%s", actions[action]);
        if (rules_add(rules, line, &failure))
            fail_msg("%s", failure.text);
    }
    free(line);
    return rules;
}

/* --- the plain loop --- */

struct plain {
    uint64_t of_all[RULES_MAX], of_link[LINKS][RULES_MAX], strikes[RULES_MAX];
};

static bool fits(const struct rule_text *pattern, const char *bytes, size_t length)
{
    return !pattern->bytes ||
           (bytes && glob_matches(pattern->bytes, pattern->length, bytes, length));
}

static bool plain_matches(const struct rule *rule, const struct proxy_request *request,
                          const char *script, const char *reply)
{
    char name[32];
    snprintf(name, sizeof name, ",%s,", request->name);
    const struct proxy_link *link = request->link;
    return (rule->point != POINT_BEFORE) == (reply != NULL) &&
           (!rule->commands || strstr(rule->commands, name)) &&
           (rule->multi == MULTI_ANY || (rule->multi == MULTI_INSIDE) == request->in_transaction) &&
           fits(&rule->key, request->first_key, request->first_key_length) &&
           fits(&rule->script, script, script ? strlen(script) : 0) &&
           fits(&rule->reply, reply, reply ? strlen(reply) : 0) &&
           (!rule->client || rule->client == link->number) &&
           fits(&rule->client_name, link->name, strlen(link->name));
}

static bool plain_is_due(struct plain *plain, const struct rules *rules, int row,
                         const struct proxy_link *link)
{
    const struct rule *rule = &rules->rules[row];
    const uint64_t of_link = ++plain->of_link[link->number - 1][row];
    const uint64_t of_all = ++plain->of_all[row], n = rule->is_each_client ? of_link : of_all;
    if ((rule->every && n % rule->every) || n <= rule->beyond)
        return false;
    const uint64_t client = *link->name ? names_stream(link->name) : link->number;
    struct random random = {
        .seed = SEED, .stream = random_at(rule->stream, client, 0), .next = of_link * 64};
    return !rule->has_chance || random_chance(&random, rule->chance_ppm);
}

/* Returns the name of the rule that strikes, "" where none does. */
static const char *plain_loop(struct plain *plain, const struct rules *rules,
                              const struct proxy_request *request, const char *script,
                              const char *reply)
{
    int striking = -1;
    for (int i = 0; i < rules->count; i++)
        if (plain_matches(&rules->rules[i], request, script, reply) &&
            plain_is_due(plain, rules, i, request->link) && striking < 0)
            striking = i;
    if (striking < 0)
        return "";
    plain->strikes[striking]++;
    return rules->rules[striking].name;
}

/* --- both --- */

static void on_told(void *context, struct rules_link *link, const struct rules_told *told)
{
    (void)link;
    *(const char **)context = told->rule;
}

struct both {
    struct rules *rules;
    struct plain plain;
    struct proxy_link links[LINKS];
    struct rules_link *of_links[LINKS];
    const char *told;
    uint64_t unmet; /* requests that no rule may meet, as is told beforehand */
};

static uint64_t all_matches(const struct both *both)
{
    uint64_t all = 0;
    for (int i = 0; i < both->rules->count; i++)
        all += both->plain.of_all[i];
    return all;
}

static void one_request(struct both *both, struct random *random)
{
    char key[TEXT], script[TEXT], reply[TEXT];
    const int at = (int)random_below(random, LINKS);
    struct proxy_request request = {
        .link = &both->links[at],
        .name = now_and_then(random) ? "OTHER" : commands[random_below(random, 4)],
        .in_transaction = now_and_then(random)};
    if (!now_and_then(random)) {
        request.first_key_length = random_text(random, "aab*[\\", 0, key);
        request.first_key = key;
    }
    random_text(random, "aab", 0, reply);
    const char *kept = now_and_then(random) ? script : NULL;
    if (kept) {
        request.script_length = random_text(random, "aab", 0, script);
        request.script = script;
    }
    const bool may_meet = rules_may_meet(both->of_links[at], &request);
    const uint64_t matches = all_matches(both);
    both->unmet += !may_meet;
    both->told = "";
    rules_request(both->of_links[at], &request);
    assert_string_equal(both->told, plain_loop(&both->plain, both->rules, &request, kept, NULL));
    request.script = NULL;
    both->told = "";
    rules_reply(both->of_links[at], &request, reply, strlen(reply));
    assert_string_equal(both->told, plain_loop(&both->plain, both->rules, &request, kept, reply));
    assert_true(may_meet || all_matches(both) == matches);
}

static uint64_t one_round(struct random *random, uint64_t *unmet)
{
    struct both both = {.rules = random_rules(random)};
    uint64_t strikes = 0;
    rules_start(both.rules, uv_default_loop(), SEED,
                &(struct rules_hooks){.told = on_told, .context = &both.told});
    for (int i = 0; i < LINKS; i++) {
        both.links[i].number = (uint64_t)i + 1;
        strcpy(both.links[i].name, i == 2 ? "name" : "");
        both.of_links[i] = rules_link_new(both.rules, &both.links[i]);
    }
    for (int i = 0; i < REQUESTS; i++)
        one_request(&both, random);
    for (int i = 0; i < both.rules->count; i++) {
        const struct rule_counts counts = rules_counts(both.rules, i);
        assert_int_equal(counts.matches, both.plain.of_all[i]);
        assert_int_equal(counts.strikes, both.plain.strikes[i]);
        strikes += counts.strikes;
    }
    for (int i = 0; i < LINKS; i++)
        rules_link_free(both.of_links[i]);
    *unmet += both.unmet;
    rules_free(both.rules);
    return strikes;
}

static void rules_that_are_looked_up_do_what_a_loop_over_all_does(void **state)
{
    (void)state;
    struct random random = {.seed = SEED};
    uint64_t strikes = 0, unmet = 0;
    for (int i = 0; i < ROUNDS; i++)
        strikes += one_round(&random, &unmet);
    assert_true(strikes > ROUNDS && unmet > ROUNDS); /* no comparison of nothing with nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_that_are_looked_up_do_what_a_loop_over_all_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
