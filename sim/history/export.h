/* export.h - a history in the format of another tool; reports/README.md tells of the mappings.
 *
 * Written as it is read: memory grows with clients, and the locks that each comes to. What servers
 * did is left out, but for perfetto's faults. */
#ifndef PICKLOCK_HISTORY_EXPORT_H
#define PICKLOCK_HISTORY_EXPORT_H

#include "base/fail.h"
#include "history/event.h"

#include <stdio.h>

enum { EXPORT_NO_ATTEMPT = -1 };

/* A client's operation under way at a lock, and what it holds there. */
struct export_client {
    struct export_client *next; /* the same client at another lock; NULL: at no more */
    bool is_open, is_holding;
    bool was_holding; /* before the operation under way */
    bool may_come;    /* an acquire of its there had no answer: it may have the lock by that */
    bool may_stay;    /* a release of what it held had no answer: it may have the lock still, until
                         somebody else is granted it */
    bool is_named;    /* the format has said who that is */
    enum operation op;
    int lock, attempt;
    int owner; /* attempt that was granted it and has not given it back; 0: none; EXPORT_NO_ATTEMPT:
                  one whose process has had no answer since, and which holds it all the same */
    int64_t call_us, held_us;
    int64_t drawn_us;           /* until then its time is told */
    int64_t lease_end_us;       /* of what it holds */
    int64_t call_ns, return_ns; /* export_stamp_ns() of the last ones */
    int64_t renewals;           /* that it has called, answered or not */
    int64_t retired;            /* operations there that ended without an answer */
};

struct export
{
    FILE *out;                       /* borrowed */
    const struct history_head *head; /* kept */
    struct export_client *clients;   /* each at the lock that is looked at */
    int64_t stay;                    /* how often may_stay was set */
    int64_t written;
    int64_t last_us;
    int64_t order;   /* of the event in hand, among those of its microsecond */
    int64_t process; /* set before each event: history_source_process() */
};

/* What one format does; a NULL: nothing. The client is as it was before the event. Of a process
 * that has ended each client is told at each lock that it had come to. */
struct export_rules {
    const char *name, *words;
    void (*begin)(struct export *export);
    void (*call)(struct export *export, const struct event *event);
    void (*answer)(struct export *export, const struct event *event); /* to a call that is open */
    void (*other)(struct export *export, const struct event *event);
    void (*open)(struct export *export, int client); /* its operation will have no answer */
    void (*gone)(struct export *export, int client, const struct event *event); /* its process */
    void (*rest)(struct export *export, int client); /* it holds, and the history ends */
    void (*end)(struct export *export);
};

#define EXPORT(name, words) extern const struct export_rules export_##name;
#include "history/exports.def"
#undef EXPORT

/* By name; FAIL_INPUT with a suggestion. */
enum fail export_named(const char *name, const struct export_rules **rules,
                       struct failure *failure);

/* export: caller's memory. */
void export_start(struct export *export, const struct export_rules *rules, FILE *out,
                  const struct history_head *head);
void export_event(struct export *export, const struct export_rules *rules,
                  const struct event *event);
void export_finish(struct export *export, const struct export_rules *rules);

/* Has an operation of an attempt that is not the one by which its client has the lock been
 * answered? Where clients are told by their processes alone, that is none of theirs. */
bool export_is_of_another(const struct export_client *client);

/* Its operation has no answer: its process is over. What it holds it holds. */
void export_retire(struct export_client *client);

/* Looks at that client at that lock; false: it has not come there. */
bool export_look_at(struct export *export, int client, int lock);

/* The time of the event in hand, so that those of one microsecond are in order. */
int64_t export_stamp_ns(const struct export *export);

/* A text with its quotes, as JSON. */
void export_text(struct export *export, const char *text);

#endif
