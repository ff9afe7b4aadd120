/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Calibration
 *
 * Finds one set of parameters for all rows: the least sum of absolute relative errors. Absolute,
 * not squared, so that one odd report does not drag the rest along. Inside a measured range a row
 * has no error, but a fiftieth of its distance from the middle counts, so that a range does not
 * leave its parameter at an edge by chance.
 *
 * Search: coordinate descent. One variable at a time is moved up or down by a step, and a move
 * stays when it is better; steps begin at a quarter of the value, halve when no variable moves, and
 * end at numbers of three significant digits. A cycle over all steps is repeated until one changes
 * nothing. The order is fixed and nothing is random, so the same rows give the same numbers; a fit
 * that begins at its own result stays there.
 *
 * What the data cannot tell apart is not pretended to be known: calls that only occur together
 * share one variable; a variable on which no row depends by SCREEN_PPM keeps its value and is
 * reported.
 *
 * Cost: a move simulates again only the rows that follow its variable: those that a quarter's move
 * moves by FOLLOW_PPM, found anew in each cycle. After a cycle all rows are simulated.
 */
#include "sim/plan/calibrate.h"

#include <string.h>

#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/measurement.h"
#include "sim/plan/validate.h"
#include "sim/workload/run.h"

#define SCREEN_PPM    INT64_C(5000) /* a row depends on a variable if SCREEN_MOVE moves it so much */
#define SCREEN_SHIFT  2             /* the move of the screening: value >> 2, a quarter */
#define STEP_SHIFT    2             /* the first step of the descent: a quarter */
#define FOLLOW_PPM    INT64_C(500)
#define PROBE_PCT     5            /* how far the result is moved to see whether the sum grows */
#define PROBE_PPM     INT64_C(500) /* growth that counts */
#define CYCLES_MAX    16
#define FINE_SHIFT    6
#define SWEEPS_MAX    40
#define BOUND_FACTOR  16 /* values stay within start / 16 to start * 16 */
#define PPM           INT64_C(1000000)
#define MIDDLE_PART   50 /* an error weighs so many times the distance from a range's middle */
#define VARIABLES_MAX 64

/* Parameters that are searched for, each line one variable. Jitter is not among them: it comes from
 * a percentile, which is no row. */
static const struct {
    enum param_id params[CALIBRATE_TIED_MAX];
    size_t count;
} searched[] = {
    {{PARAM_RDMA_GOODPUT}, 1},
    {{PARAM_RDMA_POST_SEND, PARAM_RDMA_POST_RECV, PARAM_RDMA_POLL}, 3},
    {{PARAM_RDMA_LATENCY}, 1},
    {{PARAM_GPU_HANDOFF_FAST}, 1},
    {{PARAM_GPU_HANDOFF_SLOW}, 1},
    {{PARAM_IP_STACK_DIRECTION}, 1},
    {{PARAM_IP_STACK_PORT}, 1},
    {{PARAM_IP_LATENCY}, 1},
    {{PARAM_IP_IDLE_WAKEUP}, 1},
};

static const enum chip_rate chip_rates[] = {CHIP_RATE_HOST_STAGING, CHIP_RATE_THREAD_COPY,
                                            CHIP_RATE_THREAD_REDUCE};

#define SEARCHED_COUNT  (sizeof searched / sizeof searched[0])
#define CHIP_RATE_COUNT (sizeof chip_rates / sizeof chip_rates[0])

/* A row of the fit. */
struct fit_row {
    struct predict_case c;
    int64_t predicted;
    int64_t error_ppm;  /* absolute */
    int64_t middle_ppm; /* distance from the middle of a measured range */
    int64_t trial_predicted, trial_error_ppm, trial_middle_ppm;
    bool takes_part[PARAM_COUNT];
    bool follows[VARIABLES_MAX];
    bool has_trial;
};

struct fit {
    const struct calibrate_input *input;
    struct calibrate_result *result;
    struct fit_row *rows;
    size_t row_count;
    bool is_active[VARIABLES_MAX]; /* the rest keep their start values */
};

