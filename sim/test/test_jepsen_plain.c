/* test_jepsen_plain.c - the reader of plainly written Jepsen operations, and the one of all others:
 * random texts, many of them a byte off. What the first one takes the second one takes, too, and
 * makes the same of it. PICKLOCK_RUNS=N draws so many, PICKLOCK_SEED=N others. */
#include "history/jepsen_op.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "test/sample.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 20000, TEXT_MAX = 400, WORTH_FROM = 1000 };

static const char *const fields[][12] = {
    {"process", "3", "0", "17", ":nemesis", "-1", "007", "nil"},
    {"type", ":invoke", ":ok", ":fail", ":info", ":okay", "\"ok\"", "ok"},
    {"f", ":acquire", ":release", ":renew", ":try-lock", ":acquir", ":lock", "\"unlock\""},
    {"time", "5000", "5000", "1", "0", "99999999999999999999", "4.5", "-3", "12N"},
    {"value", "nil", "nil", "7", "[:a nil]", "[:a 7]", "[3 nil]", "[\"3\" 1]", "[:3 nil]", "{}",
     "1.5"},
    {"error", ":unsupported", ":timeout", "\"unsupported\"", "[:a]", "\"no time\""},
    {"index", "12", "0", ":a", "nil"},
    {"mine", "1", ":b"},
    {"tiem", "1"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Of EDN the JSON that stands for it. */
static void put_word(char *text, const char *word, bool is_name, bool is_json)
{
    const size_t size = strlen(text);
    const bool is_keyword = is_name || *word == ':';
    if (strcmp(word, "nil") == 0)
        word = is_json ? "null" : "nil";
    if (!is_json || !is_keyword)
        snprintf(text + size, TEXT_MAX - size, "%s%s", is_name ? ":" : "", word);
    else
        snprintf(text + size, TEXT_MAX - size, "\"%s\"", word + !is_name);
}

static void draw(struct random *random, bool is_json, char text[TEXT_MAX])
{
    static const char *const between[] = {", ", ",", " ", ",  "};
    snprintf(text, TEXT_MAX, "{");
    const size_t first = random_below(random, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        const char *const *field = fields[(first + i) % FIELDS];
        size_t values = 1;
        while (values < 12 && field[values])
            values++;
        if (random_below(random, field[0] == fields[7][0] || field[0] == fields[8][0] ? 1 : 12) ==
            0)
            continue;
        if (text[1])
            strcat(text, between[random_below(random, 4)]);
        put_word(text, field[0], true, is_json);
        strcat(text, is_json ? ": " : " ");
        const size_t odd = random_below(random, 12) == 0 ? values - 1 : 1;
        put_word(text, field[1 + random_below(random, odd)], false, is_json);
    }
    strcat(text, "}");
    if (random_below(random, 4) == 0) {
        static const char bytes[] = " {}[],:;\"\\#-0a7\n\t~\x80";
        text[random_below(random, strlen(text))] = bytes[random_below(random, sizeof bytes - 1)];
    }
}

static void assert_same(const char *text, const struct jepsen_op *one, const struct jepsen_op *two,
                        const struct jepsen_ops *first, const struct jepsen_ops *second)
{
    const bool is_same =
        one->process == two->process && one->time_us == two->time_us && one->fence == two->fence &&
        one->type == two->type && one->op == two->op && strcmp(one->key, two->key) == 0 &&
        one->is_nemesis == two->is_nemesis && one->was_not_done == two->was_not_done &&
        one->has_fence == two->has_fence && one->has_other_value == two->has_other_value &&
        one->is_value_huge == two->is_value_huge && first->has_time == second->has_time &&
        first->first_ns == second->first_ns && first->last_ns == second->last_ns &&
        first->count == second->count && first->kinds == second->kinds &&
        first->names_a_lock == second->names_a_lock;
    if (!is_same)
        fail_msg("read otherwise: %s", text);
}

/* Is it plain? */
static bool read_both(char *text, const struct jepsen_ops *state, struct form_reader *form)
{
    struct jepsen_ops plain_ops = *state, ops = *state;
    struct jepsen_op plain, op;
    struct failure failure;
    json_t *value;
    size_t size = 0;
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    form_init(form, file, "drawn", form->language);
    const bool is_plain = jepsen_plain_read(&plain_ops, text, &plain, &size);
    if (!is_plain) {
        plain = (struct jepsen_op){0};
        assert_same(text, &plain, &plain, &plain_ops, &ops); /* nothing has changed */
    } else if (form_next(form, &value, &failure)) {
        fail_msg("%s\n%s", text, failure.text);
    } else {
        if (!value || jepsen_op_read(&ops, value, &op, &failure))
            fail_msg("%s\n%s", text, failure.text);
        json_decref(value);
        assert_same(text, &plain, &op, &plain_ops, &ops);
        assert_int_equal(form->next.line, 1);
        assert_int_equal(form->next.column, size + 1);
    }
    assert_int_equal(fclose(file), 0);
    return is_plain;
}

static void what_is_plain_is_read_alike(void **state)
{
    const int64_t runs = (int64_t)sample_number("PICKLOCK_RUNS", RUNS);
    struct random random = {.seed = sample_number("PICKLOCK_SEED", 7)};
    struct form_reader *form = memory_new(1, sizeof *form);
    int64_t plain = 0;
    (void)state;
    for (int64_t i = 0; i < runs; i++) {
        char text[TEXT_MAX];
        form->language = random_below(&random, 2) ? FORM_JSON : FORM_EDN;
        draw(&random, form->language == FORM_JSON, text);
        const int64_t before = (int64_t)random_below(&random, 3);
        const struct jepsen_ops ops = {.form = form,
                                       .wants_time = random_below(&random, 2),
                                       .unit = (enum jepsen_unit)random_below(&random, 4),
                                       .has_time = before && random_below(&random, 8) > 0,
                                       .last_ns = before ? 1000 : 0,
                                       .count = before,
                                       .kinds = (unsigned)random_below(&random, 8),
                                       .names_a_lock = random_below(&random, 2)};
        plain += read_both(text, &ops, form);
    }
    free(form);
    if (runs >= WORTH_FROM) /* the texts were worth it */
        assert_true(plain > runs / 20 && plain < runs / 2);
}

/* As Jepsen and our own converter write them. */
static void what_jepsen_writes_is_plain(void **state)
{
    static const struct {
        enum form_language language;
        const char *text;
    } rows[] = {
        {FORM_EDN, "{:type :invoke, :f :acquire, :value nil, :time 12, :process 3, :index 0}"},
        {FORM_EDN, "{:index 0, :time 12, :process 1, :type :fail, :f :release, :value [:a-b 7], "
                   ":error :unsupported}"},
        {FORM_EDN, "{:process 0, :type :ok, :f :acquire, :value 7, :time 12} {:process 1}"},
        {FORM_JSON, "{\"type\": \"info\", \"f\": \"renew\", \"value\": [3, null], \"time\": 12, "
                    "\"process\": 10, \"index\": 4}"},
        {FORM_JSON, "{\"process\":0,\"type\":\"ok\",\"f\":\"lock\",\"value\":null,\"time\":0}"},
    };
    struct form_reader *form = memory_new(1, sizeof *form);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jepsen_ops ops = {.form = form};
        char *text = memory_format("%s", rows[i].text);
        form->language = rows[i].language;
        assert_true(read_both(text, &ops, form));
        free(text);
    }
    free(form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jepsen_writes_is_plain),
        cmocka_unit_test(what_is_plain_is_read_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
