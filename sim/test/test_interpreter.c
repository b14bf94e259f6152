/* test_interpreter.c - the interpreter against a small scripted world: the exact choices that every
 * step makes. */
#include "scenario/interpreter.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/scripted_world.h"

#include <stdlib.h>

/* --- operations --- */

#define A_GRANTED "A acquires\nA's SET reaches server 1\nA hears SET from server 1\n"
#define B_GRANTED "B acquires\nB's SET reaches server 1\nB hears SET from server 1\n"

static void plain_acquire_and_release(void **state)
{
    (void)state;
    one_server("A acquires\nA releases", A_GRANTED "A releases\n"
                                                   "A's GET reaches server 1\n"
                                                   "A hears GET from server 1\n"
                                                   "A's DEL reaches server 1\n"
                                                   "A hears DEL from server 1\n");
}

static void the_critical_section(void **state)
{
    (void)state;
    one_server("A acquires\nA reads the counter\nA writes the counter\nA writes",
               A_GRANTED "A reads the counter\n"
                         "A's GET reaches server 1\n"
                         "A hears GET from server 1\n"
                         "A writes the counter\n"
                         "A's SET reaches server 1\n"
                         "A hears SET from server 1\n"
                         "A writes\n"
                         "A's SET reaches server 1\n"
                         "A hears SET from server 1\n");
}

static void stalls_before_and_goes_on(void **state)
{
    (void)state;
    one_server("A acquires\nA releases, stalls before DEL\nlease expires\nB acquires\nA goes on",
               A_GRANTED "A releases\n"
                         "A's GET reaches server 1\n"
                         "A hears GET from server 1\n"
                         "time passes 310ms\n" B_GRANTED "A's DEL reaches server 1\n"
                         "A hears DEL from server 1\n");
}

static void stalls_after_and_goes_on(void **state)
{
    (void)state;
    one_server("A acquires, stalls after SET\nB acquires\nA goes on",
               "A acquires\n"
               "A's SET reaches server 1\n" B_GRANTED "A hears SET from server 1\n");
}

static void stalls_by_effect(void **state)
{
    (void)state;
    one_server("A acquires, stalls before the set\nA goes on, stalls after the set\nA goes on\n"
               "A releases, stalls after the read\nA goes on, stalls before the delete",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n"
               "A releases\n"
               "A's GET reaches server 1\n"
               "A hears GET from server 1\n");
}

static void a_quorum_arrives_then_is_heard(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 3);
    makes(play, "A acquires",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 2\n"
          "A's SET reaches server 3\n"
          "A hears SET from server 1\n"
          "A hears SET from server 2\n"
          "A hears SET from server 3\n");
    play_open(play, 3);
    makes(play, "A acquires, stalls after SET\nB acquires, stalls before SET\nB goes on",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 2\n"
          "A's SET reaches server 3\n"
          "B acquires\n"
          "B's SET reaches server 1\n"
          "B's SET reaches server 2\n"
          "B's SET reaches server 3\n"
          "B hears SET from server 1\n"
          "B hears SET from server 2\n"
          "B hears SET from server 3\n");
    free(play);
}

static void cannot_reach_two_of_five(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 5);
    makes(play,
          "A cannot reach server 4\nA cannot reach server 2\nA can reach server 4\n"
          "A cannot reach server 5\nA acquires",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET to server 2 is lost\n"
          "A gives up on SET at server 2\n"
          "A's SET reaches server 3\n"
          "A's SET reaches server 4\n"
          "A's SET to server 5 is lost\n"
          "A gives up on SET at server 5\n"
          "A hears SET from server 1\n"
          "A hears SET from server 3\n"
          "A hears SET from server 4\n");
    free(play);
}

static void what_the_scheme_sleeps_is_passed(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.retry_us = 5000;
    makes(play, "A acquires",
          "A acquires\n"
          "time passes 5ms\n"
          "A wakes\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n");
    free(play);
}

/* --- losses and other faults --- */

