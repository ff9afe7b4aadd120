/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: IP stack
 *
 * A segment passes three servers at once, on the way out and on the way in: one direction of the
 * interface (ip.stack_direction), the interface with both directions (ip.stack_port), the host
 * with all interfaces (ip.stack_host). It starts when all three are free and leaves when its
 * direction is done. The two that are shared count their backlog from the segment's arrival: one
 * that waits for its own direction leaves them to the others. So one stream runs at the
 * direction's rate, two opposite streams share the interface's, and several cables the host's,
 * which is how measurements differ: 47-64 Gb/s one way, 40 + 40 both ways (exo issue 2063, avlp12),
 * and a second TCP ring that adds half, not all (mlx PR 1985).
 */
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/fabric/fabric_state.h"

simtime fabric_stack_pass(struct fabric *f, uint32_t port_ix, uint32_t direction, simtime start,
                          uint32_t length_bytes)
{
    struct fabric_port *port = &fabric_ports(f)[port_ix];
    struct fabric_host *host = &fabric_hosts(f)[port->host];
    bytecount size = {length_bytes};
    simtime begin = simtime_max(start, port->free_direction[direction]);

    begin = simtime_max(begin, port->free_port);
    begin = simtime_max(begin, host->free_stack);
    port->free_direction[direction] =
        simtime_add(begin, bitrate_send_span(f->stack_direction, size));
    port->free_port =
        simtime_add(simtime_max(start, port->free_port), bitrate_send_span(f->stack_port, size));
    host->free_stack =
        simtime_add(simtime_max(start, host->free_stack), bitrate_send_span(f->stack_host, size));
    return port->free_direction[direction];
}
