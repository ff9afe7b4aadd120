/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Devices and contexts
 *
 * One device for each Thunderbolt port of the Mac, named after its interface. A device may be
 * opened several times (JACCL does so for each connection); limits count for the device, whichever
 * context asks (ml-explore/mlx#4209). Opening works with the cable out: what fails then is the
 * protection domain (ml-explore/mlx PR 4530).
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/text.h"

#undef ibv_get_device_list

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    const struct library *library;
    struct ibv_device **list;

    if (num_devices != NULL)
        *num_devices = 0;
    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return NULL;
    library = library_now();
    list = shim_alloc((library->device_count + 1) * sizeof(struct ibv_device *));
    if (list == NULL)
        return NULL;
    for (uint32_t i = 0; i < library->device_count; i++)
        list[i] = &library->devices[i].ibv;
    if (num_devices != NULL)
        *num_devices = (int)library->device_count;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    shim_free(list);
}

static struct device *device_at(struct ibv_device *ibv)
{
    return object_is(ibv, LIVE_DEVICE) ? (struct device *)(void *)ibv : NULL;
}

const char *ibv_get_device_name(struct ibv_device *ibv)
{
    const struct device *device = device_at(ibv);

    return device != NULL ? device->ibv.name : library_fail(EINVAL);
}

__be64 ibv_get_device_guid(struct ibv_device *ibv)
{
    const struct device *device = device_at(ibv);
    __be64 guid = 0;

    if (device != NULL)
        memcpy(&guid, device->port->guid, sizeof guid);
    else
        errno = EINVAL;
    return guid;
}

int ibv_get_device_index(struct ibv_device *ibv)
{
    const struct device *device = device_at(ibv);

    return device != NULL ? (int)device->index : -1;
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    struct context *context;

    if (a == NULL)
        return NULL;
    if (device_at(ibv) == NULL)
        return library_fail(EINVAL);
    context = shim_alloc(sizeof *context);
    if (context == NULL)
        return NULL;
    context->device = device_at(ibv);
    context->verbs.sz = sizeof context->verbs;
    context->verbs.context.device = ibv;
    context->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context->verbs.context.num_comp_vectors = 1;
    context->verbs.context.cmd_fd = -1;
    context->verbs.context.async_fd = channel_make_fd();
    context_set_ops(context);
    if (context->verbs.context.async_fd < 0 ||
        !live_add(&library_now()->live, &context->verbs.context, LIVE_CONTEXT)) {
        channel_close_fd(context->verbs.context.async_fd);
        shim_free(context);
        return library_fail(ENOMEM);
    }
    actor_stats(a)->opened_device = 1;
    return &context->verbs.context;
}

int ibv_close_device(struct ibv_context *ibv)
{
    struct context *context;

    if (library_enter(PROTO_CHARGE_OBJECT) == NULL)
        return -1;
    if (!object_is(ibv, LIVE_CONTEXT)) {
        errno = EINVAL;
        return -1;
    }
    context = context_of(ibv);
    live_remove(&library_now()->live, ibv);
    channel_close_fd(ibv->async_fd);
    /* The kernel takes what is left with the file, so a program may leave objects behind (perftest
     * does). Those still point here: the memory stays until the process ends. */
    if (context->uses == 0)
        shim_free(context);
    return 0;
}

/* Files of sysfs. Debian's libibverbs exports them, and ibv_devinfo reads board_id by them. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    char path[512];
    size_t at;
    ssize_t got;
    int fd;

    if (dir == NULL || file == NULL || buf == NULL || size == 0 || size > INT32_MAX) {
        errno = EINVAL;
        return -1;
    }
    at = text_put(path, sizeof path, 0, dir);
    at = text_put(path, sizeof path, at, "/");
    at = text_put(path, sizeof path, at, file);
    if (at + 1 == sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    got = read(fd, buf, size - 1);
    (void)close(fd);
    if (got < 0)
        return -1;
    while (got > 0 && buf[got - 1] == '\n')
        got--;
    buf[got] = '\0';
    return (int)got;
}
