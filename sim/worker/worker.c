/* worker.c - see worker.h. */
#include "worker/worker.h"

#include "base/memory.h"
#include "live/spawn.h"
#include "worker/launch.h"
#include "worker/runtime.h"
#include "worker/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAM_OUT, STREAM_ERR, STREAM_BELL, STREAMS };

/* What has come of a line. */
struct lines {
    char *bytes; /* PROTOCOL_LINE_MAX of them */
    size_t used;
    bool is_cut; /* its beginning was taken: it is longer than that */
};

struct worker {
    struct launched launched;
    struct timekeeper timekeeper;
    struct worker_settings settings;
    const struct worker_events *events;
    uv_poll_t polls[STREAMS];
    int open_polls;
    struct lines lines[2]; /* STREAM_OUT, STREAM_ERR */
    bool has_closed[2];
    bool has_answered;
    bool has_failed; /* the owner has been told */
    bool has_ended;
    bool is_leaving; /* being freed */
    int64_t asked;   /* ids are 1 .. asked */
    char last_words[WORKER_SAID_MAX];
    bool has_error; /* since it was asked for something: its last words name one */
    bool wants_stack, has_stack;
    char stack[WORKER_SAID_MAX];
};

struct timekeeper *worker_time(struct worker *worker)
{
    return &worker->timekeeper;
}

const struct worker_settings *worker_settings(const struct worker *worker)
{
    return &worker->settings;
}

bool worker_has_ended(const struct worker *worker)
{
    return worker->has_ended;
}

int worker_pid(const struct worker *worker)
{
    return worker->launched.pid;
}

static int find_child(const struct worker *worker, bool is_alive)
{
    const struct launched *launched = &worker->launched;
    return worker->has_ended ? 0
                             : supervisor_find_more(launched->supervisor, launched->pid, is_alive);
}

bool worker_has_children(const struct worker *worker)
{
    return find_child(worker, false);
}

bool worker_has_living_children(const struct worker *worker)
{
    return find_child(worker, true);
}

bool worker_has_ring(const struct worker *worker)
{
    char path[64], to[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", worker->launched.pid);
    DIR *folder = worker->has_ended ? NULL : opendir(path);
    bool has = false;
    for (const struct dirent *entry; folder && !has && (entry = readdir(folder));) {
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1);
        to[length > 0 ? length : 0] = '\0';
        has = strcmp(to, "anon_inode:[io_uring]") == 0;
    }
    if (folder)
        (void)closedir(folder);
    return has;
}

const char *worker_child_name(const struct worker *worker, char text[WORKER_CHILD_BYTES])
{
    char path[64], name[16]; /* TASK_COMM_LEN */
    const int living = find_child(worker, true),
              child = living ? living : find_child(worker, false);
    (void)snprintf(path, sizeof path, "/proc/%d/comm", child);
    FILE *file = child ? fopen(path, "re") : NULL;
    *text = '\0';
    if (file && fgets(name, sizeof name, file))
        (void)snprintf(text, WORKER_CHILD_BYTES, " (%.*s)", (int)strcspn(name, "\n"), name);
    if (file)
        (void)fclose(file);
    return text;
}

static bool catches(int pid, int number)
{
    char path[64], line[200];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        (void)fclose(file);
    return caught >> (number - 1) & 1;
}

bool worker_ask_stack(struct worker *worker)
{
    const int pid = worker->launched.pid;
    worker->wants_stack = !runtime_without_stack(pid) && catches(pid, SIGUSR1);
    return worker->wants_stack && kill(worker->launched.pid, SIGUSR1) == 0;
}

const char *worker_stack(const struct worker *worker)
{
    return worker->stack;
}

bool worker_has_stack(const struct worker *worker)
{
    return worker->has_stack;
}

const char *worker_last_words(const struct worker *worker)
{
    return worker->last_words;
}

/* --- what it says --- */

static void tell_failure(struct worker *worker, const struct failure *failure)
{
    if (worker->has_failed || worker->is_leaving)
        return;
    worker->has_failed = true;
    worker->events->failed(worker->events->context, worker, failure);
}

static void take_answer(struct worker *worker, const char *line, size_t length)
{
    struct worker_answer answer;
    struct failure failure = {0};
    if (worker->has_failed)
        return;
    if (protocol_read(line, length, &answer, &failure)) {
        failure_wrap(&failure, line[0] == '{' ? "its answer"
                                              : "it printed on its standard output, where only "
                                                "answers may stand");
        tell_failure(worker, &failure);
        return;
    }
    worker->has_answered = true;
    worker->events->answered(worker->events->context, worker, &answer);
}

