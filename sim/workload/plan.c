/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Plans
 *
 * A plan answers one question: what does thread t of rank r do in its phase i? The answer is
 * arithmetic on (algorithm, size, rank, thread, phase index), so a collective of a thousand ranks
 * and a million messages needs no table. Both ends of a lane ask for their own side and must agree
 * on the number and the length of the messages; tests compare the two sides of every lane.
 */
#include "sim/workload/plan.h"

uint64_t plan_share(const struct plan *plan, uint64_t bytes, uint32_t parts)
{
    return u64_div_ceil(bytes / plan->element, parts) * plan->element;
}

void phase_begin(const struct plan *plan, struct phase *phase)
{
    struct stream *streams = phase->streams;

    *phase = (struct phase){
        .chunk = plan->chunk,
        .limit = plan->bytes,
        .block_bytes = plan->bytes,
        .blocks = 1,
        .gate_unit = 1,
        .streams = streams,
    };
}

void phase_cut(struct phase *phase, uint64_t block_bytes, uint32_t blocks)
{
    phase->block_bytes = block_bytes;
    phase->blocks = blocks;
}

void stream_cut(const struct phase *phase, struct stream *stream, uint64_t begin, uint64_t bytes)
{
    stream->slice_begin = begin;
    stream->slice_bytes = bytes;
    stream->per_step = u64_div_ceil(bytes, phase->chunk);
    if (stream->per_step == 0)
        stream->per_step = 1;
}

struct stream *phase_add(const struct plan *plan, struct phase *phase, bool is_send, uint32_t lane,
                         uint32_t block)
{
    struct stream *stream = &phase->streams[phase->stream_count++];

    *stream = (struct stream){
        .lane = lane,
        .is_send = is_send,
        .depth = plan->depth,
        .block = block,
        .steps = 1,
    };
    stream_cut(phase, stream, 0, phase->block_bytes);
    return stream;
}

bool phase_forward(const struct plan *plan, uint32_t rank, uint32_t index, struct phase *phase)
{
    phase_begin(plan, phase);
    phase->is_gated = true;
    if (rank > 0)
        phase_add(plan, phase, false, 0, 0);
    if (rank + 1 < plan->layout->ranks)
        phase_add(plan, phase, true, 1, 0);
    return index == 0;
}

uint32_t plan_fit_depth(const struct plan *plan, uint64_t chunk, uint32_t depth)
{
    uint64_t frame = param_size(plan->params, PARAM_RDMA_FRAME).bytes;
    uint64_t budget = (uint64_t)plan->params->v[PARAM_RDMA_QUEUE_FRAMES].value;
    uint64_t frames = chunk ? u64_div_ceil(chunk, frame) : 1;
    uint64_t fits = budget / frames;

    return fits < depth ? (uint32_t)fits : depth;
}

static bool check_size(const struct run_item *item, uint64_t size, uint32_t element,
                       struct err *reterr)
{
    if (size == 0)
        return err_set(reterr, ERR_RANGE, item->pos, "a size must be at least 1 B");
    if (size % element != 0)
        return err_set(reterr, ERR_RANGE, item->pos,
                       "%llu B is not a whole number of %s elements of %u B",
                       (unsigned long long)size, dtype_name(item->dtype), element);
    if (size > UINT64_C(1) << 46)
        return err_set(reterr, ERR_LIMIT, item->pos, "a size may be at most 64 TiB");
    return true;
}

// NOLINTNEXTLINE(readability-function-size): what a plan follows from are five different things
bool plan_make(const struct run_item *item, bytecount size, const struct layout *layout,
               const struct cluster *cluster, const struct param_set *params, struct plan *ret,
               struct err *reterr)
{
    bool is_barrier = item->op == RUN_BARRIER;
    bool is_raw = item->op == RUN_PING_PONG || item->op == RUN_STREAM ||
                  item->op == RUN_SEND_RECV || is_barrier;
    enum dtype dtype = is_raw ? DTYPE_U8 : item->dtype;
    uint64_t bytes = is_barrier ? 1 : size.bytes;

    if (!check_size(item, bytes, dtype_size(dtype), reterr))
        return false;
    *ret = (struct plan){
        .item = item,
        .layout = layout,
        .params = params,
        .op = is_barrier ? RUN_ALL_REDUCE : item->op,
        .dtype = dtype,
        .element = dtype_size(dtype),
        .bytes = bytes,
        .note = layout->note,
    };
    ret->block_bytes = plan_share(ret, bytes, layout->ranks);
    if (ret->op == RUN_ALL_GATHER) {
        ret->block_bytes = bytes;
        ret->bytes = bytes * layout->ranks;
    } else if (ret->op == RUN_ALL_TO_ALL) {
        ret->bytes = ret->block_bytes * layout->ranks;
    }
    switch (item->library) {
    case LIBRARY_JACCL_MESH:
    case LIBRARY_JACCL_RING:
        return plan_make_jaccl(ret, cluster, reterr);
    case LIBRARY_TCP_RING:
        plan_make_tcp_ring(ret);
        return true;
    case LIBRARY_VERBS:
    case LIBRARY_TCP:
        return plan_make_micro(ret, reterr);
    case LIBRARY_RING:
    case LIBRARY_MESH:
    case LIBRARY_RECURSIVE_DOUBLING:
    case LIBRARY_HALVING_DOUBLING:
    case LIBRARY_BINOMIAL_TREE:
    case LIBRARY_COUNT:
        break;
    }
    return plan_make_textbook(ret, reterr);
}
