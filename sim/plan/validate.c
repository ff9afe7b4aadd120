/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Validation
 *
 * Each row is simulated three times: with the parameters as they are, and with every time and rate
 * that took part at the end of its believed range, all towards fast (small times, large rates) and
 * all towards slow. The two corners are an envelope: the truth lies between them as long as the
 * ranges hold the truth and the model is right. Counts and sizes stay: more is not always faster.
 *
 * Summary: over the absolute errors of the expressed rows that are not impossible. The median of an
 * even number is the mean of the middle two; p90 is the smallest error that at least 90 % of the
 * rows do not exceed. Errors are integers, in millionths, so that they are the same everywhere.
 */
#include "sim/plan/validate.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/workload/run.h"

#define PPM         INT64_C(1000000)
#define ERROR_LIMIT INT64_C(1000000000000)

static const char *const label_texts[] = {
    [VALIDATE_FITTED] = "fitted",
    [VALIDATE_MEASURED] = "measured",
    [VALIDATE_INTERPOLATED] = "interpolated",
    [VALIDATE_EXTRAPOLATED] = "extrapolated",
    [VALIDATE_IMPOSSIBLE] = "impossible",
};

const char *validate_label_text(enum validate_label label)
{
    return label_texts[label];
}

/* |difference| / base in millionths, up to ERROR_LIMIT; base > 0. */
static int64_t share_ppm(int64_t difference, int64_t base)
{
    uint64_t magnitude = (uint64_t)(difference < 0 ? -difference : difference);
    u128 ppm = (u128)magnitude * (uint64_t)PPM / (uint64_t)base;

    return ppm > (u128)ERROR_LIMIT ? ERROR_LIMIT : (int64_t)ppm;
}

int64_t validate_error_ppm(const struct measurement *row, int64_t predicted)
{
    if (predicted < row->low)
        return -share_ppm(row->low - predicted, row->low);
    if (predicted > row->high)
        return share_ppm(predicted - row->high, row->high);
    return 0;
}

/* The times and rates that took part, at the end of their ranges that makes a run faster or slower.
 */
static void set_corner(const struct param_set *params, const struct prediction *middle,
                       bool is_fast, struct param_set *ret)
{
    *ret = *params;
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        struct param_value *v = &ret->v[i];
        enum param_unit unit = param_unit_of((enum param_id)i);
        bool is_span = unit == PARAM_UNIT_SPAN;

        if (middle->had_effect[i] && (is_span || unit == PARAM_UNIT_RATE))
            v->value = is_span == is_fast ? v->low : v->high;
    }
}

static void widen(struct validate_row *row, int64_t value)
{
    if (value < row->low)
        row->low = value;
    if (value > row->high)
        row->high = value;
}

/* Are these the same set-up? With `with_size` false, sizes and counts may differ. */
static bool is_alike(const struct predict_case *a, const struct predict_case *b, bool with_size)
{
    const struct run_item *x = &a->item;
    const struct run_item *y = &b->item;

    if (x->op != y->op || x->library != y->library || x->is_duplex != y->is_duplex ||
        x->is_cold != y->is_cold || x->handoff != y->handoff)
        return false;
    if (!with_size)
        return true;
    for (size_t i = 0; i < a->cluster.host_count && i < b->cluster.host_count; i++) {
        if (strcmp(a->cluster.hosts[i].model->name, b->cluster.hosts[i].model->name) != 0)
            return false;
    }
    return x->sizes[0].bytes == y->sizes[0].bytes && x->depth == y->depth && x->jaccl == y->jaccl &&
           x->is_round_trip == y->is_round_trip && x->node_count == y->node_count &&
           a->cluster.cable_count == b->cluster.cable_count;
}

static bool is_same_row(const struct measurement *a, const struct measurement *b)
{
    return strcmp(a->id, b->id) == 0 && a->kind == b->kind && a->nodes == b->nodes &&
           a->cables_per_pair == b->cables_per_pair && a->size.bytes == b->size.bytes &&
           a->unit == b->unit && a->low == b->low && a->high == b->high &&
           strcmp(a->hosts, b->hosts) == 0 && strcmp(a->stack, b->stack) == 0;
}

/* Smallest and largest of what the fit saw of one operation and library. */
struct span_of_fit {
    uint64_t size_low, size_high;
    size_t nodes_low, nodes_high;
    size_t cables_low, cables_high;
    bool is_set;
};

static void take_into_span(struct span_of_fit *span, const struct predict_case *c)
{
    uint64_t size = c->item.sizes[0].bytes;
    size_t nodes = c->item.node_count;
    size_t cables = c->cluster.cable_count;

    if (!span->is_set)
        *span = (struct span_of_fit){size, size, nodes, nodes, cables, cables, true};
    span->size_low = size < span->size_low ? size : span->size_low;
    span->size_high = size > span->size_high ? size : span->size_high;
    span->nodes_low = nodes < span->nodes_low ? nodes : span->nodes_low;
    span->nodes_high = nodes > span->nodes_high ? nodes : span->nodes_high;
    span->cables_low = cables < span->cables_low ? cables : span->cables_low;
    span->cables_high = cables > span->cables_high ? cables : span->cables_high;
}

