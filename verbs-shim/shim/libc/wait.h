/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that end also when a timer's signal handler has run. */
#ifndef VERBS_SHIM_SHIM_LIBC_WAIT_H
#define VERBS_SHIM_SHIM_LIBC_WAIT_H

#include "verbs-shim/shim/libc/alarm.h"

enum wait_end {
    WAIT_DONE,
    WAIT_TIMEOUT,
    WAIT_RESTART, /* a handler ran; only calls that never restart say EINTR */
    WAIT_SIGNAL,  /* a handler ran: EINTR */
};

/* WAIT_TIMEOUT when `t` has come. */
enum wait_end wait_until(struct actor *a, simtime t);
/* As actor_wait_outside. Asks `try` first. */
enum wait_end wait_outside(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline);
/* The same for one of several descriptors, among which there may be those of completions. */
enum wait_end wait_descriptors(struct actor *a, bool (*try)(void *ctx), void *ctx,
                               simtime deadline);
/* The same for calls that a handler with SA_RESTART does not interrupt. */
enum wait_end wait_outside_restarting(struct actor *a, bool (*try)(void *ctx), void *ctx,
                                      simtime deadline);

/*
 * How every call on a socket, a pipe or a child begins: it costs its time, and nobody whose time is
 * earlier has still to act. So what several processes do to each other through the kernel happens
 * in order of virtual time.
 */
static inline void begin_outside(struct actor *a)
{
    actor_charge(a, PROTO_CHARGE_SOCKET, 1);
    actor_order(a);
}

#endif
