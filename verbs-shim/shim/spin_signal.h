/* SPDX-License-Identifier: Apache-2.0 */
/* The signal by which the shim finds threads that wait in a loop over memory. It is taken from
 * programs of a run as the C library takes its own: masks never block it, actions are EINVAL. */
#ifndef VERBS_SHIM_SHIM_SPIN_SIGNAL_H
#define VERBS_SHIM_SHIM_SPIN_SIGNAL_H

/* The kernel's number: SIGRTMAX is 64, and some tools take that one and its neighbour. */
#define SPIN_SIGNAL 61

#endif
