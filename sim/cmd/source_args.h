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

#define SOURCE_OPTIONS(args)                                                                       \
    {"--format", OPTION_TEXT, &(args).format, 0, 0},                                               \
        {"--model", OPTION_TEXT, &(args).model, 0, 0},                                             \
        {"--time-unit", OPTION_TEXT, &(args).time_unit, 0, 0},                                     \
        {"--concurrency", OPTION_NUMBER, &(args).concurrency, 1, CLIENTS_MAX},                     \
    {                                                                                              \
        "--refusals", OPTION_FLAG, &(args).refusals, 0, 0                                          \
    }

/* FAIL_INPUT: a name that there is not, or a model and a lease that do not go together. */
enum fail source_args_read(const struct source_args *args, struct source_options *options,
                           struct failure *failure);

/* "-" is stdin. Borrows. */
const char *source_path(const char *operand);

#endif
