/* fuzz_history.c - hostile histories: refused with a place, or judged and drawn. */
#include "test/fuzz.h"

#include "checks/checks.h"
#include "history/history.h"
#include "report/report.h"

static bool judge(struct history_reader *reader, const struct history_head *head,
                  struct failure *failure)
{
    struct checks *checks = checks_new(head);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    struct event event;
    bool is_end = false;
    int64_t last_us = 0;
    enum fail fail;
    while (!(fail = history_reader_next(reader, &event, &is_end, failure)) && !is_end) {
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
    bool is_taken = judge(reader, &head, &failure);
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
