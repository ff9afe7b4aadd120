/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Memory spinners
 *
 * A program may wait in a loop that only reads memory: for a peer's RDMA write, or for another
 * thread. No call tells the clock, so the thread would keep its turn for ever. It is found by a
 * timer of its processor time, which looks whether it has made a call since the last look; if not,
 * the thread is followed instruction by instruction (the processor's trap flag) until it comes
 * back to where it was with the same registers and the same memory. Then nothing but somebody else
 * can end the loop: the thread parks (PROTO_PARK_SPIN) and goes on when its memory has changed.
 *
 * This is proof, not a guess from samples: how fast the machine is, and when the timer fires,
 * decides when a spinner is found in real time, never what it sees. A program that computes is left
 * alone: its registers or its memory change. So does a loop that counts its rounds in memory; it is
 * not found, and the run ends with the verdict that this rank computes.
 *
 * Memory: each word that an instruction is about to write is kept as it was (tsc_step.c knows what
 * it writes), and has to hold the same at the end; what lies below the stack pointer is dead. The
 * point of return (the anchor) moves to the present instruction whenever the steps have doubled,
 * as in Brent's search for cycles, and lies outside the shim and the C library, in which nobody may
 * be stopped half-way.
 *
 * Where in the loop a thread waits decides what it reads first when it wakes, and whether it holds
 * a lock meanwhile. So that is not left to where it was found: it goes on to the best place, the
 * one with the fewest locks, of these the first in the code.
 *
 * A thread that wakes is followed around its loop once more. If it comes back, it waits again, and
 * nobody else in the process needs to look; if it leaves, it may have written before it waits the
 * next time, so that others who wait for memory look, too.
 *
 * A thread that was found once is looked at soon after each turn, for a while.
 *
 * Cost: a look takes 2 us in 20 ms of processor time; a step 2 to 3 us. Looks that find a thread
 * computing are made ever more seldom until its next call.
 */
#include "verbs-shim/shim/core/spin.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/core/sys.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/spin_signal.h"
#include "verbs-shim/shim/tsc_hook.h"

#define LOOK_NS    20000000 /* of processor time */
#define SOON_NS    30000    /* of real time, after a turn */
#define CREDIT     64U      /* looks that soon without a find */
#define LOOKS_MAX  64U      /* between two searches */
#define STEPS_MIN  512U
#define STEPS_MAX  16384U
#define WORDS_MAX  256U
#define CODES_MAX  4U
#define RED_ZONE   128U /* bytes below the stack pointer that a leaf function uses (x86-64 ABI) */
#define DEAD_BYTES (UINT64_C(1) << 20)

/* Code where no thread may be stopped half-way: the shim's and the C library's. */
struct code {
    uint64_t from, to;
};

static struct code codes[CODES_MAX];
static _Atomic uint32_t code_count;

/* The segment that the address lies in. */
static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct code *code = ctx;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD || code->from < from ||
            code->from >= from + info->dlpi_phdr[i].p_memsz)
            continue;
        *code = (struct code){from, from + info->dlpi_phdr[i].p_memsz};
        return 1;
    }
    return 0;
}

void client_own_code(const void *inside)
{
    uint32_t count = atomic_load(&code_count);
    struct code code = {(uintptr_t)inside, 0};

    if (count == CODES_MAX || dl_iterate_phdr(find_code, &code) == 0)
        return;
    codes[count] = code;
    atomic_store(&code_count, count + 1);
}

#if defined(__x86_64__)

#define TRAP_FLAG  0x100
#define FLAGS_MASK 0xcd5 /* those that instructions set and test */

/* Memory that the loop has written, as it was before. */
struct word {
    uint64_t address; /* aligned */
    uint64_t value;
};

/* What instructions compute with. The upper halves of vectors are left out: no loop tests them
 * without the rest. */
struct registers {
    greg_t general[REG_RIP + 1];
    greg_t flags;
    unsigned char vector[16][16];
};

/* Where the thread was. */
struct anchor {
    bool is_set;
    struct registers registers;
    uint32_t word_count; /* since then; more than WORDS_MAX: too many */
    struct word words[WORDS_MAX];
};

