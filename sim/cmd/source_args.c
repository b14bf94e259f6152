/* source_args.c - see source_args.h. */
#include "cmd/source_args.h"

#include <string.h>

enum fail source_args_read(const struct source_args *args, struct source_options *options,
                           struct failure *failure)
{
    struct jepsen_options *jepsen = &options->jepsen;
    *options = (struct source_options){.jepsen = {.lease_us = args->lease_us,
                                                  .reads_misses = args->refusals != 0,
                                                  .concurrency = args->concurrency}};
    if (args->format && source_format_read(args->format, &options->format, failure))
        return failure->code;
    if (args->model && source_model_read(args->model, &jepsen->model, failure))
        return failure->code;
    jepsen->is_unit_told = args->time_unit != NULL;
    if (args->time_unit && !time_unit_read(args->time_unit, &jepsen->unit))
        return failure_set(failure, FAIL_INPUT,
                           "there is no time unit '%.40s'; there are ns, us, ms and s",
                           args->time_unit);
    if (options->format == SOURCE_OURS &&
        (args->model || args->refusals || args->concurrency || args->time_unit))
        return failure_set(failure, FAIL_INPUT,
                           "--model, --refusals, --time-unit and --concurrency are of a Jepsen "
                           "test: --format jepsen-edn");
    if (options->format == SOURCE_OURS)
        return FAIL_NONE;
    if (jepsen->model == MODEL_LEASE && !jepsen->lease_us)
        return failure_set(failure, FAIL_INPUT, "a lease-lock wants its --lease");
    if (jepsen->lease_us && (jepsen->model == MODEL_MUTEX || jepsen->model == MODEL_OWNER))
        return failure_set(failure, FAIL_INPUT, "--model %s has no lease; lease-lock has one",
                           lock_model_name(jepsen->model));
    return FAIL_NONE;
}

const char *source_path(const char *operand)
{
    return strcmp(operand, "-") == 0 ? "/dev/stdin" : operand;
}
