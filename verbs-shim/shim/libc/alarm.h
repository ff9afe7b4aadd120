/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of the process in virtual time: alarm, setitimer, timer_create, timerfd. */
#ifndef VERBS_SHIM_SHIM_LIBC_ALARM_H
#define VERBS_SHIM_SHIM_LIBC_ALARM_H

#include <stdbool.h>

#include "verbs-shim/shim/actor.h"

/* When the next timer of the process is due, or a signal for the actor; or never. */
simtime alarm_next(const struct actor *a);

enum alarm_effect {
    ALARM_NONE,
    ALARM_RESTARTED, /* a handler ran that asks for restarted calls (SA_RESTART) */
    ALARM_HANDLED,   /* a handler ran: calls that wait say EINTR */
};

/* Lets every timer that is due at the actor's time fire, and every signal for it arrive. */
enum alarm_effect alarm_fire(struct actor *a);

/* The same where the program does not wait. */
void alarm_hook(struct actor *a);

/* The descriptor has been closed or replaced. */
void alarm_forget_fd(int fd);
/* In a child of fork: timers are not inherited. */
void alarm_forget_all(void);

#endif
