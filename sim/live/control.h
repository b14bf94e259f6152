/* control.h - our own connection to a server, beside the clients': start-up checks, clearing keys,
 * faults of the server.
 *
 * Blocking, with a time limit, straight to the server (never through the proxy). Failure texts hold
 * no password. */
#ifndef PICKLOCK_LIVE_CONTROL_H
#define PICKLOCK_LIVE_CONTROL_H

#include "live/url.h"

#include <hiredis/hiredis.h>
#include <stdint.h>

enum {
    CONTROL_SECONDS = 5,          /* how long an answer may take */
    CONTROL_ANSWER_MAX = 64 << 20 /* bytes of one */
};

/* Connects, logs in and selects the database as url (borrowed) says. FAIL_UNAVAILABLE: what the
 * server or the system said. */
enum fail control_open(redisContext **control, const struct url *url, struct failure *failure);
void control_shut(redisContext *control); /* takes; NULL is fine */
/* The port of our end (borrowed, any of hiredis); 0: it has none, or control is NULL. */
int control_own_port(const redisContext *control);

/* What the answer to a login (borrowed) means, in words without a secret of it. */
void control_login_refused(const char *error, char *text, size_t size);

/* Did the other side say something that is not Redis? */
bool control_is_garbage(const redisContext *control);

/* Was a question not answered on it for as long as an answer may take? It is good for nothing more.
 */
bool control_is_mute(const redisContext *control);

/* Is what this points to set (by a signal's handler), no answer is waited for as long as else. Kept
 * until another is given; NULL: nothing is heeded. */
void control_heed(const volatile int *stop);
bool control_is_hurried(void); /* it is set */

/* Sends one command (hiredis format) and returns its reply, which the caller frees; NULL and
 * FAIL_UNAVAILABLE in failure when the server did not answer, or answered with an error. */
redisReply *control_ask(redisContext *control, struct failure *failure, const char *format, ...);

/* The same for several commands at once: all are appended, then as many answers are taken, each
 * under the name of its command (borrowed). A failure leaves the rest unread: shut the connection.
 */
void control_append(redisContext *control, const char *format, ...);
redisReply *control_answer(redisContext *control, const char *what, struct failure *failure);
/* And an error is an answer like another. */
redisReply *control_reply(redisContext *control, const char *what, struct failure *failure);

/* For who reads from the connection himself: waits until there is something, for as long as an
 * answer may take to what was asked then (monotonic_us()). has_begun: some of it has come before.
 * FAIL_UNAVAILABLE in the words of control_answer(). */
enum fail control_await(redisContext *control, int64_t asked_us, bool has_begun, const char *what,
                        struct failure *failure);

/* For who asks on a connection of another kind: how long he waits for an answer, and
 * FAIL_UNAVAILABLE in the same words. how: more of them, behind. */
int64_t control_patience_us(void);
enum fail control_not_in_time(const char *what, const char *how, struct failure *failure);

/* One command of which only success matters. */
enum fail control_do(redisContext *control, struct failure *failure, const char *format, ...);

/* What an integer reply says; INT64_MIN and the failure's text when it is none. */
int64_t control_integer(redisContext *control, struct failure *failure, const char *format, ...);

/* What the server's clock says, in microseconds since 1970; of a reply (borrowed) to TIME. */
enum fail control_read_time(const redisReply *reply, int64_t *now_us, struct failure *failure);
enum fail control_time_us(redisContext *control, int64_t *now_us, struct failure *failure);

/* A field of an INFO text (borrowed): copies the value of "name:value" into value; "" when there is
 * none. */
void control_field(const char *info, const char *name, char *value, size_t size);

/* A field of INFO as a number; -1: it is not there, or (failure's text) was not answered. */
int64_t control_info_number(redisContext *control, const char *section, const char *field,
                            struct failure *failure);

#endif
