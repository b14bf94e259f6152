/* watched_command.c - see watched_command.h. */
#include "watch/watched_command.h"

#include "live/processor.h"
#include "live/spawn.h"
#include "worker/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command_child {
    char *const *words;
    const char *address;
    bool is_stdout_taken;
    int tell;
};

/* Ends with the negative errno of the step that failed in the pipe; a good exec closes the pipe. */
static void begin(void *context)
{
    const struct command_child *child = context;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int error = 0;
    if (child->is_stdout_taken && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        error = errno;
    else if (setenv("REDIS_URL", child->address, 1) ||
             setenv("PICKLOCK_PROXY_URL", child->address, 1))
        error = ENOMEM;
    if (!error) {
        (void)execvp(child->words[0], child->words);
        error = errno;
    }
    error = -error;
    const ssize_t told = write(child->tell, &error, sizeof error);
    (void)told;
}

static void shut(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

enum fail watched_command_start(struct watched_command *command, char *const *words,
                                const char *address, bool is_stdout_taken, struct failure *failure)
{
    static const char what[] = "%s cannot be run: %s";
    int told[2], ended[2], error = 0;
    const int parent = (int)getpid();
    if (pipe2(told, O_CLOEXEC) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, what, words[0], strerror(errno));
    if (pipe2(ended, O_CLOEXEC | O_NONBLOCK) != 0) {
        error = errno;
        shut(told);
        return failure_set(failure, FAIL_UNAVAILABLE, what, words[0], strerror(error));
    }
    command->supervisor = fork();
    if (command->supervisor == 0) {
        processor_begin_child();
        struct command_child child = {words, address, is_stdout_taken, told[1]};
        supervisor_run(&(struct supervised){.parent = parent,
                                            .tell = told[1],
                                            .is_command = true,
                                            .ended = ended[1],
                                            .begin = begin,
                                            .context = &child});
    }
    error = command->supervisor < 0 ? errno : 0;
    (void)close(told[1]);
    if (!error)
        error = supervisor_await_begin(command->supervisor, told[0], &command->pid);
    (void)close(told[0]);
    if (error) {
        *command = (struct watched_command){0};
        shut(ended);
        return failure_set(failure, FAIL_UNAVAILABLE, what, words[0], strerror(error));
    }
    (void)close(ended[1]);
    command->ended = ended[0];
    return FAIL_NONE;
}

/* A supervisor that somebody killed says nothing: the command died with it. */
bool watched_command_has_ended(const struct watched_command *command, int *status)
{
    const ssize_t got = read(command->ended, status, sizeof *status);
    if (got == 0)
        *status = -SIGKILL;
    return got >= 0;
}

void watched_command_close(struct watched_command *command, bool is_all)
{
    if (!command->pid)
        return;
    (void)kill(command->supervisor, is_all ? SIGTERM : SUPERVISOR_LEAVE);
    (void)spawn_await_end(command->supervisor);
    (void)close(command->ended);
    *command = (struct watched_command){0};
}
