/* declared.c - see declared.h. */
#include "explore/model/declared.h"

#include <stdio.h>

/* Other times; two, since what reads the clock in a unit of its own may come to the same after one.
 */
enum { SHIFT_TICKS = 5101, LONG_SHIFT_TICKS = 12289 };

/* How the world of the second step differs from that of the first. */
struct twin {
    int later;     /* its clock, in ticks */
    int selection; /* its servers: number s is number (s + turn) there */
    int servers;
};

static int64_t value_in(const struct twin *twin, int64_t value)
{
    return is_stamp(value) ? value + twin->later : value;
}

static int64_t field_in(const struct twin *twin, enum scheme_field kind, int64_t value)
{
    if (kind == FIELD_TIME)
        return value ? value + twin->later * TICK_US : value;
    return kind == FIELD_STAMP || kind == FIELD_VALUE ? value_in(twin, value) : value;
}

static int server_in(const struct twin *twin, int server)
{
    return (server + twin->selection) % twin->servers;
}

/* Makes the step in the other world. */
static void step_again(const struct twin *twin, const struct client_state *before,
                       const struct config *config, const struct impulse *impulse,
                       struct client *client, struct step_result *step)
{
    struct impulse other = *impulse;
    client_state_to_client(before, config, client);
    for (int i = 0; i < config->scheme->fields_count; i++)
        client->state[i] = field_in(twin, config->scheme->fields[i], client->state[i]);
    client->epoch_us += twin->later * TICK_US;
    other.moment.server = server_in(twin, impulse->moment.server);
    other.moment.reply.value = value_in(twin, impulse->moment.reply.value);
    other.moment.reply.second = value_in(twin, impulse->moment.reply.second);
    impulse_apply(&other, client, step);
}

/* --- what it came to --- */

static bool is_same_request(const struct twin *twin, const struct request *a,
                            const struct request *b)
{
    const struct command *one = &a->command, *two = &b->command;
    return b->server == server_in(twin, a->server) && a->lane == b->lane &&
           one->verb == two->verb && one->key == two->key && one->ttl_us == two->ttl_us &&
           two->value == value_in(twin, one->value) && two->number == value_in(twin, one->number);
}

/* Of a quorum in any order. */
static bool has_request(const struct twin *twin, const struct request *request,
                        const struct step_result *step)
{
    for (int i = 0; i < step->requests_count; i++)
        if (is_same_request(twin, request, &step->requests[i]))
            return true;
    return false;
}

static bool does_the_same(const struct twin *twin, const struct client *a,
                          const struct step_result *of_a, const struct client *b,
                          const struct step_result *of_b)
{
    for (int i = 0; i < of_a->requests_count && !of_b->violation; i++)
        if (!has_request(twin, &of_a->requests[i], of_b))
            return false;
    return of_a->violation == of_b->violation && of_a->requests_count == of_b->requests_count &&
           of_a->has_returned == of_b->has_returned && of_a->result == of_b->result &&
           of_a->has_noticed_loss == of_b->has_noticed_loss && a->phase == b->phase &&
           a->fence == b->fence && a->wake_us == b->wake_us;
}

/* The first field that is not as it should be there, or -1. */
static int differing_field(const struct twin *twin, const struct scheme *scheme,
                           const struct client *a, const struct client *b)
{
    for (int i = 0; i < scheme->fields_count; i++)
        if (b->state[i] != field_in(twin, scheme->fields[i], a->state[i]))
            return i;
    return -1;
}

/* A field and what it does, in a number above 0. */
enum behaviour { MOVES_IN_US, MOVES_IN_TICKS, STAYS, MOVES_OTHERWISE, BEHAVIOURS };

static unsigned slip_of(const struct twin *twin, int field, int64_t moved)
{
    enum behaviour behaviour = moved == twin->later * TICK_US ? MOVES_IN_US
                               : moved == twin->later         ? MOVES_IN_TICKS
                               : moved == 0                   ? STAYS
                                                              : MOVES_OTHERWISE;
    return 1 + (unsigned)field * BEHAVIOURS + behaviour;
}

const char *declared_print(const struct scheme *scheme, unsigned slip, char *text, size_t size)
{
    static const char *const kinds[] = {[FIELD_STEP] = "FIELD_STEP",
                                        [FIELD_COUNT] = "FIELD_COUNT",
                                        [FIELD_TIME] = "FIELD_TIME",
                                        [FIELD_STAMP] = "FIELD_STAMP",
                                        [FIELD_VALUE] = "FIELD_VALUE"};
    static const char *const words[BEHAVIOURS] = {
        [MOVES_IN_US] = "an instant of the clock, which is FIELD_TIME",
        [MOVES_IN_TICKS] = "an instant in units of lease->unit_us, which is FIELD_STAMP",
        [STAYS] = "what does not move with the clock, which is FIELD_COUNT or FIELD_VALUE",
        [MOVES_OTHERWISE] = "an instant in a unit of its own, or more than one thing",
    };
    unsigned field = slip ? (slip - 1) / BEHAVIOURS : 0;
    *text = 0;
    if (!slip)
        return text;
    enum scheme_field kind = scheme->fields[field];
    snprintf(text, size, ": field %u of .fields, counted from 0, is declared %s and keeps %s",
             field,
             (unsigned)kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "as no kind at all",
             words[(slip - 1) % BEHAVIOURS]);
    return text;
}

enum contract_violation declared_violation(const struct client_state *before,
                                           const struct config *config,
                                           const struct impulse *impulse,
                                           const struct client *client,
                                           const struct step_result *step, unsigned *slip)
{
    const struct scheme *scheme = config->scheme;
    const struct {
        struct twin twin;
        enum contract_violation violation;
        bool is_asked;
    } worlds[] = {{{0, 0, config->servers}, CONTRACT_MEMORY, true},
                  {{SHIFT_TICKS, 0, config->servers}, CONTRACT_CLOCK, true},
                  {{LONG_SHIFT_TICKS, 0, config->servers}, CONTRACT_CLOCK, true},
                  {{0, 1, config->servers}, CONTRACT_UNEVEN, scheme->is_even_handed}};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct client other;
        struct step_result of_other;
        if (!worlds[i].is_asked)
            continue;
        step_again(&worlds[i].twin, before, config, impulse, &other, &of_other);
        int field = differing_field(&worlds[i].twin, scheme, client, &other);
        if (field >= 0 && worlds[i].twin.later) {
            *slip = slip_of(&worlds[i].twin, field, other.state[field] - client->state[field]);
            return CONTRACT_KIND;
        }
        if (field >= 0 || !does_the_same(&worlds[i].twin, client, step, &other, &of_other))
            return worlds[i].violation;
    }
    return CONTRACT_NONE;
}
