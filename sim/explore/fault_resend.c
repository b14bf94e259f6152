/* fault_resend.c - a reply is lost, and the client's library sends the command again by itself.
 *
 * Many libraries do so by default: the connection breaks, they connect anew and repeat what was not
 * answered. It was executed, and is executed again; the scheme hears only the second answer, and
 * takes it for the first. */
#include "explore/fault.h"

static struct parcel sent_again(struct parcel parcel)
{
    parcel.state = MESSAGE_REQUEST;
    parcel.flags &= PARCEL_CURRENT | PARCEL_WON | PARCEL_COUNTED;
    parcel.reply_kind = parcel.reply_error = 0;
    parcel.reply_value = parcel.reply_second = 0;
    return parcel;
}

static void list_resend(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        if (!local_is_oldest(list->local, i, parcel_is_reply))
            continue;
        const struct parcel again = sent_again(list->local->parcels[i]);
        struct draft *draft = moves_add(list, MOVE_STRIKE, i);
        local_remove(&draft->after, i);
        moves_disconnect(list, draft);
        draft->after.flags |= LOCAL_STRUCK;
        local_add(&draft->after, &again);
        local_settle(&draft->after, list->setting);
    }
}

static void prepare_resend(struct setting *setting, int times)
{
    (void)times;
    setting->keeps_commands = setting->repeats_commands = true;
}

const struct fault_kind fault_resend_kind = {
    .list_client = list_resend,
    .strikes_replies = true,
    .prepare = prepare_resend,
    .becomes = {2, {CHOICE_LOSE_REPLY, CHOICE_RESEND}},
};
