/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Speed of `tbmesh run`
 *
 * Whole runs of uc_mesh, in wall-clock time: ranks are processes, and what a run costs is mostly
 * that one wakes another. What repeats is told apart from what happens once by two runs of
 * different length: (best long - best short) / (long - short). The best, not the median, since
 * other load on the machine only ever adds.
 *
 * Yardsticks: two processes that pass a token by futex, asleep or awake between (a hand-over is
 * that and a step of the scheduler); memcpy of the bytes that an all-reduce puts on the cables;
 * as many programs that do nothing, started in the same way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define WORDS_MAX  24
#define PATH_BYTES 64
#define PASSES     20000U
#define SPIN       "emulator/token/awake"
#define FUTEX      "emulator/token/asleep"

extern char **environ;

/* Best of the repetitions: seconds. */
struct cost {
    double wall_s;
    double cpu_s;     /* of tbmesh and all ranks */
    double handovers; /* of all ranks */
};

struct place {
    char dir[PATH_BYTES];
    char output[PATH_BYTES];
    char macs8[PATH_BYTES];
    char gate[PATH_BYTES]; /* a FIFO */
};

static double now_s(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        abort();
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(struct timeval span)
{
    return (double)span.tv_sec + (double)span.tv_usec * 1e-6;
}

static uint32_t repeats(const struct bench *bench)
{
    return bench->is_quick ? 1 : BENCH_REPEATS;
}

/* A program whose stdout goes into a file. */
static pid_t start(char *const *argv, const char *output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600) != 0 ||
        posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        bench_fail("no process can be started");
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Waits for its end, adds what it and its children took, and requires that it ended well. */
static void finish(pid_t pid, struct cost *cost)
{
    struct rusage usage;
    int status;

    while (wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR)
            abort();
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_fail("a run of the emulator failed");
    cost->cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/* Last column of the table's lines that begin with a rank. */
static double read_handovers(const char *path)
{
    FILE *file = fopen(path, "r");
    double sum = 0;
    char line[512];

    if (!file)
        abort();
    while (fgets(line, sizeof line, file)) {
        const char *begin = line + strspn(line, " ");
        const char *last;

        line[strcspn(line, "\n")] = '\0';
        last = strrchr(line, ' ');
        if (*begin >= '0' && *begin <= '9' && last)
            sum += (double)strtoull(last, NULL, 10);
    }
    (void)fclose(file);
    return sum;
}

/* The words of a command line, cut out of the format's text at blanks; NULL at the end. */
static void cut_words(char *text, char **ret_words)
{
    size_t count = 0;

    for (char *rest = NULL, *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (count + 1 == WORDS_MAX)
            abort();
        ret_words[count++] = word;
    }
    ret_words[count] = NULL;
}

/* One run of what the format says, from start to end. */
__attribute__((format(printf, 2, 3))) static struct cost run_once(const struct place *place,
                                                                  const char *format, ...)
{
    struct cost cost = {0};
    char *words[WORDS_MAX];
    char text[1024];
    va_list args;
    double begin;

    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) >= (int)sizeof text)
        abort();
    va_end(args);
    cut_words(text, words);
    begin = now_s();
    finish(start(words, place->output), &cost);
    cost.wall_s = now_s() - begin;
    cost.handovers = read_handovers(place->output);
    return cost;
}

static void keep_best(struct cost *best, const struct cost *cost)
{
    if (best->wall_s <= 0 || cost->wall_s < best->wall_s)
        *best = *cost;
}

/* A workload of uc_mesh: how much it is and how often. */
struct load {
    const char *name;
    const char *macs;
    const char *options;
    uint32_t ranks;
    uint32_t few;
    uint32_t many;
};

static struct cost run_load(const struct place *place, const struct load *load, uint32_t count)
{
    return run_once(place,
                    BENCH_TBMESH " run --stats --ranks %" PRIu32 " %s -- " BENCH_UC_MESH
                                 " all_reduce --fill-once %s --repeat %" PRIu32,
                    load->ranks, load->macs, load->options, count);
}

/* What one all-reduce costs; in a quick run with its share of the rest. */
static struct cost measure(const struct bench *bench, const struct place *place,
                           const struct load *load)
{
    uint32_t count = bench->is_quick ? 1 : load->many;
    double between = bench->is_quick ? 1 : load->many - load->few;
    struct cost few = {0};
    struct cost many = {0};

    for (uint32_t i = 0; i < repeats(bench); i++) {
        struct cost cost = run_load(place, load, count);

        keep_best(&many, &cost);
        if (bench->is_quick)
            continue;
        cost = run_load(place, load, load->few);
        keep_best(&few, &cost);
    }
    if (many.wall_s <= few.wall_s)
        bench_fail("a longer run of the emulator took no longer: is the machine busy?");
    return (struct cost){
        .wall_s = (many.wall_s - few.wall_s) / between,
        .cpu_s = (many.cpu_s - few.cpu_s) / between,
        .handovers = (many.handovers - few.handovers) / between,
    };
}

