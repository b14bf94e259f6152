/* log.c - see log.h. */
#include "proxy/log.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct log {
    FILE *file;
    char *path;
    int64_t started_us;
    int error;        /* errno of the first write that failed */
    const char *loss; /* what others did to the file; NULL: nothing that is known */
    off_t size;       /* of it, when it was last written to */
    bool is_dirty;
    const char *listener; /* of the events from here on; NULL: there is only one */
    uint64_t lost;        /* events behind the first write that failed */
};

enum { REPLY_WORD_MAX = 32 };

/* Not blocking while it is opened: a named pipe that nobody reads must not stop us here. */
static FILE *open_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return NULL;
    /* Where others cut it, what comes goes to its new end, not behind a hole. */
    FILE *file = fcntl(fd, F_SETFL, O_APPEND) == 0 ? fdopen(fd, "w") : NULL;
    if (!file)
        (void)close(fd); /* errno is of what failed before */
    return file;
}

/* One of two that write to one file would overwrite the other's lines; where the file system has no
 * locks, that cannot be told. */
static bool is_held(FILE *file)
{
    struct stat about;
    return file != stderr && fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
           flock(fileno(file), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

enum fail log_new(struct log **made, const char *path, struct failure *failure)
{
    FILE *file = strcmp(path, "-") ? open_file(path) : stderr;
    if (!file)
        return failure_set(failure, FAIL_INPUT, "cannot write the log %s: %s", path,
                           errno == ENXIO ? "nobody reads it" : strerror(errno));
    if (is_held(file)) {
        (void)fclose(file); /* nothing was written to it */
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s: another picklock writes it, and runs: end that one first, or name "
                           "another file",
                           path);
    }
    struct log *log = *made = memory_new(1, sizeof *log);
    log->file = file;
    log->path = memory_text(path);
    log->started_us = monotonic_us();
    return FAIL_NONE;
}

enum fail log_clear(struct log *log, struct failure *failure)
{
    struct stat about;
    if (log->file == stderr || fstat(fileno(log->file), &about) != 0 || !S_ISREG(about.st_mode) ||
        ftruncate(fileno(log->file), 0) == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "cannot write the log %s: %s", log->path,
                       strerror(errno));
}

void log_listener(struct log *log, const char *name)
{
    log->listener = name;
}

uint64_t log_lost(const struct log *log)
{
    return log->lost;
}

/* Before and behind each write: what is written may be longer than what was cut. */
static void look(struct log *log)
{
    struct stat about;
    const int fd = fileno(log->file);
    if (log->file == stderr || log->error)
        return;
    log->loss = outfile_loss(fd, log->size);
    if (log->loss)
        log->error = ESTALE;
    else if (fstat(fd, &about) == 0)
        log->size = about.st_size;
}

enum fail log_flush(struct log *log, struct failure *failure)
{
    if (log->is_dirty) {
        look(log);
        if (fflush(log->file) && !log->error)
            log->error = errno ? errno : EIO;
        look(log);
    }
    log->is_dirty = false;
    if (!log->error)
        return FAIL_NONE;
    if (log->loss)
        return failure_set(failure, FAIL_INTERNAL, "cannot write the log %s: %s", log->path,
                           log->loss);
    if (log->lost)
        return failure_set(failure, FAIL_INTERNAL,
                           "cannot write the log %s: %s; %" PRIu64 " events are not in it",
                           log->path, strerror(log->error), log->lost);
    return failure_set(failure, FAIL_INTERNAL, "cannot write the log %s: %s", log->path,
                       strerror(log->error));
}

enum fail log_close(struct log *log, struct failure *failure)
{
    enum fail fail = log_flush(log, failure);
    if (log->file != stderr && fclose(log->file) && !fail)
        fail = failure_set(failure, FAIL_INTERNAL, "cannot write the log %s: %s", log->path,
                           strerror(errno));
    free(log->path);
    free(log);
    return fail;
}

/* Bytes are written as the code points of the same number: what is no ASCII stays tellable, and the
 * line valid. */
static void put_text(struct log *log, const char *name, const char *bytes, size_t length)
{
    fprintf(log->file, ",\"%s\":\"", name);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\')
            fprintf(log->file, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(log->file, "\\u%04x", byte);
        else
            fputc(byte, log->file);
    }
    fputc('"', log->file);
}

static void put_words(struct log *log, const char *name, const char *words)
{
    put_text(log, name, words, strlen(words));
}

static void put_number(struct log *log, const char *name, uint64_t number)
{
    fprintf(log->file, ",\"%s\":%" PRIu64, name, number);
}

static bool is_lost(struct log *log)
{
    log->lost += log->error != 0;
    return log->error != 0;
}

static void begin(struct log *log, const char *event)
{
    log->is_dirty = true;
    fprintf(log->file, "{\"time_us\":%" PRId64 ",\"event\":\"%s\"",
            monotonic_us() - log->started_us, event);
    if (log->listener)
        put_words(log, "listener", log->listener);
}

static void end(struct log *log)
{
    fputs("}\n", log->file);
    if (ferror(log->file) && !log->error)
        log->error = errno ? errno : EIO;
}

void log_begin(struct log *log, const char *listen, const char *upstream, uint64_t seed)
{
    if (is_lost(log))
        return;
    begin(log, "begin");
    put_words(log, "log", "picklock.proxy/1");
    put_words(log, "listen", listen);
    put_words(log, "upstream", upstream);
    put_number(log, "seed", seed);
    end(log);
}

void log_open(struct log *log, uint64_t client, int peer_port)
{
    if (is_lost(log))
        return;
    begin(log, "open");
    put_number(log, "client", client);
    put_number(log, "peer_port", (uint64_t)peer_port);
    end(log);
}

void log_shut(struct log *log, uint64_t client)
{
    if (is_lost(log))
        return;
    begin(log, "close");
    put_number(log, "client", client);
    end(log);
}

static void put_request(struct log *log, const struct proxy_request *request)
{
    put_number(log, "client", proxy_link_number(request->link));
    put_number(log, "number", request->number);
    put_words(log, "command", request->name);
    if (request->first_key)
        put_text(log, "key", request->first_key, request->first_key_length);
}

void log_request(struct log *log, const struct proxy_request *request)
{
    if (is_lost(log))
        return;
    begin(log, "request");
    put_request(log, request);
    if (request->in_transaction)
        fputs(",\"in_multi\":true", log->file);
    if (!request->expects_reply)
        fputs(",\"expects_reply\":false", log->file);
    end(log);
}

void log_reply(struct log *log, const struct proxy_request *request, const char *bytes,
               size_t length)
{
    size_t word = 0; /* the rest of an error may quote the request */
    while (word < length && word < REPLY_WORD_MAX && bytes[word] != ' ' && bytes[word] != '\r')
        word++;
    if (is_lost(log))
        return;
    begin(log, "reply");
    put_request(log, request);
    put_text(log, "reply", bytes, word);
    put_number(log, "bytes", length);
    end(log);
}

void log_fault(struct log *log, const struct rules_told *told)
{
    if (is_lost(log))
        return;
    begin(log, "fault");
    put_request(log, told->request);
    put_words(log, "rule", told->rule);
    put_words(log, "action", told->fault);
    put_words(log, "point", point_name(told->point));
    if (told->words)
        put_words(log, "words", told->words);
    end(log);
}

void log_notice(struct log *log, uint64_t client, const char *words)
{
    if (is_lost(log))
        return;
    begin(log, "notice");
    if (client)
        put_number(log, "client", client);
    put_words(log, "words", words);
    end(log);
}

void log_end(struct log *log, const char *why)
{
    if (is_lost(log))
        return;
    begin(log, "end");
    put_words(log, "words", why);
    end(log);
}
