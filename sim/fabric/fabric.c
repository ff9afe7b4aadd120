/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Fabric
 *
 * Everything that carries bytes between machines, in one block of memory.
 *
 *   post -> send queue -> (credit | IP stack) -> link direction(s), frame by frame
 *        -> latency -> (IP stack) -> completion at the receiver
 *
 * fabric.c       the block: its layout, creation of queue pairs, dispatch of events, counters
 * fabric_link.c  a link direction as a FIFO server of frames, in bursts
 * fabric_qp.c    queues, credits, messages from post to completion
 * fabric_ip.c    the IP stack of a host as three servers
 * fabric_life.c  queue pairs come, are connected, flushed and released
 * fabric_ring.c  rings of sized queue pairs
 * fabric_foresee.c  completions that are certain ahead of time
 *
 * Sharing rule: the queue pairs and IP connections with a frame ready for a link direction take
 * turns, a frame each, in the order in which they became ready. USB4 schedules paths of one
 * priority round robin; how Apple divides a cable between IP and RDMA is not published ("hardware
 * balances", Apple TN3205).
 *
 * Only what is next is in the event list: the end of a link's burst, the oldest message in flight
 * of a queue pair, one wake-up of a waiting head. The rest waits in rings. Nothing is allocated
 * after fabric_init.
 */
#include "sim/fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/fabric_state.h"
#include "sim/fabric/model.h"

/* Offsets and counts that follow from a configuration. */
struct block_plan {
    struct fabric head;
    uint32_t event_capacity;
    size_t size;
};

static size_t take(size_t *at, size_t bytes)
{
    size_t start = *at;

    *at = mem_align64(start + bytes);
    return start;
}

static uint32_t count_ports(const struct cluster *cluster)
{
    size_t count = 0;

    for (size_t i = 0; i < cluster->host_count; i++)
        count += cluster->hosts[i].port_count;
    return (uint32_t)count;
}

static struct block_plan plan_block(const struct fabric_config *config)
{
    struct block_plan plan = {0};
    struct fabric *f = &plan.head;
    size_t at = mem_align64(sizeof *f);

    f->link_count = (uint32_t)(2 * config->cluster->cable_count);
    f->qp_capacity = config->qp_capacity;
    f->port_count = count_ports(config->cluster);
    f->host_count = (uint32_t)config->cluster->host_count;
    f->change_capacity = config->fault_capacity;
    /* Messages that have left stay in the send ring until they arrive, each with a claim on one of
     * the peer's receives: hence twice the capacity, and a bit for what needs no claim. */
    f->send_mask = mem_power_of_two(2 * config->wr_capacity + 16) - 1;
    f->recv_mask = mem_power_of_two(config->wr_capacity) - 1;

    plan.event_capacity = f->link_count * LINK_EVENTS_MAX + f->qp_capacity * QP_EVENTS_MAX +
                          f->change_capacity + config->user_events + 1;
    plan.event_capacity += config->early_qps * (f->send_mask + 1);
    if (config->early_qps) /* those of flushed sends are still there when the places are free */
        plan.event_capacity += 2 * config->ring_entries;

    f->links_at = take(&at, f->link_count * sizeof(struct fabric_link));
    f->qps_at = take(&at, f->qp_capacity * sizeof(struct fabric_qp));
    f->hubs_at = take(&at, (size_t)f->qp_capacity * HUB_FRAMES * sizeof(simtime));
    f->sends_at = take(&at, ((size_t)f->qp_capacity * (f->send_mask + 1) + config->ring_entries) *
                                sizeof(struct fabric_send));
    f->recvs_at = take(&at, ((size_t)f->qp_capacity * (f->recv_mask + 1) + config->ring_entries) *
                                sizeof(struct fabric_recv));
    f->ports_at = take(&at, f->port_count * sizeof(struct fabric_port));
    f->hosts_at = take(&at, f->host_count * sizeof(struct fabric_host));
    f->changes_at = take(&at, f->change_capacity * sizeof(struct fabric_change));
    f->engine_at = take(&at, engine_mem_size(config->evq, plan.event_capacity));
    plan.size = at;
    return plan;
}

size_t fabric_mem_size(const struct fabric_config *config)
{
    return plan_block(config).size;
}

static void copy_params(struct fabric *f, const struct fabric_config *config)
{
    const struct param_set *params = config->params;

    f->seed = config->seed;
    f->goodput_80g = param_rate(params, PARAM_RDMA_GOODPUT);
    f->goodput_10g = param_rate(params, PARAM_ETHERNET_10G_GOODPUT);
    f->latency = param_span(params, PARAM_RDMA_LATENCY);
    f->jitter = config->has_jitter ? param_span(params, PARAM_RDMA_JITTER) : (simspan){0};
    f->credit_latency = param_span(params, PARAM_RDMA_CREDIT_LATENCY);
    f->hub_latency = param_span(params, PARAM_HUB_LATENCY);
    f->ip_latency = param_span(params, PARAM_IP_LATENCY);
    f->stack_direction = param_rate(params, PARAM_IP_STACK_DIRECTION);
    f->stack_port = param_rate(params, PARAM_IP_STACK_PORT);
    f->stack_host = param_rate(params, PARAM_IP_STACK_HOST);
    f->frame_bytes = (uint32_t)params->v[PARAM_RDMA_FRAME].value;
    f->ip_frame_bytes = f->frame_bytes - (uint32_t)params->v[PARAM_IP_FRAME_HEADER].value;
    f->queue_frames = (uint32_t)params->v[PARAM_RDMA_QUEUE_FRAMES].value;
    f->unmatched = config->unmatched;
    f->single_frames = config->single_frames;
    f->foresee = config->foresee;
    f->free_qp = ID_NONE;
    f->fresh_head = f->fresh_tail = ID_NONE;
}

/* First server of each host's interfaces: ports are numbered host by host. */
static uint32_t port_server(const struct cluster *cluster, struct cluster_end end)
{
    size_t first = 0;

    for (uint32_t i = 0; i < end.host.ix; i++)
        first += cluster->hosts[i].port_count;
    return (uint32_t)(first + end.port);
}

static void init_cable(struct fabric *f, const struct fabric_config *config, uint32_t cable)
{
    const struct cluster *cluster = config->cluster;
    const struct cluster_cable *c = &cluster->cables[cable];
    simspan metre = param_span(config->params, PARAM_CABLE_PROPAGATION);
    simspan propagation = {metre.ps * (int64_t)c->model->length_mm / 1000};

    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        struct fabric_link *link = &fabric_links(f)[2 * cable + reverse];
        struct cluster_end from = reverse ? c->b : c->a;
        struct cluster_end to = reverse ? c->a : c->b;

        *link = (struct fabric_link){
            .propagation = propagation,
            .port_from = port_server(cluster, from),
            .port_to = port_server(cluster, to),
            .cable = cable,
            .is_ethernet = c->model->kind == PORT_ETHERNET,
            .to_forwarder = machine_forwards(cluster->hosts[to.host.ix].model),
            .list_head = ID_NONE,
            .list_tail = ID_NONE,
            .serving = ID_NONE,
            .promised = ID_NONE,
        };
        fabric_set_link_rate(f, 2 * cable + reverse, reverse ? c->rate_ba : c->rate_ab);
    }
}

