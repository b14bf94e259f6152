/* Tests of processes that a reset starts for the next one (worker/started_ahead.c): such a process
 * does what one does that is started only then, to the microsecond and to the byte; and one that
 * has ended, or for which it is too late, is not used. */
#include "worker/session_state.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { CLIENTS = 2, ALL = (1 << CLIENTS) - 1, LEASE_US = 2000000, SENT_MAX = 400 };

static const char names[CLIENTS][NAME_MAX_BYTES] = {"A", "B"};

static struct session *begin(void)
{
    struct failure failure = {0};
    struct session *session;
    const struct session_options options = {.command = "/usr/bin/python3 "
                                                       "sim/test/beginning_worker.py",
                                            .clients = CLIENTS,
                                            .servers = 1,
                                            .names = names,
                                            .key = "lock",
                                            .lease_us = LEASE_US,
                                            .seed = 1};
    if (session_new(&session, &options, &failure))
        fail_msg("%s", failure.text);
    return session;
}

/* What each client sends first when it is asked to acquire. */
struct first_sent {
    char bytes[CLIENTS][SENT_MAX];
};

static struct first_sent acquire_all(struct session *session)
{
    struct first_sent sent = {0};
    struct failure failure = {0};
    for (int i = 0; i < CLIENTS; i++) {
        if (session_ask(session, i, (struct worker_request){.op = WORKER_ACQUIRE}, &failure))
            fail_msg("%s", failure.text);
        const struct wire_message *message = session_messages(session);
        while (message && message->client != i)
            message = message->next;
        assert_non_null(message);
        assert_true(message->length > 0 && message->length < SENT_MAX);
        memcpy(sent.bytes[i], message->bytes, message->length);
    }
    return sent;
}

static void reset(struct session *session, unsigned anew)
{
    struct failure failure = {0};
    if (session_reset(session, anew, &failure))
        fail_msg("%s", failure.text);
}

/* Of the next run. */
static int pid_ahead(const struct session *session, int client)
{
    assert_true(session->ahead_count > 0);
    assert_non_null(session->ahead[0].workers[client].worker);
    return worker_pid(session->ahead[0].workers[client].worker);
}

static void expect(struct session *session, unsigned first, unsigned second)
{
    const unsigned anew[] = {first, second};
    session_expect(session, anew, 2);
}

static void one_that_was_started_ahead_is_as_a_new_one(void **state)
{
    (void)state;
    struct session *session = begin();
    const struct first_sent first = acquire_all(session);
    reset(session, ALL);
    const struct first_sent now = acquire_all(session);
    assert_memory_equal(&now, &first, sizeof now);
    expect(session, ALL, ALL);
    for (int i = 0; i < 2; i++) {
        const int pids[] = {pid_ahead(session, 0), pid_ahead(session, 1)};
        reset(session, ALL);
        assert_int_equal(session_pid(session, 0), pids[0]);
        assert_int_equal(session_pid(session, 1), pids[1]);
        const struct first_sent ahead = acquire_all(session);
        assert_memory_equal(&ahead, &first, sizeof ahead);
    }
    assert_int_equal(session->ahead_count, 0);
    session_free(session);
}

static void who_keeps_its_process_takes_none(void **state)
{
    (void)state;
    struct session *session = begin();
    expect(session, 1u << 1, ALL);
    const int kept = session_pid(session, 0), ahead = pid_ahead(session, 1);
    assert_null(session->ahead[0].workers[0].worker);
    reset(session, 0);
    assert_int_equal(pid_ahead(session, 1), ahead);
    reset(session, 1u << 1);
    assert_int_equal(session_pid(session, 0), kept);
    assert_int_equal(session_pid(session, 1), ahead);
    session_free(session);
}

/* The supervisor of a process, which ends behind it, as it did. */
static int parent_of(int pid)
{
    char path[40];
    int parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %*c %d", &parent), 1);
    (void)fclose(file);
    return parent;
}

static void one_that_has_ended_is_not_used(void **state)
{
    (void)state;
    struct session *session = begin();
    const struct first_sent first = acquire_all(session);
    siginfo_t ended;
    expect(session, ALL, ALL);
    const int gone = pid_ahead(session, 0), kept = pid_ahead(session, 1);
    const int supervisor = parent_of(gone);
    assert_int_equal(kill(gone, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)supervisor, &ended, WEXITED | WNOWAIT), 0);
    reset(session, ALL);
    assert_int_not_equal(session_pid(session, 0), gone);
    assert_int_equal(session_pid(session, 1), kept);
    const struct first_sent now = acquire_all(session);
    assert_memory_equal(&now, &first, sizeof now);
    session_free(session);
}

static void one_that_began_too_early_is_not_used(void **state)
{
    (void)state;
    struct session *session = begin();
    struct failure failure = {0};
    const struct first_sent first = acquire_all(session);
    expect(session, ALL, ALL);
    const int early = pid_ahead(session, 0);
    if (session_set_now(session, INT64_C(1000) * LEASE_US, &failure))
        fail_msg("%s", failure.text);
    reset(session, ALL);
    assert_int_not_equal(session_pid(session, 0), early);
    const struct first_sent now = acquire_all(session);
    assert_memory_equal(&now, &first, sizeof now);
    session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_started_ahead_is_as_a_new_one),
        cmocka_unit_test(who_keeps_its_process_takes_none),
        cmocka_unit_test(one_that_has_ended_is_not_used),
        cmocka_unit_test(one_that_began_too_early_is_not_used),
    };
    return cmocka_run_group_tests_name("started_ahead", tests, NULL, NULL);
}
