/* fuzz_jepsen.c - hostile Jepsen histories: refused with a place, or judged. Read as JSON where
 * "type" stands in quotes. */
#include "test/fuzz.h"

#include "checks/checks.h"
#include "history/source.h"

static bool fuzz_one(const uint8_t *data, size_t size)
{
    bool is_json = memmem(data, size, "\"type\"", 6) != NULL;
    const struct source_options options = {.format =
                                               is_json ? SOURCE_JEPSEN_JSON : SOURCE_JEPSEN_EDN,
                                           .jepsen = {.model = MODEL_FENCED,
                                                      .lease_us = 300000,
                                                      .concurrency = size % 5 == 0 ? 2 : 0,
                                                      .unit = (enum jepsen_unit)(size % 4),
                                                      .reads_misses = size % 2 == 0,
                                                      .is_judged = size % 3 == 0}};
    struct history_source *source;
    struct history_head head;
    struct event event;
    struct failure failure = {0};
    bool is_end = false;
    int64_t last_us = 0, last_index = -1;
    enum fail fail = history_source_new(&source, fuzz_file(data, size), &options, &head, &failure);
    if (fail) {
        fuzz_must_refuse(fail, &failure);
        return false;
    }
    struct checks *checks = checks_new(&head);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    while (!(fail = history_source_next(source, &event, &is_end, &failure)) && !is_end) {
        fuzz_must(event.time_us >= last_us && event.index == last_index + 1, "out of order");
        fuzz_must(event.client < head.clients && event.lock < head.locks, "out of bounds");
        last_us = event.time_us;
        last_index = event.index;
        checks_event(checks, &event);
    }
    /* Whose lock it was that somebody released may not be known. */
    fuzz_must(!fail || fail == FAIL_UNKNOWN, "taken at the first reading, refused at the second");
    checks_finish(checks, last_us, findings, NULL);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        fuzz_must(findings[i].verdict != VERDICT_VIOLATED || findings[i].witness_lines > 0,
                  "a violation without a word");
    checks_free(checks);
    free(findings);
    history_source_free(source);
    return true;
}
