/* heartbeat.c - see heartbeat.h. A thread prints, since who does the work may wait for a worker
 * that does not answer; on a terminal what is told is drawn at once as well. */
#include "cmd/heartbeat.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/thread.h"
#include "base/units.h"
#include "cmd/progress.h"
#include "report/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nothing is silent for more than 5 s: one second is for a busy machine. */
enum {
    EVERY_S = 4,
    SECOND_US = 1000000,
    JSON_EVERY_US = 900000
}; /* who tells each second may be early */

enum how { IN_WORDS, IN_JSON, NOT_AT_ALL };
static const char *const hows[] = {"words", "json", "none"};
static enum how how;

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    bool is_terminal, has_thread, is_over;
    int64_t began_us, told_us, said_us; /* told: in JSON; said: the words */
    char *words;
} heartbeat = {.mutex = PTHREAD_MUTEX_INITIALIZER};

enum fail heartbeat_read(const char *text, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    int row = text ? NAMES_FIND(hows, text) : IN_WORDS;
    if (row < 0)
        return failure_set(
            failure, FAIL_INPUT, "--progress wants words, json or none, not '%s'%s", text,
            suggest_words(suggest_nearest(text, hows, sizeof hows / sizeof *hows), "", suggestion));
    how = (enum how)row;
    return FAIL_NONE;
}

/* A refused command line is told in JSON as well: who reads it has asked for that. */
void heartbeat_expect(int count, char *const *words)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (!strcmp(words[i], "--progress=json") ||
            (i + 1 < count && !strcmp(words[i], "--progress") && !strcmp(words[i + 1], "json")))
            how = IN_JSON;
}

const char *heartbeat_how(int row)
{
    return row < (int)(sizeof hows / sizeof *hows) ? hows[row] : NULL;
}

bool heartbeat_is_in_words(void)
{
    return how == IN_WORDS;
}

/* How much of it stands in a line: what fits, and no part of it (they have a comma between) that
 * would be cut. */
static size_t fitting(const char *words)
{
    const int columns = text_columns(stderr);
    size_t size = columns ? text_fitting(words, columns - 1, 0) : strlen(words), part = size;
    while (words[size] && part > 0 && strncmp(words + part, ", ", 2) != 0)
        part--;
    return part ? part : size;
}

/* The terminal's line; a second one would stay. The mutex is held. */
static void draw(const char *words)
{
    const size_t size = fitting(words);
    fprintf(stderr, "\r\033[K%.*s", (int)size, words);
}

/* What stands on a terminal for long is still true: its seconds say so. The mutex is held. */
static void tell_again(void)
{
    if (!heartbeat.words || !*heartbeat.words)
        return;
    if (!heartbeat.is_terminal) {
        fprintf(stderr, "%s\n", heartbeat.words);
        return;
    }
    const int64_t for_s = (monotonic_us() - heartbeat.said_us) / SECOND_US;
    if (for_s < EVERY_S / 2)
        return;
    char *words = memory_format("%s (for %" PRId64 " s)", heartbeat.words, for_s);
    draw(words);
    free(words);
}

/* A line of JSON; takes made. */
static void print_json(json_t *made)
{
    char *line = json_dumps(made, JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (line)
        fprintf(stderr, "%s\n", line);
    free(line);
    json_decref(made);
}

void heartbeat_message(const char *mark, const char *text)
{
    if (how == IN_JSON)
        print_json(json_pack("{s:s}", "message", text));
    else
        fprintf(stderr, "%s%s\n", mark, text);
}

bool heartbeat_has_words(void)
{
    pthread_mutex_lock(&heartbeat.mutex);
    const bool has = heartbeat.words != NULL;
    pthread_mutex_unlock(&heartbeat.mutex);
    return has;
}

static void *beat(void *unused)
{
    const int64_t now_us = monotonic_us();
    struct timespec next = {.tv_sec = now_us / SECOND_US, .tv_nsec = now_us % SECOND_US * 1000};
    (void)unused;
    pthread_mutex_lock(&heartbeat.mutex);
    while (!heartbeat.is_over) {
        next.tv_sec += EVERY_S;
        while (!heartbeat.is_over &&
               pthread_cond_timedwait(&heartbeat.ends, &heartbeat.mutex, &next) == 0)
            ;
        if (!heartbeat.is_over)
            tell_again();
    }
    pthread_mutex_unlock(&heartbeat.mutex);
    return NULL;
}

/* Signals are for the main thread: what it waits in is to end. Without a thread there is no line.
 */
void heartbeat_begin(void)
{
    pthread_condattr_t attributes;
    heartbeat.is_over = false;
    if (!heartbeat.began_us) /* of the command, not of its part */
        heartbeat.began_us = monotonic_us();
    heartbeat.told_us = 0;
    heartbeat.is_terminal = how == IN_WORDS && text_can_draw(stderr);
    if (how != IN_WORDS)
        return;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeat.ends, &attributes);
    pthread_condattr_destroy(&attributes);
    heartbeat.has_thread = thread_start(&heartbeat.thread, beat, NULL) == 0;
}

/* Takes made: a line, unless one was written a moment ago. */
static void tell_json(json_t *made)
{
    const int64_t now_us = monotonic_us();
    if (heartbeat.told_us && now_us - heartbeat.told_us < JSON_EVERY_US) {
        json_decref(made);
        return;
    }
    heartbeat.told_us = now_us;
    json_object_set_new(made, "seconds",
                        json_real((double)(now_us - heartbeat.began_us) / SECOND_US));
    print_json(made);
}

