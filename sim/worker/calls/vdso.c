/* vdso.c - a program begins in the worker's process. See calls.h.
 *
 * The kernel gives each program a vDSO, functions that tell the time without a call. They are
 * overwritten with calls, which stop like any other: through /proc/PID/mem, as a debugger does it,
 * at the first call of the program. The same vDSO is mapped here, so its symbols are read at home.
 * The bytes at AT_RANDOM, from which Go takes its seeds, are the seed's.
 *
 * Sources: vdso(7), getauxval(3), proc(5): auxv, mem; elf(5). */
#include "worker/calls/state.h"

#include "base/memory.h"
#include "worker/program.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STUB_BYTES = 8, AUXV_MAX = 64, RANDOM_BYTES = 16, CODE_MAX = 256 << 20 };

/* What stands in place of a function: mov $number, %eax; syscall; ret. Or, for what only answers
 * that it cannot: mov $-ENOSYS, %rax; ret. */
static const struct {
    const char *name;
    unsigned char code[STUB_BYTES];
} stubs[] = {
#ifdef __x86_64__
    {"__vdso_clock_gettime", {0xb8, SYS_clock_gettime, 0, 0, 0, 0x0f, 0x05, 0xc3}},
    {"__vdso_gettimeofday", {0xb8, SYS_gettimeofday, 0, 0, 0, 0x0f, 0x05, 0xc3}},
    {"__vdso_time", {0xb8, SYS_time, 0, 0, 0, 0x0f, 0x05, 0xc3}},
    {"__vdso_getrandom", {0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3}},
#endif
    {"", {0}},
};

/* Where the function lies in the vDSO; 0: it is not there. */
static uint64_t find_offset(const char *wanted)
{
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
    if (!base)
        return 0;
    const Elf64_Ehdr *file = (const void *)base;
    const Elf64_Shdr *sections = (const void *)(base + file->e_shoff);
    for (int i = 0; i < file->e_shnum; i++) {
        if (sections[i].sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Sym *symbols = (const void *)(base + sections[i].sh_offset);
        const char *names = base + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
            if (strcmp(names + symbols[k].st_name, wanted) == 0)
                return symbols[k].st_value;
    }
    return 0;
}

static void put(const struct calls *calls, uint64_t at, const void *bytes, size_t length)
{
    const ssize_t done = pwrite(calls->memory, bytes, length, (off_t)at);
    (void)done; /* what is not overwritten shows: each worker is asked for the time */
}

static void overwrite(const struct calls *calls, uint64_t vdso)
{
    for (size_t i = 0; stubs[i].name[0]; i++) {
        const uint64_t offset = find_offset(stubs[i].name);
        if (offset)
            put(calls, vdso + offset, stubs[i].code, STUB_BYTES);
    }
}

/* --- Go's cputicks(): each thread's random numbers begin with it (before Go 1.22) --- */

/* A counter of the processor, read as no compiler but its assembler does; it says 0 instead: xor
 * %eax, %eax; cltd. */
static const struct {
    unsigned char from[10];
    size_t length;
    unsigned char to[5];
    size_t changed;
} counters[] = {
#ifdef __x86_64__
    /* rdtscp; shl $32, %rdx; add %rdx, %rax */
    {{0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x01, 0xd0}, 10, {0x31, 0xc0, 0x99}, 3},
    /* lfence; rdtsc */
    {{0x0f, 0xae, 0xe8, 0x0f, 0x31}, 5, {0x31, 0xc0, 0x99, 0x90, 0x90}, 5},
#endif
    {{0}, 0, {0}, 0},
};

static void stop_counters_in(const struct calls *calls, uint64_t from, size_t length)
{
    unsigned char *code = memory_new(length, 1);
    const unsigned char *found;
    const ssize_t got = pread(calls->memory, code, length, (off_t)from);
    for (size_t i = 0; got > 0 && counters[i].length; i++)
        for (const unsigned char *at = code;
             (found = memmem(at, (size_t)(code + got - at), counters[i].from, counters[i].length));
             at = found + counters[i].length)
            put(calls, from + (uint64_t)(found - code), counters[i].to, counters[i].changed);
    free(code);
}

/* The first code that is mapped is the program's own. */
static void stop_counters(const struct calls *calls)
{
    char path[64], line[512], rights[8] = "";
    uint64_t from = 0, to = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", calls->worker);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to, rights) == 3 &&
            rights[2] == 'x')
            break;
    if (file)
        (void)fclose(file);
    if (rights[2] == 'x' && to - from <= CODE_MAX)
        stop_counters_in(calls, from, to - from);
}

static size_t read_auxv(int worker, Elf64_auxv_t rows[AUXV_MAX])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/auxv", worker);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = descriptor < 0 ? -1 : read(descriptor, rows, AUXV_MAX * sizeof *rows);
    if (descriptor >= 0)
        (void)close(descriptor);
    return got < 0 ? 0 : (size_t)got / sizeof *rows;
}

static void open_memory(struct calls *calls)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/mem", calls->worker);
    if (calls->memory >= 0)
        (void)close(calls->memory);
    calls->memory = open(path, O_RDWR | O_CLOEXEC); /* of this program: another one has another */
}

void calls_begin_program(struct calls *calls)
{
    char path[64];
    Elf64_auxv_t rows[AUXV_MAX];
    open_memory(calls);
    const size_t count = read_auxv(calls->worker, rows);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].a_type == AT_SYSINFO_EHDR)
            overwrite(calls, rows[i].a_un.a_val);
        if (rows[i].a_type == AT_RANDOM) {
            unsigned char bytes[RANDOM_BYTES];
            time_draw_bytes(calls->page, bytes, sizeof bytes);
            put(calls, rows[i].a_un.a_val, bytes, sizeof bytes);
        }
    }
    (void)snprintf(path, sizeof path, "/proc/%d/exe", calls->worker);
    calls->is_go = program_is_go(path);
    if (calls->is_go)
        stop_counters(calls);
    calls->has_housekeeper = false;
    calls->has_begun = true;
    atomic_store(&calls->page->pid, calls->worker);
}
