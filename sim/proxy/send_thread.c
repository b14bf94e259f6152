/* send_thread.c - see send_thread.h. A ring of pieces: the loop writes it, the thread reads it. */
#include "proxy/send_thread.h"

#include "base/memory.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

enum {
    PIECES = 4096,   /* in the ring; a power of two */
    PIECE_MAX = 496, /* bytes; what a lock says is smaller */
    WAKE_AT = 16,    /* so many pieces are worth waking the thread before the turn ends */
    CACHE_LINE = 64,
};

struct piece {
    struct outlet *outlet;
    int descriptor;
    unsigned length;
    char bytes[PIECE_MAX];
};

struct send_thread {
    _Alignas(CACHE_LINE) atomic_uint given; /* pieces, ever; written by the loop */
    unsigned few, in_turn, unwoken;         /* pieces; the loop's */
    _Alignas(CACHE_LINE) atomic_uint done;  /* pieces, ever; written by the thread */
    _Alignas(CACHE_LINE) atomic_bool sleeps;
    pthread_mutex_t mutex; /* of the three that follow */
    struct outlet *returned;
    bool is_awaited, is_ending;
    pthread_cond_t was_given, was_done;
    pthread_t thread;
    void (*tell)(struct outlet *outlet);
    uv_async_t has_returned;
    uv_check_t turn_begins;
    uv_prepare_t turn_ends;
    int handles;
    struct piece pieces[PIECES];
};

/* --- the thread --- */

static void keep(struct outlet *outlet, const char *bytes, size_t length)
{
    outlet->left = memory_resize(outlet->left, outlet->left_length + length, 1);
    memcpy(outlet->left + outlet->left_length, bytes, length);
    outlet->left_length += length;
}

static void come_back(struct send_thread *thread, struct outlet *outlet, int error)
{
    outlet->error = error;
    outlet->has_returned = true;
    pthread_mutex_lock(&thread->mutex);
    outlet->next = thread->returned;
    thread->returned = outlet;
    pthread_mutex_unlock(&thread->mutex);
    (void)uv_async_send(&thread->has_returned);
}

static void send_piece(struct send_thread *thread, const struct piece *piece)
{
    struct outlet *outlet = piece->outlet;
    size_t sent = 0;
    if (!outlet->has_returned) {
        const ssize_t count =
            send(piece->descriptor, piece->bytes, piece->length, MSG_DONTWAIT | MSG_NOSIGNAL);
        const int error = count < 0 ? errno : 0;
        const bool is_full = error == EAGAIN || error == EINTR || error == ENOBUFS;
        sent = count > 0 ? (size_t)count : 0;
        if (sent < piece->length)
            come_back(thread, outlet, is_full ? 0 : error);
    }
    if (sent < piece->length)
        keep(outlet, piece->bytes + sent, piece->length - sent);
    atomic_fetch_sub_explicit(&outlet->waiting, 1, memory_order_release);
}

/* false: it is to end. */
static bool wait_for_pieces(struct send_thread *thread, unsigned done)
{
    pthread_mutex_lock(&thread->mutex);
    atomic_store(&thread->sleeps, true); /* before it looks, as wake() looks behind it */
    if (thread->is_awaited)
        pthread_cond_signal(&thread->was_done);
    while (atomic_load(&thread->given) == done && !thread->is_ending)
        pthread_cond_wait(&thread->was_given, &thread->mutex);
    atomic_store(&thread->sleeps, false);
    const bool goes_on = atomic_load(&thread->given) != done;
    pthread_mutex_unlock(&thread->mutex);
    return goes_on;
}

static void *send_pieces(void *data)
{
    struct send_thread *thread = data;
    unsigned done = 0;
    while (wait_for_pieces(thread, done))
        while (atomic_load_explicit(&thread->given, memory_order_acquire) != done) {
            send_piece(thread, &thread->pieces[done % PIECES]);
            atomic_store_explicit(&thread->done, ++done, memory_order_release);
        }
    return NULL;
}

/* --- the loop --- */

static void wake(struct send_thread *thread)
{
    thread->unwoken = 0;
    if (!atomic_load(&thread->sleeps))
        return;
    pthread_mutex_lock(&thread->mutex);
    pthread_cond_signal(&thread->was_given);
    pthread_mutex_unlock(&thread->mutex);
}

static bool is_waiting(struct outlet *outlet)
{
    return atomic_load_explicit(&outlet->waiting, memory_order_acquire) > 0;
}