static void lost_reply_then_resend(void **state)
{
    (void)state;
    one_server("A acquires, stalls after SET\nA loses the reply\nA resends",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A's reply to SET from server 1 is lost\n"
               "A resends SET to server 1\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n");
    one_server("A acquires, stalls after SET\nA loses the reply\nA resends, stalls before SET\n"
               "lease expires\nA goes on",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A's reply to SET from server 1 is lost\n"
               "A resends SET to server 1\n"
               "time passes 310ms\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n");
}

static void lost_request_then_given_up(void **state)
{
    (void)state;
    one_server("A acquires, stalls before SET\nA loses the request\nA gives up",
               "A acquires\n"
               "A's SET to server 1 is lost\n"
               "A gives up on SET at server 1\n");
}

/* A time-out leaves the request under way: nothing moves it but "goes on". */
static void given_up_and_late(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.refuses = true;
    makes(play, "A acquires, stalls before SET\nA gives up\ntime passes 1ms\nB acquires\nA goes on",
          "A acquires\n"
          "A gives up on SET at server 1\n"
          "time passes 1ms\n" B_GRANTED "A's late SET reaches server 1\n");
    free(play);
}

static void a_restart_voids_what_is_in_flight(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 3);
    makes(play, "A acquires, stalls before SET\nserver 2 restarts empty\nA goes on",
          "A acquires\n"
          "server 2 restarts empty\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 3\n"
          "A hears SET from server 1\n"
          "A hears SET from server 3\n"
          "A gives up on SET at server 2\n");
    play_open(play, 1);
    makes(play, "A acquires, stalls after SET\nserver restarts empty\nA resends",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "server 1 restarts empty\n"
          "A resends SET to server 1\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n");
    free(play);
}

/* The SET that was given up on is on a connection that its client has left. */
static void what_was_given_up_blocks_nothing(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.refuses = true;
    makes(play,
          "A acquires, stalls before SET\nA gives up\nA acquires, stalls before SET\n"
          "A's late request arrives\nA goes on",
          "A acquires\n"
          "A gives up on SET at server 1\n"
          "A acquires\n"
          "A's late SET reaches server 1\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n");
    free(play);
}

/* The copy goes by itself: the original does not wait for it, nor it for the original. */
static void a_request_is_sent_twice(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    makes(play,
          "A acquires\nA releases, stalls before DEL\nA's request is sent twice\nA goes on\n"
          "A's late request arrives",
          A_GRANTED "A releases\n"
                    "A's GET reaches server 1\n"
                    "A hears GET from server 1\n"
                    "A's DEL to server 1 is sent twice\n"
                    "A's DEL reaches server 1\n"
                    "A hears DEL from server 1\n"
                    "A's late DEL reaches server 1\n");
    cannot_follow(play, "A's request is sent twice", "A is not stalled before a request");
    cannot_follow(play, "A's late request arrives", "A has no late request on its way");
    free(play);
}

static void a_server_answers_with_an_error(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 2);
    makes(play, "A acquires, stalls before SET\nserver 2 answers A with OOM",
          "A acquires\n"
          "A's SET to server 2 is answered with OOM\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n"
          "A hears SET from server 2\n");
    cannot_follow(play, "B acquires\nserver 2 answers B with LOADING",
                  "B is not stalled before a request to server 2");
    free(play);
}

static void single_choices(void **state)
{
    (void)state;
    one_server("A's lease is 500us\nA's lease is 2 leases\nA's clock jumps -10s\nserver's clock "
               "jumps 0.5 leases\n"
               "server's replica is cut off\nserver fails over\nA crashes",
               "A's lease is 1ms\n"
               "A's lease is 600ms\n"
               "A's clock jumps -10s\n"
               "server 1's clock jumps 150ms\n"
               "server 1's replica is cut off\n"
               "server 1 fails over\n"
               "A crashes\n");
}

/* --- time --- */

