/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Expectations, their verdict
 *
 * An assertion about an operation holds when it holds for every row of the results that its
 * filters let through, and fails when there is none: a scenario that asserts nothing by accident
 * is worse than one that fails. A ratio needs exactly one row on each side. A row that ended in a
 * deadlock, or has no finished repetition, has no latency to compare.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/plan/check.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/quantity.h"
#include "sim/workload/run.h"

#define SEEN_MAX sizeof(((struct expect_outcome *)0)->seen)

/* What a field holds: a number of the field's type, or a name. */
struct seen_value {
    enum expect_type type;
    int64_t number;
    const char *name;
};

static struct expect_outcome outcome(enum expect_verdict verdict, const char *seen)
{
    struct expect_outcome ret = {.verdict = verdict};

    (void)snprintf(ret.seen, sizeof ret.seen, "%s", seen);
    return ret;
}

/* A count in thousandths, kept below overflow. */
static int64_t thousandths(uint64_t count)
{
    return count > INT64_MAX / 1000 ? INT64_MAX : (int64_t)count * 1000;
}

/* Part of all shares, in thousandths of a percent. */
static int64_t percent_of(const struct run_shares *s, simspan part)
{
    u128 total = (u128)s->wire.ps + (u128)s->copy.ps + (u128)s->reduce.ps + (u128)s->software.ps +
                 (u128)s->credit.ps + (u128)s->handoff.ps;

    return total == 0 ? 0 : (int64_t)((u128)part.ps * 100000 / total);
}

static int64_t share_number(const struct run_shares *s, const char *name)
{
    const struct {
        const char *name;
        simspan span;
    } parts[] = {
        {"wire", s->wire},         {"copy", s->copy},     {"reduce", s->reduce},
        {"software", s->software}, {"credit", s->credit}, {"handoff", s->handoff},
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, name) == 0)
            return percent_of(s, parts[i].span);
    }
    return 0;
}

static int64_t latency_number(const struct run_result *row, const char *name)
{
    if (strcmp(name, "min") == 0)
        return row->latency_min.ps;
    if (strcmp(name, "median") == 0)
        return row->latency_median.ps;
    if (strcmp(name, "p99") == 0)
        return row->latency_p99.ps;
    if (strcmp(name, "mean") == 0)
        return row->latency_mean.ps;
    return row->latency_max.ps;
}

/* The value of one of the fields of expect.c in a row. */
static struct seen_value row_value(const struct run_result *row, const char *field,
                                   enum expect_type type)
{
    struct seen_value value = {.type = type, .name = ""};

    if (strncmp(field, "latency.", 8) == 0)
        value.number = latency_number(row, field + 8);
    else if (strncmp(field, "share.", 6) == 0)
        value.number = share_number(&row->shares, field + 6);
    else if (strcmp(field, "algbw") == 0)
        value.number = (int64_t)row->algbw.bps;
    else if (strcmp(field, "busbw") == 0)
        value.number = (int64_t)row->busbw.bps;
    else if (strcmp(field, "sender_rate") == 0)
        value.number = (int64_t)row->sender_rate.bps;
    else if (strcmp(field, "bound") == 0)
        value.number = row->bound.ps;
    else if (strcmp(field, "messages") == 0)
        value.number = thousandths(row->messages);
    else if (row->limit)
        value.name = row->limit;
    return value;
}

static bool filter_matches(const struct expectation *e, size_t index, const struct run_result *row)
{
    const char *key = e->filters[index].key;
    const char *value = e->filters[index].value;
    int64_t number = e->filters[index].number;

    if (strcmp(key, "size") == 0)
        return row->size.bytes == (uint64_t)number;
    if (strcmp(key, "nodes") == 0)
        return row->nodes == (uint64_t)number;
    if (strcmp(key, "library") == 0)
        return strcmp(run_library_name(row->item->library), value) == 0;
    if (strcmp(key, "jaccl") == 0)
        return strcmp(jaccl_version_name(row->item->jaccl), value) == 0;
    if (strcmp(key, "handoff") == 0)
        return strcmp(handoff_name(row->item->handoff), value) == 0;
    return strcmp(dtype_name(row->item->dtype), value) == 0;
}

