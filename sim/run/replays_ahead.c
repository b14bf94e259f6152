/* replays_ahead.c - see replays_ahead.h.
 *
 *     parent   ask: bytes of a cell ----> file of cells   -+
 *                                         a line: so many -+--> child: cell_finish()
 *              take: memo <-- a line, file of results <---+     its memo's new entries
 *
 * Both files have no name. A line on the socket says that so many bytes more are there, so neither
 * side waits for the other to read. Both are one program, so bytes of a struct are what they were;
 * pointers into memory from before the fork, too. A parent that would wait replays the last of
 * these cells itself: who begins one says so in memory that both have. */
#include "run/replays_ahead.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "live/processor.h"
#include "run/child.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct asked_cell {
    const struct cell *cell;
    bool is_over; /* its replays are in the memo */
};

/* What goes one way. */
struct lane_file {
    int file;
    off_t at; /* so far */
};

struct replays_ahead {
    struct worker_replays *replays;
    struct worker_scheme *program;
    struct child_process child;
    struct lane_file cells, results;
    struct asked_cell *asked;
    int asked_count;
    atomic_bool *begun; /* of each: one of both replays it, or has done so */
};

enum { CELLS_MAX = 4096 }; /* more are replayed as if there were no child */

static bool begin(const struct replays_ahead *it, int number)
{
    return !atomic_exchange(&it->begun[number], true);
}

struct told_size {
    int number; /* of the cell that was asked for */
    size_t size;
};

/* --- bytes --- */

