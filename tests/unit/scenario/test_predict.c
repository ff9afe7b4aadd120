/* SPDX-License-Identifier: Apache-2.0 */
/* sim/plan/predict; here because its rows and its catalogue are read from text. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/scenario/support/rows.h"

static struct rows rows;

static void set_up(void)
{
    rows_init(&rows);
}

static void tear_down(void)
{
    rows_done(&rows);
}

TestSuite(predict, .init = set_up, .fini = tear_down);

static struct predict_case prepare(const struct measurement *m)
{
    struct predict_case c;
    char reason[PREDICT_REASON_MAX] = "";

    cr_assert(predict_prepare(&rows.source, m, &rows.arena, &c, reason), "%s: %s", m->id, reason);
    return c;
}

static struct predict_case prepare_text(const char *row)
{
    char text[1024];
    size_t count;

    (void)snprintf(text, sizeof text, "%s%s\n", ROWS_HEAD, row);
    return prepare(rows_read(&rows, text, &count));
}

Test(predict, the_words_of_each_shipped_row_mean_one_operation)
{
    static const struct {
        const char *id;
        enum run_op op;
        enum run_library library;
        enum handoff handoff;
        size_t cables;
        uint64_t size;
        uint32_t depth;
        bool is_duplex, is_round_trip, is_cold;
        const char *first, *second;
    } expected[] = {
        {"lat-64B", RUN_PING_PONG, LIBRARY_VERBS, HANDOFF_NONE, 1, 64, 0, false, false, false,
         "mac-mini-m4-pro", "macbook-pro-m4-max"},
        {"bw-64K-a", RUN_STREAM, LIBRARY_VERBS, HANDOFF_NONE, 1, 65536, 32, false, false, false,
         "mac-mini-m4-pro", "macbook-pro-m4-max"},
        {"bw-64K-b", RUN_STREAM, LIBRARY_VERBS, HANDOFF_NONE, 1, 65536, 32, false, false, false,
         "macbook-pro-m4-max", "mac-mini-m4-pro"},
        {"bw-duplex", RUN_STREAM, LIBRARY_VERBS, HANDOFF_NONE, 1, 65536, 32, true, false, false,
         "mac-mini-m4-pro", "macbook-pro-m5-max"},
        {"bw-4K-d60", RUN_STREAM, LIBRARY_VERBS, HANDOFF_NONE, 1, 4096, 60, true, false, false,
         "mac-mini-m4-pro", "macbook-pro-m5-max"},
        {"rtt-small", RUN_PING_PONG, LIBRARY_VERBS, HANDOFF_NONE, 1, 64, 0, false, true, false,
         "mac-mini-m4-pro", "macbook-pro-m5-max"},
        {"ar-8K", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, HANDOFF_FAST, 1, 8192, 0, false, false, false,
         "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ar-8K-slow", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, HANDOFF_SLOW, 1, 8192, 0, false, false,
         false, "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ar-512M", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, HANDOFF_SLOW, 1, 512000000, 0, false, false,
         false, "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ar-16M", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, HANDOFF_NONE, 1, 16777216, 0, false, false,
         false, "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"tcp-ar-4K", RUN_ALL_REDUCE, LIBRARY_TCP_RING, HANDOFF_NONE, 1, 4096, 0, false, false,
         false, "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ip-bw", RUN_STREAM, LIBRARY_TCP, HANDOFF_NONE, 1, 1 << 20, 0, false, false, false,
         "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ip-bw-duplex", RUN_STREAM, LIBRARY_TCP, HANDOFF_NONE, 1, 1 << 20, 0, true, false, false,
         "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"ip-rtt", RUN_PING_PONG, LIBRARY_TCP, HANDOFF_NONE, 1, 56, 0, false, true, true,
         "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
        {"jring-3c", RUN_ALL_REDUCE, LIBRARY_JACCL_RING, HANDOFF_NONE, 3, 512000000, 0, false,
         false, false, "mac-studio-m3-ultra", "mac-studio-m3-ultra"},
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct predict_case c = prepare(rows_find(&rows, expected[i].id));

        cr_expect_eq(c.item.op, expected[i].op, "%s", expected[i].id);
        cr_expect_eq(c.item.library, expected[i].library, "%s", expected[i].id);
        cr_expect_eq(c.item.handoff, expected[i].handoff, "%s", expected[i].id);
        cr_expect_eq(c.item.sizes[0].bytes, expected[i].size, "%s", expected[i].id);
        cr_expect_eq(c.item.depth, expected[i].depth, "%s", expected[i].id);
        cr_expect_eq(c.item.is_duplex, expected[i].is_duplex, "%s", expected[i].id);
        cr_expect_eq(c.item.is_round_trip, expected[i].is_round_trip, "%s", expected[i].id);
        cr_expect_eq(c.item.is_cold, expected[i].is_cold, "%s", expected[i].id);
        cr_expect_eq(c.cluster.cable_count, expected[i].cables, "%s", expected[i].id);
        cr_expect_str_eq(c.cluster.hosts[0].model->name, expected[i].first, "%s", expected[i].id);
        cr_expect_str_eq(c.cluster.hosts[1].model->name, expected[i].second, "%s", expected[i].id);
    }
}

Test(predict, only_storms_and_hpl_are_not_expressed)
{
    for (size_t i = 0; i < rows.fabric_count; i++) {
        const struct measurement *m = &rows.fabric[i];
        struct predict_case c;
        char reason[PREDICT_REASON_MAX] = "";
        bool is_other = m->kind == MEASUREMENT_BRIDGE_STORM || m->kind == MEASUREMENT_HPL;

        cr_expect_eq(predict_prepare(&rows.source, m, &rows.arena, &c, reason), !is_other, "%s: %s",
                     m->id, reason);
        cr_expect_eq(reason[0] != '\0', is_other, "%s", m->id);
    }
}

Test(predict, hosts_are_models_or_names_joined_in_several_ways)
{
    static const struct {
        const char *row;
        size_t hosts;
        const char *last;
    } expected[] = {
        {"a,all_reduce,4 x M3 Ultra,4,1,jaccl mesh,8,5,us,,", 4, "mac-studio-m3-ultra"},
        {"a,all_reduce,3x M5 Max,3,1,jaccl mesh,8,5,us,,", 3, "macbook-pro-m5-max"},
        {"a,round_trip,M3 Ultra + m5 max mbp,2,1,verbs,8,5,us,,", 2, "macbook-pro-m5-max"},
        {"a,round_trip,mac-mini-m4-pro <-> Linux,2,1,verbs,8,5,us,,", 2, "linux-usb4"},
        {"a,all_reduce,2 x M3 Ultra + 1 x M4 Max Studio,3,1,tcp ring,8,5,us,,", 3,
         "mac-studio-m4-max"},
        {"a,all_reduce,M3 Ultra,5,1,jaccl ring,8,5,us,,", 5, "mac-studio-m3-ultra"},
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct predict_case c = prepare_text(expected[i].row);

        cr_expect_eq(c.cluster.host_count, expected[i].hosts, "%s", expected[i].row);
        cr_expect_str_eq(c.cluster.hosts[expected[i].hosts - 1].model->name, expected[i].last);
    }
}

Test(predict, rings_are_cabled_as_rings_and_meshes_as_meshes)
{
    cr_expect_eq(prepare_text("a,all_reduce,M3 Ultra,5,1,jaccl ring,8,5,us,,").cluster.cable_count,
                 5);
    cr_expect_eq(prepare_text("a,all_reduce,M3 Ultra,5,1,jaccl mesh,8,5,us,,").cluster.cable_count,
                 10);
    cr_expect_eq(prepare_text("a,all_reduce,M3 Ultra,3,2,tcp ring,8,5,us,,").cluster.cable_count,
                 6);
}

Test(predict, what_cannot_be_expressed_says_why)
{
    static const struct {
        const char *row;
        const char *expected;
    } bad[] = {
        {"a,all_reduce,Amiga,2,1,jaccl mesh,8,5,us,,", "'Amiga' is neither a machine"},
        {"a,all_reduce,M3 Ultra - M3 Ultra,3,1,jaccl,8,5,us,,", "are not as many as"},
        {"a,all_reduce,M3 Ultra,2,1,telepathy,8,5,us,,", "stack 'telepathy' names no library"},
        {"a,all_reduce,M3 Ultra,2,1,jaccl,,5,us,,", "all_reduce without a size"},
        {"a,all_reduce,M4 Pro mini,5,1,jaccl,8,5,us,,", "has too few Thunderbolt ports"},
        {"a,ip_bandwidth,M3 Ultra,2,1,iperf3 on 10GbE,8,5,Gb/s,,", "only rows over Thunderbolt"},
        {"a,flux,M3 Ultra,2,1,verbs,8,5,us,,", "nothing in the model is a 'flux'"},
        {"a,round_trip,M3 Ultra,1,1,verbs,8,5,us,,", "two machines, not 1"},
        {"a,round_trip,tb5-hub,2,1,verbs,8,5,us,,", "tb5-hub is no computer"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct predict_case c;
        char reason[PREDICT_REASON_MAX] = "";
        char text[1024];
        size_t count;

        (void)snprintf(text, sizeof text, "%s%s\n", ROWS_HEAD, bad[i].row);

        const struct measurement *m = rows_read(&rows, text, &count);

        cr_expect_not(predict_prepare(&rows.source, m, &rows.arena, &c, reason), "%s", bad[i].row);
        cr_expect(strstr(reason, bad[i].expected), "%s: %s", bad[i].row, reason);
    }
}

Test(predict, more_than_the_line_rate_is_impossible)
{
    static const struct {
        const char *row;
        bool is_impossible;
    } claims[] = {
        {"a,send_bandwidth,M4 Max MBP - Linux,2,1,ib_send_bw,4096,57.6,Gb/s,,", true},
        {"a,send_bandwidth,M4 Max MBP - Linux,2,1,ib_send_bw,4096,39,Gb/s,,", false},
        {"a,send_bandwidth,M4 Max MBP - M4 Max MBP,2,1,ib_send_bw,4096,79.9,Gb/s,,", false},
        {"a,send_bandwidth,M4 Max MBP - M4 Max MBP,2,1,ib_send_bw,4096,79-90,Gb/s,,", false},
        {"a,send_bandwidth,M4 Max MBP - M4 Max MBP,2,1,ib_send_bw,4096,81-90,Gb/s,,", true},
        /* Two machines exchange the whole vector: 512 MB at 10 GB/s are 51.2 ms. */
        {"a,all_reduce,M3 Ultra,2,1,jaccl,512000000,51.3,ms,,", false},
        {"a,all_reduce,M3 Ultra,2,1,jaccl,512000000,51.1,ms,,", true},
        {"a,all_reduce,M3 Ultra,2,1,jaccl,512000000,10.1,GB/s,,", true},
        {"a,all_reduce,M3 Ultra,2,3,jaccl ring,512000000,15.46,GB/s,,", false},
        /* A ring of four sends 1.5 vectors from each, over two links of 40 Gb/s. */
        {"a,all_reduce,M2 Ultra,4,1,tcp ring,2000000000,310,ms,,", false},
        {"a,all_reduce,M2 Ultra,4,1,tcp ring,2000000000,290,ms,,", true},
        /* 4 KiB at 80 Gb/s take 410 ns. */
        {"a,one_way_latency,M3 Ultra,2,1,verbs,4096,400,ns,,", true},
        {"a,one_way_latency,M3 Ultra,2,1,verbs,4096,420,ns,,", false},
        {"a,round_trip,M3 Ultra,2,1,verbs,4096,800,ns,,", true},
    };

    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        struct predict_case c = prepare_text(claims[i].row);

        cr_expect_eq(predict_is_impossible(&c), claims[i].is_impossible, "%s (limit %lld)",
                     claims[i].row, (long long)c.limit);
    }
}

Test(predict, a_goodput_row_follows_the_goodput)
{
    struct predict_case c = prepare(rows_find(&rows, "bw-64K-a"));
    struct param_set params = rows.catalog.params;
    struct prediction whole;
    struct prediction half;
    char reason[PREDICT_REASON_MAX];

    cr_assert(predict_run(&c, &params, &whole, reason), "%s", reason);
    cr_expect(whole.had_effect[PARAM_RDMA_GOODPUT]);
    cr_expect_not(whole.had_effect[PARAM_IP_LATENCY]);
    params.v[PARAM_RDMA_GOODPUT].value /= 2;
    cr_assert(predict_run(&c, &params, &half, reason), "%s", reason);
    cr_expect(half.value > whole.value * 49 / 100 && half.value < whole.value * 51 / 100);
}