static bool is_inside(const struct span_of_fit *span, const struct predict_case *c)
{
    uint64_t size = c->item.sizes[0].bytes;
    size_t nodes = c->item.node_count;
    size_t cables = c->cluster.cable_count;

    return span->is_set && size >= span->size_low && size <= span->size_high &&
           nodes >= span->nodes_low && nodes <= span->nodes_high && cables >= span->cables_low &&
           cables <= span->cables_high;
}

static enum validate_label find_label(const struct validate_input *input,
                                      const struct predict_case *fit, size_t fit_count,
                                      const struct predict_case *c)
{
    struct span_of_fit span = {.is_set = false};

    if (predict_is_impossible(c))
        return VALIDATE_IMPOSSIBLE;
    for (size_t i = 0; i < input->fit_row_count; i++) {
        if (is_same_row(&input->fit_rows[i], c->row))
            return VALIDATE_FITTED;
    }
    for (size_t i = 0; i < fit_count; i++) {
        if (is_alike(&fit[i], c, true))
            return VALIDATE_MEASURED;
        if (is_alike(&fit[i], c, false))
            take_into_span(&span, &fit[i]);
    }
    return is_inside(&span, c) ? VALIDATE_INTERPOLATED : VALIDATE_EXTRAPOLATED;
}

/* Predicts one case and its envelope; false with the reason when the engine refuses it. */
static bool run_case(const struct predict_case *c, const struct param_set *params,
                     struct validate_row *ret, char *reason)
{
    struct prediction middle;
    struct prediction corner;
    struct param_set moved;

    if (!predict_run(c, params, &middle, reason))
        return false;
    *ret = (struct validate_row){
        .row = c->row,
        .predicted = middle.value,
        .low = middle.value,
        .high = middle.value,
        .error_ppm = validate_error_ppm(c->row, middle.value),
        .limit = c->limit,
    };
    memcpy(ret->had_effect, middle.had_effect, sizeof ret->had_effect);
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        set_corner(params, &middle, is_fast, &moved);
        if (predict_run(c, &moved, &corner, reason))
            widen(ret, corner.value);
    }
    return true;
}

static int compare_errors(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void summarise(struct validate_result *result, size_t row_count)
{
    int64_t *errors = arena_alloc_array(&result->arena, result->row_count + 1, sizeof *errors);
    size_t n = 0;

    for (size_t i = 0; i < result->row_count; i++) {
        int64_t error = result->rows[i].error_ppm;

        if (result->rows[i].label != VALIDATE_IMPOSSIBLE)
            errors[n++] = error < 0 ? -error : error;
    }
    qsort(errors, n, sizeof *errors, compare_errors);
    result->scored = n;
    if (n > 0) {
        result->median_ppm = (errors[(n - 1) / 2] + errors[n / 2]) / 2;
        result->p90_ppm = errors[(9 * n + 9) / 10 - 1];
        result->worst_ppm = errors[n - 1];
    }
    if (row_count > 0)
        result->coverage_ppm = (int64_t)result->row_count * PPM / (int64_t)row_count;
}

static void add_gap(struct validate_result *result, const struct measurement *row,
                    const char *reason)
{
    result->gaps[result->gap_count++] =
        (struct validate_gap){row, arena_copy_text(&result->arena, reason, strlen(reason))};
}

static size_t prepare_fit(const struct validate_input *input, struct arena *arena,
                          struct predict_case *fit)
{
    char reason[PREDICT_REASON_MAX];
    size_t count = 0;

    for (size_t i = 0; i < input->fit_row_count; i++)
        count += predict_prepare(&input->source, &input->fit_rows[i], arena, &fit[count], reason);
    return count;
}

void validate_run(const struct validate_input *input, struct validate_result *ret)
{
    struct predict_case *fit;
    size_t fit_count;

    *ret = (struct validate_result){0};
    arena_init(&ret->arena);
    ret->rows = arena_alloc_array(&ret->arena, input->row_count, sizeof *ret->rows);
    ret->gaps = arena_alloc_array(&ret->arena, input->row_count, sizeof *ret->gaps);
    fit = arena_alloc_array(&ret->arena, input->fit_row_count, sizeof *fit);
    fit_count = prepare_fit(input, &ret->arena, fit);
    for (size_t i = 0; i < input->row_count; i++) {
        char reason[PREDICT_REASON_MAX] = "";
        struct predict_case c;
        struct validate_row *row = &ret->rows[ret->row_count];

        if (input->stop && *input->stop) {
            ret->is_partial = true;
            break;
        }
        if (!predict_prepare(&input->source, &input->rows[i], &ret->arena, &c, reason) ||
            !run_case(&c, input->params, row, reason)) {
            add_gap(ret, &input->rows[i], reason);
        } else {
            row->label = find_label(input, fit, fit_count, &c);
            ret->row_count++;
        }
        if (input->progress)
            input->progress(input->ctx, i + 1, input->row_count);
    }
    summarise(ret, ret->row_count + ret->gap_count);
}

void validate_done(struct validate_result *result)
{
    arena_done(&result->arena);
    *result = (struct validate_result){0};
}