static bool write_all(int file, const char *bytes, size_t size, off_t at)
{
    while (size) {
        const ssize_t written = pwrite(file, bytes, size, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
        at += written;
    }
    return true;
}

static bool read_all(int file, char *bytes, size_t size, off_t at)
{
    while (size) {
        const ssize_t got = pread(file, bytes, size, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        size -= (size_t)got;
        at += got;
    }
    return true;
}

/* Frees the buffer. */
static bool tell(const struct replays_ahead *it, struct lane_file *to, int number,
                 struct bytes *buffer, enum child_wait wait)
{
    const struct told_size line = {.number = number, .size = buffer->length};
    const bool is_told = write_all(to->file, buffer->at, buffer->length, to->at) &&
                         child_say(&it->child, &line, sizeof line, wait);
    to->at += is_told ? (off_t)buffer->length : 0;
    free(buffer->at);
    return is_told;
}

/* What the line tells of; NULL: it is not there. The caller frees. */
static char *fetch(struct lane_file *from, const struct told_size *line)
{
    char *bytes = memory_new(line->size + 1, 1);
    const bool is_there = read_all(from->file, bytes, line->size, from->at);
    from->at += (off_t)line->size;
    if (is_there)
        return bytes;
    free(bytes);
    return NULL;
}

/* --- a cell on its way --- */

struct told_cell {
    struct worker_scheme program; /* as it is known by now */
    struct cell cell;
    int processor; /* that its parent uses */
};

/* Choices of its searches, in order. */
static struct explore_finding *way_of(struct cell *cell, int number)
{
    struct cell_search *search = &cell->searches[number / PROPERTY_COUNT];
    return &search->outcome.findings[number % PROPERTY_COUNT];
}
enum { WAYS = SECTION_COUNT * PROPERTY_COUNT };

static struct bytes pack(const struct replays_ahead *it, const struct cell *cell)
{
    struct bytes buffer = {0};
    struct told_cell *told = memory_new(1, sizeof *told);
    told->program = *it->program;
    told->cell = *cell;
    told->processor = processor_shared();
    bytes_add(&buffer, told, sizeof *told);
    for (int i = 0; i < WAYS; i++) {
        const struct explore_finding *way = way_of(&told->cell, i);
        bytes_add(&buffer, way->choices, (size_t)way->choices_count * sizeof *way->choices);
    }
    free(told);
    return buffer;
}

/* The parent's pointers go. */
static void unpack(struct told_cell *told, const char *bytes)
{
    memcpy(told, bytes, sizeof *told);
    bytes += sizeof *told;
    struct cell *cell = &told->cell;
    cell->options.subject = NULL;
    cell->options.watch = NULL;
    cell->doubt = cell->doubt ? memory_text("") : NULL; /* its parent knows why */
    for (int i = 0; i < WAYS; i++) {
        struct explore_finding *way = way_of(cell, i);
        const size_t size = (size_t)way->choices_count * sizeof *way->choices;
        way->choices = size ? memory_new(1, size) : NULL;
        if (size)
            memcpy(way->choices, bytes, size);
        bytes += size;
    }
}

/* It is its replays that stay, in the memo. */
static void finish_copy(struct replays_ahead *it, const char *bytes)
{
    struct cell_world in;
    struct told_cell *told = memory_new(1, sizeof *told);
    unpack(told, bytes);
    *it->program = told->program;
    worker_replays_finish(it->replays, &told->cell, &in);
    cell_close(&told->cell);
    free(told);
}

/* --- the child --- */

static bool is_stopped(const struct replays_ahead *it)
{
    const volatile int *stop = it->program->program.stop;
    return stop && *stop;
}

/* Of its parent, before the first replay. */
static void leave_processor(const struct replays_ahead *it, const char *bytes)
{
    int number;
    memcpy(&number, bytes + offsetof(struct told_cell, processor), sizeof number);
    if (!it->results.at)
        processor_avoid(number);
}

/* False: there is nothing more to do. */
static bool replay(struct replays_ahead *it, const struct told_size *line)
{
    struct bytes buffer = {0};
    char *bytes = fetch(&it->cells, line);
    if (bytes && !begin(it, line->number)) {
        free(bytes);
        return true;
    }
    if (!bytes)
        return false;
    leave_processor(it, bytes);
    finish_copy(it, bytes);
    free(bytes);
    bytes_add(&buffer, worker_replays_past(it->replays), sizeof(struct failure));
    size_t size;
    char *packed = replay_memo_pack(worker_replays_memo(it->replays), &size);
    bytes_add(&buffer, packed, size);
    free(packed);
    return tell(it, &it->results, line->number, &buffer, CHILD_WAITS);
}

static void work(void *context)
{
    struct replays_ahead *it = context;
    const volatile int *stop = it->program->program.stop;
    struct told_size line;
    worker_replays_begin_child(it->replays);
    while (child_heed(&it->child, &line, sizeof line, stop) == sizeof line && replay(it, &line))
        ;
    worker_replays_rest(it->replays);
}

/* --- its parent --- */

static void shut(const struct replays_ahead *it)
{
    const int open[] = {it->cells.file, it->results.file};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (open[i] >= 0)
            (void)close(open[i]);
    if (it->begun != MAP_FAILED)
        (void)munmap(it->begun, CELLS_MAX * sizeof *it->begun);
}

static bool open_all(struct replays_ahead *it)
{
    it->cells.file = memfd_create("cells", MFD_CLOEXEC);
    it->results.file = memfd_create("results", MFD_CLOEXEC);
    it->begun = mmap(NULL, CELLS_MAX * sizeof *it->begun, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return it->cells.file >= 0 && it->results.file >= 0 && it->begun != MAP_FAILED;
}

struct replays_ahead *replays_ahead_start(struct worker_replays *replays,
                                          struct worker_scheme *program)
{
    struct replays_ahead *it = memory_new(1, sizeof *it);
    *it = (struct replays_ahead){.replays = replays, .program = program};
    if (open_all(it) && child_start(&it->child, "replays-ahead", work, it))
        return it;
    shut(it);
    free(it);
    return NULL;
}

void replays_ahead_end(struct replays_ahead *ahead)
{
    if (!ahead)
        return;
    child_end(&ahead->child);
    shut(ahead);
    free(ahead->asked);
    free(ahead);
}

int replays_ahead_pid(const struct replays_ahead *ahead)
{
    return ahead ? ahead->child.pid : 0;
}

static bool has_found(const struct cell *cell)
{
    bool has = false;
    for (int s = 0; s < SECTION_COUNT; s++)
        for (int i = 0; i < PROPERTY_COUNT; i++)
            has |= cell->searches[s].outcome.findings[i].verdict == VERDICT_VIOLATED;
    return has;
}

void replays_ahead_ask(struct replays_ahead *ahead, const struct cell *cell)
{
    if (!ahead || !ahead->child.pid || !has_found(cell) || ahead->asked_count == CELLS_MAX)
        return;
    struct bytes buffer = pack(ahead, cell);
    if (!tell(ahead, &ahead->cells, ahead->asked_count, &buffer, CHILD_DOES_NOT_WAIT))
        return;
    ahead->asked =
        memory_resize(ahead->asked, (size_t)ahead->asked_count + 1, sizeof *ahead->asked);
    ahead->asked[ahead->asked_count++] = (struct asked_cell){.cell = cell};
}

/* False: what it says is no result. */
static bool hear(struct replays_ahead *it, const struct told_size *line)
{
    struct failure past;
    char *bytes = line->number < it->asked_count ? fetch(&it->results, line) : NULL;
    bool is_good = bytes && line->size >= sizeof past;
    if (is_good) {
        memcpy(&past, bytes, sizeof past);
        is_good = replay_memo_unpack(worker_replays_memo(it->replays), bytes + sizeof past,
                                     line->size - sizeof past);
    }
    if (is_good)
        it->asked[line->number].is_over = true;
    if (is_good && past.code)
        worker_replays_note_past(it->replays, &past);
    free(bytes);
    return is_good;
}

/* Until it has said something, or a moment has passed. */
static void wait_a_moment(struct replays_ahead *it)
{
    struct told_size line;
    const size_t heard = child_hear(&it->child, &line, sizeof line, CHILD_LOOK_MS);
    if (heard && (heard != sizeof line || !hear(it, &line)))
        child_kill(&it->child);
}

/* The last that nobody has begun: the child takes the first. False: there is none. */
static bool replay_last(struct replays_ahead *it)
{
    int last = it->asked_count - 1;
    while (last >= 0 && !begin(it, last))
        last--;
    if (last < 0)
        return false;
    struct bytes buffer = pack(it, it->asked[last].cell);
    finish_copy(it, buffer.at);
    free(buffer.at);
    it->asked[last].is_over = true;
    return true;
}

void replays_ahead_take(struct replays_ahead *ahead, const struct cell *cell)
{
    for (int i = ahead ? ahead->asked_count : 0; i > 0; i--) {
        const struct asked_cell *asked = &ahead->asked[i - 1];
        if (asked->cell != cell)
            continue;
        while (!asked->is_over && ahead->child.pid && !is_stopped(ahead))
            if (child_has_news(&ahead->child, 0) || !replay_last(ahead))
                wait_a_moment(ahead);
        return;
    }
}
