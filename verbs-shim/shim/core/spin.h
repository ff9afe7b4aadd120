/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait in a loop over their own memory. Private to shim/core. */
#ifndef VERBS_SHIM_SHIM_CORE_SPIN_H
#define VERBS_SHIM_SHIM_CORE_SPIN_H

#include "verbs-shim/shim/actor.h"

/* The calling thread has become this actor: it is watched from now on. Silent if it cannot be. */
void spin_begin(struct actor *a);
/* It is about to leave. */
void spin_end(void);
/* It has the turn again. Cheap for a thread that never waited so. */
void spin_go_on(struct actor *a);

#endif
