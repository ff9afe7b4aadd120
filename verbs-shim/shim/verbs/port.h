/* SPDX-License-Identifier: Apache-2.0 */
/* What a context's operations and the protection domain need of a port. */
#ifndef VERBS_SHIM_SHIM_VERBS_PORT_H
#define VERBS_SHIM_SHIM_VERBS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

#define PORT_NUMBER    1
#define PORT_RD_ATOMIC 16 /* outstanding reads and atomics of a queue pair, profile `verbs` */

bool port_is_active(struct actor *a, const struct device *device);
int port_query(struct ibv_context *ibv, uint8_t port_num, struct ibv_port_attr *attr,
               size_t attr_size);
int port_query_device_ex(struct ibv_context *ibv, const struct ibv_query_device_ex_input *input,
                         struct ibv_device_attr_ex *attr, size_t attr_size);

#endif
