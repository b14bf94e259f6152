/* timeline_words.h - the text of a row, and what a reply says that a command did to the lock key.
 */
#ifndef PICKLOCK_REPORT_TIMELINE_WORDS_H
#define PICKLOCK_REPORT_TIMELINE_WORDS_H

#include "report/timeline.h"

enum key_change { KEY_KEPT, KEY_WRITTEN, KEY_EXTENDED, KEY_REMOVED };

/* What an executed command did to the lock key, by its reply. */
enum key_change words_key_change(const struct event *event);
bool words_sets_expiry(const struct event *event);

/* Each puts words behind those in text (TIMELINE_TEXT_MAX bytes). last: the event before in the
 * same row, or NULL. */
void words_event(const struct timeline *timeline, const struct event *event,
                 const struct event *last, char *text);
/* True, with words, when the command struck the key of another client, `holder` (-1: nobody's). */
bool words_strike(const struct timeline *timeline, const struct event *event, int holder,
                  char *text);
void words_key_expires(const struct timeline *timeline, int server, int client, char *text);
void words_lease_ends(const struct timeline *timeline, int client, char *text);

#endif
