/* foreign_code.c - see foreign_code.h. */
#include "cmd/foreign_code.h"

#include "cmd/cmd.h"

#include "run/plugin.h"
#include "world/stepping.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    HURRY_S = 1,
    CRASH_STACK_BYTES = 64 * 1024, /* far more than the kernel and on_crash() take of it */
};

static volatile sig_atomic_t is_over;

static void put(const char *words)
{
    if (write(STDERR_FILENO, words, strlen(words)) < 0) {
        /* There is nowhere else to say it. */
    }
}

/* In a signal handler, so with nothing but write(2). Other threads may crash at the same time: the
 * first one tells it. */
static void leave(const struct scheme *scheme, const char *what, int status)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_told))
        (void)pause();
    put("\npicklock: ");
    put(plugin_file(scheme));
    put(": ");
    put(what);
    put(": nothing was concluded\n");
    _exit(status);
}

/* Where it is not the code of a file, the signal does what it does without us. */
static void on_crash(int number)
{
    const struct scheme *scheme = stepping_here();
    if (scheme && plugin_file(scheme))
        leave(scheme,
              number == SIGABRT  ? "its step ended the program (SIGABRT)"
              : number == SIGFPE ? "its step crashed (SIGFPE)"
              : number == SIGILL ? "its step crashed (SIGILL)"
              : number == SIGBUS ? "its step crashed (SIGBUS)"
                                 : "its step crashed (SIGSEGV)",
              FAIL_INPUT);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_alarm(int number)
{
    (void)number;
    const struct scheme *scheme = stepping_still();
    if (scheme && plugin_file(scheme))
        leave(scheme, "INTERRUPTED: its step has not returned for a second", FAIL_UNKNOWN);
}

/* A scheme from a file may call exit(): whatever status it names is no verdict. */
static void on_exit_called(void)
{
    const char *file = plugin_last_file();
    if (is_over || !file)
        return;
    cmd_say("%s: its code ended the program (it called exit): nothing was concluded", file);
    _exit(FAIL_INPUT);
}

/* A step that has used up its thread's stack leaves none for on_crash(). Sanitizers bring one. */
static void give_stack(void)
{
    static _Thread_local char bytes[CRASH_STACK_BYTES];
    const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
    stack_t there;
    if (sigaltstack(NULL, &there) == 0 && (there.ss_flags & SS_DISABLE))
        (void)sigaltstack(&stack, NULL); /* else nobody tells of such a step */
}

bool foreign_code_watch(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    (void)sigfillset(&crash.sa_mask); /* who tells it is not called away */
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (sigaction(crashes[i], &crash, NULL))
            return false;
    stepping_on_thread(give_stack);
    return atexit(on_exit_called) == 0;
}

void foreign_code_is_over(void)
{
    is_over = 1;
}

void foreign_code_hurry(void)
{
    if (!plugin_last_file())
        return;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    (void)sigfillset(&action.sa_mask);
    const struct itimerval every = {{.tv_sec = HURRY_S}, {.tv_sec = HURRY_S}};
    (void)stepping_still(); /* from here on it counts */
    if (sigaction(SIGALRM, &action, NULL) == 0)
        (void)setitimer(ITIMER_REAL, &every, NULL);
}
