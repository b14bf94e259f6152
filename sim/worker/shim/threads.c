/* threads.c - the page is found and followed; each thread has a row in it. See shim.h.
 *
 * Sources: pthread_create(3), pthread_atfork(3), futex(2), ld.so(8). */
#include "worker/shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_UNAVAILABLE = 69, HIGH_DESCRIPTOR = 512 };

struct time_page *shim_page;
char shim_path[TIME_PATH_MAX];

static int bell = -1;
static int ticks[TIME_THREADS_MAX]; /* 1 + the descriptor of a row's FIFO */
static pthread_key_t ends;
static _Thread_local struct time_thread *own;
static _Thread_local bool has_ended;
static _Atomic int rows_taken; /* so far */
static _Atomic int being_born; /* threads that were made, and have no row yet */

/* Out of the way of the program's own numbers. */
static int move_up(int descriptor)
{
    int high = fcntl(descriptor, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high < 0)
        return descriptor;
    (void)syscall(SYS_close, descriptor);
    return high;
}

static int open_beside(const char *suffix, int flags)
{
    char path[TIME_PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s.%s", shim_path, suffix);
    int descriptor = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    return descriptor < 0 ? -1 : move_up(descriptor);
}

static _Noreturn void give_up(void)
{
    static const char words[] = "picklock-time: the page of the worker's time cannot be mapped\n";
    ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
    (void)written;
    _exit(EXIT_UNAVAILABLE);
}

/* --- rows --- */

static struct time_thread *take_row(void)
{
    const int32_t tid = (int32_t)syscall(SYS_gettid);
    for (int i = 0; i < TIME_THREADS_MAX; i++) {
        int32_t none = 0;
        struct time_thread *row = &shim_page->threads[i];
        int32_t last = atomic_load(&shim_page->last_row);
        while (last < i && !atomic_compare_exchange_weak(&shim_page->last_row, &last, i))
            ;
        if (!atomic_compare_exchange_strong(&row->tid, &none, tid))
            continue;
        atomic_fetch_add(&rows_taken, 1);
        atomic_store(&row->wait, TIME_RUNS);
        atomic_store(&row->until_us, TIME_NEVER);
        return row;
    }
    return NULL;
}

static void ring(void)
{
    ssize_t written = syscall(SYS_write, bell, "", 1);
    (void)written; /* full: enough rings are in it */
}

static void one_less(void)
{
    if (atomic_fetch_sub(&shim_page->running, 1) == 1)
        ring();
}

struct time_thread *shim_thread(void)
{
    if (own || has_ended)
        return own;
    /* Not made by our pthread_create(): the first thread, or one that the program cloned. */
    own = take_row();
    if (own)
        atomic_fetch_add(&shim_page->running, 1);
    return own;
}

static void leave_row(void *row)
{
    own = NULL;
    has_ended = true;
    if (!shim_page || !row)
        return;
    shim_thread_ends(row);
    atomic_store(&((struct time_thread *)row)->tid, 0);
    atomic_fetch_add(&shim_page->changes, 1);
    one_less();
}

bool shim_is_alone(void)
{
    return atomic_load(&rows_taken) <= 1 && !atomic_load(&being_born);
}

void shim_begin_wait(struct time_thread *row, enum time_wait wait, int64_t until_us, uint64_t epoch)
{
    shim_has_waited();
    if (!row)
        return;
    atomic_store(&row->until_us, until_us);
    atomic_store(&row->epoch, epoch);
    atomic_store(&row->wait, wait);
    atomic_fetch_add(&shim_page->changes, 1);
    one_less();
}

bool shim_is_to_wait(const struct time_thread *row, int64_t until_us)
{
    return row || shim_now_us() < until_us;
}

void shim_resume(struct time_thread *row)
{
    atomic_fetch_add(&shim_page->running, 1);
    atomic_store(&row->wait, TIME_RUNS);
    atomic_fetch_add(&shim_page->changes, 1);
}

void shim_end_wait(struct time_thread *row)
{
    if (row && atomic_load(&row->wait) != TIME_RUNS)
        shim_resume(row);
}

void shim_interrupt_wait(void)
{
    if (!shim_page || !own || atomic_load(&own->wait) != TIME_DESCRIPTORS)
        return;
    const int number = (int)(own - shim_page->threads), before = errno;
    shim_resume(own);
    /* The signal may have come before the kernel was asked to wait. */
    if (ticks[number]) {
        atomic_fetch_add(&own->ticks_given, 1);
        (void)!syscall(SYS_write, ticks[number] - 1, "", 1);
    }
    errno = before;
}

void shim_futex_wait(_Atomic uint32_t *wake, uint32_t seen)
{
    (void)syscall(SYS_futex, wake, FUTEX_WAIT, seen, NULL, NULL, 0);
}

void shim_futex_wake(_Atomic uint32_t *wake)
{
    atomic_fetch_add(wake, 1);
    (void)syscall(SYS_futex, wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int shim_tick_open(struct time_thread *row)
{
    if (!row)
        return -1;
    const int number = (int)(row - shim_page->threads);
    if (ticks[number])
        return ticks[number] - 1;
    char suffix[16], path[TIME_PATH_MAX + 16];
    (void)snprintf(suffix, sizeof suffix, "%d", number);
    (void)snprintf(path, sizeof path, "%s.%s", shim_path, suffix);
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return -1;
    ticks[number] = 1 + open_beside(suffix, O_RDWR);
    return ticks[number] - 1;
}

/* --- birth --- */

struct birth {
    void *(*start)(void *argument);
    void *argument;
};

static void *run_thread(void *context)
{
    const struct birth birth = *(struct birth *)context;
    free(context);
    if (shim_page) {
        own = take_row();
        if (own)
            shim_thread_begins(own);
        else
            one_less(); /* nobody waits for it */
        (void)pthread_setspecific(ends, own);
        atomic_fetch_sub(&being_born, 1);
    }
    return birth.start(birth.argument);
}

void shim_wait_for_births(void)
{
    while (atomic_load(&being_born))
        (void)sched_yield();
}

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*start)(void *argument), void *argument);

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*start)(void *argument), void *restrict argument)
{
    static create_function *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    struct birth *birth = shim_page ? malloc(sizeof *birth) : NULL;
    if (!birth)
        return real(thread, attributes, start, argument);
    *birth = (struct birth){.start = start, .argument = argument};
    atomic_fetch_add(&shim_page->running,
                     1); /* before it runs: whoever makes it may wait at once */
    atomic_fetch_add(&being_born, 1);
    int error = real(thread, attributes, run_thread, birth);
    if (error) {
        free(birth);
        atomic_fetch_sub(&being_born, 1);
        one_less();
    }
    return error;
}

