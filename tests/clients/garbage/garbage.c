/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: garbage
 *
 * Calls every function whose name it reads on stdin with arguments that make no sense, and says on
 * stdout which of them crashed: nothing and exit code 0 if none did. Functions take integers and
 * pointers only, so that a call with six of them reaches each one.
 *
 * A wild pointer is passed where a handle is expected, since the library can look handles up; not
 * for a buffer, which it has to believe in.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "tests/clients/garbage/newer.h"

#define WILD   UINT64_C(0x5ead00000000)
#define OBJECT 12
#define NEWER  5 /* of these, at the end */

typedef long any_fn(void *a, void *b, void *c, void *d, void *e, void *f);

static sigjmp_buf back;
static int crashes;

static void on_crash(int number)
{
    siglongjmp(back, number);
}

static bool is_among(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

/* What frees, or waits for ever, when its first argument is right. */
static const char *const consuming[] = {
    "ibv_close_device", "ibv_dealloc_pd",      "ibv_dereg_mr",         "ibv_destroy_cq",
    "ibv_destroy_qp",   "ibv_destroy_srq",     "ibv_destroy_ah",       "ibv_destroy_comp_channel",
    "ibv_get_cq_event", "ibv_get_async_event", "ibv_free_device_list", NULL};
/* What takes no handle first, so that it has to believe. */
static const char *const believing[] = {"ibv_free_device_list",
                                        "ibv_get_device_list",
                                        "ibv_read_sysfs_file",
                                        "ibv_copy_ah_attr_from_kern",
                                        "ibv_copy_path_rec_from_kern",
                                        "ibv_copy_path_rec_to_kern",
                                        "ibv_copy_qp_attr_from_kern",
                                        "ibv_ack_async_event",
                                        "ibv_read_ibdev_sysfs_file",
                                        "ibv_resolve_eth_l2_from_gid",
                                        NULL};

static void call(const char *name, const char *how, any_fn *fn, void *first, void *rest)
{
    int number = sigsetjmp(back, 1);

    if (number == 0) {
        (void)fn(first, rest, rest, rest, rest, rest);
        return;
    }
    crashes++;
    printf("%s with %s: signal %d\n", name, how, number);
}

static any_fn *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    any_fn *fn = NULL;

    memcpy(&fn, &symbol, sizeof fn);
    return fn;
}

static void call_all(const char *name, void *const objects[OBJECT])
{
    static char nothing[1 << 16]; /* what a buffer may be */
    any_fn *fn = find(name);

    if (!fn) {
        crashes++;
        printf("%s is not there\n", name);
        return;
    }
    call(name, "nothing", fn, NULL, NULL);
    memset(nothing, 0, sizeof nothing);
    if (strcmp(name, "ibv_free_device_list") != 0)
        call(name, "an empty buffer", fn, nothing, NULL);
    if (!is_among(name, believing)) {
        call(name, "wild handles", fn, (void *)WILD, (void *)WILD);
        call(name, "a wild handle", fn, (void *)WILD, nothing);
        call(name, "odd handles", fn, (void *)1, (void *)1);
        call(name, "the last address", fn, (void *)UINTPTR_MAX, (void *)UINTPTR_MAX);
    }
    if (is_among(name, consuming))
        return;
    for (int i = 0; i < OBJECT; i++)
        call(name, "an object of some kind, and nothing", fn, objects[i], NULL);
}

/* Each twice: the second time it is gone. */
static void destroy_twice(void *const objects[OBJECT])
{
    static const char *const names[OBJECT] = {NULL,
                                              "ibv_destroy_qp",
                                              "ibv_destroy_cq",
                                              "ibv_dereg_mr",
                                              "ibv_dealloc_pd",
                                              "ibv_destroy_comp_channel",
                                              "ibv_close_device",
                                              "ibv_destroy_ah",
                                              "ibv_destroy_srq",
                                              "ibv_destroy_qp",
                                              "ibv_destroy_cq",
                                              "ibv_destroy_qp"};

    for (int k = 1; k < OBJECT; k++) {
        /* What hangs on the others comes first. */
        int i = k <= NEWER ? OBJECT - k : k - NEWER;
        any_fn *fn = find(names[i]);

        call(names[i], "its object", fn, objects[i], NULL);
        call(names[i], "an object that is gone", fn, objects[i], NULL);
    }
}

/* The operations behind the inline functions of the header. */
static void call_operations(const struct ibv_context *context, void *const objects[OBJECT])
{
    const struct ibv_context_ops ops = context->ops;
    struct {
        const char *name;
        any_fn *fn;
    } all[] = {{"ibv_post_send", NULL},
               {"ibv_post_recv", NULL},
               {"ibv_poll_cq", NULL},
               {"ibv_req_notify_cq", NULL},
               {"ibv_post_srq_recv", NULL}};

    memcpy(&all[0].fn, &ops.post_send, sizeof all[0].fn);
    memcpy(&all[1].fn, &ops.post_recv, sizeof all[1].fn);
    memcpy(&all[2].fn, &ops.poll_cq, sizeof all[2].fn);
    memcpy(&all[3].fn, &ops.req_notify_cq, sizeof all[3].fn);
    memcpy(&all[4].fn, &ops.post_srq_recv, sizeof all[4].fn);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        static char nothing[4096];

        call(all[i].name, "nothing", all[i].fn, NULL, NULL);
        call(all[i].name, "a wild handle", all[i].fn, (void *)WILD, nothing);
        for (int k = 0; k < OBJECT; k++)
            call(all[i].name, "an object of some kind, and nothing", all[i].fn, objects[k], NULL);
    }
}

static void call_newer(struct newer *newer)
{
    int number = sigsetjmp(back, 1);

    if (number == 0) {
        crashes += newer_call(newer);
        return;
    }
    crashes++;
    printf("a newer verb: signal %d\n", number);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_crash};
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
    struct ibv_cq *cq = context ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC, .cap = {16, 16, 1, 1, 0}};
    struct ibv_qp *qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
    void *memory = NULL;
    struct ibv_mr *mr = NULL;
    char line[256];

    if (pd && posix_memalign(&memory, 16384, 16384) == 0)
        mr = ibv_reg_mr(pd, memory, 16384, 7);
    if (!qp || !mr)
        return 3;

    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct newer newer;

    newer_make(&newer, context, pd, cq, mr, channel);

    void *objects[OBJECT] = {list[0], qp,       cq,        mr,       pd,          channel,
                             context, newer.ah, newer.srq, newer.ud, newer.cq_ex, newer.rc};

    (void)sigaction(SIGSEGV, &action, NULL);
    (void)sigaction(SIGBUS, &action, NULL);
    (void)sigaction(SIGABRT, &action, NULL);
    (void)sigaction(SIGFPE, &action, NULL);
    if (channel)
        call_newer(&newer); /* before anything is written into the objects */
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        call_all(line, objects);
    }
    call_operations(context, objects);
    destroy_twice(objects);
    ibv_free_device_list(list);
    return crashes > 0;
}
