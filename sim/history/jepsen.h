/* jepsen.h - a Jepsen history of a lock test, as a history of ours.
 *
 * An operation is a map with :process, :type (:invoke, :ok, :fail, :info), :f, :value, :time (ns);
 * what else it has is passed over, and so is a nemesis. :f is acquire, release or renew, or a usual
 * other name. :value may be [KEY VALUE], as jepsen.independent has it, or a map with :key: then
 * KEY is which lock. EDN or JSON, an operation a line or all in one list.
 *
 * :fail says that the operation did not happen, whatever the reason; read_misses: of an acquire
 * that somebody else had the lock, of the others that it was not the own one. A process whose
 * operation ends in :info is never heard of again; whoever comes later is another client, in a
 * place of the head's names that may have been somebody else's: names change as events are read,
 * each is that of the event in hand. */
#ifndef PICKLOCK_HISTORY_JEPSEN_H
#define PICKLOCK_HISTORY_JEPSEN_H

#include "history/event.h"
#include "history/form.h"

enum lock_model {
#define MODEL(id, name, words) MODEL_##id,
#include "history/models.def"
#undef MODEL
    MODEL_COUNT
};

bool lock_model_read(const char *name, enum lock_model *model);
const char *lock_model_name(enum lock_model model);

/* Of ':time'. */
enum jepsen_unit { TIME_NS, TIME_US, TIME_MS, TIME_S, TIME_UNITS };

bool time_unit_read(const char *name, enum jepsen_unit *unit);
const char *time_unit_name(enum jepsen_unit unit);
int64_t time_unit_ns(enum jepsen_unit unit);

struct jepsen_options {
    enum form_language language;
    enum lock_model model;
    int64_t lease_us;    /* 0: none */
    int64_t concurrency; /* processes at once: p is followed by p + so many; 0: not known */
    enum jepsen_unit unit;
    bool is_unit_told; /* else it is ns, and said so where that is not likely */
    bool reads_misses;
    bool is_judged; /* to be judged, not converted: what did not happen is left out (unless
                       reads_misses), and where it is not known whose lock was released:
                       FAIL_UNKNOWN */
};

/* The head of a history of such a lock, of one client and one lock. */
void lock_model_head(const struct jepsen_options *options, struct history_head *head);

struct jepsen_reader;

/* Reads all of file once for the head, and rewinds it: file (taken, also on failure) can be read
 * again. path, for messages, is kept. FAIL_INPUT with path:line:column. */
enum fail jepsen_reader_new(struct jepsen_reader **reader, FILE *file, const char *path,
                            const struct jepsen_options *options, struct history_head *head,
                            struct failure *failure);
/* As history_reader_next(). */
enum fail jepsen_reader_next(struct jepsen_reader *reader, struct event *event, bool *is_end,
                             struct failure *failure);
/* Whose operation the last event is of. */
int64_t jepsen_reader_process(const struct jepsen_reader *reader);
/* What whoever judges it should know; NULL: nothing. The reader's. */
const char *jepsen_reader_note(const struct jepsen_reader *reader);
void jepsen_reader_free(struct jepsen_reader *reader);

#endif
