/* fault_duplicate.c - a request is sent twice: by a library that is impatient, a proxy, a network.
 *
 * The copy has a connection of its own, where nothing is watched. It is executed whenever it likes,
 * before the request, just behind it, or when the lock has long gone on to others; or never: it is
 * late by nature, and a prompt one is only the mildest case. Nobody hears its reply. What the
 * client does with the request itself stays as it is. */
#include "explore/fault.h"

/* Is there a change that it could make twice? A question changes nothing, and a WATCH nothing but
 * its own connection. */
static bool is_worth_it(const struct parcel *parcel)
{
    return parcel->verb != VERB_GET && parcel->verb != VERB_WATCH && parcel->verb != VERB_UNWATCH;
}

static void list_duplicate(struct listing *list)
{
    const struct local *local = list->local;
    for (int i = 0; i < local->count; i++) {
        const struct parcel *parcel = &local->parcels[i];
        if (parcel_is_late(parcel) || !is_worth_it(parcel) ||
            !local_is_oldest(local, i, parcel_is_request))
            continue;
        const struct parcel copy = local_copy(local, list->setting, i);
        struct draft *draft = moves_add(list, MOVE_STRIKE, i);
        draft->after.flags |= LOCAL_STRUCK;
        local_add(&draft->after, &copy);
        local_settle(&draft->after, list->setting);
    }
}

static void prepare_duplicate(struct setting *setting, int times)
{
    (void)times;
    setting->repeats_commands = true;
}

const struct fault_kind fault_duplicate_kind = {
    .list_client = list_duplicate,
    .prepare = prepare_duplicate,
    .becomes = {1, {CHOICE_DUPLICATE}},
};
