/* finding.c - see finding.h. */
#include "checks/finding.h"

#include <assert.h>
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
    if (!is_first && !is_graver)
        return false;
    finding->cause = cause;
    finding->first_index = index;
    finding->witness_lines = 0;
    return true;
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
    return client >= 0 ? ledger->head->names[client] : "somebody unknown";
}

const char *cause_title(enum cause cause)
{
    static const char *const titles[CAUSE_COUNT] = {
        [CAUSE_NONE] = "No cause",
        [CAUSE_OVERRUN] = "Overrun",
        [CAUSE_UNLOCK_BUG] = "Unlock bug",
        [CAUSE_ACQUIRE_BUG] = "Acquire bug",
        [CAUSE_FOREIGN_EXTEND] = "Foreign extend",
        [CAUSE_EARLY_EXPIRY] = "Early expiry",
        [CAUSE_SHORT_TTL] = "Short time to live",
        [CAUSE_LOST_GRANT] = "Lost grant",
        [CAUSE_SPLIT_GRANT] = "Split grant",
        [CAUSE_BUG_OR_LOSS] = "Bug or loss",
        [CAUSE_LATE_GRANT] = "Late grant",
        [CAUSE_STUCK] = "Stuck",
        [CAUSE_ENDLESS_WAIT] = "Endless wait",
        [CAUSE_NO_EXPIRY] = "No expiry",
        [CAUSE_LEFTOVER] = "Leftover",
        [CAUSE_UNRELEASED] = "Unreleased key",
        [CAUSE_UNTRUE_ANSWER] = "Untrue answer",
        [CAUSE_NO_NOTICE] = "No notice",
        [CAUSE_STALE_WRITE] = "Stale write",
        [CAUSE_FENCE_DISORDER] = "Fence disorder",
        [CAUSE_UNEXPECTED_REPLY] = "Unexpected reply",
        [CAUSE_CLIENT_CLOCK] = "Wrong client clock",
    };
    assert((unsigned)cause < CAUSE_COUNT);
    assert(titles[cause]);
    return titles[cause];
}