static void init_hosts(struct fabric *f, const struct cluster *cluster)
{
    uint32_t port = 0;

    for (uint32_t h = 0; h < f->host_count; h++) {
        const struct cluster_host *host = &cluster->hosts[h];

        fabric_hosts(f)[h] = (struct fabric_host){
            .staging = host->model->chip ? host->model->chip->host_staging : (bitrate){0},
        };
        for (size_t i = 0; i < host->port_count; i++)
            fabric_ports(f)[port++] = (struct fabric_port){.host = h};
    }
}

struct fabric *fabric_init(void *mem, const struct fabric_config *config)
{
    struct block_plan plan = plan_block(config);
    struct fabric *f = mem;

    if (!config->mem_is_zero)
        memset(mem, 0, plan.size);
    *f = plan.head;
    copy_params(f, config);
    (void)engine_init(fabric_clock(f), config->evq, plan.event_capacity);
    fabric_init_pools(f, config->ring_entries);
    init_hosts(f, config->cluster);
    for (uint32_t i = 0; i < f->link_count / 2; i++)
        init_cable(f, config, i);
    return f;
}

struct engine *fabric_engine(struct fabric *fabric)
{
    return fabric_clock(fabric);
}

/* A change of rate is due: both directions take it now, or after what has been promised of them
 * when the change came as a surprise. */
