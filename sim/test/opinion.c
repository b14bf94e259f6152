/* opinion.c - the explorer's opinion of one scheme, as one line of JSON, to hold against SPIN's of
 * the hand-written models in spin/.
 *
 *   opinion SCHEME CLIENTS ROUNDS FAULTS REDUCTIONS [PROPERTY]
 *
 * FAULTS: none, or names with commas between them, one for each time that it may strike
 * ("stall,stall"). REDUCTIONS: off or all. PROPERTY: the search ends when its shortest witness is
 * found.
 *
 * One server, the lease that the explorer chooses itself. The property progress is left out unless
 * it is the one that is named, for it keeps edges, which SPIN does not; then the search visits
 * everything. Time is explore()'s alone: neither start-up nor printing.
 */
#include "explore/search/explore.h"

#include "base/monotonic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STATUS_WRONG_USE = 64, STATUS_TOO_LARGE = 65, NUMBER_MAX = 99, NAME_LENGTH_MAX = 63 };

static bool number_read(const char *text, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    *number = (int)value;
    return end != text && !*end && value >= 0 && value <= NUMBER_MAX;
}

static bool faults_read(const char *text, struct explore_options *options)
{
    char name[NAME_LENGTH_MAX + 1];
    enum fault fault;
    if (strcmp(text, "none") == 0)
        return true;
    for (bool is_last = false; !is_last;) {
        size_t length = strcspn(text, ",");
        is_last = !text[length];
        if (length > NAME_LENGTH_MAX)
            return false;
        memcpy(name, text, length);
        name[length] = 0;
        if (!fault_read(name, &fault) || fault >= FAULT_COUNT ||
            options->budget[fault] == EXPLORE_FAULTS_MAX)
            return false;
        options->budget[fault]++;
        text += length + 1;
    }
    return true;
}

static bool property_take(const char *name, struct explore_options *options)
{
    enum property property;
    if (!property_read(name, &property) || !explore_judges(options->section, property))
        return false;
    if (property == PROPERTY_PROGRESS)
        options->skips_progress = false;
    else
        options->sought = 1u << property;
    return true;
}

/* NULL, or which argument is wrong. */
static const char *options_read(char **words, struct explore_options *options)
{
    *options = (struct explore_options){.servers = 1, .skips_progress = true};
    options->scheme = scheme_named(words[0]);
    if (!options->scheme)
        return words[0];
    if (!number_read(words[1], &options->clients))
        return words[1];
    if (!number_read(words[2], &options->rounds))
        return words[2];
    if (!faults_read(words[3], options))
        return words[3];
    if (strcmp(words[4], "all") == 0)
        options->reductions = REDUCE_ALL;
    else if (strcmp(words[4], "off") != 0)
        return words[4];
    return words[5] && !property_take(words[5], options) ? words[5] : NULL;
}

static double now_s(void)
{
    return 1e-6 * (double)monotonic_us();
}

static void print(char **words, const struct explore_outcome *outcome, double seconds)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        perror("opinion: getrusage");
        exit(EXIT_FAILURE);
    }
    printf("{\"scheme\": \"%s\", \"clients\": %s, \"rounds\": %s, \"faults\": \"%s\", "
           "\"reductions\": \"%s\", ",
           words[0], words[1], words[2], words[3], words[4]);
    printf("\"complete\": %s, \"states\": %" PRIu64 ", \"transitions\": %" PRIu64
           ", \"depth\": %d, \"seconds\": %.6f, \"bytes\": %" PRIu64 ", \"resident_bytes\": %lld, ",
           outcome->end == END_COMPLETE ? "true" : "false", outcome->states, outcome->transitions,
           outcome->depth, seconds, outcome->bytes, (long long)usage.ru_maxrss * 1024);
    printf("\"properties\": {");
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *finding = &outcome->findings[i];
        printf("%s\"%s\": {\"verdict\": \"%s\", \"faults\": %d, \"events\": %d}", i ? ", " : "",
               property_name((enum property)i), verdict_name(finding->verdict), finding->faults,
               finding->events);
    }
    printf("}}\n");
}

int main(int count, char **words)
{
    struct explore_options options;
    struct explore_outcome outcome;
    struct failure failure = {0};
    if (count != 6 && count != 7) {
        fprintf(stderr, "usage: opinion SCHEME CLIENTS ROUNDS FAULT[,FAULT..]|none off|all "
                        "[PROPERTY]\n");
        return STATUS_WRONG_USE;
    }
    const char *wrong = options_read(words + 1, &options);
    if (wrong) {
        fprintf(stderr, "opinion: '%s' is not understood\n", wrong);
        return STATUS_WRONG_USE;
    }
    double start = now_s();
    if (explore(&options, &outcome, &failure)) {
        fprintf(stderr, "opinion: %s\n", failure.text);
        return STATUS_TOO_LARGE;
    }
    print(words + 1, &outcome, now_s() - start);
    explore_outcome_free(&outcome);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
