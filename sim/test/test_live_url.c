/* test_live_url.c - servers of others, named by a URL: what is read, what is touched, every failure
 * one clear message, never a password. */
#include "live/control.h"
#include "live/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/live_failures.h"

enum { TEXT_MAX = 1024 };

#define PASSWORD "Rhabarber"

/* Trouble in which no password may be read. */
static void expect_secret_failure(const struct live_options *options, enum fail code,
                                  const char *words)
{
    struct failure why;
    expect_failure(options, code, words, &why);
    assert_null(strstr(why.text, PASSWORD));
}

/* --- somebody else's --- */

static struct process other; /* stands for a server that is not ours */
static char url[256];

static int other_start(void **state)
{
    char folder[128];
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/other", parent_folder);
    const struct process_options options = {.folder = folder};
    if (process_start(&other, &options, NULL))
        return -1;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d/3", other.port);
    return 0;
}

static int other_stop(void **state)
{
    (void)state;
    process_kill(&other);
    return 0;
}

static void others_keys_are_left_alone(void **state)
{
    (void)state;
    struct live *live;
    struct world *world;
    struct live_options options = {.url = url, .steering = STEERED};
    struct run run = a_run(1, false);
    struct failure why = {0};
    assert_int_equal(control_do(other.control, &why, "SELECT 3"), FAIL_NONE);
    assert_int_equal(control_do(other.control, &why, "SET lock theirs"), FAIL_NONE);
    assert_int_equal(live_new(&live, &options, &why), FAIL_NONE);
    assert_int_equal(world_live_new(&world, live, &run, &why), FAIL_NONE);
    const struct choice ours[] = {
        {.kind = CHOICE_ACQUIRE},
        {.kind = CHOICE_ARRIVE, .verb = VERB_SET_NX_PX},
        {.kind = CHOICE_HEAR, .verb = VERB_SET_NX_PX},
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(world->ops->apply(world, &ours[i], &why), FAIL_NONE);
    redisReply *keys = control_ask(other.control, &why, "KEYS *");
    assert_non_null(keys);
    assert_int_equal(keys->elements, 3); /* theirs, our lock, and the mark that we are alive */
    for (size_t i = 0; i < keys->elements; i++)
        assert_true(strncmp(keys->element[i]->str, "picklock:", 9) == 0 ||
                    strcmp(keys->element[i]->str, "lock") == 0);
    freeReplyObject(keys);
    static const enum choice_kind kinds[] = {CHOICE_RESTART, CHOICE_EVICT, CHOICE_FLUSH_SCRIPTS,
                                             CHOICE_SERVER_CLOCK};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(world->ops->can(world, kinds[i], &why), FAIL_NOT_APPLICABLE);
    world->ops->free(world);
    live_free(live);
    assert_int_equal(control_integer(other.control, &why, "DBSIZE"), 1);
    assert_int_equal(control_do(other.control, &why, "DEL lock"), FAIL_NONE);
}

static void a_url_names_one_server(void **state)
{
    (void)state;
    struct live_options options = {.url = url};
    struct failure why;
    assert_int_equal(opens(&options, 5, false, &why), FAIL_NOT_APPLICABLE);
    assert_non_null(strstr(why.text, "this run needs 5"));
    assert_int_equal(opens(&options, 1, true, &why), FAIL_NOT_APPLICABLE);
    assert_non_null(strstr(why.text, "needs a replica"));
}

static void passwords_are_used_and_not_told(void **state)
{
    (void)state;
    char text[256];
    struct live_options options = {.url = text};
    struct failure why;
    (void)snprintf(text, sizeof text, "redis://:" PASSWORD "@127.0.0.1:%d", other.port);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "has a password, but the server has none");
    assert_int_equal(control_do(other.control, &why, "CONFIG SET requirepass " PASSWORD),
                     FAIL_NONE);
    assert_int_equal(opens(&options, 1, false, &why), FAIL_NONE);
    (void)snprintf(text, sizeof text, "redis://:" PASSWORD "x@127.0.0.1:%d", other.port);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "user or password is wrong");
    (void)snprintf(text, sizeof text, "redis://nobody:" PASSWORD "@127.0.0.1:%d", other.port);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "user or password is wrong");
    (void)snprintf(text, sizeof text, "redis://127.0.0.1:%d", other.port);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "it wants a password");
    assert_int_equal(control_do(other.control, &why, "CONFIG SET requirepass \"\""), FAIL_NONE);
}

static void a_full_server_is_told(void **state)
{
    (void)state;
    struct live_options options = {.url = url};
    struct failure why;
    assert_int_equal(control_do(other.control, &why, "CONFIG SET maxmemory 1"), FAIL_NONE);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "it is out of memory");
    assert_int_equal(control_do(other.control, &why, "CONFIG SET maxmemory 0"), FAIL_NONE);
}

static void a_replica_is_told(void **state)
{
    (void)state;
    struct live_options options = {.url = url};
    struct failure why;
    assert_int_equal(control_do(other.control, &why, "REPLICAOF 127.0.0.1 1"), FAIL_NONE);
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "it is a replica");
    assert_int_equal(control_do(other.control, &why, "REPLICAOF NO ONE"), FAIL_NONE);
}

