/* fuzz_schedule.c - hostile schedule files: what is read is written, and read again as the same. */
#include "test/fuzz.h"

#include "scenario/schedule.h"

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct schedule *schedule, *again;
    struct failure failure = {0};
    enum fail fail = schedule_read(fuzz_file(data, size), NULL, &schedule, &failure);
    if (fail) {
        fuzz_must_refuse(fail, &failure);
        return false;
    }
    char path[] = "/tmp/picklock-fuzz-XXXXXX";
    int fd = mkstemp(path);
    fuzz_must(fd >= 0 && !close(fd), "no temporary file");
    fuzz_must(!schedule_write(schedule, path, &failure), "what was read cannot be written");
    fuzz_must(!schedule_read(path, NULL, &again, &failure), "what was written cannot be read");
    fuzz_must(again->scheme == schedule->scheme && again->clients == schedule->clients &&
                  again->servers == schedule->servers && again->lease_us == schedule->lease_us &&
                  again->seed == schedule->seed && again->same_token == schedule->same_token &&
                  again->has_replica == schedule->has_replica &&
                  again->has_delex == schedule->has_delex &&
                  again->choices_count == schedule->choices_count,
              "another head when read again");
    for (int i = 0; i < schedule->choices_count; i++)
        fuzz_must(choice_is_same(&schedule->choices[i], &again->choices[i]),
                  "another choice when read again");
    schedule_free(again);
    schedule_free(schedule);
    fuzz_must(!unlink(path), "the temporary file is gone");
    return true;
}
