/* fuzz_results.c - hostile results.json files: refused, or printed in every format, and read again.
 *
 * A byte 0 parts an input into the results of two folders, which are merged. */
#include "test/fuzz.h"

#include "report/merge.h"
#include "report/report.h"

#include <sys/stat.h>

static char fuzz_folder[] = "/tmp/picklock-fuzz-XXXXXX";
static char *fuzz_folders[2];

static void fuzz_folders_remove(void)
{
    for (int i = 0; i < 2; i++) {
        char *path = memory_format("%s/results.json", fuzz_folders[i]);
        (void)unlink(path);
        (void)rmdir(fuzz_folders[i]);
        free(path);
        free(fuzz_folders[i]);
    }
    (void)rmdir(fuzz_folder);
}

static void fuzz_folders_make(void)
{
    fuzz_must(mkdtemp(fuzz_folder) != NULL, "no temporary folder");
    for (int i = 0; i < 2; i++) {
        fuzz_folders[i] = memory_format("%s/%d", fuzz_folder, i);
        fuzz_must(!mkdir(fuzz_folders[i], 0700), "no temporary folder");
    }
    fuzz_must(!atexit(fuzz_folders_remove), "nobody would tidy up");
}

static void put(const char *folder, const uint8_t *data, size_t size)
{
    char *path = memory_format("%s/results.json", folder);
    FILE *file = fopen(path, "wb");
    fuzz_must(file && fwrite(data, 1, size, file) == size && !fclose(file), "no room");
    free(path);
}

/* All formats; what is written as JSON is read again, and written as the same. */
static void print_all(const struct results *results)
{
    struct results again = {0};
    struct failure failure = {0};
    FILE *out = fopen("/dev/null", "w");
    fuzz_must(out != NULL, "no /dev/null");
    report_terminal(out, results, 1);
    (void)fclose(out);
    for (int i = 0; i < FORMAT_COUNT; i++)
        fuzz_must(!report_write((enum format)i, "/dev/null", results, NULL, &failure), "no report");
    char *path = memory_format("%s/results.json", fuzz_folders[0]);
    fuzz_must(!report_write(FORMAT_JSON, path, results, NULL, &failure), "no JSON");
    fuzz_must(!report_read(path, &again, &failure), "what was written cannot be read");
    fuzz_must(results->rows_count == again.rows_count, "other rows when read again");
    results_free(&again);
    free(path);
}

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct results results = {0};
    struct failure failure = {0};
    const uint8_t *middle = size ? memchr(data, 0, size) : NULL;
    size_t first = middle ? (size_t)(middle - data) : size;
    if (!fuzz_folders[0])
        fuzz_folders_make();
    put(fuzz_folders[0], data, first);
    if (middle)
        put(fuzz_folders[1], middle + 1, size - first - 1);
    enum fail fail = report_merge(fuzz_folders, middle ? 2 : 1, &results, &failure);
    if (fail)
        fuzz_must_refuse(fail, &failure);
    else
        print_all(&results);
    results_free(&results);
    return !fail;
}
