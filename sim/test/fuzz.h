/* fuzz.h - what the fuzz targets share: an input as a file, and a driver.
 *
 * A target defines fuzz_one(): hostile bytes must be refused with a sentence or taken, never crash.
 * With -DWITH_LIBFUZZER it is a libFuzzer target. Without, main() is below: it changes seeds (files
 * of the tree) at random, as a function of (--seed, number of the input) alone, in a child of its
 * own, so that an input that kills it or keeps it busy is told and kept:
 *
 *     fuzz_history --inputs 2000 --seed 1 SEED-FILE...
 *     fuzz_history --one FILE            one input, as it is */
#ifndef PICKLOCK_TEST_FUZZ_H
#define PICKLOCK_TEST_FUZZ_H

#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* True: the input was taken for good. */
static bool fuzz_one(const uint8_t *data, size_t size);

static inline void fuzz_must(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

/* A refusal is the input's fault, and says something. */
static inline void fuzz_must_refuse(enum fail fail, const struct failure *failure)
{
    fuzz_must(fail == FAIL_INPUT, "a bad input is not told as one");
    fuzz_must(failure->text[0] != '\0', "a refusal without a word");
}

/* The bytes as a file: its path, good until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    fuzz_must(fd >= 0 && !ftruncate(fd, 0), "no file for the input");
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(fd, data + done, size - done, (off_t)done);
        fuzz_must(wrote > 0, "no room for the input");
        done += (size_t)wrote;
    }
    return path;
}

#ifdef WITH_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_one(data, size);
    return 0;
}

#else

#ifndef FUZZ_PATIENCE
#define FUZZ_PATIENCE 60 /* seconds for an input; its test waits less */
#endif
enum { FUZZ_BYTES_MAX = 64 * 1024, FUZZ_PATIENCE_S = FUZZ_PATIENCE };

struct fuzz_text {
    uint8_t *bytes;
    size_t size;
};

static inline struct fuzz_text fuzz_read(const char *path)
{
    struct fuzz_text text = {.bytes = memory_new(FUZZ_BYTES_MAX, 1)};
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(64);
    }
    text.size = fread(text.bytes, 1, FUZZ_BYTES_MAX, file);
    (void)fclose(file);
    return text;
}

/* Puts size bytes in the place of cut bytes at at; what has no room is left out. */
static inline void fuzz_replace(struct fuzz_text *text, size_t at, size_t cut, const uint8_t *bytes,
                                size_t size)
{
    if (text->size - cut + size > FUZZ_BYTES_MAX)
        return;
    memmove(text->bytes + at + size, text->bytes + at + cut, text->size - at - cut);
    memcpy(text->bytes + at, bytes, size);
    text->size += size - cut;
}

/* Where a line, or a number, that at is in begins and ends. */
static inline size_t fuzz_span(const struct fuzz_text *text, size_t *at, bool is_line)
{
    size_t end = *at;
#define FUZZ_IN(c) (is_line ? (c) != '\n' : ((c) >= '0' && (c) <= '9'))
    while (*at > 0 && FUZZ_IN(text->bytes[*at - 1]))
        --*at;
    while (end < text->size && FUZZ_IN(text->bytes[end]))
        end++;
#undef FUZZ_IN
    return end - *at;
}

static const char *const fuzz_words[] = {"0",
                                         "-1",
                                         "1",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "4294967296",
                                         "1e999",
                                         "0.5",
                                         "null",
                                         "true",
                                         "\"\"",
                                         "[]",
                                         "{}",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         " ",
                                         ":",
                                         ",",
                                         "\"",
                                         "'",
                                         "#",
                                         "%00",
                                         "%",
                                         "@",
                                         "/",
                                         "\\u0000",
                                         "\xff",
                                         "\033[31m",
                                         "99999999999999999999999999999999",
                                         "- ",
                                         "...",
                                         "---",
                                         "&a *a",
                                         "!!",
                                         "\xef\xbb\xbf"};

static inline void fuzz_change(struct random *random, struct fuzz_text *text,
                               const struct fuzz_text *other)
{
    uint8_t byte = (uint8_t)random_next(random);
    size_t at = text->size ? random_below(random, text->size) : 0, size = text->size - at;
    size_t few = size ? 1 + random_below(random, size < 32 ? size : 32) : 0, from, length;
    uint8_t kept[256];
    const char *word = fuzz_words[random_below(random, sizeof fuzz_words / sizeof *fuzz_words)];
    char digits[24];
    switch (random_below(random, 13)) {
    case 0:
        if (size)
            text->bytes[at] ^= (uint8_t)(1u << random_below(random, 8));
        return;
    case 1:
        fuzz_replace(text, at, size ? 1 : 0, &byte, 1);
        return;
    case 2:
        fuzz_replace(text, at, few, &byte, 0);
        return;
    case 3:
        fuzz_replace(text, at, random_below(random, 2) ? few : 0, (const uint8_t *)word,
                     strlen(word));
        return;
    case 4: /* a number becomes another one */
        length = fuzz_span(text, &at, false);
        fuzz_replace(text, at, length, (const uint8_t *)word, strlen(word));
        return;
    case 9:
    case 10:
    case 11: /* the next number becomes one that may well be good */
        while (at < text->size && (text->bytes[at] < '0' || text->bytes[at] > '9'))
            at++;
        length = fuzz_span(text, &at, false);
        snprintf(digits, sizeof digits, "%" PRIu64, random_below(random, 12));
        fuzz_replace(text, at, length, (const uint8_t *)digits, strlen(digits));
        return;
    case 5: /* a line goes */
        length = fuzz_span(text, &at, true);
        fuzz_replace(text, at, length + (at + length < text->size), &byte, 0);
        return;
    case 6: /* a line stands elsewhere as well */
        from = at;
        length = fuzz_span(text, &from, true) + 1;
        length = length > sizeof kept ? sizeof kept : length;
        length = from + length > text->size ? text->size - from : length;
        memcpy(kept, text->bytes + from, length);
        at = text->size ? random_below(random, text->size) : 0;
        (void)fuzz_span(text, &at, true);
        fuzz_replace(text, at, 0, kept, length);
        return;
    case 7: /* cut off */
        text->size = at;
        return;
    case 8: /* a piece of another seed */
        from = other->size ? random_below(random, other->size) : 0;
        length = other->size - from < 200 ? other->size - from : 200;
        fuzz_replace(text, at, few, other->bytes + from, length);
        return;
    default: /* a piece of its own, again */
        memcpy(kept, text->bytes + at, few);
        fuzz_replace(text, at, 0, kept, few);
        return;
    }
}