/* A place in a loop. */
struct place {
    bool is_set;
    int locks; /* that the thread holds there */
    uint64_t pc;
    uint64_t print; /* of the registers */
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): there is one, in a reader's order
struct watchdog {
    struct actor *actor;
    int timer;        /* of processor time; -1: none */
    int soon;         /* of real time; -1: none yet */
    uint32_t credit;  /* looks soon after a turn that are left */
    uint64_t entries; /* calls at the last look */
    uint32_t looks;   /* since a call */
    bool is_stepping;
    bool was_blocked; /* SIGTRAP, in the program */
    bool is_woken;    /* it has waited at the anchor, and is followed around the loop once more */
    bool is_seeking;  /* the loop is closed, and the thread on its way to the best place */
    uint32_t steps, limit, anchor_at;
    uint32_t anchored_at; /* steps at the anchor */
    uint32_t period;      /* steps around the loop */
    struct anchor anchor;
    struct place best; /* since the anchor */
};

static struct watchdog dogs[PROTO_CLIENT_ACTORS];
static _Thread_local struct watchdog *dog __attribute__((tls_model("initial-exec")));
/* One thread of a process has the turn, so one is followed at a time. */
static struct sigaction trap_before;
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int (*real_sigmask)(int, const sigset_t *, sigset_t *);

static bool is_own_code(uint64_t pc)
{
    uint32_t count = atomic_load_explicit(&code_count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        if (pc >= codes[i].from && pc < codes[i].to)
            return true;
    }
    return false;
}

