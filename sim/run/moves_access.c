/* moves_access.c - what critical sections do in such a run. See moves.h. The explorer states it
 * again, over packed states: explore/model/workload.c. */
#include "run/moves.h"

enum { SECTION_IS_OVER = 9 };

enum choice_kind moves_next_access(const struct moves_state *state, int client)
{
    static const enum choice_kind counts[] = {CHOICE_READ_COUNTER, CHOICE_WRITE_COUNTER};
    const int begun = state->accesses[client];
    switch (state->bounds.section) {
    case SECTION_WRITE:
        return begun == 0 ? CHOICE_WRITE : CHOICE_COUNT;
    case SECTION_COUNTER:
        return begun < 2 ? counts[begun] : CHOICE_COUNT;
    default:
        return CHOICE_COUNT;
    }
}

void moves_note_access(struct moves_state *state, const struct choice *choice,
                       const struct client_view *before, const struct client_view *after)
{
    int *accesses = &state->accesses[choice->client];
    if (choice->kind == CHOICE_ACQUIRE)
        *accesses = 0;
    if (choice->kind == CHOICE_ACQUIRE || choice->kind == CHOICE_EXTEND)
        state->has_extended[choice->client] = choice->kind == CHOICE_EXTEND;
    state->has_cancelled[choice->client] |= choice->kind == CHOICE_CANCEL;
    if (choice->kind == CHOICE_WRITE || choice->kind == CHOICE_READ_COUNTER ||
        choice->kind == CHOICE_WRITE_COUNTER)
        ++*accesses;
    if (before->is_accessing && !after->is_accessing && after->last == RESULT_FAILED)
        *accesses = SECTION_IS_OVER;
    state->has_drifted[choice->client] |= choice->kind == CHOICE_CLIENT_DRIFT;
}
