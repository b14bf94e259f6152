/* subject.c - see subject.h. */
#include "explore/model/subject.h"

#include "explore/model/action.h"
#include "explore/model/declared.h"

#include <assert.h>
#include <stdio.h>

void impulse_apply(const struct impulse *impulse, struct client *client, struct step_result *step)
{
    switch (impulse->kind) {
    case IMPULSE_ACQUIRE:
        client_acquire(client, impulse->token, 0, step);
        break;
    case IMPULSE_RELEASE:
        client_release(client, 0, step);
        break;
    case IMPULSE_EXTEND:
        assert(false && "no scheme in C is told to extend: options.has_extends");
        break;
    case IMPULSE_MOMENT:
        /* the one that ends so is no message any more */
        client->awaited += impulse->moment.kind != MOMENT_WAKE;
        client_tell(client, &impulse->moment, 0, step);
        break;
    }
}

/* Of a scheme from a file it is looked at, too, whether it is what it declares. */
static unsigned did_violate_contract(const struct client_state *client_state,
                                     const struct config *config, const struct impulse *impulse,
                                     const struct client *client, const struct step_result *step)
{
    unsigned slip = 0;
    enum contract_violation violation =
        step->violation ? step->violation
                        : client_state_violation(client_state, config, client, step);
    if (!violation && config->is_plugin)
        violation = declared_violation(client_state, config, impulse, client, step, &slip);
    return violation * DID_VIOLATE | slip << DID_SLIP_SHIFT;
}

static unsigned step_in_c(struct subject *subject, const struct config *config,
                          struct client_state *client_state, const struct impulse *impulse,
                          struct step_result *step)
{
    struct client client;
    (void)subject;
    client_state_to_client(client_state, config, &client);
    impulse_apply(impulse, &client, step);
    unsigned violation = did_violate_contract(client_state, config, impulse, &client, step);
    if (!violation)
        client_state_take(client_state, config, &client, step);
    return violation;
}

static struct reply execute_in_c(struct subject *subject, const struct config *config,
                                 struct server_state *server_state, int position,
                                 const struct command *command)
{
    (void)subject;
    return server_state_execute(server_state, config, position, command);
}

void subject_name(struct subject *subject, int verb, char *name)
{
    snprintf(name, OPAQUE_NAME_MAX, "%s", subject->name(subject, verb));
}

struct subject subject_in_c = {.step = step_in_c, .execute = execute_in_c};