struct fit_sum {
    int64_t error_ppm;
    int64_t middle_ppm;
};

static const char *const status_texts[] = {
    [CALIBRATE_IDENTIFIED] = "identified",
    [CALIBRATE_BOUNDED_BELOW] = "only bounded from below",
    [CALIBRATE_BOUNDED_ABOVE] = "only bounded from above",
    [CALIBRATE_LOOSE] = "anywhere in a measured range",
    [CALIBRATE_NOT_IDENTIFIED] = "not identified",
};

const char *calibrate_status_text(enum calibrate_status status)
{
    return status_texts[status];
}

const char *chip_rate_name(enum chip_rate rate)
{
    static const char *const names[] = {
        [CHIP_RATE_NONE] = "",
        [CHIP_RATE_THREAD_COPY] = "thread_copy",
        [CHIP_RATE_THREAD_REDUCE] = "thread_reduce",
        [CHIP_RATE_HOST_STAGING] = "host_staging",
    };

    return names[rate];
}

const char *calibrate_variable_name(const struct calibrate_variable *variable, struct arena *arena)
{
    struct text text;

    if (variable->param_count == 0)
        return arena_format(arena, "%s %s", variable->chip, chip_rate_name(variable->rate));
    text_init(&text, arena);
    for (size_t i = 0; i < variable->param_count; i++)
        text_add_item(&text, " = ", param_name(variable->params[i]));
    return text.bytes;
}

/* The power of ten that leaves a value three significant digits. */
static int64_t round_grid(int64_t value)
{
    int64_t grid = 1;

    while (value / grid >= 1000)
        grid *= 10;
    return grid;
}

static uint64_t *chip_rate_at(struct chip_model *chip, enum chip_rate rate)
{
    switch (rate) {
    case CHIP_RATE_THREAD_COPY:
        return &chip->thread_copy.bps;
    case CHIP_RATE_THREAD_REDUCE:
        return &chip->thread_reduce.bps;
    case CHIP_RATE_HOST_STAGING:
        return &chip->host_staging.bps;
    case CHIP_RATE_NONE:
        break;
    }
    return NULL;
}

/* Gives a variable a value: in the parameters, or in every case with that chip. */
static void set_value(struct fit *fit, const struct calibrate_variable *variable, int64_t value)
{
    for (size_t i = 0; i < variable->param_count; i++)
        fit->result->params.v[variable->params[i]].value = value;
    for (size_t r = 0; variable->param_count == 0 && r < fit->row_count; r++) {
        struct predict_case *c = &fit->rows[r].c;

        for (size_t h = 0; h < c->cluster.host_count; h++) {
            if (strcmp(c->chips[h].name, variable->chip) == 0)
                *chip_rate_at(&c->chips[h], variable->rate) = (uint64_t)value;
        }
    }
}

/* Benchmarks of single messages send from the application's own buffers: nothing is staged. */
static bool is_staged(const struct run_item *item)
{
    return item->op != RUN_STREAM && item->op != RUN_PING_PONG;
}