static void add_number(json_t *made, const char *name, int64_t number)
{
    if (number >= 0)
        json_object_set_new(made, name, json_integer(number));
}

/* "left_is" tells what kind of number that is. */
static void add_left(json_t *made, const char *name, int64_t left_us, const char *kind,
                     const char *is)
{
    if (left_us < 0)
        return;
    add_number(made, name, left_us / SECOND_US);
    json_object_set_new(made, kind, json_string(is));
}

static void tell_figures(const struct heartbeat_figures *figures)
{
    char *clean = text_clean(figures->what);
    json_t *made = json_pack("{s:s}", "progress", clean);
    free(clean);
    add_number(made, "done", figures->of ? figures->done : -1);
    add_number(made, "of", figures->of ? figures->of : -1);
    add_number(made, "states", figures->states);
    add_number(made, "states_per_second", figures->states_per_second);
    add_number(made, "depth", figures->depth);
    add_number(made, "runs", figures->runs);
    add_number(made, "runs_max", figures->runs_max);
    add_number(made, "executions", figures->executions);
    add_number(made, "operations", figures->operations);
    add_number(made, "grants", figures->grants);
    add_number(made, "holders", figures->holders);
    add_number(made, "ungranted", figures->ungranted);
    add_number(made, "faults", figures->faults);
    add_number(made, "p99_us", figures->p99_us);
    if (figures->violations)
        json_object_set_new(made, "violations", json_string(figures->violations));
    add_left(made, "search_seconds_left", figures->search_left_us, "search_left_is",
             figures->is_at_least ? "at least" : "about");
    add_left(made, "seconds_left", figures->left_us, "left_is",
             figures->is_at_most ? "at most" : "about");
    tell_json(made);
}

/* ", 12 states" behind what there is; takes words. */
static char *__attribute__((format(printf, 2, 3))) with(char *words, const char *format, ...)
{
    char *more, *both;
    va_list values;
    va_start(values, format);
    if (vasprintf(&more, format, values) < 0)
        more = memory_text("");
    va_end(values);
    both = memory_format("%s%s", words, more);
    free(words);
    free(more);
    return both;
}

void heartbeat_tell(const struct heartbeat_figures *figures)
{
    char time[PROGRESS_TIME_MAX];
    if (how == IN_JSON)
        tell_figures(figures);
    if (how != IN_WORDS)
        return;
    char *words = figures->of ? memory_format("%" PRId64 "/%" PRId64 " %s", figures->done + 1,
                                              figures->of, figures->what)
                              : memory_text(figures->what);
    if (figures->runs >= 0)
        words = with(words, ": %" PRId64 " of %" PRId64 " run%s", figures->runs, figures->runs_max,
                     units_plural(figures->runs_max));
    if (figures->states >= 0)
        words = with(words, "%s %" PRId64 " state%s", figures->runs >= 0 ? "," : ":",
                     figures->states, units_plural(figures->states));
    if (figures->states_per_second >= 0)
        words = with(words, " (%" PRId64 " a second)", figures->states_per_second);
    if (figures->executions >= 0)
        words = with(words, ", %" PRId64 " execution%s", figures->executions,
                     units_plural(figures->executions));
    if (figures->depth >= 0)
        words =
            with(words, ", %" PRId64 " step%s deep", figures->depth, units_plural(figures->depth));
    /* A budget that is over sooner says enough. */
    const bool has_search = figures->search_left_us >= 0 &&
                            (figures->left_us < 0 || figures->search_left_us < figures->left_us);
    if (has_search)
        words = with(words, ", %s %s left of it", figures->is_at_least ? "at least" : "about",
                     progress_print_time(figures->search_left_us, time));
    if (figures->left_us >= 0)
        words = with(words, ", %s %s left%s", figures->is_at_most ? "at most" : "about",
                     progress_print_time(figures->left_us, time), has_search ? " of all" : "");
    heartbeat_say("%s", words);
    free(words);
}

void heartbeat_say(const char *format, ...)
{
    char *words;
    va_list values;
    va_start(values, format);
    const bool is_made = vasprintf(&words, format, values) >= 0;
    va_end(values);
    if (!is_made)
        return;
    char *clean = text_clean(words);
    free(words);
    if (how == IN_JSON && *clean)
        tell_json(json_pack("{s:s}", "progress", clean));
    pthread_mutex_lock(&heartbeat.mutex);
    if (heartbeat.is_terminal)
        draw(clean);
    heartbeat.said_us = monotonic_us();
    free(heartbeat.words);
    heartbeat.words = clean;
    pthread_mutex_unlock(&heartbeat.mutex);
}

void heartbeat_end(void)
{
    pthread_mutex_lock(&heartbeat.mutex);
    if (heartbeat.is_terminal)
        draw("");
    heartbeat.is_over = true;
    free(heartbeat.words);
    heartbeat.words = NULL;
    if (heartbeat.has_thread)
        pthread_cond_signal(&heartbeat.ends);
    pthread_mutex_unlock(&heartbeat.mutex);
    if (heartbeat.has_thread) {
        pthread_join(heartbeat.thread, NULL);
        pthread_cond_destroy(&heartbeat.ends);
    }
    heartbeat.has_thread = false;
}
