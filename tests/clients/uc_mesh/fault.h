/* SPDX-License-Identifier: Apache-2.0 */
/* Why something failed, in a sentence. The first fault stays. */
#ifndef TESTS_CLIENTS_UC_MESH_FAULT_H
#define TESTS_CLIENTS_UC_MESH_FAULT_H

#include <stdbool.h>

struct fault {
    char text[320];
};

/* Returns: false, always, so that `return fault_set(...)` ends a function. */
bool fault_set(struct fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with ": strerror (number)" behind; `code` is an errno value. */
bool fault_errno(struct fault *fault, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
