/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transitions of queue pairs: every pair of states, every type, and masks around what each needs,
 * against the specification's table written the other way round: by attribute.
 */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/shim/support/world.h"

#define RC 1U
#define UC 2U
#define UD 4U

#define STATES   7 /* RESET to ERR */
#define MASK_ALL ((1 << 21) - 1)

/* Steps of the table: 'a' RESET to INIT, 'b' INIT to INIT, 'c' INIT to RTR, 'd' RTR to RTS,
 * 'e' RTS to RTS. */
static char step_of(int from, int to)
{
    static const struct {
        int from, to;
        char step;
    } steps[] = {
        {IBV_QPS_RESET, IBV_QPS_INIT, 'a'}, {IBV_QPS_INIT, IBV_QPS_INIT, 'b'},
        {IBV_QPS_INIT, IBV_QPS_RTR, 'c'},   {IBV_QPS_RTR, IBV_QPS_RTS, 'd'},
        {IBV_QPS_RTS, IBV_QPS_RTS, 'e'},
    };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].from == from && steps[i].to == to)
            return steps[i].step;
    }
    return '\0';
}

/* InfiniBand specification, volume 1, section 11.2.5.2. */
static const struct {
    int bit;
    unsigned types;
    const char *needed, *allowed; /* in these steps */
} attributes[] = {
    {IBV_QP_CUR_STATE, RC | UC | UD, "", "de"},
    {IBV_QP_ACCESS_FLAGS, RC | UC, "a", "bcde"},
    {IBV_QP_PKEY_INDEX, RC | UC | UD, "a", "bc"},
    {IBV_QP_PORT, RC | UC | UD, "a", "b"},
    {IBV_QP_QKEY, UD, "a", "bcde"},
    {IBV_QP_AV, RC | UC, "c", ""},
    {IBV_QP_PATH_MTU, RC | UC, "c", ""},
    {IBV_QP_DEST_QPN, RC | UC, "c", ""},
    {IBV_QP_RQ_PSN, RC | UC, "c", ""},
    {IBV_QP_MAX_DEST_RD_ATOMIC, RC, "c", ""},
    {IBV_QP_MIN_RNR_TIMER, RC, "c", "de"},
    {IBV_QP_SQ_PSN, RC | UC | UD, "d", ""},
    {IBV_QP_TIMEOUT, RC, "d", ""},
    {IBV_QP_RETRY_CNT, RC, "d", ""},
    {IBV_QP_RNR_RETRY, RC, "d", ""},
    {IBV_QP_MAX_QP_RD_ATOMIC, RC, "d", ""},
};

static void find_masks(unsigned type, char step, int *ret_needed, int *ret_allowed)
{
    *ret_needed = 0;
    *ret_allowed = IBV_QP_STATE;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (!(attributes[i].types & type))
            continue;
        if (strchr(attributes[i].needed, step))
            *ret_needed |= attributes[i].bit;
        if (strchr(attributes[i].allowed, step))
            *ret_allowed |= attributes[i].bit;
    }
    *ret_allowed |= *ret_needed;
}

static bool expected(unsigned type, int from, int asked, int mask)
{
    int to = mask & IBV_QP_STATE ? asked : from;
    char step = step_of(from, to);
    int needed;
    int allowed;

    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return (mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE)) == 0;
    if (!step)
        return false;
    find_masks(type, step, &needed, &allowed);
    return (mask & needed) == needed && (mask & ~allowed) == 0;
}

static struct context context;
static struct pd pd;
static struct qp qp;

static enum ibv_qp_type verbs_type(unsigned type)
{
    return type == RC ? IBV_QPT_RC : type == UC ? IBV_QPT_UC : IBV_QPT_UD;
}

static const struct profile profile = {.wants_ipv4 = true};

static void set_up(void)
{
    memset(&world, 0, sizeof world);
    world.library.agreed = &world.agreed;
    world.library.profile = &profile;
    cr_assert(live_add(&world.library.live, &qp, LIVE_QP));
}

static void tear_down(void)
{
    free(world.library.live.cells);
}

TestSuite(qp_state, .init = set_up, .fini = tear_down);

static struct ibv_qp_attr sane(int from, int to)
{
    struct ibv_qp_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.qp_state = (enum ibv_qp_state)to;
    attr.cur_qp_state = (enum ibv_qp_state)from;
    attr.path_mtu = IBV_MTU_1024;
    attr.port_num = 1;
    attr.ah_attr.port_num = 1;
    attr.dest_qp_num = 17;
    return attr;
}

static int modify(unsigned type, int from, struct ibv_qp_attr *attr, int mask)
{
    memset(&qp, 0, sizeof qp);
    qp.context = &context;
    qp.pd = &pd;
    qp.ibv.qp_base.qp_type = verbs_type(type);
    qp.ibv.qp_base.state = (enum ibv_qp_state)from;
    return ibv_modify_qp(&qp.ibv.qp_base, attr, mask);
}

