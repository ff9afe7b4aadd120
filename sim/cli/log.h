/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to stderr: an error line is written if and only if the exit code is not 0. */
#ifndef SIM_CLI_LOG_H
#define SIM_CLI_LOG_H

#include "sim/base/err.h"

/* "tbmesh: ..." with a newline. Bytes that would steer a terminal are shown as \xNN. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "file:line:col: message", without the parts that are zero. */
void log_err(const struct err *err);
/* All of them, and how many were left out. */
void log_err_list(const struct err_list *errs);

#endif
