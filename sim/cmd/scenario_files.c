/* scenario_files.c - see scenario_files.h. */
#include "cmd/scenario_files.h"

#include "base/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

bool scenario_files_is_matrix(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, "matrix.yaml");
}

size_t scenario_files_stem(const char *name)
{
    static const char ending[] = ".yaml";
    const size_t length = strlen(name), tail = sizeof ending - 1;
    return length > tail && !strcmp(name + length - tail, ending) ? length - tail : 0;
}

static int is_scenario(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && scenario_files_stem(entry->d_name) &&
           !scenario_files_is_matrix(entry->d_name);
}

bool scenario_files_add(struct scenario_files *files, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_scenario, alphasort);
    if (count <= 0) {
        free(entries);
        return false;
    }
    files->paths =
        memory_resize(files->paths, (size_t)(files->count + count), sizeof *files->paths);
    for (int i = 0; i < count; i++) {
        files->paths[files->count++] = memory_format("%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return true;
}

void scenario_files_free(struct scenario_files *files)
{
    for (int i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct scenario_files){0};
}
