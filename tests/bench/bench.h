/* SPDX-License-Identifier: Apache-2.0 */
/* What a benchmark gets and what it leaves: rows of figures, each with a yardstick. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROWS_MAX 96
#define BENCH_NAME_MAX 64
#define BENCH_REPEATS  5

struct bench_row {
    char name[BENCH_NAME_MAX];
    double value;
    const char *unit;
    const char *ratio_to; /* name of another row or what stands for it; NULL: none */
    double ratio;
};

struct bench {
    struct bench_row rows[BENCH_ROWS_MAX];
    size_t row_count;
    bool is_quick; /* small sizes, one repetition: shows that it works, measures nothing */
};

/* A piece of work that is timed: returns how many units of it were done. */
typedef uint64_t bench_work(void *ctx);

/* Nanoseconds of CPU time of this process: what others do on the machine counts less. */
uint64_t bench_now_ns(void);
/* The median of what `measure` returns, after one call to warm up. */
double bench_median(const struct bench *bench, double (*measure)(void *ctx), void *ctx);
/* Nanoseconds a unit: the median of the repetitions. The work is run once before, to warm up.
 * `prepare` runs before each, is not timed, and may be NULL. */
double bench_median_ns(const struct bench *bench, void (*prepare)(void *ctx), bench_work *work,
                       void *ctx);
/* Ends the program: a benchmark that does not work has no figures. */
_Noreturn void bench_fail(const char *why);
/* Memory that is there: every page was written. Aborts when there is none; free() it. */
void *bench_alloc(size_t size);

/* Adds a row; `ratio_to` names the row that the value is divided by, or is NULL. */
void bench_add(struct bench *bench, const char *unit, double value, const char *ratio_to,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The value of a row that was added before; aborts when there is none. */
double bench_value(const struct bench *bench, const char *name);

/* Calls of malloc, calloc, realloc and aligned_alloc so far by the simulator's code. */
uint64_t bench_allocation_count(void);

#define BENCH_MEMCPY_LARGE "memcpy/64MiB"
#define BENCH_MEMCPY_SMALL "memcpy/16KiB"
#define BENCH_LOAD         "load/64MiB"
#define BENCH_EMPTY_LOOP   "engine/empty-loop"

void bench_memory(struct bench *bench);
void bench_engine(struct bench *bench);
void bench_hold(struct bench *bench);
void bench_fabric(struct bench *bench);
void bench_run(struct bench *bench);
void bench_storm(struct bench *bench);
void bench_emulator(struct bench *bench);

#endif
