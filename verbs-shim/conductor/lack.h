/* SPDX-License-Identifier: Apache-2.0 */
/* What this computer does not give us, and what its user can do about it. */
#ifndef VERBS_SHIM_CONDUCTOR_LACK_H
#define VERBS_SHIM_CONDUCTOR_LACK_H

#include <stdbool.h>

#include "sim/base/err.h"

/* Fills *reterr from errno: `what` failed. Always returns false. */
bool lack_report(const char *what, struct err *reterr);
/* The same for a file or folder of the run. */
bool lack_report_path(const char *path, struct err *reterr);

#endif
