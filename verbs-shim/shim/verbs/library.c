/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Joining through verbs
 *
 * A program may load verbs late, by dlopen, so the first call of any verb joins the simulation.
 * What a process gets then, its ports and limits, stays fixed for its life. A child of fork is a
 * process of its own: what its parent agreed upon is not its own, so its first call starts afresh
 * and the parent's objects mean nothing to it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/rdma.h"
#include "verbs-shim/shim/verbs/text.h"

static struct library library;

static void describe(struct device *device, uint32_t index, const struct proto_device *port)
{
    struct ibv_device *ibv = &device->ibv;

    device->index = index;
    device->port = port;
    ibv->node_type = IBV_NODE_CA;
    ibv->transport_type = (enum ibv_transport_type)library.profile->transport;
    (void)text_put(ibv->name, sizeof ibv->name, 0, port->name);
    (void)text_put_number(ibv->dev_name, sizeof ibv->dev_name,
                          text_put(ibv->dev_name, sizeof ibv->dev_name, 0, "uverbs"), index);
    (void)text_put(ibv->dev_path, sizeof ibv->dev_path,
                   text_put(ibv->dev_path, sizeof ibv->dev_path, 0, "/sys/class/infiniband_verbs/"),
                   ibv->dev_name);
    (void)text_put(ibv->ibdev_path, sizeof ibv->ibdev_path,
                   text_put(ibv->ibdev_path, sizeof ibv->ibdev_path, 0, "/sys/class/infiniband/"),
                   ibv->name);
}

static struct library *begin(const struct proto_agreed *agreed)
{
    struct device *devices = NULL;
    uint32_t count = agreed->device_count;

    if (count > PROTO_DEVICES_MAX)
        count = PROTO_DEVICES_MAX;
    if (count > 0) {
        devices = shim_alloc(count * sizeof *devices);
        if (devices == NULL)
            return library_fail(ENOMEM);
    }
    library = (struct library){.profile = profile_of(agreed), .devices = devices};
    for (uint32_t i = 0; i < count; i++) {
        describe(&devices[i], i, &agreed->device[i]);
        if (!live_add(&library.live, &devices[i], LIVE_DEVICE)) {
            shim_free(devices);
            shim_free(library.live.cells);
            library = (struct library){.agreed = NULL};
            return library_fail(ENOMEM);
        }
    }
    library.device_count = count;
    library.agreed = agreed;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a place in the code
    client_own_code((const void *)(uintptr_t)channel_look);
    client_set_look(channel_look);
    rdma_begin();
    return &library;
}

struct library *library_get(void)
{
    if (library.agreed != NULL && client_is_joined())
        return &library;
    if (!client_is_joined() && !client_join())
        return library_fail(ENOSYS);
    return begin(client_agreed());
}

struct library *library_now(void)
{
    return &library;
}

struct actor *library_enter(enum proto_charge what)
{
    struct actor *a = actor_self();

    if (a == NULL || library.agreed == NULL) {
        if (library_get() == NULL)
            return NULL;
        a = actor_self();
        if (a == NULL)
            return library_fail(ENOSYS);
    }
    actor_charge(a, what, 1);
    return a;
}

void *library_fail(int error)
{
    errno = error;
    return NULL;
}
