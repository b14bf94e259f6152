/* diff.h - what is not the same in two results of the same runs: what is new, what is gone, what is
 * no longer or not yet decided. */
#ifndef PICKLOCK_REPORT_DIFF_H
#define PICKLOCK_REPORT_DIFF_H

#include "run/result.h"

struct diff_change {
    enum diff_kind {
        DIFF_NEW,       /* violated, and was not */
        DIFF_GONE,      /* was violated, and holds */
        DIFF_UNSEEN,    /* of a sample: was violated or not decided, and nothing was found */
        DIFF_OPEN,      /* was decided, and is not */
        DIFF_DECIDED,   /* was not, and holds */
        DIFF_OTHER,     /* violated then and now, for another cause or by another witness */
        DIFF_ONLY_THEN, /* a run or cell that is not there any more */
        DIFF_ONLY_NOW,  /* and one that was not */
        DIFF_COUNT
    } kind;
    const struct result_row *then, *now; /* borrowed; NULL: not there */
    enum property property;              /* PROPERTY_COUNT: the row as a whole */
    char *was, *is;                      /* "holds", "violated (unlock-bug, 14 steps)" */
    char *bounds; /* of a cell that is there once: the bounds that differ from a cell of that lock
                     and those faults in the other run; of stress runs: how they differ; NULL: there
                     is none, or nothing does */
    char *words;  /* a sentence */
};

struct diff {
    const char *name;            /* what then is called: its folder; borrowed */
    struct diff_change *changes; /* in the order of the kinds */
    int count;
    int of_kind[DIFF_COUNT];
    int failures; /* of DIFF_NEW: in rows that are not as expected */
    int compared; /* rows that both have */
    int notes;    /* that diff_note() left */
};

/* What is different now, in words. Keeps all three until diff_free(). */
struct diff diff_results(const char *name, const struct results *then, const struct results *now);
void diff_free(struct diff *diff);

/* "New violations", ... */
const char *diff_title(enum diff_kind kind);

/* "my_lock.py, client-drift (scenario)", or "(cell)"; the caller frees. */
char *diff_name(const struct result_row *row);

/* "1 new violation, 7 gone since OLD."; the caller frees. */
char *diff_title_words(const struct diff *diff);

/* Puts it into the notes of now, at their end, so that every format tells it. */
void diff_note(struct diff *diff, struct results *now);

/* 1: a new violation that counts as a failure; 2: something is not decided any more, nothing could
 * be compared, or now is not whole; else 0. */
enum fail diff_status(const struct diff *diff, const struct results *now);

#endif
