"""Workers that no library can be preloaded into: their system calls are answered from outside. Here of C, statically linked; programs of
Go are in test_worker_languages.py. And the settings that forbid it."""

import shlex
import socket
import subprocess
import sys

import pytest
from conftest import PICKLOCK, ours

# As small as a worker can be: blocking calls, a sleep of 30 s in each acquire, a thread that the release waits for, a token.
STATIC = r"""
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char line[4096], reply[256];
static int descriptor, ttl;
static unsigned token;

static long number_of(const char *name)
{
    const char *at = strstr(line, name);
    return at ? atol(at + strlen(name)) : 0;
}

static long clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int ask(const char *text)
{
    write(descriptor, text, strlen(text));
    reply[read(descriptor, reply, sizeof reply - 1)] = '\0';
    return reply[0] == '+' || reply[0] == ':';
}

static void *sleeps(void *nothing)
{
    usleep(250000);
    return nothing;
}

int main(void)
{
    while (fgets(line, sizeof line, stdin)) {
        char text[256];
        const long id = number_of("\"id\":");
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        pthread_t thread;
        if (strstr(line, "\"init\"")) {
            ttl = (int)number_of("\"ttl_ms\":");
            to.sin_port = htons((unsigned short)number_of("\"127.0.0.1:"));
            getrandom(&token, sizeof token, 0);
            descriptor = socket(AF_INET, SOCK_STREAM, 0);
            connect(descriptor, (struct sockaddr *)&to, sizeof to);
            if (getenv("LOCAL_SOCKET")) {
                struct sockaddr_un local = {.sun_family = AF_UNIX};
                const int listens = socket(AF_UNIX, SOCK_STREAM, 0);
                bind(listens, (struct sockaddr *)&local, sizeof local.sun_family); /* a name of its own */
                listen(listens, 1);
                socklen_t size = sizeof local;
                getsockname(listens, (struct sockaddr *)&local, &size);
                if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&local, size) != 0)
                    abort();
                snprintf(local.sun_path, sizeof local.sun_path, "%s", getenv("LOCAL_SOCKET"));
                if (*local.sun_path)
                    connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&local, sizeof local);
            }
            printf("{\"id\":%ld,\"ready\":true,\"promises\":[\"expiry\"],\"library\":\"static\"}\n", id);
        } else if (strstr(line, "\"time\"")) {
            printf("{\"id\":%ld,\"monotonic_us\":%ld,\"wall_us\":%ld}\n", id, clock_us(CLOCK_MONOTONIC), clock_us(CLOCK_REALTIME));
        } else if (strstr(line, "\"acquire\"")) {
            sleep(30);
            if (syscall(SYS_io_uring_setup, 4, calloc(1, 4096)) != -1 || errno != ENOSYS)
                abort(); /* what a ring would wait for lasts real time */
            snprintf(text, sizeof text, "SET lock %08x NX PX %d\r\n", token, ttl);
            printf("{\"id\":%ld,\"ok\":%s}\n", id, ask(text) ? "true" : "false");
        } else {
            pthread_create(&thread, NULL, sleeps, NULL);
            pthread_join(thread, NULL);
            printf("{\"id\":%ld,\"ok\":%s}\n", id, ask("DEL lock\r\n") ? "true" : "false");
        }
        fflush(stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    folder = tmp_path_factory.mktemp("static")
    (folder / "lock.c").write_text(STATIC)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-w", "-static", "-o", folder / "lock", folder / "lock.c"], check=True)
    return shlex.quote(str(folder / "lock"))


def test_a_static_program_lives_by_our_time(picklock, static):
    """Leases of minutes take no time, threads end when they should, tokens are the seed's; nothing is left."""
    first, second, other = (picklock("test", "--once", static, "--lease", "40s", "--seed", seed) for seed in (5, 5, 6))
    assert first.status == 0, first
    for words in ("static: two workers", "their clocks are ours, and so are the server's: proved",
                  "60000.0     B's 1st SET to server 1 is executed: nil", "60250.0     A's 1st DEL to server 1 is executed: 1",
                  "A clean hand-over: as expected."):
        assert words in first.out, first
    assert first.out == second.out and first.out != other.out
    assert not ours("lock")


def test_a_connection_past_the_proxy_over_a_local_socket(picklock, static, tmp_path):
    """What listens there is not the worker's own: refused. What it listens at itself is not."""
    assert picklock("test", "--once", static, "--lease", "40s", env={"LOCAL_SOCKET": ""}).status == 0
    name = f"{tmp_path}/r.sock"
    with socket.socket(socket.AF_UNIX) as elsewhere:
        elsewhere.bind(name)
        elsewhere.listen()
        ran = picklock("test", "--once", static, env={"LOCAL_SOCKET": name})
    assert ran.status == 64 and f"wants to connect to the socket {name[:60]}" in ran.err, ran
    assert not ours("lock")


# Runs a program in which one system call is not permitted: seccomp(2), by a filter of prctl(2).
WITHOUT = """
import ctypes, os, struct, sys
number = int(sys.argv[1])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
rows = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(rows)))
assert libc.prctl(22, 2, program) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
SECCOMP, PIDFD_GETFD = 317, 438


@pytest.mark.parametrize("number, words", [
    (SECCOMP, "no filter of them can be set, seccomp(SECCOMP_SET_MODE_FILTER): Operation not permitted"),
    (PIDFD_GETFD, "The setting is kernel.yama.ptrace_scope"),
])
def test_where_it_is_not_permitted_the_setting_is_named(static, number, words):
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(number), PICKLOCK, "test", "--once", static], capture_output=True, text=True)
    assert done.returncode == 69 and words in done.stderr and "seccomp=unconfined" in done.stderr, done
    assert not ours("lock")


def test_behind_a_wrapper_it_is_not_steered(picklock, static):
    ran = picklock("test", "--once", f"env {static}")
    assert ran.status == 69 and "does not follow our time" in ran.err, ran
    assert "statically linked or of Go is steered where the command names it" in ran.err, ran
