/* SPDX-License-Identifier: Apache-2.0 */
/* models/ and plots/ as they were when the program was built. */
#ifndef SIM_CLI_EMBEDDED_H
#define SIM_CLI_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
    const char *name; /* "models/cables.yaml" */
    const unsigned char *bytes;
    size_t length;
};

/* Sorted by name; ends with a NULL name. */
extern const struct embedded_file embedded_files[];

#endif
