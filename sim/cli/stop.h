/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C asks a simulation to stop; the second one ends the program at once. */
#ifndef SIM_CLI_STOP_H
#define SIM_CLI_STOP_H

#include <stdbool.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned, once; the next one does
 * what it does by default. Commands that do not look at the flag never call this.
 */
const bool *stop_watch(void);

#endif
