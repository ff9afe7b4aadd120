/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tbmesh-bench: how fast the simulator is on this machine, as ratios to what the machine does
 * anyway. Figures of different machines, or of different runs on a shared one, compare by their
 * ratios only.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

struct machine {
    char cpu[128];
    long cores;
    const char *compiler;
    const char *build;
    bool is_meaningful;
};

/* A new benchmark is a function and a line here. The first two are what the others are compared
 * with, and always run. */
#define YARDSTICKS 2U

static const struct {
    const char *name;
    void (*run)(struct bench *bench);
    const char *workload;
} benchmarks[] = {
    {"memory", bench_memory, "memcpy of 64 MiB and of 16 KiB; dependent loads at random in 64 MiB"},
    {"engine", bench_engine, "empty event loop: one event that pushes itself"},
    {"hold", bench_hold, "pop one event, push one, with 16 to 1e6 pending; random or equal spans"},
    {"fabric", bench_fabric,
     "all-reduce traffic in 16 KiB chunks of 4 KiB frames, tracing off: a ring of 64 machines with "
     "64 MiB; 1,024 machines in a 32 x 32 torus, every row and column a ring both ways"},
    {"run", bench_run,
     "sim_run of the textbook ring all-reduce, 16 KiB chunks, host work included: 64 MiB on a ring "
     "of 64; 16 MiB on 1,024 machines in a torus, as one ring"},
    {"storm", bench_storm,
     "one broadcast in full meshes of 4, 8 and 16 bridges, 20 ms, frame by frame: a frame over a cable "
     "with all its drops; a minute of 7 machines of slow software, by the law after saturation"},
#ifdef BENCH_EMULATOR
    {"emulator", bench_emulator,
     "tbmesh run of uc_mesh all_reduce, wall-clock time, best of 5: a mesh of 2 and of 4, rings of 4 "
     "and 8; a token between two processes; start of 4 ranks; 3 ranks that wait for the fourth"},
#endif
};

#define BENCHMARKS (sizeof benchmarks / sizeof benchmarks[0])

uint64_t bench_now_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
        abort();
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

double bench_median(const struct bench *bench, double (*measure)(void *ctx), void *ctx)
{
    double values[BENCH_REPEATS];
    size_t repeats = bench->is_quick ? 1 : BENCH_REPEATS;

    (void)measure(ctx);
    for (size_t i = 0; i < repeats; i++)
        values[i] = measure(ctx);
    qsort(values, repeats, sizeof values[0], compare_doubles);
    return values[repeats / 2];
}

struct timed {
    void (*prepare)(void *ctx);
    bench_work *work;
    void *ctx;
};

static double time_work(void *ctx)
{
    const struct timed *timed = ctx;

    if (timed->prepare)
        timed->prepare(timed->ctx);

    uint64_t start = bench_now_ns();
    uint64_t units = timed->work(timed->ctx);

    return (double)(bench_now_ns() - start) / (double)units;
}

double bench_median_ns(const struct bench *bench, void (*prepare)(void *ctx), bench_work *work,
                       void *ctx)
{
    struct timed timed = {prepare, work, ctx};

    return bench_median(bench, time_work, &timed);
}

void bench_fail(const char *why)
{
    (void)fprintf(stderr, "tbmesh-bench: %s\n", why);
    exit(4);
}

void *bench_alloc(size_t size)
{
    void *mem = aligned_alloc(64, (size + 63) / 64 * 64);

    if (!mem)
        abort();
    memset(mem, 1, size);
    return mem;
}

static const struct bench_row *find_row(const struct bench *bench, const char *name)
{
    for (size_t i = 0; i < bench->row_count; i++) {
        if (strcmp(bench->rows[i].name, name) == 0)
            return &bench->rows[i];
    }
    return NULL;
}

double bench_value(const struct bench *bench, const char *name)
{
    const struct bench_row *row = find_row(bench, name);

    if (!row)
        abort();
    return row->value;
}

void bench_add(struct bench *bench, const char *unit, double value, const char *ratio_to,
               const char *format, ...)
{
    if (bench->row_count == BENCH_ROWS_MAX)
        abort();

    struct bench_row *row = &bench->rows[bench->row_count];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(row->name, sizeof row->name, format, args);
    va_end(args);
    row->unit = unit;
    row->value = value;
    row->ratio_to = ratio_to;
    row->ratio = ratio_to ? value / bench_value(bench, ratio_to) : 0;
    bench->row_count++;
}

/* The text after the colon of the first line of /proc/cpuinfo that begins with `key`. */
static void read_cpu(char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    (void)snprintf(text, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file)
        (void)fclose(file);
    for (char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = ' '; /* goes into JSON as it is */
    }
}