bool send_thread_take(struct send_thread *thread, struct outlet *outlet, int descriptor,
                      const char *bytes, size_t length)
{
    const unsigned given = atomic_load_explicit(&thread->given, memory_order_relaxed);
    const unsigned done = atomic_load_explicit(&thread->done, memory_order_acquire);
    if (++thread->in_turn <= thread->few || length > PIECE_MAX || given - done == PIECES)
        return false;
    if (!is_waiting(outlet) && outlet->has_returned)
        return false;
    struct piece *piece = &thread->pieces[given % PIECES];
    piece->outlet = outlet;
    piece->descriptor = descriptor;
    piece->length = (unsigned)length;
    memcpy(piece->bytes, bytes, length);
    atomic_fetch_add_explicit(&outlet->waiting, 1, memory_order_relaxed);
    atomic_store(&thread->given, given + 1);
    if (++thread->unwoken >= WAKE_AT)
        wake(thread);
    return true;
}

static void forget(struct send_thread *thread, struct outlet *outlet)
{
    pthread_mutex_lock(&thread->mutex);
    struct outlet **at = &thread->returned;
    while (*at && *at != outlet)
        at = &(*at)->next;
    if (*at)
        *at = outlet->next;
    pthread_mutex_unlock(&thread->mutex);
}

void send_thread_settle(struct send_thread *thread, struct outlet *outlet)
{
    if (is_waiting(outlet)) {
        pthread_mutex_lock(&thread->mutex);
        thread->is_awaited = true;
        pthread_cond_signal(&thread->was_given);
        while (is_waiting(outlet)) /* was_done: with all, so with what this one has */
            pthread_cond_wait(&thread->was_done, &thread->mutex);
        thread->is_awaited = false;
        pthread_mutex_unlock(&thread->mutex);
    }
    if (outlet->has_returned)
        forget(thread, outlet);
}

static struct outlet *first_returned(struct send_thread *thread)
{
    pthread_mutex_lock(&thread->mutex);
    struct outlet *outlet = thread->returned;
    pthread_mutex_unlock(&thread->mutex);
    return outlet;
}

static void tell_returned(struct send_thread *thread)
{
    struct outlet *outlet;
    while ((outlet = first_returned(thread)))
        thread->tell(outlet);
}

static void on_returned(uv_async_t *has_returned)
{
    tell_returned(has_returned->data);
}

static void on_turn_begins(uv_check_t *turn_begins)
{
    struct send_thread *thread = turn_begins->data;
    thread->in_turn = 0;
}

static void on_turn_ends(uv_prepare_t *turn_ends)
{
    struct send_thread *thread = turn_ends->data;
    if (thread->unwoken)
        wake(thread);
}

/* --- begin, end --- */

/* The loop does not go on for its sake. */
static void has_handle(struct send_thread *thread, void *handle)
{
    ((uv_handle_t *)handle)->data = thread;
    thread->handles++;
    uv_unref(handle);
}

static void handle_closed(uv_handle_t *handle)
{
    struct send_thread *thread = handle->data;
    if (--thread->handles == 0)
        memory_piece_drop(thread, sizeof *thread);
}

static void close_handles(struct send_thread *thread)
{
    pthread_cond_destroy(&thread->was_given);
    pthread_cond_destroy(&thread->was_done);
    pthread_mutex_destroy(&thread->mutex);
    uv_close((uv_handle_t *)&thread->turn_begins, handle_closed);
    uv_close((uv_handle_t *)&thread->turn_ends, handle_closed);
    uv_close((uv_handle_t *)&thread->has_returned, handle_closed);
}

enum fail send_thread_start(struct send_thread **made, uv_loop_t *loop, unsigned few,
                            void (*returned)(struct outlet *outlet), struct failure *failure)
{
    struct send_thread *thread = memory_piece(sizeof *thread);
    thread->few = few;
    thread->tell = returned;
    pthread_mutex_init(&thread->mutex, NULL);
    pthread_cond_init(&thread->was_given, NULL);
    pthread_cond_init(&thread->was_done, NULL);
    int error = uv_async_init(loop, &thread->has_returned, on_returned);
    if (error) {
        memory_piece_drop(thread, sizeof *thread);
        return failure_set(failure, FAIL_UNAVAILABLE, "a thread that sends: %s",
                           uv_strerror(error));
    }
    (void)uv_check_init(loop, &thread->turn_begins);
    (void)uv_prepare_init(loop, &thread->turn_ends);
    (void)uv_check_start(&thread->turn_begins, on_turn_begins);
    (void)uv_prepare_start(&thread->turn_ends, on_turn_ends);
    has_handle(thread, &thread->has_returned);
    has_handle(thread, &thread->turn_begins);
    has_handle(thread, &thread->turn_ends);
    error = thread_start(&thread->thread, send_pieces, thread);
    if (error) {
        close_handles(thread);
        return failure_set(failure, FAIL_UNAVAILABLE, "a thread that sends: %s", strerror(error));
    }
    *made = thread;
    return FAIL_NONE;
}

void send_thread_stop(struct send_thread *thread)
{
    pthread_mutex_lock(&thread->mutex);
    thread->is_ending = true;
    pthread_cond_signal(&thread->was_given);
    pthread_mutex_unlock(&thread->mutex);
    (void)pthread_join(thread->thread, NULL);
    tell_returned(thread);
    close_handles(thread);
}
