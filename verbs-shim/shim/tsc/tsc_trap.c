/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Playing the instruction
 *
 * A patched site raises SIGILL in the thread that executes it, at that instruction: to the program
 * it is a call like any other, so the handler may wait in it for the thread's turn. The handler
 * takes no lock, leaves errno alone, and the kernel keeps the floating point state. It runs on the
 * thread's own stack, not on the alternate one, which programs make just large enough for
 * themselves.
 *
 * SIGILL stays ours. The program's own action is kept here and played for every SIGILL that is not
 * a site of ours, so that it sees the signal as if we were not there; with the default action, the
 * default action is restored and the signal raised again. SIGILL is never blocked while the
 * program's handler runs: a clock read in it would end the process.
 */
#include "verbs-shim/shim/tsc/tsc_trap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

struct trap {
    uint64_t (*now_cycles)(void);
    void (*loaded)(void);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *); /* the C library's */
    int (*set_mask)(int, const sigset_t *, sigset_t *);
    _Atomic(const struct tsc_table *) table;
    struct sigaction program[2]; /* the current one is program[current] */
    _Atomic unsigned current;
};

/* A signal handler has nobody to hand it a context. */
static struct trap trap;

static const struct tsc_site *find_site(uint64_t address)
{
    const struct tsc_table *table = atomic_load_explicit(&trap.table, memory_order_acquire);
    size_t low = 0;
    size_t high = table ? table->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->site[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return table && low < table->count && table->site[low].address == address ? &table->site[low]
                                                                              : NULL;
}

static const struct sigaction *program_action(void)
{
    return &trap.program[atomic_load_explicit(&trap.current, memory_order_acquire)];
}

static void set_program_action(const struct sigaction *action)
{
    unsigned other = 1 - atomic_load_explicit(&trap.current, memory_order_relaxed);

    trap.program[other] = *action;
    sigdelset(&trap.program[other].sa_mask, SIGILL);
    atomic_store_explicit(&trap.current, other, memory_order_release);
}

/* The default action, in the program's name. */
static void take_default(bool is_fault)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};

    trap.sigaction(SIGILL, &plain, NULL);
    if (!is_fault) /* a fault comes back by itself when the instruction is tried again */
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGILL);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction action = *program_action();
    bool is_fault = info->si_code > 0;

    if (!(action.sa_flags & SA_SIGINFO) &&
        (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        if (action.sa_handler == SIG_DFL || is_fault) /* a fault cannot be ignored */
            take_default(is_fault);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND) {
        struct sigaction plain = {.sa_handler = SIG_DFL};

        set_program_action(&plain);
    }
    trap.set_mask(SIG_BLOCK, &action.sa_mask, NULL); /* the kernel restores it on return */
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

static void play_return(greg_t *regs)
{
    uint64_t address;

    // NOLINTNEXTLINE(performance-no-int-to-ptr): a register
    memcpy(&address, (const void *)(uintptr_t)regs[REG_RSP], sizeof(address));
    regs[REG_RSP] += (greg_t)sizeof(address);
    regs[REG_RIP] = (greg_t)address;
}

static void on_sigill(int number, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *regs = uc->uc_mcontext.gregs;
    const struct tsc_site *site = info->si_code > 0 ? find_site((uint64_t)regs[REG_RIP]) : NULL;

    if (!site) {
        pass_on(number, info, context);
        return;
    }
    int saved = errno;

    if (site->kind == TSC_LOADER) {
        trap.loaded();
        play_return(regs);
        errno = saved;
        return;
    }

    uint64_t cycles = trap.now_cycles();

    regs[REG_RAX] = (greg_t)(cycles & UINT32_MAX);
    regs[REG_RDX] = (greg_t)(cycles >> 32);
    if (site->kind == TSC_RDTSCP)
        regs[REG_RCX] = 0; /* processor 0 of node 0, always */
    regs[REG_RIP] += site->length;
    errno = saved;
}

/* A handler of the program's that blocks SIGILL would die at its first clock read. */
static void unblock_in_handlers(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;

        if (number == SIGILL || trap.sigaction(number, NULL, &action) != 0 ||
            sigismember(&action.sa_mask, SIGILL) != 1)
            continue;
        sigdelset(&action.sa_mask, SIGILL);
        trap.sigaction(number, &action, NULL);
    }
}

int tsc_trap_install(uint64_t (*now_cycles)(void), void (*loaded)(void))
{
    struct sigaction ours = {.sa_sigaction = on_sigill,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    struct sigaction before;
    sigset_t only;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    if (!libc)
        return ENOTSUP;
    /* A wrapper around sigaction would hand the program's view to us: ask the C library. */
    *(void **)(void *)&trap.sigaction = dlsym(libc, "sigaction");
    *(void **)(void *)&trap.set_mask = dlsym(libc, "pthread_sigmask");
    dlclose(libc);
    if (!trap.sigaction || !trap.set_mask)
        return ENOTSUP;
    trap.now_cycles = now_cycles;
    trap.loaded = loaded;
    if (trap.sigaction(SIGILL, NULL, &before) != 0)
        return errno;
    set_program_action(&before);
    if (trap.sigaction(SIGILL, &ours, NULL) != 0)
        return errno;
    unblock_in_handlers();
    sigemptyset(&only);
    sigaddset(&only, SIGILL);
    return trap.set_mask(SIG_UNBLOCK, &only, NULL);
}

void tsc_trap_publish(const struct tsc_table *table)
{
    atomic_store_explicit(&trap.table, table, memory_order_release);
}

int tsc_trap_sigaction(const struct sigaction *act, struct sigaction *old)
{
    struct sigaction wanted;

    if (act)
        wanted = *act; /* act and old may be the same */
    if (old)
        *old = *program_action();
    if (act)
        set_program_action(&wanted);
    return 0;
}