static void add_small(struct bench *bench, const struct place *place, const struct load *load,
                      const char *token)
{
    struct cost cost = measure(bench, place, load);

    bench_add(bench, "us/all-reduce", cost.wall_s * 1e6, token, "emulator/%s", load->name);
    bench_add(bench, "/s", 1 / cost.wall_s, NULL, "emulator/%s/rate", load->name);
    bench_add(bench, "/all-reduce", cost.handovers, NULL, "emulator/%s/hand-overs", load->name);
    bench_add(bench, "us", cost.wall_s * 1e6 / cost.handovers, token, "emulator/%s/hand-over",
              load->name);
    bench_add(bench, "CPU s/s", cost.cpu_s / cost.wall_s, NULL, "emulator/%s/cpu", load->name);
}

/* Two processes that pass a token; `spin` rounds awake before sleep. */
struct token {
    atomic_uint turn; /* 0 or 1 */
};

static void wait_turn(struct token *token, uint32_t mine, bool is_awake)
{
    uint32_t other = 1 - mine;

    while (atomic_load(&token->turn) != mine) {
        if (!is_awake)
            (void)syscall(SYS_futex, &token->turn, FUTEX_WAIT, other, NULL, NULL, 0);
    }
}

static void pass_turns(struct token *token, uint32_t mine, uint32_t passes, bool is_awake)
{
    for (uint32_t i = 0; i < passes; i++) {
        wait_turn(token, mine, is_awake);
        atomic_store(&token->turn, 1 - mine);
        if (!is_awake)
            (void)syscall(SYS_futex, &token->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void add_token(struct bench *bench, const char *name, bool is_awake)
{
    struct token *token =
        mmap(NULL, sizeof *token, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t passes = bench->is_quick ? 10 : PASSES;
    double best = 0;

    if (token == MAP_FAILED)
        abort();
    for (uint32_t i = 0; i < repeats(bench); i++) {
        struct cost unused = {0};
        double begin = now_s();
        double span;
        pid_t pid = fork();

        if (pid < 0)
            abort();
        pass_turns(token, pid == 0, passes, is_awake);
        if (pid == 0)
            _exit(0);
        finish(pid, &unused);
        span = (now_s() - begin) / (2.0 * passes);
        best = best <= 0 || span < best ? span : best;
    }
    bench_add(bench, "us", best * 1e6, NULL, "%s", name);
    (void)munmap(token, sizeof *token);
}

/* What an all-reduce among n puts on the cables: 2 (n - 1) times its size. */
static void add_large(struct bench *bench, const struct place *place)
{
    const struct load load = {"4-ranks/16MiB", BENCH_MACS, "--sizes 16MiB", 4, 1, 11};
    struct cost cost = measure(bench, place, &load);
    double bytes = 2.0 * 3 * 16 * 1048576;
    double memcpy_ms = bytes / bench_value(bench, BENCH_MEMCPY_LARGE) * 1e-6;

    bench_add(bench, "ms", memcpy_ms, NULL, "emulator/4-ranks/16MiB/memcpy");
    bench_add(bench, "ms/all-reduce", cost.wall_s * 1e3, "emulator/4-ranks/16MiB/memcpy",
              "emulator/4-ranks/16MiB");
    bench_add(bench, "GB/s", bytes / cost.wall_s * 1e-9, BENCH_MEMCPY_LARGE,
              "emulator/4-ranks/16MiB/payload");
    bench_add(bench, "/all-reduce", cost.handovers, NULL, "emulator/4-ranks/16MiB/hand-overs");
}

/* From nothing to ranks that have met and parted, against five programs that do nothing. */
static void add_start(struct bench *bench, const struct place *place)
{
    char path[] = "/bin/true";
    char *const nothing[] = {path, NULL};
    struct cost best = {0};
    double best_plain = 0;

    for (uint32_t i = 0; i < repeats(bench); i++) {
        struct cost cost =
            run_once(place, BENCH_TBMESH " run --ranks 4 " BENCH_MACS " -- " BENCH_UC_MESH
                                         " barrier --repeat 1 --warmup 0");
        double begin = now_s();
        double span;

        for (int k = 0; k < 5; k++)
            finish(start(nothing, place->output), &(struct cost){0});
        span = now_s() - begin;
        best_plain = best_plain <= 0 || span < best_plain ? span : best_plain;
        keep_best(&best, &cost);
    }
    bench_add(bench, "ms", best_plain * 1e3, NULL, "emulator/4-ranks/start/nothing");
    bench_add(bench, "ms", best.wall_s * 1e3, "emulator/4-ranks/start/nothing",
              "emulator/4-ranks/start");
}

/* A run whose rank 0 starts only when the gate opens, after so many seconds. */
static struct cost run_gated(const struct place *place, double gate_s)
{
    struct timespec pause = {(time_t)gate_s, 0};
    struct cost cost = {0};
    char *words[WORDS_MAX];
    char text[1024];
    char script[256];
    double begin;
    int gate;

    (void)snprintf(text, sizeof text,
                   BENCH_TBMESH " run --ranks 4 " BENCH_MACS " -- /bin/sh -c @ :: " BENCH_UC_MESH
                                " barrier --repeat 1");
    (void)snprintf(script, sizeof script, "read x <%s; exec " BENCH_UC_MESH " barrier --repeat 1",
                   place->gate);
    cut_words(text, words);
    for (char **word = words; *word; word++) {
        if (strcmp(*word, "@") == 0)
            *word = script;
    }
    begin = now_s();

    pid_t pid = start(words, place->output);

    (void)nanosleep(&pause, NULL);
    gate = open(place->gate, O_WRONLY | O_CLOEXEC);
    if (gate < 0 || write(gate, "\n", 1) != 1)
        bench_fail("the gate of the idle run does not open");
    (void)close(gate);
    finish(pid, &cost);
    cost.wall_s = now_s() - begin;
    return cost;
}

/* Three ranks wait for the fourth: the processor time that a second of waiting takes. */
static void add_idle(struct bench *bench, const struct place *place)
{
    struct cost best[2] = {0};
    double wall;

    for (uint32_t i = 0; i < repeats(bench); i++) {
        for (size_t at = 0; at < 2; at++) {
            struct cost cost = run_gated(place, bench->is_quick ? 0 : 1 + 2 * (double)at);

            if (best[at].wall_s <= 0 || cost.cpu_s < best[at].cpu_s)
                best[at] = cost;
        }
    }
    wall = best[1].wall_s - best[0].wall_s;
    bench_add(bench, "%", bench->is_quick ? 0 : 100 * (best[1].cpu_s - best[0].cpu_s) / wall, NULL,
              "emulator/4-ranks/idle");
}

/* Eight Macs have too few ports for a mesh: a ring. */
static void write_macs8(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file ||
        fputs("tbmesh: 1\nname: eight studios in a ring\nseed: 1\nmacos: \"26.3\"\nmachines:\n"
              "  - {name: studio, model: mac-studio-m3-ultra, memory: 512 GiB, count: 8}\n"
              "cables:\n  - {ring: [studio1, studio2, studio3, studio4, studio5, studio6, studio7, "
              "studio8], kind: tb5-1m}\n"
              "rdma: enabled\nbridge: {members: none}\nip: per-cable\n",
              file) < 0 ||
        fclose(file) != 0)
        bench_fail("no scenario can be written to /tmp");
}

static void place_init(struct place *place)
{
    (void)snprintf(place->dir, sizeof place->dir, "/tmp/tbmesh-bench-XXXXXX");
    if (!mkdtemp(place->dir))
        bench_fail("no folder can be made in /tmp");
    (void)snprintf(place->output, sizeof place->output, "%.40s/output", place->dir);
    (void)snprintf(place->macs8, sizeof place->macs8, "%.40s/macs8.yaml", place->dir);
    (void)snprintf(place->gate, sizeof place->gate, "%.40s/gate", place->dir);
    write_macs8(place->macs8);
    if (mkfifo(place->gate, 0600) != 0)
        bench_fail("no FIFO can be made in /tmp");
}

static void place_done(const struct place *place)
{
    (void)unlink(place->output);
    (void)unlink(place->macs8);
    (void)unlink(place->gate);
    (void)rmdir(place->dir);
}

void bench_emulator(struct bench *bench)
{
    struct place place;

    place_init(&place);
    add_token(bench, SPIN, sysconf(_SC_NPROCESSORS_ONLN) > 1);
    add_token(bench, FUTEX, false);

    const struct load small[] = {
        {"2-ranks/4B", BENCH_MACS, "--sizes 4", 2, 1000, 41000},
        {"4-ranks/4B", BENCH_MACS, "--sizes 4", 4, 500, 5500},
        {"4-ring/4B", BENCH_MACS, "--ring --wires 1 --sizes 4", 4, 500, 2500},
        {"8-ring/4B", place.macs8, "--ring --wires 1 --sizes 32", 8, 50, 550},
    };

    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        add_small(bench, &place, &small[i], i == 0 ? SPIN : FUTEX);
    add_large(bench, &place);
    add_start(bench, &place);
    add_idle(bench, &place);
    place_done(&place);
}
