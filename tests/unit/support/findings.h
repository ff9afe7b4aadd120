/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into the result of a check. */
#ifndef TESTS_UNIT_SUPPORT_FINDINGS_H
#define TESTS_UNIT_SUPPORT_FINDINGS_H

#include <string.h>

#include "sim/plan/check.h"

/* The nth finding of that id, from 0; NULL when there are fewer. */
static inline const struct finding *finding_nth(const struct check_result *result, const char *id,
                                                size_t nth)
{
    for (size_t i = 0; i < result->finding_count; i++) {
        if (strcmp(result->findings[i].id, id) == 0 && nth-- == 0)
            return &result->findings[i];
    }
    return NULL;
}

static inline const struct finding *finding_of(const struct check_result *result, const char *id)
{
    return finding_nth(result, id, 0);
}

static inline size_t finding_count(const struct check_result *result, const char *id)
{
    size_t count = 0;

    while (finding_nth(result, id, count))
        count++;
    return count;
}

static inline size_t finding_errors(const struct check_result *result)
{
    size_t count = 0;

    for (size_t i = 0; i < result->finding_count; i++)
        count += result->findings[i].severity == CHECK_ERROR;
    return count;
}

/* Does a text of the finding hold this piece? False when there is no finding. */
static inline bool says(const struct finding *finding, const char *piece)
{
    return finding && (strstr(finding->where, piece) || strstr(finding->why, piece) ||
                       strstr(finding->fix, piece));
}

#endif
