/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Protection domains and memory regions
 *
 * A region belongs to one domain; its lkey is a place in a table and how often that place has been
 * used, so that the key of a region that is gone finds nothing. Apple's regions have no remote key
 * (always 0), also when remote access was asked for.
 *
 * A real device has moved the bytes of a completion that waits in its queue before a region goes;
 * here they move at the poll, so deregistering first moves what has arrived by now.
 *
 * Unmapped memory is refused at registration, as pinning it would be: mincore looks, page by page.
 */
#include "verbs-shim/shim/verbs/memory.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/limit.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/port.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define KEY_SHIFT  12 /* low bits of a key: how often its place was used */
#define KEY_USES   (1U << KEY_SHIFT)
#define LOOK_PAGES 1024U
#define ACCESS_KNOWN                                                             \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
     IBV_ACCESS_REMOTE_ATOMIC)

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ibv)
{
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    struct context *context;
    struct pd *pd;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_CONTEXT))
        return library_fail(EINVAL);
    context = context_of(ibv);
    /* A Mac's; Linux has domains without a cable. */
    if (!library_now()->profile->has_one_sided && !port_is_active(a, context->device))
        return library_fail(ENETDOWN);
    if (context->device->pds >= library_now()->agreed->max_pd)
        return library_fail(ENOMEM);
    if (!limit_take(a, context->device, PROTO_LIMITED_PD))
        return library_fail(ENOMEM);
    pd = shim_alloc(sizeof *pd);
    if (pd == NULL || !live_add(&library_now()->live, pd, LIVE_PD)) {
        limit_give(a, context->device, PROTO_LIMITED_PD);
        shim_free(pd);
        return library_fail(ENOMEM);
    }
    pd->ibv.context = ibv;
    pd->ibv.handle = library_now()->next_handle++;
    pd->context = context;
    context->uses++;
    context->device->pds++;
    return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct pd *pd = (struct pd *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_PD))
        return EINVAL;
    if (pd->uses > 0)
        return EBUSY;
    live_remove(&library_now()->live, pd);
    pd->context->uses--;
    pd->context->device->pds--;
    limit_give(a, pd->context->device, PROTO_LIMITED_PD);
    shim_free(pd);
    return 0;
}

bool memory_is_mapped(uintptr_t addr, size_t length)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = addr - addr % page;
    unsigned char resident[LOOK_PAGES];

    if (length > UINTPTR_MAX - addr)
        return false;
    while (at < addr + length) {
        uintptr_t left = addr + length - at;
        uintptr_t step = left < LOOK_PAGES * page ? left : LOOK_PAGES * page;

        // NOLINTNEXTLINE(performance-no-int-to-ptr): a page of the range, not an object
        if (mincore((void *)at, step, resident) != 0)
            return false;
        at += step;
    }
    return true;
}

/* errno of a registration that cannot be. */
static int refuse(const struct pd *pd, uintptr_t addr, size_t length, uint64_t iova,
                  unsigned int access)
{
    const struct library *library = library_now();
    const unsigned int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

    if (length == 0 || access & ~(unsigned int)ACCESS_KNOWN)
        return (access & IBV_ACCESS_ZERO_BASED) ? EOPNOTSUPP : EINVAL;
    if (access & remote && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    if (access == IBV_ACCESS_LOCAL_WRITE &&
        !rule_holds(library->agreed, RULE_LOCAL_WRITE_IS_ENOUGH))
        return EINVAL;
    if (iova == 0 && !library->profile->has_one_sided)
        return EOPNOTSUPP;
    if (pd->context->device->mrs >= library->agreed->max_mr)
        return ENOMEM;
    return memory_is_mapped(addr, length) ? 0 : EFAULT;
}

static bool give_key(struct mr *mr)
{
    struct library *library = library_now();
    uint32_t place = table_free_index(&library->mrs);

    if (place > UINT32_MAX >> KEY_SHIFT || !table_put(&library->mrs, place, mr))
        return false;
    mr->ibv.lkey = (place << KEY_SHIFT) | (1 + library->next_key % (KEY_USES - 1));
    library->next_key++;
    mr->ibv.rkey = library->profile->has_one_sided ? mr->ibv.lkey : 0;
    return true;
}

/* A region that the device has one more of, with its key. NULL: none. */
static struct mr *enter_mr(struct actor *a, const struct device *device)
{
    struct library *library = library_now();
    struct mr *mr;

    if (!limit_take(a, device, PROTO_LIMITED_MR))
        return NULL;
    mr = shim_alloc(sizeof *mr);
    if (mr != NULL && live_add(&library->live, mr, LIVE_MR)) {
        if (give_key(mr))
            return mr;
        live_remove(&library->live, mr);
    }
    limit_give(a, device, PROTO_LIMITED_MR);
    shim_free(mr);
    return NULL;
}

static struct ibv_mr *register_region(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
                                      unsigned int access)
{
    struct pd *pd = (struct pd *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_REG_MR);
    struct mr *mr;
    uint64_t pages;
    int error;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_PD))
        return library_fail(EINVAL);
    access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
    error = refuse(pd, (uintptr_t)addr, length, iova, access);
    if (error)
        return library_fail(error);
    mr = enter_mr(a, pd->context->device);
    if (mr == NULL)
        return library_fail(ENOMEM);
    mr->ibv.context = pd->ibv.context;
    mr->ibv.pd = ibv;
    mr->ibv.addr = addr;
    mr->ibv.length = length;
    mr->ibv.handle = library_now()->next_handle++;
    mr->pd = pd;
    mr->iova = iova;
    mr->access = access;
    pd->uses++;
    pd->context->uses++;
    pd->context->device->mrs++;
    pages = (length - 1) / library_now()->agreed->page_bytes + 1;
    actor_charge(a, PROTO_CHARGE_REG_PAGE, pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages);
    return &mr->ibv;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return register_region(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return register_region(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    return register_region(pd, addr, length, iova, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd;
    (void)offset;
    (void)length;
    (void)iova;
    (void)fd;
    (void)access;
    return library_fail(EOPNOTSUPP);
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
                 int access)
{
    (void)mr;
    (void)flags;
    (void)pd;
    (void)addr;
    (void)length;
    (void)access;
    return IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
    struct mr *mr = (struct mr *)ibv;
    struct library *library = library_now();
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_MR))
        return EINVAL;
    if (mr->pd->in_error > 0 && !rule_holds(library->agreed, RULE_ERR_KEEPS_REGIONS))
        return EIO;
    poll_deliver_arrived(a);
    (void)table_put(&library->mrs, mr->ibv.lkey >> KEY_SHIFT, NULL);
    live_remove(&library->live, mr);
    mr->pd->uses--;
    mr->pd->context->uses--;
    mr->pd->context->device->mrs--;
    limit_give(a, mr->pd->context->device, PROTO_LIMITED_MR);
    shim_free(mr);
    return 0;
}

void *memory_at(const struct pd *pd, const struct ibv_sge *sge, unsigned int access)
{
    const struct mr *mr = table_get(&library_now()->mrs, sge->lkey >> KEY_SHIFT);

    if (mr == NULL || mr->ibv.lkey != sge->lkey || mr->pd != pd || (mr->access & access) != access)
        return NULL;
    return memory_in(mr, sge->addr, sge->length);
}

void *memory_in(const struct mr *mr, uint64_t addr, uint64_t length)
{
    uint64_t offset = addr - mr->iova;

    if (offset > mr->ibv.length || length > mr->ibv.length - offset)
        return NULL;
    return (char *)mr->ibv.addr + offset;
}
