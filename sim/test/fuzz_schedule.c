/* fuzz_schedule.c - hostile schedule files: what is read is written, and read again as the same;
 * what can be replayed as it stands is followed exactly so, and every lock can be tried with it. */
#include "test/fuzz.h"

#include "scenario/schedule_follow.h"
#include "world/simulated.h"

enum { FOLLOWED_CHOICES_MAX = 200 };

/* Those that were made, one behind the other. */
struct made_choices {
    const struct schedule *schedule; /* NULL: they are not compared */
    int count;
};

static void take_choice(void *context, const struct choice *choice)
{
    struct made_choices *made = context;
    fuzz_must(!made->schedule || (made->count < made->schedule->choices_count &&
                                  choice_is_same(choice, &made->schedule->choices[made->count])),
              "what can be replayed is followed otherwise");
    made->count++;
}

static void ignore(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static struct world *world_for(struct run *run, const struct schedule *schedule,
                               const struct scheme *scheme)
{
    const bool is_own = scheme == schedule->scheme;
    *run = (struct run){.scheme = scheme,
                        .clients = schedule->clients,
                        .servers = schedule->servers,
                        .names = (char(*)[NAME_MAX_BYTES])(uintptr_t)schedule->names,
                        .lease_us = scheme_lease_us(scheme, schedule->lease_us),
                        .seed = schedule->seed,
                        .same_token = is_own ? schedule->same_token : 0,
                        .has_replica = schedule->has_replica,
                        .has_delex = schedule->has_delex,
                        .sink = {.take = ignore}};
    return world_simulated_new(run);
}

/* Does it replay as it stands? */
static bool applies(const struct schedule *schedule)
{
    struct run run;
    struct failure why;
    struct world *world = world_for(&run, schedule, schedule->scheme);
    const enum fail fail = schedule_apply(schedule, NULL, world, &why);
    world->ops->free(world);
    return !fail;
}

static void follow(const struct schedule *schedule, const struct scheme *scheme, bool is_exact)
{
    struct run run;
    struct failure why = {0};
    struct followed followed;
    struct made_choices made = {.schedule = is_exact ? schedule : NULL};
    struct world *world = world_for(&run, schedule, scheme);
    const enum fail fail = schedule_follow(
        schedule, NULL, world, (struct choice_sink){.take = take_choice, .context = &made},
        &followed, &why);
    world->ops->free(world);
    fuzz_must(!fail || (fail == why.code && *why.text), "not followed, and no reason");
    fuzz_must(!is_exact || followed.count == 0, "what can be replayed is done otherwise");
    fuzz_must(!is_exact || (fail ? strstr(why.text, "though nobody has the lock") != NULL
                                 : made.count == schedule->choices_count),
              "what can be replayed is not followed to its end");
    followed_close(&followed);
}

static void follow_with_others(const struct schedule *schedule)
{
    static const char *const others[] = {"set-nx-px-cad", "setnx-expire-del", "watch-multi-del"};
    if (schedule->choices_count > FOLLOWED_CHOICES_MAX)
        return;
    follow(schedule, schedule->scheme, applies(schedule));
    for (size_t i = 0; i < sizeof others / sizeof *others && !schedule->scheme->needs_quorum; i++)
        if (scheme_named(others[i]) != schedule->scheme)
            follow(schedule, scheme_named(others[i]), false);
}

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
                  again->has_property == schedule->has_property &&
                  again->property == schedule->property &&
                  again->choices_count == schedule->choices_count,
              "another head when read again");
    for (int i = 0; i < schedule->choices_count; i++)
        fuzz_must(choice_is_same(&schedule->choices[i], &again->choices[i]),
                  "another choice when read again");
    follow_with_others(schedule);
    schedule_free(again);
    schedule_free(schedule);
    fuzz_must(!unlink(path), "the temporary file is gone");
    return true;
}