static struct machine read_machine(void)
{
    struct machine machine = {
        .cores = sysconf(_SC_NPROCESSORS_ONLN),
        .compiler = BENCH_COMPILER,
        .build = BENCH_BUILD,
#ifdef __OPTIMIZE__
        .is_meaningful = true,
#endif
    };

#ifndef NDEBUG
    machine.is_meaningful = false;
#endif
    read_cpu(machine.cpu, sizeof machine.cpu);
    return machine;
}

static void print_text(const struct bench *bench, const struct machine *machine)
{
    printf("tbmesh %s\n", TBMESH_VERSION);
    printf("machine   %s, %ld cores, %s, %s build\n", machine->cpu, machine->cores,
           machine->compiler, machine->build);
    for (size_t i = 0; i < BENCHMARKS; i++)
        printf("%-9s %s\n", benchmarks[i].name, benchmarks[i].workload);
    printf("figures   %s\n\n", bench->is_quick
                                   ? "one run of small sizes"
                                   : "medians of 5 runs after one to warm up, CPU time");
    printf("%-40s %12s %-12s %9s  %s\n", "name", "value", "unit", "ratio", "to");
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct bench_row *row = &bench->rows[i];

        printf("%-40s %12.2f %-12s", row->name, row->value, row->unit);
        if (row->ratio_to)
            printf(" %9.3f  %s", row->ratio, row->ratio_to);
        printf("\n");
    }
}

static void print_json(const struct bench *bench, const struct machine *machine)
{
    printf("{\"tbmesh\": \"%s\",\n \"machine\": {\"cpu\": \"%s\", \"cores\": %ld, "
           "\"compiler\": \"%s\", \"build\": \"%s\", \"is_meaningful\": %s},\n \"workloads\": {",
           TBMESH_VERSION, machine->cpu, machine->cores, machine->compiler, machine->build,
           machine->is_meaningful && !bench->is_quick ? "true" : "false");
    for (size_t i = 0; i < BENCHMARKS; i++)
        printf("%s\"%s\": \"%s\"", i ? ", " : "", benchmarks[i].name, benchmarks[i].workload);
    printf("},\n \"rows\": [\n");
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct bench_row *row = &bench->rows[i];

        printf("  {\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"", row->name, row->value,
               row->unit);
        if (row->ratio_to)
            printf(", \"ratio_to\": \"%s\", \"ratio\": %.6g", row->ratio_to, row->ratio);
        else
            printf(", \"ratio_to\": null, \"ratio\": null");
        printf("}%s\n", i + 1 < bench->row_count ? "," : "");
    }
    printf(" ]}\n");
}

static void print_usage(FILE *file)
{
    (void)fprintf(file, "usage: tbmesh-bench [--json] [--quick] [NAME...]\n"
                        "  --json   one JSON object instead of a table\n"
                        "  --quick  small sizes, once: shows that it works and measures nothing\n"
                        "  NAME     only these, after the yardsticks:");
    for (size_t i = YARDSTICKS; i < BENCHMARKS; i++)
        (void)fprintf(file, " %s", benchmarks[i].name);
    (void)fprintf(file, "\n");
}

struct options {
    bool is_json;
    bool is_quick;
    bool is_help;
    bool is_chosen[BENCHMARKS];
};

static bool choose(struct options *options, const char *name)
{
    for (size_t i = YARDSTICKS; i < BENCHMARKS; i++) {
        if (strcmp(benchmarks[i].name, name) == 0) {
            options->is_chosen[i] = true;
            return true;
        }
    }
    return false;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    bool has_names = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            options->is_json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options->is_quick = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            options->is_help = true;
        } else if (choose(options, argv[i])) {
            has_names = true;
        } else {
            (void)fprintf(stderr, "tbmesh-bench: unknown argument '%s'\n", argv[i]);
            return false;
        }
    }
    for (size_t i = 0; i < BENCHMARKS; i++)
        options->is_chosen[i] |= !has_names || i < YARDSTICKS;
    return true;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct machine machine = read_machine();
    struct options options = {0};

    if (!read_options(argc, argv, &options)) {
        print_usage(stderr);
        return 2;
    }
    if (options.is_help) {
        print_usage(stdout);
        return 0;
    }
    if (!machine.is_meaningful)
        (void)fprintf(stderr,
                      "warning: a %s build with checks on: these figures say nothing about speed; "
                      "use build/release/bin/tbmesh-bench\n",
                      machine.build);
    bench.is_quick = options.is_quick;
    for (size_t i = 0; i < BENCHMARKS; i++) {
        if (options.is_chosen[i])
            benchmarks[i].run(&bench);
    }
    if (options.is_json)
        print_json(&bench, &machine);
    else
        print_text(&bench, &machine);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
}