static uint64_t tried;

static void try(unsigned type, int from, int to, int mask)
{
    struct ibv_qp_attr attr = sane(from, to);
    bool is_expected = expected(type, from, to, mask);
    int error = modify(type, from, &attr, mask);
    int state = is_expected && mask & IBV_QP_STATE ? to : from;

    tried++;
    if (error != (is_expected ? 0 : EINVAL) || (int)qp.ibv.qp_base.state != state)
        cr_expect(false, "type %u, %d to %d, mask 0x%x: error %d, state %d, expected %s", type,
                  from, to, (unsigned)mask, error, (int)qp.ibv.qp_base.state,
                  is_expected ? "that it is accepted" : "EINVAL");
}

/* Up to three bits more or fewer than `mask`. */
static void try_around(unsigned type, int from, int to, int mask)
{
    try(type, from, to, mask);
    for (int a = 1; a <= MASK_ALL; a <<= 1) {
        try(type, from, to, mask ^ a);
        for (int b = a << 1; b <= MASK_ALL; b <<= 1) {
            try(type, from, to, mask ^ a ^ b);
            for (int c = b << 1; c <= MASK_ALL; c <<= 1)
                try(type, from, to, mask ^ a ^ b ^ c);
        }
    }
}

/* Every set of the attributes that have a meaning there. */
static void try_subsets(unsigned type, int from, int to, int allowed)
{
    for (int mask = allowed;; mask = (mask - 1) & allowed) {
        try(type, from, to, mask);
        if (mask == 0)
            return;
    }
}

Test(qp_state, a_transition_takes_what_the_specification_says)
{
    for (unsigned type = RC; type <= UD; type <<= 1) {
        for (int pair = 0; pair < STATES * STATES; pair++) {
            int from = pair / STATES;
            int to = pair % STATES;
            int needed;
            int allowed;

            find_masks(type, step_of(from, to) ? step_of(from, to) : '-', &needed, &allowed);
            try_around(type, from, to, needed | IBV_QP_STATE);
            try_subsets(type, from, to, allowed);
        }
    }
    cr_expect_gt(tried, 200000);
}

Test(qp_state, a_value_that_makes_no_sense_is_refused)
{
    const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    struct ibv_qp_attr attr;

    for (int row = 0; row < 12; row++) {
        bool is_init = row < 6;

        attr = is_init ? sane(IBV_QPS_RESET, IBV_QPS_INIT) : sane(IBV_QPS_INIT, IBV_QPS_RTR);
        attr.port_num = row == 1 ? 0 : row == 2 ? 2 : 1;
        attr.pkey_index = row == 3;
        attr.qp_access_flags = row == 4 ? 1U << 5 : row == 5 ? 7 : 0;
        attr.path_mtu = row == 7 ? (enum ibv_mtu)0 : row == 8 ? (enum ibv_mtu)6 : IBV_MTU_4096;
        attr.ah_attr.port_num = row == 9 ? 2 : 1;
        attr.dest_qp_num = row == 10 ? 1U << 24 : row == 11 ? (1U << 24) - 1 : 0;

        int error = modify(UC, is_init ? IBV_QPS_RESET : IBV_QPS_INIT, &attr, is_init ? init : rtr);
        bool is_right = row == 0 || row == 5 || row == 6 || row == 11;

        cr_expect_eq(error, is_right ? 0 : EINVAL, "row %d: error %d", row, error);
    }
}

Test(qp_state, the_state_claimed_must_be_the_present_one)
{
    struct ibv_qp_attr attr = sane(IBV_QPS_RTS, IBV_QPS_ERR);

    cr_expect_eq(modify(UC, IBV_QPS_RTR, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
    cr_expect_eq(modify(UC, IBV_QPS_RTR, &attr, IBV_QP_STATE), 0);
}

/* What the mask does not name is whatever was on the program's stack. */
Test(qp_state, attributes_outside_the_mask_are_not_looked_at)
{
    struct ibv_qp_attr attr;

    memset(&attr, 0xa5, sizeof attr);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 7;
    cr_expect_eq(modify(UC, IBV_QPS_RTR, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    cr_expect_eq(qp.attr.sq_psn, 7);
    cr_expect_eq(qp.attr.dest_qp_num, 0);
    cr_expect_eq(qp.attr.timeout, 0);
}

Test(qp_state, a_peer_that_is_refused_leaves_the_state)
{
    static const int errors[] = {EINVAL, EBUSY, ENETUNREACH};
    const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct ibv_qp_attr attr = sane(IBV_QPS_INIT, IBV_QPS_RTR);

        world.call_error = errors[i];
        cr_expect_eq(modify(UC, IBV_QPS_INIT, &attr, rtr), errors[i]);
        cr_expect_eq(qp.ibv.qp_base.state, IBV_QPS_INIT);
        cr_expect_eq(qp.attr.dest_qp_num, 0);
    }
}