static void timers_ring_while_time_passes(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 100000;
    /* A's timer starts at 300 us, B's at 600 us; a wake, an arrival and a hearing take 300 us, and
     * the next period counts from 100 us after the ring. The span ends 150 ms after 600 us. */
    makes(play, "A acquires\nB acquires\ntime passes 150ms",
          A_GRANTED B_GRANTED "time passes 99.7ms\n"
                              "A wakes\n"
                              "A's compare-and-expire reaches server 1\n"
                              "A hears compare-and-expire from server 1\n"
                              "B wakes\n"
                              "B's compare-and-expire reaches server 1\n"
                              "B hears compare-and-expire from server 1\n"
                              "time passes 49.7ms\n");
    assert_int_equal(play->fake.now_us, 600 + 150000);
    free(play);
}

static void stalled_and_dead_clients_do_not_renew(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 200000;
    makes(play, "A acquires\nA writes, stalls before SET\nlease expires\nA goes on",
          A_GRANTED "A writes\n"
                    "time passes 199.9ms\n"
                    "A wakes\n"
                    "time passes 110ms\n"
                    "A's SET reaches server 1\n"
                    "A's compare-and-expire reaches server 1\n"
                    "A hears SET from server 1\n"
                    "A hears compare-and-expire from server 1\n");
    play_open(play, 1);
    play->fake.period_us = 100000;
    makes(play, "A acquires\nA crashes\nlease expires",
          A_GRANTED "A crashes\n"
                    "time passes 310ms\n");
    free(play);
}

static void a_renewal_stalls_and_does_not_block(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 1000000;
    makes(play,
          "A acquires\nA renews\nA renews, stalls before compare-and-expire\nA releases\nB "
          "acquires\nA goes on",
          A_GRANTED "time passes 1s\n"
                    "A wakes\n"
                    "A's compare-and-expire reaches server 1\n"
                    "A hears compare-and-expire from server 1\n"
                    "time passes 999.8ms\n"
                    "A wakes\n"
                    "A releases\n"
                    "A's GET reaches server 1\n"
                    "A hears GET from server 1\n"
                    "A's DEL reaches server 1\n"
                    "A hears DEL from server 1\n" B_GRANTED
                    "A's compare-and-expire reaches server 1\n"
                    "A hears compare-and-expire from server 1\n");
    free(play);
}

static void a_renewal_that_cannot_reach_its_server(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 200000;
    makes(play, "A acquires\nA cannot reach server\nlease expires",
          A_GRANTED "time passes 200ms\n"
                    "A wakes\n"
                    "A's compare-and-expire to server 1 is lost\n"
                    "A gives up on compare-and-expire at server 1\n"
                    "time passes 109.7ms\n");
    free(play);
}

static void an_expiry_is_longer_by_stamps(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->scheme = &stamp_scheme;
    /* 300 ms are rounded up to 1 s; 2 s more, and half of that second */
    makes(play, "lease expires\ntime passes 0.5 leases", "time passes 3s\ntime passes 500ms\n");
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_acquire_and_release),
        cmocka_unit_test(the_critical_section),
        cmocka_unit_test(stalls_before_and_goes_on),
        cmocka_unit_test(stalls_after_and_goes_on),
        cmocka_unit_test(stalls_by_effect),
        cmocka_unit_test(a_quorum_arrives_then_is_heard),
        cmocka_unit_test(cannot_reach_two_of_five),
        cmocka_unit_test(what_the_scheme_sleeps_is_passed),
        cmocka_unit_test(lost_reply_then_resend),
        cmocka_unit_test(lost_request_then_given_up),
        cmocka_unit_test(given_up_and_late),
        cmocka_unit_test(a_restart_voids_what_is_in_flight),
        cmocka_unit_test(what_was_given_up_blocks_nothing),
        cmocka_unit_test(a_request_is_sent_twice),
        cmocka_unit_test(a_server_answers_with_an_error),
        cmocka_unit_test(single_choices),
        cmocka_unit_test(timers_ring_while_time_passes),
        cmocka_unit_test(stalled_and_dead_clients_do_not_renew),
        cmocka_unit_test(a_renewal_stalls_and_does_not_block),
        cmocka_unit_test(a_renewal_that_cannot_reach_its_server),
        cmocka_unit_test(an_expiry_is_longer_by_stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
