/* program.c - see program.h. Sources: elf(5), execvp(3); Go's debug/buildinfo: the section
 * .go.buildinfo, which every program of Go has, stripped or not. */
#include "worker/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 128, NAME_BYTES = 16 };

static bool read_at(int file, void *to, size_t size, uint64_t offset)
{
    return pread(file, to, size, (off_t)offset) == (ssize_t)size;
}

/* A program of this machine's width; the rest is nothing that we know. */
static bool read_head(int file, Elf64_Ehdr *head)
{
    return read_at(file, head, sizeof *head, 0) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_phentsize == sizeof(Elf64_Phdr) &&
           (head->e_type == ET_EXEC || head->e_type == ET_DYN);
}

static bool has_interpreter(int file, const Elf64_Ehdr *head)
{
    Elf64_Phdr row;
    for (unsigned i = 0; i < head->e_phnum && i < HEADERS_MAX; i++)
        if (!read_at(file, &row, sizeof row, head->e_phoff + i * sizeof row) ||
            row.p_type == PT_INTERP)
            return true;
    return false;
}

static bool has_section(int file, const Elf64_Ehdr *head, const char *wanted)
{
    Elf64_Shdr names, row;
    if (head->e_shentsize != sizeof row ||
        !read_at(file, &names, sizeof names, head->e_shoff + head->e_shstrndx * sizeof names))
        return false;
    for (unsigned i = 0; i < head->e_shnum && i < HEADERS_MAX; i++) {
        char name[NAME_BYTES];
        if (read_at(file, &row, sizeof row, head->e_shoff + i * sizeof row) &&
            read_at(file, name, strlen(wanted) + 1, names.sh_offset + row.sh_name) &&
            memcmp(name, wanted, strlen(wanted) + 1) == 0)
            return true;
    }
    return false;
}

struct program_kind {
    bool is_static, is_go;
};

static struct program_kind program_kind_of(const char *path)
{
    struct program_kind kind = {0};
    Elf64_Ehdr head;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read_head(file, &head))
        kind = (struct program_kind){.is_static = !has_interpreter(file, &head),
                                     .is_go = has_section(file, &head, ".go.buildinfo")};
    if (file >= 0)
        (void)close(file);
    return kind;
}

bool program_is_go(const char *path)
{
    return program_kind_of(path).is_go;
}

const char *program_find(const char *word, char path[PROGRAM_PATH_MAX])
{
    if (strchr(word, '/'))
        return word;
    const char *at = getenv("PATH");
    while (at && *at) {
        const size_t length = strcspn(at, ":");
        (void)snprintf(path, PROGRAM_PATH_MAX, "%.*s/%s", (int)length, length ? at : ".", word);
        if (access(path, X_OK) == 0)
            return path;
        at += length + (at[length] == ':');
    }
    return word;
}

bool program_lacks_library(const char *word)
{
    char path[PROGRAM_PATH_MAX];
    const struct program_kind kind = program_kind_of(program_find(word, path));
    return kind.is_static || kind.is_go;
}
