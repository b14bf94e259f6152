/* story.c - see story.h. */
#include "watch/story.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

/* Events that wait; a question that holds up more is answered with no. */
enum { WAITING_MAX = 100000 };

struct question {
    enum { OPEN, YES, NO } answer;
    int64_t deadline_us;
    bool is_doubted; /* no is not proved by silence */
    int holders;     /* who asked, and the events that hang on it */
};

struct waiting_event {
    struct waiting_event *next;
    struct event event;
    struct question *question;
    enum when when;
};

struct watched_story {
    struct event_sink sink;
    struct waiting_event *first, *last;
    int64_t waiting, written;
    int64_t newest_us;
};

struct watched_story *story_new(struct history_writer *writer)
{
    struct watched_story *story = memory_new(1, sizeof *story);
    story->sink = history_writer_sink(writer);
    return story;
}

struct question *story_ask(struct watched_story *story, int64_t deadline_us)
{
    struct question *question = memory_new(1, sizeof *question);
    (void)story;
    question->deadline_us = deadline_us;
    question->holders = 1;
    return question;
}

bool question_is_open(const struct question *question)
{
    return question && question->answer == OPEN;
}

void question_answer(struct question *question, bool is_yes)
{
    if (question_is_open(question))
        question->answer = is_yes ? YES : NO;
}

void question_doubt(struct question *question)
{
    question->is_doubted = true;
}

void story_drop(struct question *question)
{
    if (question && --question->holders == 0)
        free(question);
}

void story_put(struct watched_story *story, const struct event *event, struct question *question,
               enum when when)
{
    struct waiting_event *entry = memory_new(1, sizeof *entry);
    assert(!question == (when == ALWAYS));
    entry->event = *event;
    event_keep(&entry->event);
    /* What was sent while others were under way is told behind them. */
    if (entry->event.time_us < story->newest_us)
        entry->event.time_us = story->newest_us;
    story->newest_us = entry->event.time_us;
    entry->question = question;
    entry->when = when;
    if (question)
        question->holders++;
    if (story->last)
        story->last->next = entry;
    else
        story->first = entry;
    story->last = entry;
    story->waiting++;
}

/* Is it answered so that what is told in that case is told? */
static bool has_answer(const struct question *question, enum when when)
{
    if (question->answer == YES)
        return when == WHEN_YES;
    return when == (question->is_doubted ? WHEN_DOUBTED : WHEN_NO);
}

static void write_first(struct watched_story *story)
{
    struct waiting_event *entry = story->first;
    const bool is_told = !entry->question || has_answer(entry->question, entry->when);
    story->first = entry->next;
    if (!story->first)
        story->last = NULL;
    story->waiting--;
    entry->event.index = story->written;
    if (is_told) {
        story->sink.take(story->sink.context, &entry->event);
        story->written++;
    }
    event_drop(&entry->event);
    story_drop(entry->question);
    free(entry);
}

void story_flush(struct watched_story *story, int64_t now_us)
{
    while (story->first) {
        struct question *question = story->first->question;
        if (question && (now_us >= question->deadline_us || story->waiting > WAITING_MAX))
            question_answer(question, false);
        if (question_is_open(question))
            return;
        write_first(story);
    }
}

int64_t story_free(struct watched_story *story)
{
    story_flush(story, INT64_MAX);
    const int64_t written = story->written;
    free(story);
    return written;
}
