/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the time stamp counter in every way that compilers produce, and holds the bytes of rdtsc
 * where they are none. Runs with tsc_fake preloaded; compiled at -O0 and at -O2, and stripped.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tests/emulator/tsc/tsc_fake.h"

static int failures;

static void expect(bool is_right, const char *what)
{
    if (is_right)
        return;
    printf("FAIL %s\n", what);
    failures++;
}

__attribute__((noinline)) static uint64_t read_plain(void)
{
    return __rdtsc();
}

__attribute__((noinline)) static uint64_t read_ordered(unsigned *aux)
{
    return __rdtscp(aux);
}

/* With a prefix the instruction is three bytes long. */
__attribute__((noinline)) static uint64_t read_prefixed(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile(".byte 0x48, 0x0f, 0x31" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Only a jump table leads to the instruction. */
__attribute__((noinline)) static uint64_t read_by_switch(int which)
{
    switch (which) {
    case 0:
        return 10;
    case 1:
        return read_plain() + 1;
    case 2:
        return 30;
    case 3:
        return __rdtsc();
    case 4:
        return 50 + (uint64_t)getpid();
    case 5:
        return 60;
    case 6:
        return 70 + (uint64_t)getppid();
    default:
        return 0;
    }
}

/*
 * uint32_t immediates(void): the bytes inside an immediate, a displacement and an opcode's tail.
 * uint32_t table(uint64_t i): the bytes in a jump table between two pieces of one function.
 * uint64_t no_unwind(void): a function that only .symtab knows.
 */
__asm__(".text\n"
        ".type immediates, @function\n"
        "immediates:\n"
        ".cfi_startproc\n"
        "  mov $0x310f310f, %eax\n"
        "  lea 0x310f(%rax), %rdx\n"
        "  sub %rax, %rdx\n"
        "  add $0xf9010f, %eax\n"
        "  xor %edx, %eax\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size immediates, . - immediates\n"
        ".type table, @function\n"
        "table:\n"
        ".cfi_startproc\n"
        "  lea 1f(%rip), %rdx\n"
        "  mov (%rdx,%rdi,4), %eax\n"
        "  test %eax, %eax\n"
        "  js 2f\n"
        "  ret\n"
        "1:\n"
        "  .long 0x310f, 0x0100310f, 0xf9010f, 0x310f0000\n"
        "2:\n"
        "  xor %eax, %eax\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size table, . - table\n"
        ".type no_unwind, @function\n"
        "no_unwind:\n"
        "  rdtsc\n"
        "  shl $32, %rdx\n"
        "  or %rdx, %rax\n"
        "  ret\n"
        ".size no_unwind, . - no_unwind\n");
uint32_t immediates(void);
uint32_t table(uint64_t i);
uint64_t no_unwind(void);

static void test_reads(void)
{
    unsigned aux = 77;
    uint64_t before = read_plain();

    expect(before >> 32 == 7, "both halves of the counter");
    expect(read_plain() == before + 1000, "rdtsc");
    expect(read_ordered(&aux) == before + 2000, "rdtscp");
    expect(aux == 0, "rdtscp names processor 0");
    expect(read_prefixed() == before + 3000, "rdtsc with a prefix");
    expect(read_by_switch(3) == before + 4000, "rdtsc in a switch");
    expect(read_by_switch(1) == before + 5001, "rdtsc behind a call in a switch");
}

static void test_bytes_elsewhere(void)
{
    expect(immediates() == ((UINT32_C(0x310f310f) + 0xf9010f) ^ 0x310f),
           "immediates are untouched");
    expect(table(0) == 0x310f && table(1) == 0x0100310f && table(2) == 0xf9010f &&
               table(3) == 0x310f0000,
           "a jump table is untouched");
}

/* What a function may keep across the instruction: all registers but those it writes, the flags,
 * the 128 bytes below the stack pointer, errno. */
static void test_state_is_kept(void)
{
    uint64_t rcx = 11;
    uint64_t r8 = 12;
    uint64_t red = 0;
    uint64_t carry = 0;
    double x = 1.5;

    errno = ENOTTY;
    __asm__ volatile("movq $4242, -64(%%rsp)\n\t"
                     "stc\n\t"
                     "rdtsc\n\t"
                     "sbb %3, %3\n\t"
                     "movq -64(%%rsp), %2\n\t"
                     : "+c"(rcx), "+r"(r8), "=r"(red), "+r"(carry), "+x"(x)
                     :
                     : "rax", "rdx", "memory", "cc");
    expect(rcx == 11 && r8 == 12, "registers are kept");
    expect(red == 4242, "the red zone is kept");
    expect(carry == UINT64_MAX, "flags are kept");
    expect(x > 1.4 && x < 1.6, "floating point registers are kept");
    expect(errno == ENOTTY, "errno is kept");
}

static uint64_t handled_at;
static uint64_t handled_time;

static void on_ill(int number, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    (void)number;
    (void)info;
    handled_at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    handled_time = read_plain();
    uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void die_by(void (*cause)(void))
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        cause();
        _exit(0);
    }
    waitpid(child, &status, 0);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL,
           "the default action ends the process");
}