static bool row_matches(const struct expectation *e, const struct run_result *row)
{
    if (strcmp(run_op_name(row->item->op), e->subject) != 0)
        return false;
    for (size_t i = 0; i < e->filter_count; i++) {
        if (!filter_matches(e, i, row))
            return false;
    }
    return true;
}

static bool compare_numbers(enum expect_op op, int64_t a, int64_t b)
{
    switch (op) {
    case EXPECT_LT:
        return a < b;
    case EXPECT_LE:
        return a <= b;
    case EXPECT_GT:
        return a > b;
    case EXPECT_GE:
        return a >= b;
    case EXPECT_EQ:
        return a == b;
    case EXPECT_NE:
        return a != b;
    case EXPECT_HAS:
    case EXPECT_HAS_NOT:
        break; /* of lists, which are compared elsewhere */
    }
    return false;
}

static bool holds(const struct expectation *e, const struct seen_value *value)
{
    if (value->type != EXPECT_TYPE_NAME)
        return compare_numbers(e->op, value->number, e->value);
    assert(value->name && e->name);
    return (strcmp(value->name, e->name) == 0) == (e->op == EXPECT_EQ);
}

static void print_thousandths(char *ret, size_t size, int64_t value)
{
    if (value % 1000 == 0)
        (void)snprintf(ret, size, "%" PRId64, value / 1000);
    else
        (void)snprintf(ret, size, "%" PRId64 ".%03d", value / 1000, (int)(value % 1000));
}

static void print_value(char *ret, size_t size, const struct seen_value *value)
{
    char text[QUANTITY_TEXT_MAX];

    switch (value->type) {
    case EXPECT_TYPE_SPAN:
        quantity_format(text, QUANTITY_SPAN, value->number);
        (void)snprintf(ret, size, "%s", text);
        break;
    case EXPECT_TYPE_RATE:
        quantity_format(text, QUANTITY_RATE, value->number);
        (void)snprintf(ret, size, "%s", text);
        break;
    case EXPECT_TYPE_SIZE:
        quantity_format(text, QUANTITY_SIZE, value->number);
        (void)snprintf(ret, size, "%s", text);
        break;
    case EXPECT_TYPE_NUMBER:
        print_thousandths(ret, size, value->number);
        break;
    case EXPECT_TYPE_BOOL:
        (void)snprintf(ret, size, "%s", value->number ? "true" : "false");
        break;
    case EXPECT_TYPE_NAME:
        (void)snprintf(ret, size, "%s", *value->name ? value->name : "nothing");
        break;
    }
}

static struct expect_outcome judge(const struct expectation *e, const struct seen_value *value)
{
    struct expect_outcome ret = {.verdict = holds(e, value) ? EXPECT_HOLDS : EXPECT_FAILS};

    print_value(ret.seen, sizeof ret.seen, value);
    return ret;
}

/* A row without a finished repetition has nothing to compare. */
static bool has_values(const struct run_result *row)
{
    return !row->is_deadlock && row->samples > 0;
}

/* All rows that match: the first that fails speaks, else the last. */
static struct expect_outcome judge_rows(const struct expectation *e, const struct sim_result *sim)
{
    struct expect_outcome ret = outcome(EXPECT_NO_SUBJECT, "no result matches");

    for (size_t i = 0; i < sim->row_count; i++) {
        const struct run_result *row = &sim->rows[i];

        if (!row_matches(e, row))
            continue;
        if (!has_values(row))
            return outcome(EXPECT_FAILS, row->is_deadlock ? "the run ended in a deadlock"
                                                          : "no repetition finished");

        struct seen_value value = row_value(row, e->field, e->type);

        ret = judge(e, &value);
        if (ret.verdict == EXPECT_FAILS)
            return ret;
    }
    return ret;
}

