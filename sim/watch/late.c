/* late.c - what the server has answered, and a rule of the proxy keeps from its client: it is heard
 * later, or never. */
#include "watch/tell.h"

void late_keep(struct late_reply *late, const struct event *event, int holder, int64_t own_end_us)
{
    late->told[late->count].holder = holder;
    late->told[late->count].own_end_us = own_end_us;
    late->told[late->count].event = *event;
    event_keep(&late->told[late->count].event);
    late->count++;
}

void late_heard(struct watched_run *watching, struct watched_link *link, bool is_heard)
{
    const int64_t now_us = watching_now_us(watching);
    for (int i = 0; i < link->late.count; i++) {
        struct event *hear = &link->late.told[i].event;
        struct holder *who = &watching->holders[link->late.told[i].holder];
        struct event told = *hear;
        const bool is_grant = is_heard && hear->result == RESULT_GRANTED;
        hear->result = RESULT_NONE;
        hear->time_us = hear->from_us = told.time_us = told.from_us = now_us;
        told.kind = EVENT_RETURN;
        told.server = -1;
        told.opaque = NULL;
        told.effects = NULL;
        told.reply = (struct reply){0};
        told.is_inferred = true;
        if (!is_heard)
            told.result = RESULT_FAILED;
        else
            story_put(watching->story, hear, NULL, ALWAYS);
        if (is_grant && value_number(who->token, &told.token))
            told.token_text = who->token;
        if (is_grant)
            told.amount_us = tell_left_us(link->late.told[i].own_end_us, now_us);
        story_put(watching->story, &told, NULL, ALWAYS);
        who->is_open |= is_grant && who->attempt == hear->attempt;
        event_drop(hear);
    }
    link->late = (struct late_reply){0};
}