static void cause_fault(void)
{
    __asm__ volatile("ud2");
}

static void cause_kill(void)
{
    raise(SIGILL);
}

static void test_own_handler(void)
{
    struct sigaction ours = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    struct sigaction seen;
    uint64_t here = 0;
    uint64_t start;

    die_by(cause_fault);
    die_by(cause_kill);
    sigfillset(&ours.sa_mask);
    expect(sigaction(SIGILL, &ours, &before) == 0 && before.sa_handler == SIG_DFL,
           "the program finds the default action");
    start = read_plain();
    __asm__ volatile("lea 1f(%%rip), %0\n\t1: ud2" : "=r"(here) : : "memory");
    expect(handled_at == here, "the program's handler sees its fault");
    expect(handled_time == start + 1000, "the program's handler may read the counter");
    expect(read_plain() == start + 2000, "the counter works after the program took SIGILL");
    expect(sigaction(SIGILL, &before, &seen) == 0 && seen.sa_sigaction == on_ill,
           "the program finds its own handler");
}

static void *read_often(void *ctx)
{
    uint64_t last = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t now = __rdtsc();

        if (now <= last || now >> 32 != 7)
            *(bool *)ctx = false;
        last = now;
    }
    return NULL;
}

static void test_threads(void)
{
    bool is_right[4] = {true, true, true, true};
    pthread_t thread[4];
    uint64_t before = tsc_fake_reads();

    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, read_often, &is_right[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    expect(is_right[0] && is_right[1] && is_right[2] && is_right[3], "threads read in order");
    expect(tsc_fake_reads() == before + 4000, "every read of every thread is ours");
}

static void test_late_object(const char *path)
{
    for (int round = 0; round < 3; round++) {
        uint64_t start = read_plain();
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const uint64_t *first = module ? dlsym(module, "module_first_read") : NULL;
        uint64_t (*read)(void) = NULL;

        expect(module, "the module loads");
        if (!module)
            return;
        *(void **)(void *)&read = dlsym(module, "module_read");
        expect(first && *first == start + 1000, "the constructor of an object loaded late");
        expect(tsc_fake_rescan() == 0, "an object that was loaded late has no new site");
        uint64_t before = read_plain();

        expect(read && read() == before + 1000, "rdtsc in an object that was loaded late");
        dlclose(module);
        expect(tsc_fake_rescan() == 0, "an object that is gone is forgotten");
    }
}

int main(int argc, char **argv)
{
    if (!tsc_fake_reads || argc < 3) {
        printf("usage: LD_PRELOAD=tsc_fake tsc_program MODULE full|stripped\n");
        return 2;
    }
    test_reads();
    test_bytes_elsewhere();
    test_state_is_kept();
    test_own_handler();
    test_threads();
    test_late_object(argv[1]);
    expect((no_unwind() >> 32 == 7) == (strcmp(argv[2], "full") == 0),
           "a function is patched exactly if something says where it begins");
    return failures > 0;
}
