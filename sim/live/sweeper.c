/* sweeper.c - see sweeper.h. */
#include "live/sweeper.h"

#include "live/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { STREAMS = 3 };

/* What was told last; 0 is the end of the pipe. */
static int wait_for_the_end(int waits)
{
    int told = 0, next;
    for (;;) {
        ssize_t got = read(waits, &next, sizeof next);
        if (got == (ssize_t)sizeof next)
            told = next;
        else if (got >= 0 || errno != EINTR)
            return told;
    }
}

/* Its whole life. */
static _Noreturn void sweeper_run(int waits, void (*work)(const void *context, int told),
                                  const void *context)
{
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT); /* should somebody have stopped it */
    int nowhere = open("/dev/null", O_RDWR);
    for (int i = 0; nowhere >= 0 && i < STREAMS; i++)
        (void)dup2(nowhere, i);
    if (waits != STREAMS && dup2(waits, STREAMS) == STREAMS)
        waits = STREAMS;
    (void)close_range(STREAMS + 1, ~0U, 0);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    work(context, wait_for_the_end(waits));
    _exit(0);
}

enum fail sweeper_start(struct sweeper *sweeper, void (*work)(const void *context, int told),
                        const void *context, struct failure *failure)
{
    int ends[2];
    *sweeper = (struct sweeper){.alive = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "pipe: %s", strerror(errno));
    int pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        sweeper_run(ends[0], work, context);
    }
    int error = errno;
    (void)close(ends[0]);
    if (pid > 0) {
        *sweeper = (struct sweeper){.alive = ends[1], .pid = pid};
        return FAIL_NONE;
    }
    (void)close(ends[1]);
    return failure_set(failure, FAIL_UNAVAILABLE, "fork: %s", strerror(error));
}

void sweeper_tell(const struct sweeper *sweeper, int told)
{
    /* Should it have been killed, the next start or `picklock clean` tidies up. */
    ssize_t written = write(sweeper->alive, &told, sizeof told);
    (void)written;
}

void sweeper_leave(struct sweeper *sweeper)
{
    if (sweeper->pid)
        (void)close(sweeper->alive);
    *sweeper = (struct sweeper){.alive = -1};
}

bool sweeper_end(struct sweeper *sweeper)
{
    if (!sweeper->pid)
        return true;
    (void)close(sweeper->alive);
    const int status = spawn_await_end(sweeper->pid);
    *sweeper = (struct sweeper){.alive = -1};
    return status == 0;
}
