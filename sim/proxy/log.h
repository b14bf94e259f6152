/* log.h - the log of the proxy that stands alone: JSON Lines, an event a line, no password in any
 * of them.
 *
 * First line: {"log":"picklock.proxy/1",...}. Of a request: number, command, first key; of a reply:
 * its first word and its length. Never an argument that could be a secret. README.md lists the
 * fields. */
#ifndef PICKLOCK_PROXY_LOG_H
#define PICKLOCK_PROXY_LOG_H

#include "base/fail.h"
#include "proxy/rules.h"

struct log;

/* path: "-" is stderr. The file is held by a lock (flock) until the close. FAIL_INPUT: it cannot be
 * written; FAIL_UNAVAILABLE: another process writes its log there. */
enum fail log_new(struct log **log, const char *path, struct failure *failure);
/* Before the first event: what stands in the file is gone from here on. */
enum fail log_clear(struct log *log, struct failure *failure);
/* Events from here on are of that listener (borrowed); NULL: there is only one. */
void log_listener(struct log *log, const char *name);
/* How many events are not in it, since it cannot be written. */
uint64_t log_lost(const struct log *log);
/* Writes what is not written yet. FAIL_INTERNAL when the file cannot be written, or others removed
 * or cut it (it may be renamed): nothing is, behind the first failure. */
enum fail log_flush(struct log *log, struct failure *failure);
/* Takes log. */
enum fail log_close(struct log *log, struct failure *failure);

void log_begin(struct log *log, const char *listen, const char *upstream, uint64_t seed);
void log_open(struct log *log, uint64_t client, int peer_port);
void log_shut(struct log *log, uint64_t client);
void log_request(struct log *log, const struct proxy_request *request);
void log_reply(struct log *log, const struct proxy_request *request, const char *bytes,
               size_t length);
void log_fault(struct log *log, const struct rules_told *told);
void log_notice(struct log *log, uint64_t client, const char *words); /* 0: of no client */
void log_end(struct log *log, const char *why);

#endif
