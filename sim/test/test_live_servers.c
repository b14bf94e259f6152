/* test_live_servers.c - servers of our own: start, death of the parent, leftovers, every failure
 * one clear message. */
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

enum { GONE_TRIES = 5000 };

static void short_wait(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* --- our own --- */

static bool is_gone(int pid)
{
    char path[64], line[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    bool has_line = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    const char *state = has_line ? strrchr(line, ')') : NULL;
    return !state || state[2] == 'Z';
}

/* A child starts a server, and one in reserve, and is ended by a signal: they go, and the folder.
 */
static void ends_with_parent(int signal_number)
{
    int ends[2], status;
    struct {
        int server, spare;
        char folder[FOLDER_PATH_MAX];
    } told;
    assert_int_equal(pipe(ends), 0);
    int child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct live *live;
        struct world *world;
        struct live_options options = {.steering = STEERED};
        struct run run = a_run(1, false);
        (void)signal(signal_number, SIG_DFL);
        if (live_new(&live, &options, NULL) || world_live_new(&world, live, &run, NULL))
            _exit(1);
        memset(&told, 0, sizeof told);
        told.server = live->servers.rows[0].process.pid;
        spares_begin(&live->servers, 1);
        told.spare = live->servers.spares.rows[0].pid;
        memcpy(told.folder, live->servers.folder.path, sizeof told.folder);
        if (write(ends[1], &told, sizeof told) != (ssize_t)sizeof told)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ends[0], &told, sizeof told), sizeof told);
    assert_true(told.spare > 0 && !is_gone(told.spare));
    assert_false(is_gone(told.server));
    assert_int_equal(access(told.folder, F_OK), 0);
    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal_number);
    for (int i = 0; i < GONE_TRIES && (!is_gone(told.server) || !is_gone(told.spare) ||
                                       access(told.folder, F_OK) == 0);
         i++)
        short_wait();
    assert_true(is_gone(told.server));
    assert_true(is_gone(told.spare));
    assert_int_not_equal(access(told.folder, F_OK), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void servers_end_when_we_are_killed(void **state)
{
    (void)state;
    ends_with_parent(SIGKILL);
    ends_with_parent(SIGINT);
}

static void a_normal_end_leaves_nothing(void **state)
{
    (void)state;
    struct live *live;
    struct world *world;
    struct live_options options = {.steering = STEERED};
    struct run run = a_run(3, false);
    int pids[3];
    char folder[FOLDER_PATH_MAX];
    assert_int_equal(live_new(&live, &options, NULL), FAIL_NONE);
    assert_string_equal(live_server_version(live), "");
    assert_int_equal(world_live_new(&world, live, &run, NULL), FAIL_NONE);
    assert_true(atoi(live_server_version(live)) >= 6);
    for (int i = 0; i < 3; i++)
        pids[i] = live->servers.rows[i].process.pid;
    memcpy(folder, live->servers.folder.path, sizeof folder);
    world->ops->free(world);
    for (int i = 0; i < 3; i++)
        assert_false(is_gone(pids[i])); /* they serve the next run */
    live_free(live);
    for (int i = 0; i < 3; i++)
        assert_true(is_gone(pids[i]));
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void stale_folders_are_swept(void **state)
{
    (void)state;
    struct folder held, other;
    char stale[128], mark[160], foreign[128];
    (void)snprintf(stale, sizeof stale, "%s/picklock-servers-1-stale0", parent_folder);
    (void)snprintf(mark, sizeof mark, "%s/" FOLDER_MARK, stale);
    (void)snprintf(foreign, sizeof foreign, "%s/picklock-servers-1-mine00", parent_folder);
    assert_int_equal(mkdir(stale, 0700), 0);
    assert_int_equal(mkdir(mark, 0700), 0);
    assert_int_equal(mkdir(foreign, 0700), 0);
    assert_int_equal(folder_open(&held, NULL), FAIL_NONE);
    assert_int_not_equal(access(stale, F_OK), 0);
    assert_int_equal(rmdir(foreign), 0); /* not of our making: it is still there */
    assert_int_equal(folder_open(&other, NULL), FAIL_NONE);
    assert_int_equal(access(held.path, F_OK), 0); /* somebody holds that one */
    folder_shut(&other);
    folder_shut(&held);
}

static void a_folder_goes_although_its_sweeper_was_killed(void **state)
{
    struct folder folder;
    char path[sizeof folder.path];
    (void)state;
    assert_int_equal(folder_open(&folder, NULL), FAIL_NONE);
    (void)memcpy(path, folder.path, sizeof path);
    assert_int_equal(kill(folder.sweeper.pid, SIGKILL), 0);
    folder_shut(&folder);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* A program that is no redis-server, or an old one. Returns its path. */
static const char *script(const char *name, const char *text)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", parent_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void wrong_programs_are_told(void **state)
{
    (void)state;
    struct live_options options = {.redis_server = "/nowhere/redis-server"};
    struct failure why;
    expect_failure(&options, FAIL_UNAVAILABLE,
                   "server 1: /nowhere/redis-server: it cannot be run: No such file", &why);
    options.redis_server = "/bin/true";
    expect_failure(&options, FAIL_UNAVAILABLE, "ended with status 0", &why);
    options.redis_server = script("fails", "#!/bin/sh\necho out of luck\nexit 3\n");
    expect_failure(&options, FAIL_UNAVAILABLE, "ended with status 3; its last output: out of luck",
                   &why);
    options.redis_server = script(
        "old", "#!/usr/bin/python3\n"
               "import os, re, socket, sys\n"
               "port = int(re.search(r'^port (\\d+)', open(sys.argv[1]).read(), re.M)[1])\n"
               "listener = socket.create_server(('127.0.0.1', port))\n"
               "while True:\n"
               "    client = listener.accept()[0]\n"
               "    while client.recv(4096):\n"
               "        info = 'redis_version:5.0.14\\r\\nprocess_id:%d\\r\\n' % os.getpid()\n"
               "        client.sendall(b'$%d\\r\\n%s\\r\\n' % (len(info), info.encode()))\n");
    expect_failure(&options, FAIL_UNAVAILABLE, "it is version 5.0.14, and picklock needs 6.2",
                   &why);
}

static void a_missing_server_is_told(void **state)
{
    (void)state;
    struct live_options options = {0};
    struct failure why;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s", getenv("PATH"));
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    expect_failure(&options, FAIL_UNAVAILABLE, "install it, or name one with --redis-server", &why);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

/* Somebody sits on the wanted port: the server gets another one. */
static void a_taken_port_is_not_insisted_on(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    struct process process;
    char folder[128];
    (void)snprintf(folder, sizeof folder, "%s/taken", parent_folder);
    const struct process_options options = {.folder = folder, .port = ntohs(address.sin_port)};
    assert_int_equal(process_start(&process, &options, NULL), FAIL_NONE);
    assert_int_not_equal(process.port, options.port);
    assert_int_equal(process_check(&process, NULL), FAIL_NONE);
    process_kill(&process);
    (void)close(listener);
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
        cmocka_unit_test(servers_end_when_we_are_killed),
        cmocka_unit_test(a_normal_end_leaves_nothing),
        cmocka_unit_test(stale_folders_are_swept),
        cmocka_unit_test(a_folder_goes_although_its_sweeper_was_killed),
        cmocka_unit_test(wrong_programs_are_told),
        cmocka_unit_test(a_missing_server_is_told),
        cmocka_unit_test(a_taken_port_is_not_insisted_on),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
