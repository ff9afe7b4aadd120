/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/shim/core/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as the kernel numbers them
static long raw_call(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static long raw_call6(long number, const long *args)
{
    long result;
    register long r10 __asm__("r10") = args[3];
    register long r8 __asm__("r8") = args[4];
    register long r9 __asm__("r9") = args[5];

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8),
                       "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static long raw_call6(long number, const long *args)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = args[0];
    register long x1 __asm__("x1") = args[1];
    register long x2 __asm__("x2") = args[2];
    register long x3 __asm__("x3") = args[3];
    register long x4 __asm__("x4") = args[4];
    register long x5 __asm__("x5") = args[5];

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as the kernel numbers them
static long raw_call(long number, long a, long b, long c, long d)
{
    return raw_call6(number, (const long[6]){a, b, c, d, 0, 0});
}
#else
#error "the shim knows the system calls of x86-64 and aarch64 only"
#endif

void sys_futex_wait(_Atomic uint32_t *word, uint32_t value, int ms)
{
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L};

    (void)raw_call(SYS_futex, (long)word, FUTEX_WAIT, (long)value, (long)&limit);
}

void sys_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)raw_call(SYS_futex, (long)word, FUTEX_WAKE, count, 0);
}

void sys_send(int fd, const void *message, size_t length)
{
    (void)raw_call6(SYS_sendto, (const long[6]){fd, (long)message, (long)length,
                                                MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0});
}

/* What of `events` is true now. */
static int look_at(int fd, short events)
{
    struct pollfd pollfd = {.fd = fd, .events = events};
    const struct timespec now = {0};
    long count = raw_call6(SYS_ppoll, (const long[6]){(long)&pollfd, 1, (long)&now, 0, 0, 0});

    return count == 1 ? pollfd.revents : 0;
}

bool sys_is_hung_up(int fd)
{
    return look_at(fd, POLLRDHUP) & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL);
}

bool sys_is_readable(int fd)
{
    return look_at(fd, POLLIN) & POLLIN;
}

void sys_read(int fd, void *bytes, size_t length)
{
    (void)raw_call(SYS_read, fd, (long)bytes, (long)length, 0);
}

void sys_write(int fd, const void *bytes, size_t length)
{
    (void)raw_call(SYS_write, fd, (long)bytes, (long)length, 0);
}

void sys_close(int fd)
{
    (void)raw_call(SYS_close, fd, 0, 0, 0);
}

uint32_t sys_thread_id(void)
{
    return (uint32_t)raw_call(SYS_gettid, 0, 0, 0, 0);
}

int64_t sys_thread_ns(void)
{
    struct timespec now = {0};

    (void)raw_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now, 0, 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define MASK_BYTES 128 /* 1,024 processors */

static unsigned char old_mask[MASK_BYTES];
static long old_bytes;

void sys_settle(uint32_t cpu)
{
    unsigned char mask[MASK_BYTES] = {0};
    const struct sched_param none = {0};

    if (cpu >= MASK_BYTES * 8)
        return;
    if (old_bytes == 0) {
        old_bytes = raw_call(SYS_sched_getaffinity, 0, MASK_BYTES, (long)old_mask, 0);
        if (old_bytes <= 0) {
            old_bytes = 0;
            return;
        }
    }
    mask[cpu / 8] = (unsigned char)(1U << cpu % 8);
    (void)raw_call(SYS_sched_setaffinity, 0, MASK_BYTES, (long)mask, 0);
    /* Else whoever is woken takes the processor at once, and his waker needs it once more only to
     * go to sleep. */
    (void)raw_call(SYS_sched_setscheduler, 0, SCHED_BATCH, (long)&none, 0);
}

void sys_unsettle(void)
{
    const struct sched_param none = {0};

    if (old_bytes == 0)
        return;
    (void)raw_call(SYS_sched_setaffinity, 0, old_bytes, (long)old_mask, 0);
    (void)raw_call(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&none, 0);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void sys_unsettle_child(const char *hex)
{
    unsigned char mask[MASK_BYTES] = {0};
    const struct sched_param none = {0};
    size_t bytes = 0;

    /* Only a settled thread has this policy. */
    if (raw_call(SYS_sched_getscheduler, 0, 0, 0, 0) != SCHED_BATCH)
        return;
    for (; bytes < MASK_BYTES && digit_of(hex[0]) >= 0 && digit_of(hex[1]) >= 0; hex += 2)
        mask[bytes++] = (unsigned char)(digit_of(hex[0]) << 4 | digit_of(hex[1]));
    if (bytes == 0)
        return;
    (void)raw_call(SYS_sched_setaffinity, 0, MASK_BYTES, (long)mask, 0);
    (void)raw_call(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&none, 0);
}

size_t sys_old_cpus(void *mask, size_t size)
{
    size_t bytes = (size_t)old_bytes < size ? (size_t)old_bytes : size;

    memcpy(mask, old_mask, bytes);
    return bytes;
}

int sys_timer_new(enum sys_timer_kind kind, int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    int timer = -1;

    event.sigev_value.sival_int = (int)kind;
    event._sigev_un._tid = (int)sys_thread_id();
    if (raw_call(SYS_timer_create,
                 kind == SYS_TIMER_CPU ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, (long)&event,
                 (long)&timer, 0) != 0)
        return -1;
    return timer;
}

void sys_timer_set(int timer, long ns, long interval)
{
    const struct itimerspec spec = {
        .it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000},
        .it_interval = {.tv_sec = interval / 1000000000, .tv_nsec = interval % 1000000000}};

    (void)raw_call(SYS_timer_settime, timer, 0, (long)&spec, 0);
}

void sys_timer_delete(int timer)
{
    (void)raw_call(SYS_timer_delete, timer, 0, 0, 0);
}

_Noreturn void sys_die(void)
{
    for (;;)
        (void)raw_call(SYS_kill, raw_call(SYS_getpid, 0, 0, 0, 0), SIGKILL, 0, 0);
}