static void read_registers(const ucontext_t *uc, struct registers *ret)
{
    const struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

    memset(ret, 0, sizeof *ret);
    memcpy(ret->general, uc->uc_mcontext.gregs, sizeof ret->general);
    ret->flags = uc->uc_mcontext.gregs[REG_EFL] & FLAGS_MASK;
    if (fp != NULL)
        memcpy(ret->vector, fp->_xmm, sizeof ret->vector);
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word;

    // NOLINTNEXTLINE(performance-no-int-to-ptr): memory of the program
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

static void keep_word(struct anchor *anchor, uint64_t address)
{
    for (uint32_t i = 0; i < anchor->word_count && i < WORDS_MAX; i++) {
        if (anchor->words[i].address == address)
            return;
    }
    if (anchor->word_count < WORDS_MAX)
        anchor->words[anchor->word_count] = (struct word){address, word_at(address)};
    anchor->word_count++;
}

/* Keeps what the instruction is about to write, word by word: ranges of later ones may overlap. */
static void keep(struct anchor *anchor, uint64_t address, uint32_t bytes)
{
    uint64_t live = (uint64_t)anchor->registers.general[REG_RSP] - RED_ZONE;

    if (address < live && address >= live - DEAD_BYTES)
        return;
    for (uint64_t at = address & ~UINT64_C(7); at < address + bytes; at += sizeof at)
        keep_word(anchor, at);
}

/* Is all memory as it was at the anchor? */
static bool is_memory_same(const struct anchor *anchor)
{
    if (anchor->word_count > WORDS_MAX)
        return false;
    for (uint32_t i = 0; i < anchor->word_count; i++) {
        if (word_at(anchor->words[i].address) != anchor->words[i].value)
            return false;
    }
    return true;
}

static void set_anchor(struct watchdog *w, const ucontext_t *uc)
{
    w->anchor.is_set = true;
    w->anchor.word_count = 0;
    w->anchor_at = 2 * w->steps + 1;
    w->anchored_at = w->steps;
    read_registers(uc, &w->anchor.registers);
}

/* Is the thread where it was at the anchor, in all that it can tell? */
static bool is_around(const struct anchor *anchor, const ucontext_t *uc)
{
    struct registers now;

    if (!anchor->is_set || uc->uc_mcontext.gregs[REG_RIP] != anchor->registers.general[REG_RIP])
        return false;
    read_registers(uc, &now);
    return memcmp(&now, &anchor->registers, sizeof now) == 0 && is_memory_same(anchor);
}

enum step {
    STEP_ON,
    STEP_AROUND, /* the loop is closed */
    STEP_NONE,   /* no loop, or none that can be followed */
};

static struct place place_of(const struct watchdog *w, const ucontext_t *uc)
{
    struct registers registers;
    struct place place = {.is_set = true,
                          .locks = actor_locks(w->actor),
                          .pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP]};
    uint64_t words[sizeof registers / sizeof(uint64_t)];

    read_registers(uc, &registers);
    memcpy(words, &registers, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        place.print = (place.print ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        place.print ^= place.print >> 29;
    }
    return place;
}

static bool is_better(const struct place *a, const struct place *b)
{
    if (!b->is_set || a->locks != b->locks)
        return !b->is_set || a->locks < b->locks;
    return a->pc != b->pc ? a->pc < b->pc : a->print < b->print;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
    return a->is_set == b->is_set && a->locks == b->locks && a->pc == b->pc && a->print == b->print;
}

/* At an instruction where a thread may be stopped. */
static enum step look_at_place(struct watchdog *w, const ucontext_t *uc)
{
    struct place here = place_of(w, uc);

    if (w->is_seeking && is_same_place(&here, &w->best)) {
        set_anchor(w, uc);
        return STEP_AROUND;
    }
    if (w->steps > 0 && !w->is_seeking && is_around(&w->anchor, uc)) {
        if (!w->is_woken)
            w->period = w->steps - w->anchored_at;
        if (w->is_woken || is_same_place(&here, &w->best))
            return STEP_AROUND;
        w->is_seeking = true;
        w->limit = w->steps + 2 * w->period;
    }
    if (w->steps >= w->anchor_at && !w->is_seeking) {
        set_anchor(w, uc);
        w->best.is_set = false;
    }
    if (!w->is_seeking && !w->is_woken && is_better(&here, &w->best))
        w->best = here;
    return STEP_ON;
}

static enum step look_at(struct watchdog *w, const ucontext_t *uc)
{
    const struct tsc_hook *hook = tsc_hook();
    struct tsc_effect effect;

    if (w->steps >= w->limit || actor_self() != w->actor || actor_entries(w->actor) != w->entries ||
        hook == NULL)
        return STEP_NONE;
    if (!is_own_code((uint64_t)uc->uc_mcontext.gregs[REG_RIP]) &&
        look_at_place(w, uc) == STEP_AROUND)
        return STEP_AROUND;
    if (!hook->effect(uc, &effect))
        return STEP_NONE;
    for (uint32_t i = 0; w->anchor.is_set && i < effect.count; i++)
        keep(&w->anchor, effect.write[i].address, effect.write[i].bytes);
    w->steps++;
    return STEP_ON;
}

static void look_soon(struct watchdog *w)
{
    w->entries = actor_entries(w->actor);
    if (w->soon >= 0)
        sys_timer_set(w->soon, SOON_NS, 0);
}

static void on_step(int number, siginfo_t *info, void *context);

/* The thread runs freely again. */
static void stop_steps(struct watchdog *w, ucontext_t *uc)
{
    w->is_stepping = false;
    uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    if (w->was_blocked)
        (void)sigaddset(&uc->uc_sigmask, SIGTRAP);
    (void)real_sigaction(SIGTRAP, &trap_before, NULL);
}

/* A trap that is the program's own, while a thread of it is followed. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if (trap_before.sa_flags & SA_SIGINFO) {
        trap_before.sa_sigaction(number, info, context);
    } else if (trap_before.sa_handler == SIG_DFL) {
        (void)real_sigaction(SIGTRAP, &trap_before, NULL);
        (void)raise(SIGTRAP); /* and that is its end */
    } else if (trap_before.sa_handler != SIG_IGN) {
        trap_before.sa_handler(number);
    }
}

/* From here the thread is followed, if its next instruction can be. */
static void go_by_steps(struct watchdog *w, ucontext_t *uc)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_RESTART};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaddset(&action.sa_mask, SPIN_SIGNAL);
    w->steps = 0;
    if (look_at(w, uc) != STEP_ON || real_sigaction(SIGTRAP, &action, &trap_before) != 0)
        return;
    w->is_stepping = true;
    w->was_blocked = sigismember(&uc->uc_sigmask, SIGTRAP) == 1;
    (void)sigdelset(&uc->uc_sigmask, SIGTRAP);
    uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* The loop is closed: the thread waits until its memory may have changed, and is followed around
 * once more. If it comes back, what has changed was not what it waits for. */
