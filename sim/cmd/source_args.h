/* source_args.h - the options that say what a history file is, of every command that reads one. */
#ifndef PICKLOCK_CMD_SOURCE_ARGS_H
#define PICKLOCK_CMD_SOURCE_ARGS_H

#include "cmd/options.h"
#include "history/source.h"

/* clang-format off */
#define SOURCE_HELP \
    "  --format FORMAT        of the file: picklock (default), jepsen-edn, jepsen-json\n" \
    "  --model MODEL          of a Jepsen test: mutex (default), owner-mutex, lease-lock (wants\n" \
    "                         --lease), fenced-lock\n" \
    "  --refusals             of a Jepsen test: :fail says that the lock was not free, or\n" \
    "                         that it was not the own one (else: only that it did not happen)\n" \
    "  --time-unit UNIT       of a Jepsen test's ':time': ns (default), us, ms, s\n" \
    "  --concurrency N        of a Jepsen test: how many processes run at once, so that p goes\n" \
    "                         on as p + N after :info (default: whatever fits)\n"
/* clang-format on */

/* As they were given; --lease is the command's. */
struct source_args {
    const char *format, *model, *time_unit;
    int refusals;
    int64_t concurrency, lease_us;
};

#define SOURCE_ROWS(args)                                                                          \
    OPTION_TEXT("--format", &(args).format), OPTION_TEXT("--model", &(args).model),                \
        OPTION_TEXT("--time-unit", &(args).time_unit),                                             \
        OPTION_NUMBER("--concurrency", &(args).concurrency, 1, CLIENTS_MAX),                       \
        OPTION_FLAG("--refusals", &(args).refusals)

/* FAIL_INPUT: a name that there is not, or a model and a lease that do not go together. */
enum fail source_args_read(const struct source_args *args, struct source_options *options,
                           struct failure *failure);

/* "-" is stdin. Borrows. */
const char *source_path(const char *operand);

#endif
