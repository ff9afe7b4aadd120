/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fault_set(struct fault *fault, const char *format, ...)
{
    va_list args;

    if (fault->text[0])
        return false;
    va_start(args, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

bool fault_errno(struct fault *fault, int code, const char *format, ...)
{
    char what[160];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the two libraries' strerror only format a number
    return fault_set(fault, "%s: %s (%d)", what, strerror(code), code);
}
