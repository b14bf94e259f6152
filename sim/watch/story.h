/* story.h - the events of a watched run, on their way to its history.
 *
 * What an event says may hang on something that is known a little later: who sent a DEL that names
 * no token is told by whether the lock's owner goes on to act as one. So events wait behind an open
 * question, in their order, until it is answered, or nobody has answered it in time (then: no). */
#ifndef PICKLOCK_WATCH_STORY_H
#define PICKLOCK_WATCH_STORY_H

#include "history/history.h"

struct watched_story;

/* An open question; NULL stands for none. */
struct question;

enum when { ALWAYS, WHEN_YES, WHEN_NO, WHEN_DOUBTED };

/* Events go to writer (borrowed). */
struct watched_story *story_new(struct history_writer *writer);

/* What waits is written; questions that are open are answered with no. Takes story. Returns how
 * many events there were. */
int64_t story_free(struct watched_story *story);

/* Until deadline_us (as of the events' times). The asker holds it until story_drop(). */
struct question *story_ask(struct watched_story *story, int64_t deadline_us);
bool question_is_open(const struct question *question);
/* The first answer counts. */
void question_answer(struct question *question, bool is_yes);
/* Unless it is answered with yes, nobody can tell: instead of no it is "doubted". */
void question_doubt(struct question *question);
void story_drop(struct question *question); /* takes; NULL is fine */

/* Copies event, but for its index; question (may be NULL) as it is answered decides whether it is
 * told. */
void story_put(struct watched_story *story, const struct event *event, struct question *question,
               enum when when);

/* Writes what waits for nothing. */
void story_flush(struct watched_story *story, int64_t now_us);

#endif