/* Input number of that seed; numbers below count are the seeds as they are. */
static inline void fuzz_draw(uint64_t seed, uint64_t number, const struct fuzz_text *seeds,
                             uint64_t count, struct fuzz_text *text)
{
    struct random random = {.seed = seed, .stream = number};
    const struct fuzz_text *chosen = &seeds[number < count ? number : random_below(&random, count)];
    memcpy(text->bytes, chosen->bytes, chosen->size);
    text->size = chosen->size;
    if (number < count)
        return;
    for (uint64_t left = 1 + random_below(&random, 4); left > 0; left--)
        fuzz_change(&random, text, &seeds[random_below(&random, count)]);
}

/* What the child has come to. */
struct fuzz_told {
    uint64_t number, taken, seeds_taken;
};

static inline int fuzz_child(uint64_t seed, uint64_t inputs, const struct fuzz_text *seeds,
                             uint64_t count, struct fuzz_told *told)
{
    struct fuzz_text text = {.bytes = memory_new(FUZZ_BYTES_MAX, 1)};
    for (uint64_t i = 0; i < inputs; i++) {
        told->number = i;
        alarm(FUZZ_PATIENCE_S);
        fuzz_draw(seed, i, seeds, count, &text);
        /* of its own size: a step outside is seen */
        uint8_t *exact = memory_new(text.size + !text.size, 1);
        memcpy(exact, text.bytes, text.size);
        bool is_taken = fuzz_one(exact, text.size);
        free(exact);
        told->taken += is_taken;
        told->seeds_taken += is_taken && i < count;
    }
    free(text.bytes);
    return 0;
}

static inline void fuzz_keep(uint64_t seed, uint64_t number, const struct fuzz_text *seeds,
                             uint64_t count, const char *path)
{
    struct fuzz_text text = {.bytes = memory_new(FUZZ_BYTES_MAX, 1)};
    FILE *file = fopen(path, "wb");
    fuzz_draw(seed, number, seeds, count, &text);
    if (!file || fwrite(text.bytes, 1, text.size, file) != text.size || fclose(file))
        perror(path);
    free(text.bytes);
}

/* 0: nothing found; 1: an input is kept; 70: the seeds say nothing. */
static inline int fuzz_seeds(const char *program, uint64_t seed, uint64_t inputs,
                             const struct fuzz_text *seeds, uint64_t count)
{
    int status = 0;
    struct fuzz_told *told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return 70;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(fuzz_child(seed, inputs, seeds, count, told));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 70;
    if (status) {
        char *path = memory_format("%s-%" PRIu64 "-%" PRIu64 ".input", program, seed, told->number);
        fuzz_keep(seed, told->number, seeds, count, path);
        fprintf(stderr,
                "%s: input %" PRIu64 " of seed %" PRIu64 " %s: %s\n    again: %s --one %s\n",
                program, told->number, seed,
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "takes too long" : "fails",
                path, program, path);
        free(path);
        return 1;
    }
    printf("%s: %" PRIu64 " inputs, seed %" PRIu64 ": %" PRIu64 " taken, %" PRIu64
           " refused; %" PRIu64 " of %" PRIu64 " seeds taken\n",
           strrchr(program, '/') ? strrchr(program, '/') + 1 : program, inputs, seed, told->taken,
           inputs - told->taken, told->seeds_taken, count);
    if (told->seeds_taken < count) {
        fprintf(stderr, "%s: a seed is refused: what is changed at random never gets far\n",
                program);
        return 70;
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, inputs = 1000, count = 0;
    struct fuzz_text *seeds = memory_new((size_t)argc, sizeof *seeds);
    int status = 64;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--inputs") && i + 1 < argc)
            inputs = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--one") != 0)
            seeds[count++] = fuzz_read(argv[i]);
    if (argc == 3 && !strcmp(argv[1], "--one")) {
        printf("%s\n", fuzz_one(seeds[0].bytes, seeds[0].size) ? "taken" : "refused");
        status = 0;
    } else if (count > 0) {
        status = fuzz_seeds(argv[0], seed, inputs > count ? inputs : count, seeds, count);
    } else {
        fprintf(stderr, "usage: %s [--inputs N] [--seed N] SEED-FILE... | --one FILE\n", argv[0]);
    }
    for (uint64_t i = 0; i < count; i++)
        free(seeds[i].bytes);
    free(seeds);
    return status;
}

#endif
#endif