/* "  File "my_lock.py", line 12 in release" */
static void take_call(struct worker *worker, const char *text)
{
    const char *call = text + strspn(text, " ");
    const size_t used = strlen(worker->stack);
    if (!worker->wants_stack || worker->has_stack || strncmp(call, "File ", 5) != 0)
        return;
    worker->has_stack = strstr(call, "picklock_worker") != NULL;
    if (!worker->has_stack)
        (void)snprintf(worker->stack + used, sizeof worker->stack - used, "%s%s", used ? "; " : "",
                       call + 5);
}

/* Of an error and its trace, the line that says what is wrong: Python's last, Ruby's first, one
 * between of Node.js. */
static bool names_error(const char *text)
{
    const char *word = text + strspn(text, " .");
    return (strstr(text, "Error") || strstr(text, "Exception") || !strncmp(word, "panic:", 6)) &&
           strncmp(word, "at ", 3) != 0 && strncmp(word, "from ", 5) != 0 &&
           strncmp(word, "throw ", 6) != 0 && strncmp(word, "raise ", 6) != 0;
}

static void take_words(struct worker *worker, const char *line, size_t length)
{
    char text[WORKER_SAID_MAX];
    (void)protocol_quote(line, length, text, sizeof text);
    take_call(worker, text);
    if (text[0] && (names_error(text) || !worker->has_error))
        (void)strcpy(worker->last_words, text);
    worker->has_error |= names_error(text);
    worker->events->printed(worker->events->context, worker, text);
}

static void take_line(struct worker *worker, int stream, const char *line, size_t length)
{
    if (stream == STREAM_OUT)
        take_answer(worker, line, length);
    else
        take_words(worker, line, length);
}

/* All whole lines that have come; of one that is too long its beginning. */
static void take_lines(struct worker *worker, int stream)
{
    struct lines *lines = &worker->lines[stream];
    size_t done = 0;
    for (;;) {
        char *begin = lines->bytes + done, *end = memchr(begin, '\n', lines->used - done);
        if (!end)
            break;
        if (!lines->is_cut)
            take_line(worker, stream, begin, (size_t)(end - begin));
        lines->is_cut = false;
        done = (size_t)(end - lines->bytes) + 1;
    }
    if (!done && lines->used == PROTOCOL_LINE_MAX) {
        if (!lines->is_cut)
            take_line(worker, stream, lines->bytes, lines->used);
        lines->is_cut = true;
        done = lines->used;
    }
    memmove(lines->bytes, lines->bytes + done, lines->used - done);
    lines->used -= done;
}

/* READY: a pipe that gives less than there is room for has no more; its end comes by itself. */
enum reading { READING_READY, READING_ALL };

/* Reads what is there. */
static void read_stream(struct worker *worker, int stream, enum reading reading)
{
    struct lines *lines = &worker->lines[stream];
    const int descriptor = stream == STREAM_OUT ? worker->launched.out : worker->launched.err;
    while (!worker->has_closed[stream]) {
        const size_t room = PROTOCOL_LINE_MAX - lines->used;
        const ssize_t got = read(descriptor, lines->bytes + lines->used, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            worker->has_closed[stream] = got == 0 || errno != EAGAIN;
            break;
        }
        lines->used += (size_t)got;
        take_lines(worker, stream);
        if (reading == READING_READY && (size_t)got < room)
            break;
    }
    if (!worker->has_closed[stream])
        return;
    if (lines->used && !lines->is_cut)
        take_line(worker, stream, lines->bytes, lines->used);
    lines->used = 0;
    (void)uv_poll_stop(&worker->polls[stream]);
}

/* --- its end --- */

static void describe_end(const struct worker *worker, int status, struct failure *failure)
{
    char how[64];
    if (WIFSIGNALED(status))
        (void)snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    const bool is_not_run = !worker->has_answered && WIFEXITED(status) && !WEXITSTATUS(status);
    const bool has_thrown = worker->has_answered && WIFEXITED(status) && WEXITSTATUS(status);
    (void)failure_set(failure, FAIL_INPUT, "its process %s%s%s%s%s%s", how,
                      is_not_run ? " before its first answer: is the call of \"run\" missing at "
                                   "its end?"
                                 : "",
                      worker->last_words[0] ? "; its last words: \"" : "", worker->last_words,
                      worker->last_words[0] ? "\"" : "",
                      has_thrown ? " (catch the exception, and answer \"error\")" : "");
}

static void check_life(struct worker *worker)
{
    int status;
    struct failure failure = {0};
    if (worker->has_ended)
        return;
    /* Its supervisor ends a little later than it, which has shut its streams by then. */
    const bool has_gone =
        worker->has_closed[STREAM_OUT] && supervisor_has_lost(worker->launched.pid);
    const int supervisor = worker->launched.supervisor;
    if (has_gone)
        status = spawn_await_end(supervisor);
    else if (waitpid(supervisor, &status, WNOHANG) != supervisor)
        return;
    worker->has_ended = true;
    read_stream(worker, STREAM_OUT, READING_ALL);
    read_stream(worker, STREAM_ERR, READING_ALL);
    describe_end(worker, status, &failure);
    tell_failure(worker, &failure);
}

