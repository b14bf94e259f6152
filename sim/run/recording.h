/* recording.h - where the events of one run go: to the checks, to its history, and, of a directed
 * run, its choices to its schedule. For the files of runner.h alone. */
#ifndef PICKLOCK_RUN_RECORDING_H
#define PICKLOCK_RUN_RECORDING_H

#include "history/history.h"
#include "history/sink_thread.h"
#include "run/runner.h"
#include "run/ungranted.h"
#include "scenario/interpreter.h"

struct recording {
    struct history_head head;
    struct history_writer *writer; /* NULL: no file */
    struct checks *checks;
    struct series_recorder *series; /* NULL: none is recorded */
    struct ungranted ungranted;
    struct schedule *schedule;  /* NULL: none is written */
    struct sink_thread *thread; /* takes its events; NULL: whoever makes them does */
    struct history_doubts end;  /* what its history is to say of it */
    int64_t events;
    int64_t last_us;   /* time of its last event */
    bool has_executed; /* a server has executed a command that a lock sent */
};

/* What stands at the head of the run's history. */
struct history_head recording_head(const struct runner *runner, const struct run *run,
                                   const char *scenario);

/* The head is filled. Begins the checks, and the history where there is a run folder; the row is
 * told its name. FAIL_..: it cannot be written, failure names it; recording_close() all the same.
 */
enum fail recording_open(struct recording *recording, const struct runner *runner,
                         const struct scheme *scheme, struct result_row *row,
                         struct failure *failure);

/* Borrow the recording until it is closed. */
struct event_sink recording_sink(struct recording *recording);
struct choice_sink recording_choices(struct recording *recording);

/* Events are taken on a thread of their own from here on, where one can be had: the checks and the
 * history cost the run less. Nothing else is looked at but behind recording_settle(). */
void recording_begin_thread(struct recording *recording);

/* All events that were given are taken. */
void recording_settle(struct recording *recording);

/* Files are whole, or their failure ends the program: a report must not point at half a history,
 * and the row names none then. Of a run that can be made again the verdict stands without them; a
 * stress run cannot. */
enum fail recording_save(struct recording *recording, const struct runner *runner,
                         struct result_row *row, struct failure *failure);

/* A history that was not saved is taken away. */
void recording_close(struct recording *recording);

#endif