/* --- the process --- */

/* A child lives by the real time, unless it runs another program in the same process. */
static void in_child(void)
{
    if (!shim_page)
        return;
    atomic_fetch_add(&shim_page->counts.children, 1);
    shim_sync_forget();
    shim_page = NULL;
    own = NULL;
}

static struct time_page *map_page(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    void *page = MAP_FAILED;
    if (descriptor >= 0) {
        page =
            mmap(NULL, sizeof(struct time_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        (void)close(descriptor);
    }
    if (page == MAP_FAILED)
        give_up();
    return page;
}

__attribute__((constructor)) static void shim_open(void)
{
    const char *path = getenv(TIME_VARIABLE);
    if (!path || strlen(path) >= sizeof shim_path)
        return;
    (void)strcpy(shim_path, path);
    struct time_page *page = map_page(path);
    int32_t nobody = 0;
    const int32_t pid = (int32_t)getpid(), before = atomic_load(&page->pid);
    /* Who looks must not see that we follow it, and that nobody runs. */
    if (!before || before == pid)
        atomic_store(&page->running, 1);
    /* A wrapper may have followed it before, and have run this program in its place. */
    if (!atomic_compare_exchange_strong(&page->pid, &nobody, pid) && nobody != pid) {
        atomic_fetch_add(&page->counts.children, 1);
        (void)munmap(page, sizeof *page);
        return;
    }
    memset(page->threads, 0, sizeof page->threads);
    atomic_store(&page->counts.tells_reads, 0); /* said by the program before this one */
    atomic_store(&page->counts.untold, 0);
    shim_page = page;
    bell = open_beside("bell", O_RDWR);
    if (bell < 0)
        give_up();
    (void)pthread_key_create(&ends, leave_row);
    (void)pthread_atfork(NULL, NULL, in_child);
    own = take_row();
    shim_random_open();
}
