/* test_sink_thread.c - events that a thread of their own takes: each once, in order, with what they
 * point to; and never more on their way than there is room for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "history/sink_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 5 * SINK_THREAD_AHEAD_MAX / 2, AHEAD = SINK_THREAD_AHEAD_MAX / 4 };

struct taken {
    int64_t count;       /* the thread's, but behind settle() */
    bool is_out_of_turn; /* an event that is not the next one, or with another text */
    pthread_t by;
    atomic_llong *given; /* how many give() has returned from; NULL: not looked at */
    int64_t ahead_max;
    sem_t *may_begin; /* NULL: it may */
};

static void take(void *context, const struct event *event)
{
    struct taken *taken = context;
    char text[24];
    if (taken->may_begin && taken->count == 0)
        sem_wait(taken->may_begin);
    (void)snprintf(text, sizeof text, "token %lld", (long long)taken->count);
    taken->is_out_of_turn |= event->index != taken->count || strcmp(event->token_text, text) != 0;
    if (taken->given && atomic_load(taken->given) - taken->count > taken->ahead_max)
        taken->ahead_max = atomic_load(taken->given) - taken->count;
    taken->by = pthread_self();
    taken->count++;
}

static struct event_sink sink_of(struct taken *taken)
{
    return (struct event_sink){.take = take, .context = taken};
}

static struct sink_thread *begin(struct taken *taken)
{
    struct sink_thread *thread = sink_thread_new(sink_of(taken));
    assert_non_null(thread);
    return thread;
}

/* What the event points to is the giver's again at once. */
static void give(struct sink_thread *thread, int64_t number)
{
    const struct event_sink sink = sink_thread_sink(thread);
    char text[24];
    (void)snprintf(text, sizeof text, "token %lld", (long long)number);
    sink.take(sink.context, &(struct event){.index = number, .token_text = text});
    memset(text, 'x', sizeof text);
}

static void all_are_taken_in_order_by_another_thread(void **state)
{
    struct taken taken = {0};
    struct sink_thread *thread = begin(&taken);
    (void)state;
    for (int64_t i = 0; i < MANY; i++)
        give(thread, i);
    sink_thread_settle(thread);
    assert_int_equal(taken.count, MANY);
    assert_false(taken.is_out_of_turn);
    assert_false(pthread_equal(taken.by, pthread_self()));
    sink_thread_free(thread);
}

/* One event, none, or a batch to the last one: settled it is taken, however often. */
static void settled_means_taken(void **state)
{
    struct taken taken = {0};
    struct sink_thread *thread = begin(&taken);
    (void)state;
    sink_thread_settle(thread);
    assert_int_equal(taken.count, 0);
    for (int64_t i = 0; i < AHEAD; i++) {
        give(thread, i);
        if (i % 100 == 0 || i == AHEAD - 1) {
            sink_thread_settle(thread);
            sink_thread_settle(thread);
            assert_int_equal(taken.count, i + 1);
        }
    }
    sink_thread_free(thread);
    assert_false(taken.is_out_of_turn);
}

static void freed_means_taken(void **state)
{
    struct taken taken = {0};
    struct sink_thread *thread = begin(&taken);
    (void)state;
    give(thread, 0);
    give(thread, 1);
    sink_thread_free(thread);
    assert_int_equal(taken.count, 2);
    sink_thread_settle(NULL);
    sink_thread_free(NULL);
}

/* Whoever gives goes on while the first one is still being taken: else this would wait for ever. */
static void the_giver_does_not_wait_for_what_is_done(void **state)
{
    sem_t may_begin;
    (void)state;
    assert_int_equal(sem_init(&may_begin, 0, 0), 0);
    struct taken taken = {.may_begin = &may_begin};
    struct sink_thread *thread = begin(&taken);
    for (int64_t i = 0; i < SINK_THREAD_AHEAD_MAX - 1; i++)
        give(thread, i);
    assert_int_equal(sem_post(&may_begin), 0);
    sink_thread_free(thread);
    assert_int_equal(taken.count, SINK_THREAD_AHEAD_MAX - 1);
    sem_destroy(&may_begin);
}

static void no_more_are_on_their_way_than_there_is_room_for(void **state)
{
    atomic_llong given = 0;
    struct taken taken = {.given = &given};
    struct sink_thread *thread = begin(&taken);
    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        give(thread, i);
        atomic_store(&given, i + 1);
    }
    sink_thread_free(thread);
    assert_int_equal(taken.count, MANY);
    assert_true(taken.ahead_max <= SINK_THREAD_AHEAD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_taken_in_order_by_another_thread),
        cmocka_unit_test(settled_means_taken),
        cmocka_unit_test(freed_means_taken),
        cmocka_unit_test(the_giver_does_not_wait_for_what_is_done),
        cmocka_unit_test(no_more_are_on_their_way_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
