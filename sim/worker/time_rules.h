/* time_rules.h - what a page means to whoever answers by it: the library in the worker (shim/), or
 * the supervisor beside it (calls/). Nothing here asks the kernel. */
#ifndef PICKLOCK_WORKER_TIME_RULES_H
#define PICKLOCK_WORKER_TIME_RULES_H

#include "live/clock.h"
#include "worker/time_page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { TIME_SECOND_US = 1000000 };

/* A program that reads the clock so often without a wait in between waits for it to go on ("until
 * now > end" at the very instant): it creeps. An engine that loads a large program reads it some
 * thousand times, too (V8, for itself); who waits between two reads for what is over waits for the
 * clock the more (Ruby's sleep). */
enum { TIME_SPINS_MAX = 20000, TIME_SPINS_A_WAIT = 200 };

static inline bool time_is_wall(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ||
           clock == CLOCK_REALTIME_ALARM;
}

static inline bool time_is_monotonic(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
           clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME ||
           clock == CLOCK_BOOTTIME_ALARM;
}

/* What that clock says at world time 0. */
static inline int64_t time_base_us(const struct time_page *page, clockid_t clock)
{
    return time_is_wall(clock) ? CLOCK_EPOCH_US + atomic_load(&page->wall_offset_us)
                               : TIME_MONOTONIC_US;
}

/* When that clock shows that: a wait until then. */
static inline int64_t time_instant_us(struct time_page *page, clockid_t clock, int64_t shown_us)
{
    if (time_is_wall(clock))
        atomic_fetch_add(&page->counts.wall_waits, 1);
    return shown_us - time_base_us(page, clock);
}

/* Rounded up. */
static inline int64_t time_up_us(const struct timespec *amount)
{
    if (amount->tv_sec > INT32_MAX)
        return (int64_t)INT32_MAX * TIME_SECOND_US;
    return (int64_t)amount->tv_sec * TIME_SECOND_US + (amount->tv_nsec + 999) / 1000;
}

static inline struct timespec time_of_us(int64_t us)
{
    return (struct timespec){.tv_sec = us / TIME_SECOND_US, .tv_nsec = us % TIME_SECOND_US * 1000};
}

/* --- random: SplitMix64 (Steele, Lea and Flood, 2014) --- */

static inline uint64_t time_draw(struct time_page *page)
{
    uint64_t bits =
        page->seed + (atomic_fetch_add(&page->drawn, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static inline void time_draw_bytes(struct time_page *page, void *bytes, size_t length)
{
    for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
        const uint64_t bits = time_draw(page);
        const size_t part = length - done < sizeof bits ? length - done : sizeof bits;
        memcpy((char *)bytes + done, &bits, part);
    }
}

/* --- where it may connect to --- */

static inline bool time_is_inet(const struct sockaddr *address, socklen_t length)
{
    return length >= (socklen_t)sizeof(struct sockaddr_in) &&
           (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

/* The address, or the one that IPv6 knows it by (Java). */
static inline bool time_is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    static const unsigned char mapped[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
    if (address->sa_family == AF_INET)
        return four->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    return address->sa_family == AF_INET6 && memcmp(&six->sin6_addr, mapped, sizeof mapped) == 0;
}

static inline bool time_is_our_port(const struct time_page *page, const struct sockaddr *address)
{
    const struct sockaddr_in *inet = (const void *)address; /* the port stands there in both */
    if (!time_is_loopback(address))
        return false;
    for (int i = 0; i < TIME_PORTS_MAX; i++)
        if (page->ports[i] && page->ports[i] == ntohs(inet->sin_port))
            return true;
    return false;
}

static inline void time_print_address(char text[TIME_WORDS_MAX], const struct sockaddr *address)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    const bool is_six = address->sa_family == AF_INET6;
    (void)inet_ntop(address->sa_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr,
                    host, sizeof host);
    (void)snprintf(text, TIME_WORDS_MAX, is_six ? "[%s]:%d" : "%s:%d", host,
                   ntohs(is_six ? six->sin6_port : four->sin_port));
}

#endif