/* A server that gives one answer to everything. */
static void one_answer(const char *answer, const char *words)
{
    char text[TEXT_MAX];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    int child = fork();
    assert_true(child >= 0);
    while (child == 0) {
        int client = accept(listener, NULL, NULL);
        while (client >= 0 && read(client, text, sizeof text) > 0)
            if (write(client, answer, strlen(answer)) < 0)
                break;
        (void)close(client);
    }
    (void)close(listener);
    (void)snprintf(text, sizeof text, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    struct live_options options = {.url = text};
    struct failure why;
    enum fail seen = opens(&options, 1, false, &why);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (seen != FAIL_UNAVAILABLE || !strstr(why.text, words))
        fail_msg("wanted \"%s\", got %d and \"%s\"", words, seen, why.text);
}

static void other_answers_are_told(void **state)
{
    (void)state;
    one_answer("-LOADING Redis is loading the dataset in memory\r\n", "it is still loading");
    one_answer("-NOPERM this user has no permissions\r\n", "this user may not do that");
    one_answer("HTTP/1.1 400 Bad Request\r\n\r\n",
               "PING was answered with something that is not Redis: \"HTTP/1.1 400 Bad Request\"");
    one_answer("-ERR unknown command 'PING', with args\r\n", "PING: it answered with an error");
}

static void nobody_there_is_told(void **state)
{
    (void)state;
    struct live_options options = {.url = "redis://127.0.0.1:1"};
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "127.0.0.1:1/0: Connection refused");
    options.url = "unix:///nowhere/at/all";
    expect_secret_failure(&options, FAIL_UNAVAILABLE, "/nowhere/at/all?db=0: No such file");
}

/* --- URLs --- */

static void good_urls_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host, *path, *user, *password;
        int port, database;
    } rows[] = {
        {"redis://h", "h", "", "", "", 6379, 0},
        {"REDIS://h:1/", "h", "", "", "", 1, 0},
        {"redis://u:p@h:65535/15", "h", "", "u", "p", 65535, 15},
        {"redis://:p%40%3a@h", "h", "", "", "p@:", 6379, 0},
        {"redis://u@[::1]:7", "::1", "", "u", "", 7, 0},
        {"unix:///a/b", "", "/a/b", "", "", 0, 0},
        {"unix://u:p@/a@b?db=2", "", "/a@b", "u", "p", 0, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct url read;
        assert_int_equal(url_read(rows[i].text, &read, NULL), FAIL_NONE);
        assert_string_equal(read.host, rows[i].host);
        assert_string_equal(read.path, rows[i].path);
        assert_string_equal(read.user, rows[i].user);
        assert_string_equal(read.password, rows[i].password);
        assert_int_equal(read.port, rows[i].port);
        assert_int_equal(read.database, rows[i].database);
        assert_int_equal(read.has_login,
                         strchr(rows[i].text, '@') && *rows[i].user + *rows[i].password);
        assert_true(!*rows[i].password || !strstr(read.shown, rows[i].password));
    }
}

static void bad_urls_are_input(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "h",
        "http://h",
        "rediss://h",
        "redis://",
        "redis://:" PASSWORD "@",
        "redis://:" PASSWORD "@h:x",
        "redis://:" PASSWORD "@h:0",
        "redis://:" PASSWORD "@h:65536",
        "redis://:" PASSWORD "@h/x",
        "redis://:" PASSWORD "@h/1/2",
        "redis://:" PASSWORD "%4@h",
        "redis://:" PASSWORD "%zz@h",
        "redis://:" PASSWORD "%00@h",
        "redis://[::1",
        "unix://",
        "unix://:" PASSWORD "@",
        "unix://u:x/" PASSWORD "@/a",
        "unix:///a?database=1",
        "unix:///a?db=",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct live_options options = {.url = rows[i]};
        expect_secret_failure(&options, FAIL_INPUT, "redis://[user[:password]@]host");
    }
    char longest[400];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "unix://", 7);
    longest[sizeof longest - 1] = '\0';
    struct live_options options = {.url = longest};
    expect_secret_failure(&options, FAIL_INPUT, "longer than a socket's may be");
    options.redis_server = "redis-server";
    options.url = "redis://h";
    expect_secret_failure(&options, FAIL_INPUT, "exclude each other");
}

/* --- all --- */

static int folder_make(void **state)
{
    (void)state;
    (void)snprintf(parent_folder, sizeof parent_folder, "/tmp/test-live-XXXXXX");
    return mkdtemp(parent_folder) && setenv("TMPDIR", parent_folder, 1) == 0 ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r '%s'", parent_folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_urls_are_read),
        cmocka_unit_test(bad_urls_are_input),
        cmocka_unit_test_setup_teardown(others_keys_are_left_alone, other_start, other_stop),
        cmocka_unit_test_setup_teardown(a_url_names_one_server, other_start, other_stop),
        cmocka_unit_test_setup_teardown(passwords_are_used_and_not_told, other_start, other_stop),
        cmocka_unit_test_setup_teardown(a_full_server_is_told, other_start, other_stop),
        cmocka_unit_test_setup_teardown(a_replica_is_told, other_start, other_stop),
        cmocka_unit_test(other_answers_are_told),
        cmocka_unit_test(nobody_there_is_told),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
