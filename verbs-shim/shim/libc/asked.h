/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to processes outside the run, when a launcher has started this one. */
#ifndef VERBS_SHIM_SHIM_LIBC_ASKED_H
#define VERBS_SHIM_SHIM_LIBC_ASKED_H

#include <stdbool.h>

/* Bytes have gone out of the socket, or come in. */
void asked_note(int fd, bool is_out);
/* The descriptor is gone. */
void asked_closed(int fd);

#endif
