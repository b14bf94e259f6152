/* finding.c - see finding.h. */
#include "checks/finding.h"

#include "checks/places.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool finding_hit(struct finding *finding, enum cause cause, int64_t index)
{
    bool is_first = finding->count == 0;
    /* The scheme's own faults are the gravest: a policy must not overlook one behind a server's. */
    bool is_graver = cause_blame(cause) > cause_blame(finding->cause);
    finding->count++;
    finding->verdict = VERDICT_VIOLATED;
    finding->blames |= 1u << cause_blame(cause);
    finding->causes |= 1u << cause;
    if (!is_first && !is_graver)
        return false;
    finding->cause = cause;
    finding->first_index = index;
    finding->witness_lines = 0;
    return true;
}

void finding_add(struct finding *finding, const struct finding *other)
{
    struct finding sum = *finding;
    if (finding_hit(&sum, other->cause, other->first_index))
        sum = *other;
    sum.count = finding->count + other->count;
    sum.blames = finding->blames | other->blames;
    sum.causes = finding->causes | other->causes;
    *finding = sum;
}

void finding_say(struct finding *finding, const char *format, ...)
{
    bool is_full = finding->witness_lines == WITNESS_LINES_MAX;
    char *line = finding->witness[is_full ? WITNESS_LINES_MAX - 1 : finding->witness_lines];
    va_list words;
    va_start(words, format);
    int length = vsnprintf(line, WITNESS_LINE_BYTES, format, words);
    va_end(words);
    if (length >= WITNESS_LINE_BYTES || is_full)
        memcpy(line + WITNESS_LINE_BYTES - 4, "...", 4);
    if (!is_full)
        finding->witness_lines++;
}

void finding_say_clock(struct finding *finding, const struct ledger *ledger, int client)
{
    const int64_t loses_us = -ledger->clients[client].gains_us;
    if (loses_us > 0)
        finding_say(finding, "%s's clock loses %s every second, and by it the lease ends later.",
                    client_name(ledger, client), MS(loses_us));
}

const char *quote_print(const struct quote *quote, char *text, size_t size)
{
    if (!quote->name[0])
        return command_print(&quote->command, text, size);
    return quote->text[0] ? quote->text : quote->name;
}

const char *quote_name(const struct quote *quote)
{
    return quote->name[0] ? quote->name : verb_name(quote->command.verb);
}

const char *client_name(const struct ledger *ledger, int client)
{
    if (ledger->places)
        client = places_client(ledger->places, client);
    return client >= 0 ? ledger->head->names[client] : "somebody unknown";
}
