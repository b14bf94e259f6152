/* object_file.c - see object_file.h. The file is somebody's: whatever it says of itself is held
 * against its size before it is followed. */
#include "run/object_file.h"

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_inside(const struct object_file *object, uint64_t offset, uint64_t size)
{
    return offset <= object->size && size <= object->size - offset;
}

static bool is_of_this_machine(const struct object_file *object)
{
    ElfW(Ehdr) head;
    if (!is_inside(object, 0, sizeof head))
        return false;
    memcpy(&head, object->bytes, sizeof head);
    return memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
           head.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           head.e_phentsize == sizeof(ElfW(Phdr));
}

struct object_file object_file_open(const char *path)
{
    struct object_file object = {0};
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return object;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED)
            object = (struct object_file){bytes, (size_t)about.st_size};
    }
    (void)close(file);
    if (object.bytes && !is_of_this_machine(&object))
        object_file_close(&object);
    return object;
}

void object_file_close(struct object_file *object)
{
    if (object->bytes)
        (void)munmap((void *)(uintptr_t)object->bytes, object->size);
    *object = (struct object_file){0};
}

/* The piece with that number; false: the file has not so many. */
static bool piece_at(const struct object_file *object, int number, ElfW(Phdr) * piece)
{
    ElfW(Ehdr) head;
    if (!object->bytes)
        return false;
    memcpy(&head, object->bytes, sizeof head);
    if (number >= head.e_phnum || !is_inside(object, head.e_phoff, 0) ||
        !is_inside(object, head.e_phoff + (uint64_t)number * sizeof *piece, sizeof *piece))
        return false;
    memcpy(piece, object->bytes + head.e_phoff + (size_t)number * sizeof *piece, sizeof *piece);
    return true;
}

bool object_file_is_cut_off(const struct object_file *object)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) piece;
    if (!object->bytes)
        return false;
    memcpy(&head, object->bytes, sizeof head);
    for (int i = 0; i < head.e_phnum; i++)
        if (!piece_at(object, i, &piece) ||
            (piece.p_type == PT_LOAD && !is_inside(object, piece.p_offset, piece.p_filesz)))
            return true;
    return false;
}

/* Where the bytes are that are mapped to an address; NULL: not so many are in the file. */
static const unsigned char *bytes_at(const struct object_file *object, uint64_t address,
                                     uint64_t size)
{
    ElfW(Phdr) piece;
    for (int i = 0; piece_at(object, i, &piece); i++) {
        const uint64_t into = address - piece.p_vaddr;
        if (piece.p_type == PT_LOAD && address >= piece.p_vaddr && into <= piece.p_filesz &&
            size <= piece.p_filesz - into && is_inside(object, piece.p_offset, into) &&
            is_inside(object, piece.p_offset + into, size))
            return object->bytes + piece.p_offset + into;
    }
    return NULL;
}

/* What the dynamic section says under that tag; 0: nothing. */
static uint64_t dynamic_value(const struct object_file *object, ElfW(Sxword) tag)
{
    ElfW(Phdr) piece;
    ElfW(Dyn) entry;
    for (int i = 0; piece_at(object, i, &piece); i++) {
        if (piece.p_type != PT_DYNAMIC || !is_inside(object, piece.p_offset, piece.p_filesz))
            continue;
        for (uint64_t at = 0; at + sizeof entry <= piece.p_filesz; at += sizeof entry) {
            memcpy(&entry, object->bytes + piece.p_offset + at, sizeof entry);
            if (entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == tag)
                return entry.d_un.d_val;
        }
    }
    return 0;
}

/* The name of a symbol that the object does not define itself, or NULL. */
static const char *taken_symbol(const struct object_file *object, uint64_t number)
{
    ElfW(Sym) symbol;
    const uint64_t strings_size = dynamic_value(object, DT_STRSZ);
    const unsigned char *strings = bytes_at(object, dynamic_value(object, DT_STRTAB), strings_size);
    const unsigned char *at =
        bytes_at(object, dynamic_value(object, DT_SYMTAB) + number * sizeof symbol, sizeof symbol);
    if (!at || !strings)
        return NULL;
    memcpy(&symbol, at, sizeof symbol);
    const bool has_name = symbol.st_name < strings_size &&
                          memchr(strings + symbol.st_name, 0, strings_size - symbol.st_name);
    return symbol.st_shndx == SHN_UNDEF && has_name ? (const char *)strings + symbol.st_name : NULL;
}

static const char *found_among(const char *name, const char *const *names)
{
    while (name && *names && strcmp(*names, name) != 0)
        names++;
    return name ? *names : NULL;
}

const char *object_file_takes(const struct object_file *object, const char *const *names)
{
    static const ElfW(Sxword) tables[][2] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        ElfW(Rela) row;
        const uint64_t size = dynamic_value(object, tables[i][1]);
        const unsigned char *table = bytes_at(object, dynamic_value(object, tables[i][0]), size);
        for (uint64_t at = 0; table && at + sizeof row <= size; at += sizeof row) {
            memcpy(&row, table + at, sizeof row);
            const char *taken = taken_symbol(object, ELF64_R_SYM(row.r_info));
            const char *found = found_among(taken, names);
            if (found)
                return found;
        }
    }
    return NULL;
}
