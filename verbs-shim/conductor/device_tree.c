/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Files that stand for devices
 *
 * Linux programs look into sysfs before they open a device, and whether /dev/infiniband has a
 * character device of its name that they may open: a link to /dev/null is one. The shim leads
 * these paths here (PROTO_ENV_TREE). A device's PCI slot is its number, so that programs which sort
 * or tell devices apart by it have something to do so.
 *
 * There is no node of rdma_cm: the real librdmacm, given one that opens, hangs.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/device_tree.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "verbs-shim/conductor/tree.h"

#define TEXT_MAX 256

struct tree {
    const char *root; /* borrowed */
    bool has_failed;
    bool has_lids;
    struct err *reterr;
};

static void put_link(struct tree *tree, const char *name, const char *target)
{
    tree->has_failed = tree->has_failed || !tree_add_link(tree->root, name, target, tree->reterr);
}

static void put_file(struct tree *tree, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_file(struct tree *tree, const char *name, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tree->has_failed = tree->has_failed || !tree_add_file(tree->root, name, text, tree->reterr);
}

/* Of a port: sysfs writes GIDs in groups of four digits. */
static void put_gid(struct tree *tree, const char *port, uint32_t index, const uint8_t *gid)
{
    char name[TEXT_MAX];
    char text[40] = "";

    for (size_t i = 0; i < 16; i += 2)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%02x%02x", i ? ":" : "",
                       gid[i], gid[i + 1]);
    (void)snprintf(name, sizeof name, "%s/gids/%u", port, index);
    put_file(tree, name, "%s\n", text);
    (void)snprintf(name, sizeof name, "%s/gid_attrs/types/%u", port, index);
    put_file(tree, name, "%s\n", tree->has_lids ? "IB/RoCE v1" : "RoCE v2");
}

static void put_port(struct tree *tree, const char *folder, const struct proto_device *device)
{
    char port[TEXT_MAX - 64];
    char name[TEXT_MAX];

    (void)snprintf(port, sizeof port, "%s/ports/1", folder);
    for (uint32_t i = 0; i < device->gid_count; i++) {
        put_gid(tree, port, i, device->gid[i]);
        (void)snprintf(name, sizeof name, "%s/gid_attrs/ndevs/%u", port, i);
        put_file(tree, name, "%s\n", device->name + strlen("rdma_"));
    }
    (void)snprintf(name, sizeof name, "%s/link_layer", port);
    put_file(tree, name, "%s\n", tree->has_lids ? "InfiniBand" : "Ethernet");
    (void)snprintf(name, sizeof name, "%s/pkeys/0", port);
    put_file(tree, name, "0xffff\n");
    (void)snprintf(name, sizeof name, "%s/state", port);
    put_file(tree, name, "%s\n", device->has_rdma ? "4: ACTIVE" : "1: DOWN");
}

static void put_device(struct tree *tree, uint32_t index, const struct proto_device *device)
{
    const uint8_t *guid = device->guid;
    char folder[TEXT_MAX / 2];
    char name[TEXT_MAX];
    char target[TEXT_MAX];

    (void)snprintf(name, sizeof name, "/dev/infiniband/uverbs%u", index);
    put_link(tree, name, "/dev/null");
    (void)snprintf(folder, sizeof folder, "/sys/devices/pci0000:00/0000:%02x:00.0", index + 1);
    (void)snprintf(name, sizeof name, "%s/numa_node", folder);
    put_file(tree, name, "-1\n");
    (void)snprintf(target, sizeof target, "../..%s/infiniband/%s", folder + strlen("/sys"),
                   device->name);
    (void)snprintf(name, sizeof name, "/sys/class/infiniband/%s", device->name);
    put_link(tree, name, target);
    (void)snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/infiniband/%s",
                   device->name);
    (void)snprintf(name, sizeof name, "%s/device", folder);
    put_link(tree, name, "../..");
    (void)snprintf(name, sizeof name, "%s/node_guid", folder);
    put_file(tree, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", guid[0], guid[1], guid[2],
             guid[3], guid[4], guid[5], guid[6], guid[7]);
    (void)snprintf(name, sizeof name, "%s/node_type", folder);
    put_file(tree, name, "1: CA\n");
    put_port(tree, folder, device);
    (void)snprintf(name, sizeof name, "/sys/class/infiniband_verbs/uverbs%u/ibdev", index);
    put_file(tree, name, "%s\n", device->name);
}

bool device_tree_make(const char *root, const struct proto_agreed *agreed, struct err *reterr)
{
    struct tree tree = {.root = root, .has_lids = agreed->has_lids != 0, .reterr = reterr};

    put_file(&tree, "/sys/class/infiniband_verbs/abi_version", "6\n");
    for (uint32_t i = 0; i < agreed->device_count; i++)
        put_device(&tree, i, &agreed->device[i]);
    return !tree.has_failed;
}