static bool takes_part(const struct fit_row *row, const struct calibrate_variable *variable)
{
    for (size_t i = 0; i < variable->param_count; i++) {
        if (row->takes_part[variable->params[i]])
            return true;
    }
    for (size_t h = 0; variable->param_count == 0 && h < row->c.cluster.host_count; h++) {
        if (is_staged(&row->c.item) && strcmp(row->c.chips[h].name, variable->chip) == 0)
            return true;
    }
    return false;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static int64_t distance_ppm(int64_t a, int64_t b)
{
    u128 distance = (u128)(uint64_t)(a > b ? a - b : b - a) * (uint64_t)PPM / (uint64_t)b;

    return distance > (u128)INT32_MAX ? INT32_MAX : (int64_t)distance;
}

/* Simulates a row with the present values into its trial fields. */
static void try_row(struct fit *fit, struct fit_row *row)
{
    const struct measurement *m = row->c.row;
    struct prediction prediction = {.value = 0};
    char reason[PREDICT_REASON_MAX];

    row->has_trial = true;
    fit->result->simulations++;
    if (!predict_run(&row->c, &fit->result->params, &prediction, reason)) {
        row->trial_error_ppm = row->trial_middle_ppm = INT32_MAX;
        return;
    }
    row->trial_predicted = prediction.value;
    row->trial_error_ppm = magnitude(validate_error_ppm(m, prediction.value));
    row->trial_middle_ppm =
        m->low == m->high ? 0 : distance_ppm(prediction.value, m->low + (m->high - m->low) / 2);
    for (size_t i = 0; i < PARAM_COUNT; i++)
        row->takes_part[i] |= prediction.had_effect[i];
}

/* The sum over all rows, with trials where there are some. */
static struct fit_sum sum_rows(const struct fit *fit)
{
    struct fit_sum sum = {0, 0};

    for (size_t r = 0; r < fit->row_count; r++) {
        const struct fit_row *row = &fit->rows[r];

        sum.error_ppm += row->has_trial ? row->trial_error_ppm : row->error_ppm;
        sum.middle_ppm += row->has_trial ? row->trial_middle_ppm : row->middle_ppm;
    }
    return sum;
}

static size_t index_of(const struct fit *fit, const struct calibrate_variable *variable)
{
    return (size_t)(variable - fit->result->variables);
}

/* Tries a value on the rows that follow the variable, or on all that it takes part in; the present
 * predictions stay until accept_trial. */
static struct fit_sum try_value(struct fit *fit, const struct calibrate_variable *variable,
                                int64_t value, bool on_all)
{
    set_value(fit, variable, value);
    for (size_t r = 0; r < fit->row_count; r++) {
        struct fit_row *row = &fit->rows[r];

        row->has_trial = false;
        if (on_all ? takes_part(row, variable) : row->follows[index_of(fit, variable)])
            try_row(fit, row);
    }
    return sum_rows(fit);
}

static void drop_trial(struct fit *fit, const struct calibrate_variable *variable)
{
    set_value(fit, variable, variable->value);
    for (size_t r = 0; r < fit->row_count; r++)
        fit->rows[r].has_trial = false;
}

static void accept_trial(struct fit *fit)
{
    for (size_t r = 0; r < fit->row_count; r++) {
        struct fit_row *row = &fit->rows[r];

        if (!row->has_trial)
            continue;
        row->predicted = row->trial_predicted;
        row->error_ppm = row->trial_error_ppm;
        row->middle_ppm = row->trial_middle_ppm;
        row->has_trial = false;
    }
}

static bool is_better(struct fit_sum a, struct fit_sum b)
{
    return a.error_ppm * MIDDLE_PART + a.middle_ppm < b.error_ppm * MIDDLE_PART + b.middle_ppm;
}

static bool is_stopped(const struct fit *fit)
{
    return fit->input->stop && *fit->input->stop;
}

/* Moves one variable by a step if that is better. */
static bool move_variable(struct fit *fit, struct calibrate_variable *variable, int64_t step)
{
    struct fit_sum now = sum_rows(fit);

    for (int side = -1; side <= 1; side += 2) {
        int64_t value = variable->value + side * step;

        if (value < variable->start / BOUND_FACTOR || value > variable->start * BOUND_FACTOR ||
            value <= 0)
            continue;
        value -= value % variable->grid;
        if (value > 0 && value != variable->value &&
            is_better(try_value(fit, variable, value, false), now)) {
            accept_trial(fit);
            variable->value = value;
            return true;
        }
        drop_trial(fit, variable);
    }
    return false;
}

/* Steps of one size over all variables until none moves; true when something moved. */
static bool descend(struct fit *fit, uint32_t shift)
{
    bool has_moved = false;
    bool moves = true;

    for (uint32_t sweep = 0; moves && sweep < SWEEPS_MAX && !is_stopped(fit); sweep++) {
        moves = false;
        for (size_t i = 0; i < fit->result->variable_count; i++) {
            struct calibrate_variable *variable = &fit->result->variables[i];
            int64_t step = variable->start >> shift;

            step = step > variable->grid ? step - step % variable->grid : variable->grid;
            if (fit->is_active[i])
                moves |= move_variable(fit, variable, step);
        }
        has_moved |= moves;
    }
    return has_moved;
}

/* Moves a variable and notes which rows follow it; returns the widest move in millionths. */
static int64_t screen_side(struct fit *fit, const struct calibrate_variable *variable,
                           int64_t value)
{
    int64_t widest = 0;

    try_value(fit, variable, value, true);
    for (size_t r = 0; r < fit->row_count; r++) {
        struct fit_row *row = &fit->rows[r];
        int64_t moved = row->has_trial ? distance_ppm(row->trial_predicted, row->predicted) : 0;

        widest = moved > widest ? moved : widest;
        row->follows[index_of(fit, variable)] |= moved >= FOLLOW_PPM;
    }
    drop_trial(fit, variable);
    return widest;
}

/* Finds out which variables matter, and which rows follow them. */
static void screen(struct fit *fit)
{
    for (size_t i = 0; i < fit->result->variable_count && !is_stopped(fit); i++) {
        const struct calibrate_variable *variable = &fit->result->variables[i];
        int64_t quarter = variable->value >> SCREEN_SHIFT;
        int64_t up;
        int64_t down;

        for (size_t r = 0; r < fit->row_count; r++)
            fit->rows[r].follows[i] = false;
        up = screen_side(fit, variable, variable->value + quarter);
        down = screen_side(fit, variable, variable->value - quarter);
        fit->is_active[i] = up >= SCREEN_PPM || down >= SCREEN_PPM;
    }
}

static void refresh(struct fit *fit)
{
    for (size_t r = 0; r < fit->row_count; r++)
        try_row(fit, &fit->rows[r]);
    accept_trial(fit);
}

/* Steps that reach three digits: start >> LAST_SHIFT is below a thousandth of the start. */
#define LAST_SHIFT 10U

/* All steps from start >> first on; true when something moved. */
static bool run_cycle(struct fit *fit, uint32_t first, uint32_t cycle)
{
    const uint64_t steps = LAST_SHIFT + UINT64_C(1);
    bool has_moved = false;

    screen(fit);
    for (uint32_t shift = first; shift <= LAST_SHIFT; shift++) {
        has_moved |= descend(fit, shift);
        if (fit->input->progress)
            fit->input->progress(fit->input->ctx, cycle * steps + shift, CYCLES_MAX * steps);
    }
    refresh(fit);
    return has_moved;
}

/* Small steps follow a cycle that moved; the end is a cycle of all steps that moves nothing. */
static void search(struct fit *fit)
{
    uint32_t first = STEP_SHIFT;

    for (uint32_t cycle = 0; cycle < CYCLES_MAX && !is_stopped(fit); cycle++) {
        bool has_moved = run_cycle(fit, first, cycle);

        if (!has_moved && first == STEP_SHIFT)
            break;
        first = has_moved ? FINE_SHIFT : STEP_SHIFT;
    }
    screen(fit);
}

static bool has_text(const char *list, const char *item)
{
    size_t length = strlen(item);

    for (const char *at = strstr(list, item); at; at = strstr(at + 1, item)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Names the rows that a move of the variable to `value` moves, with their sources. */
static void name_rows(struct fit *fit, struct calibrate_variable *variable, int64_t value)
{
    struct text rows;
    struct text sources;

    text_init(&rows, &fit->result->arena);
    text_init(&sources, &fit->result->arena);
    variable->date = "";
    try_value(fit, variable, value, true);
    for (size_t r = 0; r < fit->row_count; r++) {
        const struct fit_row *row = &fit->rows[r];
        const struct measurement *m = row->c.row;

        if (!row->has_trial || distance_ppm(row->trial_predicted, row->predicted) < SCREEN_PPM)
            continue;
        text_add_item(&rows, ", ", m->id);
        if (m->source[0] != '\0' && !has_text(sources.bytes, m->source))
            text_add_item(&sources, ", ", m->source);
        if (strcmp(m->date, variable->date) > 0)
            variable->date = m->date;
    }
    drop_trial(fit, variable);
    variable->rows = rows.bytes;
    variable->sources = sources.bytes;
}

/* Where the sum of errors grows when the fitted value is moved. */
static enum calibrate_status judge(struct fit *fit, struct calibrate_variable *variable)
{
    int64_t move = variable->value * PROBE_PCT / 100;
    int64_t now = sum_rows(fit).error_ppm;
    int64_t up = try_value(fit, variable, variable->value + move, false).error_ppm;
    int64_t down = try_value(fit, variable, variable->value - move, false).error_ppm;
    bool grows_up = up > now + PROBE_PPM;
    bool grows_down = down > now + PROBE_PPM;

    drop_trial(fit, variable);
    if (grows_up && grows_down)
        return CALIBRATE_IDENTIFIED;
    if (grows_down)
        return CALIBRATE_BOUNDED_BELOW;
    return grows_up ? CALIBRATE_BOUNDED_ABOVE : CALIBRATE_LOOSE;
}

static void add_variable(struct fit *fit, struct calibrate_variable variable)
{
    variable.value = variable.start;
    variable.grid = round_grid(variable.start);
    variable.status = CALIBRATE_NOT_IDENTIFIED;
    variable.rows = variable.sources = variable.date = "";
    fit->result->variables[fit->result->variable_count++] = variable;
}

static void add_chip(struct fit *fit, struct chip_model *chip)
{
    for (size_t i = 0; i < fit->result->variable_count; i++) {
        const struct calibrate_variable *known = &fit->result->variables[i];

        if (known->param_count == 0 && strcmp(known->chip, chip->name) == 0)
            return;
    }
    for (size_t k = 0; k < CHIP_RATE_COUNT; k++) {
        if (fit->result->variable_count < VARIABLES_MAX)
            add_variable(fit, (struct calibrate_variable){
                                  .rate = chip_rates[k],
                                  .chip = chip->name,
                                  .unit = PARAM_UNIT_RATE,
                                  .start = (int64_t)*chip_rate_at(chip, chip_rates[k]),
                              });
    }
}

static void add_variables(struct fit *fit)
{
    struct calibrate_result *result = fit->result;

    result->variables = arena_alloc_array(&result->arena, VARIABLES_MAX, sizeof *result->variables);
    for (size_t i = 0; i < SEARCHED_COUNT; i++) {
        struct calibrate_variable variable = {
            .param_count = searched[i].count,
            .unit = param_unit_of(searched[i].params[0]),
            .start = result->params.v[searched[i].params[0]].value,
        };

        memcpy(variable.params, searched[i].params, sizeof variable.params);
        if (variable.start > 0)
            add_variable(fit, variable);
    }
    for (size_t r = 0; r < fit->row_count; r++) {
        const struct predict_case *c = &fit->rows[r].c;

        for (size_t h = 0; is_staged(&c->item) && h < c->cluster.host_count; h++)
            add_chip(fit, &c->chips[h]);
    }
}

static void add_skip(struct calibrate_result *result, const struct measurement *row,
                     const char *reason)
{
    result->skipped[result->skip_count++] =
        (struct calibrate_skip){row, arena_copy_text(&result->arena, reason, strlen(reason))};
}

/* Takes the rows that can be simulated, each with its first prediction. */
static void add_rows(struct fit *fit)
{
    const struct calibrate_input *input = fit->input;
    struct calibrate_result *result = fit->result;

    for (size_t i = 0; i < input->row_count; i++) {
        struct fit_row *row = &fit->rows[fit->row_count];
        struct prediction first;
        char reason[PREDICT_REASON_MAX] = "";

        memset(row, 0, sizeof *row);
        if (!predict_prepare(&input->source, &input->rows[i], &result->arena, &row->c, reason) ||
            !predict_run(&row->c, &result->params, &first, reason)) {
            add_skip(result, &input->rows[i], reason);
            continue;
        }
        if (predict_is_impossible(&row->c)) {
            add_skip(result, &input->rows[i], "no cable carries what was measured");
            continue;
        }
        memcpy(row->takes_part, first.had_effect, sizeof row->takes_part);
        try_row(fit, row);
        fit->row_count++;
    }
    accept_trial(fit);
}

#define RANGE_MARK "; range: "

/* The rows of the fit, and who put the range where it is. */
static const char *fitted_source(const struct calibrate_variable *variable,
                                 const struct param_value *was, struct arena *arena)
{
    const char *range = strstr(was->source, RANGE_MARK);

    if (range)
        range += strlen(RANGE_MARK);
    else if (was->label != PARAM_FITTED)
        range = was->source;
    return arena_format(arena, "fit to %s (%s)%s%s", variable->rows, variable->sources,
                        range ? RANGE_MARK : "", range ? range : "");
}

/* Puts the fitted values into the result, with their sources, inside their ranges. */
static void label_params(struct calibrate_result *result)
{
    for (size_t i = 0; i < result->variable_count; i++) {
        const struct calibrate_variable *variable = &result->variables[i];

        if (variable->status == CALIBRATE_NOT_IDENTIFIED)
            continue;
        for (size_t k = 0; k < variable->param_count; k++) {
            struct param_value *v = &result->params.v[variable->params[k]];

            v->source = fitted_source(variable, v, &result->arena);
            v->label = PARAM_FITTED;
            v->low = v->value < v->low ? v->value : v->low;
            v->high = v->value > v->high ? v->value : v->high;
            if (strlen(variable->date) == strlen("2026-01-01"))
                v->date = variable->date;
        }
    }
}

static void report_residuals(struct fit *fit, const int64_t *before)
{
    struct calibrate_result *result = fit->result;

    result->residuals =
        arena_alloc_array(&result->arena, fit->row_count, sizeof *result->residuals);
    for (size_t r = 0; r < fit->row_count; r++) {
        const struct fit_row *row = &fit->rows[r];

        result->residuals[r] = (struct calibrate_residual){
            .row = row->c.row,
            .predicted = row->predicted,
            .before_ppm = before[r],
            .after_ppm = validate_error_ppm(row->c.row, row->predicted),
        };
    }
    result->residual_count = fit->row_count;
    result->sum_after_ppm = sum_rows(fit).error_ppm;
}

void calibrate_run(const struct calibrate_input *input, struct calibrate_result *ret)
{
    struct fit fit = {.input = input, .result = ret};
    int64_t *before;

    *ret = (struct calibrate_result){.params = *input->params};
    arena_init(&ret->arena);
    ret->skipped = arena_alloc_array(&ret->arena, input->row_count, sizeof *ret->skipped);
    fit.rows = arena_alloc_array(&ret->arena, input->row_count + 1, sizeof *fit.rows);
    add_rows(&fit);
    add_variables(&fit);
    before = arena_alloc_array(&ret->arena, fit.row_count, sizeof *before);
    for (size_t r = 0; r < fit.row_count; r++)
        before[r] = validate_error_ppm(fit.rows[r].c.row, fit.rows[r].predicted);
    ret->sum_before_ppm = sum_rows(&fit).error_ppm;
    search(&fit);
    for (size_t i = 0; i < ret->variable_count && !is_stopped(&fit); i++) {
        struct calibrate_variable *variable = &ret->variables[i];

        if (!fit.is_active[i])
            continue;
        variable->status = judge(&fit, variable);
        name_rows(&fit, variable, variable->value + (variable->value >> SCREEN_SHIFT));
    }
    label_params(ret);
    report_residuals(&fit, before);
    ret->is_partial = is_stopped(&fit);
}

void calibrate_done(struct calibrate_result *result)
{
    arena_done(&result->arena);
    *result = (struct calibrate_result){.variables = NULL};
}
