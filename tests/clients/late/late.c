/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Verbs loaded late
 *
 * Linked in place of libibverbs, it makes uc_mesh a program that begins as JACCL does: no object of
 * it needs a verbs library, the ranks meet over TCP first, and only then is librdma.dylib opened
 * and each function looked up in it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

/* These are macros around calls of the functions that are defined here. */
#undef ibv_query_port
#undef ibv_reg_mr

static void *look_up(const char *name)
{
    static void *library;
    void *function;

    if (!library)
        library = dlopen("librdma.dylib", RTLD_NOW | RTLD_GLOBAL);
    function = library ? dlsym(library, name) : NULL;
    if (!function) {
        (void)fprintf(stderr, "uc_mesh: %s\n", dlerror());
        exit(3);
    }
    return function;
}

/* FORWARD(result, name, parameters, arguments) */
#define FORWARD(result, name, parameters, arguments) \
    result name parameters                           \
    {                                                \
        static result(*function) parameters;         \
                                                     \
        if (!function)                               \
            *(void **)&function = look_up(#name);    \
        return function arguments;                   \
    }

FORWARD(struct ibv_device **, ibv_get_device_list, (int *ret_count), (ret_count))
FORWARD(const char *, ibv_get_device_name, (struct ibv_device * device), (device))
FORWARD(struct ibv_context *, ibv_open_device, (struct ibv_device * device), (device))
FORWARD(int, ibv_close_device, (struct ibv_context * context), (context))
FORWARD(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context), (context))
FORWARD(int, ibv_dealloc_pd, (struct ibv_pd * pd), (pd))
FORWARD(struct ibv_qp *, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *attr),
        (pd, attr))
FORWARD(int, ibv_destroy_qp, (struct ibv_qp * qp), (qp))
FORWARD(int, ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
        (qp, attr, mask))
FORWARD(struct ibv_cq *, ibv_create_cq,
        (struct ibv_context * context, int entries, void *own, struct ibv_comp_channel *channel,
         int vector),
        (context, entries, own, channel, vector))
FORWARD(int, ibv_destroy_cq, (struct ibv_cq * cq), (cq))
FORWARD(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd * pd, void *at, size_t bytes, int access),
        (pd, at, bytes, access))
FORWARD(struct ibv_mr *, ibv_reg_mr_iova2,
        (struct ibv_pd * pd, void *at, size_t bytes, uint64_t iova, unsigned int access),
        (pd, at, bytes, iova, access))
FORWARD(int, ibv_dereg_mr, (struct ibv_mr * mr), (mr))
FORWARD(int, ibv_query_gid,
        (struct ibv_context * context, uint8_t port, int index, union ibv_gid *gid),
        (context, port, index, gid))
FORWARD(int, ibv_query_port,
        (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr *attr),
        (context, port, attr))

void ibv_free_device_list(struct ibv_device **list)
{
    static void (*function)(struct ibv_device * *list);

    if (!function)
        *(void **)&function = look_up("ibv_free_device_list");
    function(list);
}