/* The one row that one side of a ratio means; NULL and a reason in *ret otherwise. */
static const struct run_result *find_only_row(const struct expectation *e,
                                              const struct sim_result *sim,
                                              struct expect_outcome *ret)
{
    const struct run_result *found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < sim->row_count; i++) {
        if (!row_matches(e, &sim->rows[i]))
            continue;
        found = &sim->rows[i];
        count++;
    }
    if (count != 1) {
        ret->verdict = EXPECT_NO_SUBJECT;
        (void)snprintf(ret->seen, SEEN_MAX, "%s of a ratio matches %zu results; one is wanted",
                       e->subject, count);
        return NULL;
    }
    if (!has_values(found)) {
        *ret = outcome(EXPECT_FAILS, "a run of the ratio did not finish");
        return NULL;
    }
    return found;
}

static struct expect_outcome judge_ratio(const struct expectation *e, const struct sim_result *sim)
{
    const struct expectation *other = e->ratio_to;
    struct expect_outcome ret = {.verdict = EXPECT_NO_SUBJECT};
    const struct run_result *a = find_only_row(e, sim, &ret);
    const struct run_result *b = a ? find_only_row(other, sim, &ret) : NULL;
    struct seen_value value = {.type = EXPECT_TYPE_NUMBER, .name = ""};

    if (!a || !b)
        return ret;

    int64_t over = row_value(a, e->field, other->type).number;
    int64_t under = row_value(b, other->field, other->type).number;

    if (under == 0)
        return outcome(EXPECT_FAILS, "the divisor is zero");

    u128 ratio = (u128)over * 1000 / (u128)under;

    value.number = ratio > (u128)INT64_MAX ? INT64_MAX : (int64_t)ratio;
    return judge(e, &value);
}

static struct expect_outcome judge_findings(const struct expectation *e,
                                            const struct check_result *check)
{
    bool is_there = false;

    for (size_t i = 0; i < check->finding_count; i++)
        is_there |= strcmp(check->findings[i].id, e->name) == 0;
    return outcome(is_there == (e->op == EXPECT_HAS) ? EXPECT_HOLDS : EXPECT_FAILS,
                   is_there ? "it is among the findings" : "it is not among the findings");
}

static struct expect_outcome judge_check(const struct expectation *e,
                                         const struct check_result *check)
{
    struct seen_value value = {.type = e->type, .name = ""};

    if (strcmp(e->field, "findings") == 0)
        return judge_findings(e, check);
    if (strcmp(e->field, "feasible") == 0)
        value.number = check->is_feasible;
    else if (strcmp(e->field, "binding") == 0)
        value.name = check->binding;
    else if (strcmp(e->field, "cables") == 0)
        value.number = thousandths(check->cables);
    else if (strcmp(e->field, "mesh_cables") == 0)
        value.number = thousandths(check->mesh_cables);
    else if (strcmp(e->field, "max_full_mesh") == 0)
        value.number = thousandths(check->max_full_mesh);
    else
        value.number = thousandths(check->max_full_mesh_cautious);
    return judge(e, &value);
}

static struct expect_outcome judge_fact(const struct expectation *e, const struct sim_result *sim)
{
    struct seen_value value = {.type = e->type, .name = ""};

    if (strcmp(e->subject, "deadlock") == 0)
        value.number = sim->is_deadlock;
    else if (strcmp(e->subject, "wrong") == 0)
        value.number = sim->is_wrong;
    else if (strcmp(e->subject, "frames_lost") == 0)
        value.number = thousandths(sim->frames_lost);
    else if (strcmp(e->subject, "frames_corrupted") == 0)
        value.number = thousandths(sim->frames_corrupted);
    else
        value.number = thousandths(sim->frames);
    return judge(e, &value);
}

struct expect_outcome expect_evaluate(const struct expectation *expectation,
                                      const struct sim_result *sim,
                                      const struct check_result *check)
{
    bool is_check = strcmp(expectation->subject, "check") == 0;

    if (is_check && expectation->ratio_to)
        return outcome(EXPECT_NO_SUBJECT, "a ratio is between results of runs");
    if (is_check)
        return check ? judge_check(expectation, check) : outcome(EXPECT_NOT_RUN, "not checked");
    if (!sim)
        return outcome(EXPECT_NOT_RUN, "not simulated");
    if (expectation->ratio_to)
        return judge_ratio(expectation, sim);
    if (*expectation->field == '\0')
        return judge_fact(expectation, sim);
    return judge_rows(expectation, sim);
}
