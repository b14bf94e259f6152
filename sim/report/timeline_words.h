/* timeline_words.h - the text of a row, and what a reply says that a command did to the lock key.
 */
#ifndef PICKLOCK_REPORT_TIMELINE_WORDS_H
#define PICKLOCK_REPORT_TIMELINE_WORDS_H

#include "report/timeline.h"

enum key_change { KEY_KEPT, KEY_WRITTEN, KEY_EXTENDED, KEY_REMOVED };

/* What an executed command did to the lock key, by its reply. */
enum key_change words_key_change(const struct event *event);
/* Does it give the key an expiry, and so long from then on? */
bool words_expiry(const struct event *event, int64_t *ttl_us);

/* A command by which a holder lengthens its lease; and a reply that says that it did. */
bool words_is_renewal(const struct event *event);
bool words_is_yes(const struct reply *reply);

/* Each puts words behind those in text (TIMELINE_TEXT_MAX bytes). last: the event before in the
 * same row, or NULL. */
void words_event(const struct timeline *timeline, const struct event *event,
                 const struct event *last, char *text);
/* True, with words, when the command changed the key of another client, `holder` (-1: nobody's). */
bool words_foreign_key(const struct timeline *timeline, const struct event *event, int holder,
                       char *text);
void words_key_expires(const struct timeline *timeline, int server, int client, char *text);
/* "A runs in web 1; B and C run in web 2.", of the clients that are drawn; NULL: the history does
 * not say it. The caller frees. */
char *words_processes(const struct timeline *timeline);
/* "Tokens: A1 is 4711, B1 is 815.": what the rows call by the name of its attempt, as sentences and
 * histories have it; NULL: nothing. The caller frees. */
char *words_tokens(const struct timeline *timeline);
void words_lease_ends(const struct timeline *timeline, int client, char *text);

#endif
