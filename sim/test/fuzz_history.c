/* fuzz_history.c - hostile histories: refused with a place, or judged and
 * drawn. */
#include "test/fuzz.h"

#include "checks/checks.h"
#include "history/history.h"
#include "report/report.h"

static bool is_same_text(const char *one, const char *other)
{
    return one && other ? !strcmp(one, other) : one == other;
}

/* What a line says does not depend on how it is read. */
static void must_be_same(struct history_reader *generic, enum fail fail, bool is_end,
                         const struct event *event, const struct failure *failure)
{
    struct event other;
    bool other_is_end = false;
    struct failure words = {0};
    enum fail other_fail = history_reader_next(generic, &other, &other_is_end, &words);
    fuzz_must(fail == other_fail && is_end == other_is_end, "read in another way, taken otherwise");
    fuzz_must(!fail || is_same_text(failure->text, words.text), "refused in other words");
    if (fail || is_end)
        return;
    struct event one = *event;
    fuzz_must(is_same_text(one.token_text, other.token_text) && !one.opaque == !other.opaque,
              "another event");
    one.token_text = other.token_text = NULL;
    one.opaque = other.opaque = NULL;
    one.effects = other.effects = NULL;
    fuzz_must(
        one.index == other.index && one.time_us == other.time_us && one.from_us == other.from_us &&
            one.kind == other.kind && one.client == other.client && one.server == other.server &&
            one.lock == other.lock && one.attempt == other.attempt && one.op == other.op &&
            one.lane == other.lane && one.command.verb == other.command.verb &&
            one.command.key == other.command.key && one.command.value == other.command.value &&
            one.command.number == other.command.number &&
            one.command.ttl_us == other.command.ttl_us && one.reply.kind == other.reply.kind &&
            one.reply.value == other.reply.value && one.reply.second == other.reply.second &&
            one.reply.error == other.reply.error && one.result == other.result &&
            one.token == other.token && one.fence == other.fence &&
            one.amount_us == other.amount_us && one.fault == other.fault &&
            one.is_inferred == other.is_inferred,
        "another event");
}

static bool judge(struct history_reader *reader, struct history_reader *generic,
                  const struct history_head *head, struct failure *failure)
{
    struct checks *checks = checks_new(head);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    struct event event;
    bool is_end = false;
    int64_t last_us = 0;
    enum fail fail;
    for (;;) {
        fail = history_reader_next(reader, &event, &is_end, failure);
        must_be_same(generic, fail, is_end, &event, failure);
        if (fail || is_end)
            break;
        checks_event(checks, &event);
        last_us = event.time_us;
    }
    if (fail) {
        fuzz_must_refuse(fail, failure);
    } else {
        struct counters counters;
        checks_finish(checks, last_us, findings, &counters);
        for (int i = 0; i < PROPERTY_COUNT; i++)
            fuzz_must(findings[i].verdict != VERDICT_VIOLATED || findings[i].witness_lines > 0,
                      "a violation without a word");
    }
    checks_free(checks);
    free(findings);
    return !fail;
}

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct history_reader *reader;
    struct history_head head;
    struct failure failure = {0};
    const char *path = fuzz_file(data, size);
    enum fail fail = history_reader_new(&reader, path, &head, &failure);
    if (fail) {
        fuzz_must_refuse(fail, &failure);
        return false;
    }
    struct history_reader *generic;
    struct history_head same;
    fuzz_must(!history_reader_new(&generic, path, &same, &failure), "refused the second time");
    history_reader_be_generic(generic);
    bool is_taken = judge(reader, generic, &head, &failure);
    history_reader_free(generic);
    history_reader_free(reader);
    char *drawing = NULL;
    size_t drawn = 0;
    FILE *out = open_memstream(&drawing, &drawn);
    fuzz_must(out != NULL, "no memory for a drawing");
    fail = report_timeline(out, path, 1, CHARSET_UTF8, &failure);
    fuzz_must(is_taken == !fail, "taken by the checks, refused by the drawing, or the reverse");
    (void)fclose(out);
    free(drawing);
    return is_taken;
}
