/* fuzz_scenario.c - hostile scenario files. */
#include "test/fuzz.h"

#include "scenario/scenario.h"

/* A scenario has the name of its file: a link of the name that the bytes say. The caller frees. */
static char *named_file(const uint8_t *data, size_t size)
{
    static char folder[] = "/tmp/picklock-fuzz-XXXXXX";
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    fuzz_must(mkdtemp(folder) != NULL, "no temporary folder");
    const uint8_t *name = size ? memmem(data, size, "\nname: ", 7) : NULL;
    size_t left = name ? size - (size_t)(name + 7 - data) : 0, length = 0;
    while (length < left && length < 80 && name[7 + length] > ' ' && name[7 + length] != '/')
        length++;
    char *path =
        memory_format("%s/%.*s.yaml", folder, (int)length, name ? (const char *)name + 7 : "");
    fuzz_must(!symlink(fuzz_file(data, size), path), "no link to the input");
    return path;
}

static void named_file_remove(char *path)
{
    fuzz_must(!unlink(path), "the link is gone");
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
    free(path);
}

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct scenario *scenario;
    struct failure failure = {0};
    char *path = named_file(data, size);
    enum fail fail = scenario_read(path, &scenario, &failure);
    named_file_remove(path);
    if (fail) {
        fuzz_must_refuse(fail, &failure);
        return false;
    }
    fuzz_must(scenario->steps_count > 0 && scenario->clients > 0 && scenario->lease_us > 0,
              "a scenario without a step, a client or a lease");
    scenario_free(scenario);
    return true;
}
