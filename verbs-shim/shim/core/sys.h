/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of the shim itself: straight to the kernel, since libc's names lead to our own
 * interposed functions. They leave errno alone and return -errno on failure.
 */
#ifndef VERBS_SHIM_SHIM_CORE_SYS_H
#define VERBS_SHIM_SHIM_CORE_SYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits while *word == value, at most `ms` milliseconds of real time. */
void sys_futex_wait(_Atomic uint32_t *word, uint32_t value, int ms);
void sys_futex_wake(_Atomic uint32_t *word, int count);
/* One message on a socket; never waits, never raises SIGPIPE. */
void sys_send(int fd, const void *message, size_t length);
/* True when the other end of the socket is gone. */
bool sys_is_hung_up(int fd);
void sys_write(int fd, const void *bytes, size_t length);
/* Would a read find something? */
bool sys_is_readable(int fd);
void sys_read(int fd, void *bytes, size_t length);
void sys_close(int fd);
uint32_t sys_thread_id(void);
/* Processor time of the calling thread, in nanoseconds. */
int64_t sys_thread_ns(void);
/* The calling thread runs on this processor only, and does not take it from whoever woke it. */
void sys_settle(uint32_t cpu);
/* Undoes the process's first sys_settle for the calling thread. */
void sys_unsettle(void);
/* In a program that a settled thread has started: gives it the processors that `hex` names, two
 * digits for each byte of a mask. */
void sys_unsettle_child(const char *hex);
/* The processors that the process had before, as sched_getaffinity gives them: returns the bytes
 * written, 0 when it never settled. */
size_t sys_old_cpus(void *mask, size_t size);
/* A timer for the calling thread alone, that sends it signal `number` with the kind as its value.
 * Returns its own number, -1: there are no more. */
enum sys_timer_kind {
    SYS_TIMER_CPU,  /* of the thread's processor time */
    SYS_TIMER_REAL, /* of real time */
};
int sys_timer_new(enum sys_timer_kind kind, int number);
/* In `ns` (0: never), and then each `interval` (0: once). */
void sys_timer_set(int timer, long ns, long interval);
void sys_timer_delete(int timer);
/* Ends this process at once, by SIGKILL. */
_Noreturn void sys_die(void);

#endif
