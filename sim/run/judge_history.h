/* judge_history.h - judges a history file: what `picklock check` does, and whoever has written one.
 */
#ifndef PICKLOCK_RUN_JUDGE_HISTORY_H
#define PICKLOCK_RUN_JUDGE_HISTORY_H

#include "history/source.h"
#include "run/result.h"

struct history_judging {
    const char *path;             /* borrowed, as are all */
    struct source_options source; /* zeroed: a history of ours */
    int64_t lease_us;             /* judge by this lease; 0: by the head's */
    enum fail_on fail_on;
    const char *interrupted; /* why it is not whole, or NULL; as in struct judging */
    /* May it be judged? NULL: yes. Another code than FAIL_NONE ends it. */
    enum fail (*accept)(void *context, const struct history_head *head, struct failure *failure);
    void *context;
    /* Of a history that is followed (source.follow): all that is there so far was judged. NULL:
     * nobody asks. */
    void (*caught_up)(void *shown, const struct checks *checks);
    void *shown;
};

/* What a judged history had beside its row. */
struct history_judged {
    char *gap; /* why what the servers did is not known, so that nothing is, or why a property is
                  not for all that was seen; NULL: neither. The caller frees. */
    struct counters counters;
};

/* Adds a row, and says where and with which seed. FAIL_INPUT: a bad file; then there is no row. */
enum fail judge_history(const struct history_judging *judging, struct results *results,
                        struct history_judged *judged, struct failure *failure);

#endif