static void wait_here(struct watchdog *w, ucontext_t *uc)
{
    actor_spin(w->actor, w->is_woken);
    if (w->soon < 0)
        w->soon = sys_timer_new(SYS_TIMER_REAL, SPIN_SIGNAL);
    w->credit = CREDIT;
    w->looks = 0;
    w->is_woken = true;
    w->is_seeking = false;
    w->limit = 2 * w->period + 1;
    w->anchor.word_count = 0;
    w->anchor_at = UINT32_MAX;
    w->entries = actor_entries(w->actor);
    go_by_steps(w, uc);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    struct watchdog *w = dog;
    ucontext_t *uc = context;
    enum step step;

    if (w == NULL || !w->is_stepping || info->si_code != TRAP_TRACE) {
        pass_on(number, info, context);
        return;
    }
    step = look_at(w, uc);
    if (step == STEP_ON)
        return;
    stop_steps(w, uc);
    if (step == STEP_AROUND)
        wait_here(w, uc);
    else if (w->credit > 0)
        look_soon(w);
}

/* Searches for a loop. */
static void search(struct watchdog *w, ucontext_t *uc, uint32_t limit)
{
    w->is_woken = false;
    w->is_seeking = false;
    w->limit = limit;
    w->anchor_at = 0;
    w->anchor.is_set = false;
    w->best.is_set = false;
    go_by_steps(w, uc);
}

/* The timer of processor time: searches at the 1st, 2nd, 4th ... look without a call, then at each
 * LOOKS_MAX-th. */
static bool is_search_due(struct watchdog *w)
{
    uint32_t looks = ++w->looks;

    return looks % LOOKS_MAX == 0 || (looks < LOOKS_MAX && (looks & (looks - 1)) == 0);
}

static void on_look(int number, siginfo_t *info, void *context)
{
    struct watchdog *w = dog;
    bool is_soon =
        w != NULL && info->si_code == SI_TIMER && info->si_value.sival_int == SYS_TIMER_REAL;

    (void)number;
    if (w == NULL || actor_self() != w->actor || w->is_stepping)
        return;
    if (actor_entries(w->actor) != w->entries) {
        w->looks = 0;
        w->entries = actor_entries(w->actor);
        if (is_soon && w->credit > 0 && --w->credit > 0)
            look_soon(w);
        return;
    }
    if (is_soon)
        search(w, context, STEPS_MIN);
    else if (is_search_due(w))
        search(w, context, w->looks < STEPS_MAX / STEPS_MIN ? STEPS_MIN * w->looks : STEPS_MAX);
}

/* Once a process. */
static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_look, .sa_flags = SA_SIGINFO | SA_RESTART};
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *inside;

    if (!libc)
        return;
    /* The wrappers around these keep programs away from the signal. */
    *(void **)(void *)&real_sigaction = dlsym(libc, "sigaction");
    *(void **)(void *)&real_sigmask = dlsym(libc, "pthread_sigmask");
    inside = dlsym(libc, "sigaction");
    (void)dlclose(libc);
    if (real_sigaction == NULL || real_sigmask == NULL)
        return;
    client_own_code(inside);
    *(void **)(void *)&inside = dlsym(RTLD_DEFAULT, "tbmesh_actor_self");
    client_own_code(inside);
    (void)sigemptyset(&action.sa_mask);
    if (real_sigaction(SPIN_SIGNAL, &action, NULL) != 0)
        real_sigaction = NULL;
}

void spin_begin(struct actor *a)
{
    static bool is_tried; /* by the process's first actor, when there is no other */
    struct watchdog *w = &dogs[actor_number(a) % PROTO_CLIENT_ACTORS];
    sigset_t ours;

    if (!is_tried)
        install();
    is_tried = true;
    if (real_sigaction == NULL)
        return;
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SPIN_SIGNAL);
    (void)real_sigmask(SIG_UNBLOCK, &ours, NULL);
    *w = (struct watchdog){
        .actor = a, .soon = -1, .timer = sys_timer_new(SYS_TIMER_CPU, SPIN_SIGNAL)};
    dog = w;
    if (w->timer >= 0)
        sys_timer_set(w->timer, LOOK_NS, LOOK_NS);
}

void spin_end(void)
{
    if (dog == NULL)
        return;
    if (dog->timer >= 0)
        sys_timer_delete(dog->timer);
    if (dog->soon >= 0)
        sys_timer_delete(dog->soon);
    dog = NULL;
}

void spin_go_on(struct actor *a)
{
    if (dog != NULL && dog->actor == a && dog->credit > 0 && !dog->is_stepping)
        look_soon(dog);
}

#else

void spin_begin(struct actor *a)
{
    (void)a;
}

void spin_end(void)
{
}

void spin_go_on(struct actor *a)
{
    (void)a;
}

#endif