static void change_rate(struct fabric *f, uint32_t change_ix, const struct fabric_hooks *hooks)
{
    const struct fabric_change *change = &fabric_changes(f)[change_ix];
    struct fabric_link *links = &fabric_links(f)[2 * (size_t)change->cable];
    simtime later = engine_now(fabric_clock(f));

    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        if (links[reverse].promised != ID_NONE)
            later = simtime_max(later, links[reverse].promised_end);
    }
    if (links[0].promised != ID_NONE || links[1].promised != ID_NONE) {
        engine_push(fabric_clock(f), later, EVENT_RATE, change_ix);
        return;
    }
    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        links[reverse].changes--;
        fabric_set_link_rate(f, 2 * change->cable + reverse, change->rate[reverse]);
    }
    if (hooks->trace && hooks->trace->cable_state)
        hooks->trace->cable_state(hooks->trace->ctx, (cable_id){change->cable},
                                  engine_now(fabric_clock(f)), change->rate[0], change->rate[1]);
}

static void dispatch(struct fabric *f, const struct evq_event *event,
                     const struct fabric_hooks *hooks)
{
    if (event->kind >= FABRIC_KIND_USER) {
        hooks->user_event(hooks->ctx, event->kind, event->arg);
        return;
    }
    switch ((enum fabric_event)event->kind) {
    case EVENT_LINK_DONE:
        fabric_link_done(f, event->arg, event->at, hooks);
        break;
    case EVENT_QP_READY:
        fabric_qps(f)[event->arg].has_timer = false;
        fabric_try_send(f, event->arg);
        break;
    case EVENT_HUB_READY:
        fabric_qps(f)[event->arg].has_hub_timer = false;
        fabric_try_forward(f, event->arg);
        break;
    case EVENT_ARRIVED:
        fabric_arrive(f, event->arg, hooks);
        break;
    case EVENT_SEND_QUEUED:
        fabric_complete_queued(f, event->arg, hooks);
        break;
    case EVENT_RATE:
        change_rate(f, event->arg, hooks);
        break;
    case EVENT_LOCAL:
        fabric_local_left(f, event->arg, hooks);
        break;
    }
}

uint64_t fabric_run_until(struct fabric *f, simtime limit, const struct fabric_hooks *hooks,
                          const bool *stop)
{
    struct engine *engine = fabric_clock(f);
    struct evq_event event;
    uint64_t count = 0;

    for (;;) {
        if (f->fresh_head != ID_NONE)
            fabric_foresee_fresh(f, hooks);
        if ((stop && *stop) || !engine_pop_until(engine, limit, &event))
            return count;
        dispatch(f, &event, hooks);
        count++;
    }
}

/*
 * Memory server of a host.
 *
 * The thread alone takes size / thread_rate; all threads together may not pass host_staging, so
 * the work also needs its share of a FIFO server of that rate. It ends when both are done.
 */
simtime fabric_host_work(struct fabric *f, host_id host, simtime start, bytecount size,
                         bitrate thread_rate)
{
    struct fabric_host *server = &fabric_hosts(f)[host.ix];
    simtime end = start;

    if (thread_rate.bps)
        end = simtime_add(start, bitrate_send_span(thread_rate, size));
    if (server->staging.bps) {
        simtime begin = simtime_max(start, server->free_staging);

        server->free_staging = simtime_add(begin, bitrate_send_span(server->staging, size));
        end = simtime_max(end, server->free_staging);
    }
    f->has_staged = true;
    return end;
}

void fabric_schedule_rate(struct fabric *f, simtime at, cable_id cable, bitrate forward,
                          bitrate reverse)
{
    if (f->change_count == f->change_capacity)
        abort(); /* the builder counts the scenario's faults */
    fabric_changes(f)[f->change_count] =
        (struct fabric_change){.cable = cable.ix, .rate = {forward, reverse}};
    for (uint32_t side = 0; side < 2; side++)
        fabric_links(f)[2 * cable.ix + side].changes++;
    engine_push(fabric_clock(f), at, EVENT_RATE, f->change_count);
    f->change_count++;
}

void fabric_set_frame_faults(struct fabric *f, cable_id cable, uint32_t loss_ppb,
                             uint32_t corrupt_ppb)
{
    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        struct fabric_link *link = &fabric_links(f)[2 * cable.ix + reverse];

        link->loss_ppb = loss_ppb;
        link->corrupt_ppb = corrupt_ppb;
    }
}

uint32_t fabric_link_count(const struct fabric *f)
{
    return f->link_count;
}

struct fabric_link_counters fabric_link_counters(const struct fabric *f, link_id link)
{
    return fabric_links(f)[link.ix].counters;
}

