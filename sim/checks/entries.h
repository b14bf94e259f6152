/* entries.h - the guarded list, by what its appends were answered: how many entries it has by then.
 *
 * Where a section deletes a list that is long, those that it had by then count on.
 * None may be missing, and none told twice, but of appends that were not answered, or sent again.
 * What does not fit blames nobody: a line may be missing, or somebody else have appended. */
#ifndef PICKLOCK_CHECKS_ENTRIES_H
#define PICKLOCK_CHECKS_ENTRIES_H

#include "checks/ledger.h"

struct entries {
    int64_t appends, least, most; /* answers: how many, and what they told */
    int64_t most_us;
    int64_t cut;                    /* entries that were there when the list was deleted */
    bool was_forgotten;             /* since an append: then no more is concluded from those */
    bool is_odd;                    /* an append was answered so: */
    int odd_client;                 /* with no more entries than one before it, */
    int64_t odd, odd_us, odd_after; /* with so many */
};

/* Takes the EXECUTE of a typed append. */
void entries_note(struct entries *entries, const struct event *event);
/* Takes the EXECUTE of a typed DEL of the list: it begins anew. */
void entries_note_cut(struct entries *entries, const struct event *event);
/* Its server lost its keys. */
void entries_forgotten(struct entries *entries);
/* Why the answers do not fit what was appended, where unsure appends may or may not have been
 * executed; false: they do. text: STRANGE_BYTES. */
bool entries_doubt(const struct entries *entries, const struct ledger *ledger, int64_t unsure,
                   char *text);

#endif
