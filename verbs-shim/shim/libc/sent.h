/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that threads of this process, or its timers, send to threads of this process. */
#ifndef VERBS_SHIM_SHIM_LIBC_SENT_H
#define VERBS_SHIM_SHIM_LIBC_SENT_H

#include <signal.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/alarm.h"

/* To the process: to the calling thread, which is `a`'s, unless that blocks it. Returns what became
 * of it in this thread. */
enum alarm_effect sent_to_process(struct actor *a, const siginfo_t *info);
/* To an actor of this process, by its number. */
enum alarm_effect sent_to_actor(struct actor *a, uint32_t number, const siginfo_t *info);

/* Lets arrive what has been sent to the calling thread, as far as its time has come. */
enum alarm_effect sent_take(struct actor *a);
/* When the next will arrive; or never. */
simtime sent_next(const struct actor *a);

/* The calling thread ends: what was sent to it is lost, what was sent to the process is not. */
void sent_end(struct actor *a);
/* In a child of fork: pending signals are not inherited. */
void sent_forget_all(void);

#endif