struct fabric_qp_counters fabric_qp_counters(const struct fabric *f, qp_id qp)
{
    return fabric_qps(f)[qp.ix].counters;
}

uint32_t fabric_qp_count(const struct fabric *f)
{
    return f->qp_count;
}

bool fabric_cable_is_up(const struct fabric *f, cable_id cable)
{
    const struct fabric_link *links = &fabric_links(f)[2 * (size_t)cable.ix];

    return links[0].line.bps != 0 && links[1].line.bps != 0;
}

enum fabric_wait fabric_qp_wait(const struct fabric *f, qp_id id)
{
    const struct fabric_qp *qp = &fabric_qps(f)[id.ix];

    if (qp->head == qp->tail && qp->forwarded == qp->tail)
        return FABRIC_WAIT_NOTHING;
    for (uint32_t hop = 0; hop < qp->hops; hop++) {
        if (fabric_links(f)[qp->link[hop]].line.bps == 0)
            return FABRIC_WAIT_CABLE;
    }
    return qp->is_blocked ? FABRIC_WAIT_RECV : FABRIC_WAIT_LINK;
}

/* Adds what this queue pair has sent to the kinds of traffic that there have been. */
void fabric_add_traffic(const struct fabric *f, const struct fabric_qp *qp,
                        struct fabric_traffic *found)
{
    bool is_ethernet = qp->hops > 0 && fabric_links(f)[qp->link[0]].is_ethernet;

    if (qp->forwarded == 0 && qp->counters.sends == 0)
        return;
    found->rdma |= qp->kind != FABRIC_QP_IP;
    found->ip |= qp->kind == FABRIC_QP_IP;
    found->ip_over_cable |= qp->kind == FABRIC_QP_IP && !is_ethernet;
    found->ethernet |= is_ethernet;
    found->hub |= qp->hops > 1;
}

static struct fabric_traffic find_traffic(const struct fabric *f)
{
    struct fabric_traffic found = f->past;

    for (uint32_t i = 0; i < f->qp_count; i++)
        fabric_add_traffic(f, &fabric_qps(f)[i], &found);
    return found;
}

/*
 * Whether a parameter took part, by what was done that needs it. Parameters that act outside the
 * fabric (posts, polls, hand-offs) are the driver's to answer for: false here.
 */
bool fabric_param_had_effect(const struct fabric *f, enum param_id id)
{
    struct fabric_traffic been = find_traffic(f);

    switch (id) {
    case PARAM_RDMA_GOODPUT: /* IP over a Thunderbolt cable crosses the same link */
    case PARAM_RDMA_FRAME:
        return been.rdma || been.ip_over_cable;
    case PARAM_RDMA_LATENCY:
    case PARAM_RDMA_CREDIT_LATENCY:
        return been.rdma;
    case PARAM_RDMA_JITTER:
        return been.rdma && f->jitter.ps > 0;
    case PARAM_RDMA_QUEUE_FRAMES:
        return f->posts_refused;
    case PARAM_CABLE_PROPAGATION:
        return been.rdma || been.ip;
    case PARAM_HUB_LATENCY:
        return been.hub;
    case PARAM_IP_STACK_DIRECTION:
    case PARAM_IP_STACK_PORT:
    case PARAM_IP_STACK_HOST:
    case PARAM_IP_LATENCY:
        return been.ip;
    case PARAM_IP_FRAME_HEADER:
        return been.ip_over_cable;
    case PARAM_ETHERNET_10G_GOODPUT:
        return been.ethernet;
    case PARAM_RDMA_POST_SEND:
    case PARAM_RDMA_POST_RECV:
    case PARAM_RDMA_POLL:
    case PARAM_GPU_HANDOFF_FAST:
    case PARAM_GPU_HANDOFF_SLOW:
    case PARAM_GPU_COPY:
    case PARAM_STORAGE_RATE:
    case PARAM_IP_IDLE_WAKEUP:
    case PARAM_IP_SEGMENT:
    case PARAM_IP_WINDOW:
    case PARAM_CPU_POLL_EMPTY:
    case PARAM_CPU_POST_MORE:
    case PARAM_CPU_CLOCK:
    case PARAM_CPU_REG_MR:
    case PARAM_CPU_REG_PAGE:
    case PARAM_CPU_OBJECT:
    case PARAM_CPU_VERB:
    case PARAM_CPU_SOCKET:
    case PARAM_CPU_SYNC:
    case PARAM_SIDE_LATENCY:
    case PARAM_COUNT:
        return false;
    }
    return false;
}