void worker_read(struct worker *worker)
{
    timekeeper_hush(&worker->timekeeper);
    read_stream(worker, STREAM_OUT, READING_ALL);
    read_stream(worker, STREAM_ERR, READING_ALL);
    check_life(worker);
}

/* Only what is ready: it comes several times for each thing that happens. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct worker *worker = poll->data;
    const ptrdiff_t stream = poll - worker->polls;
    (void)status;
    (void)events;
    if (stream == STREAM_BELL) {
        timekeeper_hush(&worker->timekeeper);
        return;
    }
    read_stream(worker, (int)stream, READING_READY);
    if (worker->has_closed[stream])
        check_life(worker);
}

/* --- what it is told --- */

/* A worker that does not read has 64 kB: no request of ours comes near that. */
static void put(struct worker *worker, const char *line)
{
    const size_t length = strlen(line);
    ssize_t written = write(worker->launched.in, line, length);
    struct failure failure = {0};
    if (written == (ssize_t)length || worker->has_ended)
        return;
    if (errno == EPIPE) {
        /* It has closed its standard input: it ends, or never answers. */
        return;
    }
    (void)failure_set(&failure, FAIL_UNAVAILABLE, "it does not read its standard input: %s",
                      written < 0 ? strerror(errno) : "the pipe is full");
    tell_failure(worker, &failure);
}

int64_t worker_ask(struct worker *worker, struct worker_request request)
{
    request.id = ++worker->asked;
    worker->has_error = false;
    char *line = protocol_print(&request);
    put(worker, line);
    free(line);
    timekeeper_look_again(&worker->timekeeper);
    return request.id;
}

/* --- birth and death --- */

static bool watch(struct worker *worker, uv_loop_t *loop)
{
    const int descriptors[STREAMS] = {worker->launched.out, worker->launched.err,
                                      worker->timekeeper.bell};
    for (int i = 0; i < STREAMS; i++) {
        if (uv_poll_init(loop, &worker->polls[i], descriptors[i]) < 0)
            return false;
        worker->polls[i].data = worker;
        worker->open_polls++;
        if (uv_poll_start(&worker->polls[i], UV_READABLE, on_ready) < 0)
            return false;
    }
    return true;
}

enum fail worker_new(struct worker **made, const struct worker_options *options,
                     struct failure *failure)
{
    char *words[WORKER_WORDS_MAX + 1], page[TIME_PATH_MAX - 16];
    struct runtime_words flagged;
    *made = NULL;
    if (worker_split(options->command, words, failure))
        return FAIL_INPUT;
    struct worker *worker = memory_new(1, sizeof *worker);
    worker->settings = options->settings;
    worker->events = options->events;
    worker->launched = (struct launched){.in = -1, .out = -1, .err = -1};
    for (int i = 0; i < 2; i++)
        worker->lines[i].bytes = memory_new(PROTOCOL_LINE_MAX, 1);
    (void)snprintf(page, sizeof page, "%.*s/time", TIME_PATH_MAX / 2, options->folder);
    enum fail fail =
        timekeeper_open(&worker->timekeeper, page, options->now_us, options->seed, failure);
    for (int i = 0; !fail && i < options->settings.servers; i++)
        timekeeper_allow_port(&worker->timekeeper, options->settings.ports[i]);
    if (options->shim)
        runtime_add_flags(&flagged, words, options->seed);
    if (!fail)
        fail = launch(&worker->launched, options->shim ? flagged.words : words, options, page,
                      failure);
    free(words[0]);
    if (!fail && !watch(worker, options->loop))
        fail = failure_set(failure, FAIL_UNAVAILABLE, "libuv cannot watch the worker");
    if (fail)
        worker_free(worker);
    else
        *made = worker;
    return fail;
}

static void release(struct worker *worker)
{
    const int ends[] = {worker->launched.in, worker->launched.out, worker->launched.err};
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
    timekeeper_shut(&worker->timekeeper);
    for (int i = 0; i < 2; i++)
        free(worker->lines[i].bytes);
    free(worker);
}

static void on_closed(uv_handle_t *handle)
{
    struct worker *worker = handle->data;
    if (--worker->open_polls == 0)
        release(worker);
}

void worker_kill(struct worker *worker)
{
    worker->is_leaving = true;
    if (!worker->launched.supervisor || worker->has_ended)
        return;
    worker->has_ended = true;
    (void)kill(worker->launched.supervisor, SIGTERM);
    (void)spawn_await_end(worker->launched.supervisor);
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    worker_kill(worker);
    if (!worker->open_polls) {
        release(worker);
        return;
    }
    for (int i = worker->open_polls - 1; i >= 0; i--)
        uv_close((uv_handle_t *)&worker->polls[i], on_closed);
}
