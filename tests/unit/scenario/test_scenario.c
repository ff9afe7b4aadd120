/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/scenario.h"
#include "tests/unit/scenario/support/files.h"

static struct catalog catalog;

static void set_up(void)
{
    files_read_catalog(&catalog);
}

static void tear_down(void)
{
    catalog_done(&catalog);
}

TestSuite(scenario, .init = set_up, .fini = tear_down);

/* Parses a text that has to be right. */
static void parse_good(const char *name, const struct source_text *text, struct scenario *ret)
{
    struct err_list errs;
    char all[4096];
    bool is_ok;

    err_list_init(&errs);
    is_ok = scenario_parse(text, &catalog, ret, &errs);
    files_join_errors(&errs, all, sizeof all);
    cr_assert(is_ok, "%s:\n%s", name, all);
    cr_expect_eq(errs.count, 0, "%s", name);
    err_list_done(&errs);
}

Test(scenario, four_studios_is_a_full_mesh_on_the_lowest_ports)
{
    struct source_text text = files_read(SOURCE_ROOT "/scenarios/clusters/four-studios.yaml");
    struct scenario s;
    static const struct {
        uint32_t host_a, port_a, host_b, port_b;
    } cables[] = {{0, 0, 1, 0}, {0, 1, 2, 0}, {0, 2, 3, 0},
                  {1, 1, 2, 1}, {1, 2, 3, 1}, {2, 2, 3, 2}};

    parse_good("four-studios", &text, &s);
    cr_assert_eq(s.cluster.host_count, 4);
    cr_expect_str_eq(s.cluster.hosts[3].name, "studio4");
    cr_expect_eq(s.cluster.hosts[0].memory.bytes, UINT64_C(512) << 30);
    cr_expect(s.cluster.hosts[0].macos_profile->has_large_buffers);
    cr_assert_eq(s.cluster.cable_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct cluster_cable *cable = &s.cluster.cables[i];

        cr_expect_eq(cable->a.host.ix, cables[i].host_a, "cable %zu", i);
        cr_expect_eq(cable->a.port, cables[i].port_a, "cable %zu", i);
        cr_expect_eq(cable->b.host.ix, cables[i].host_b, "cable %zu", i);
        cr_expect_eq(cable->b.port, cables[i].port_b, "cable %zu", i);
        cr_expect_eq(cable->rate_ab.bps, UINT64_C(80000000000));
        cr_expect_eq(s.cluster.hosts[cables[i].host_b].ports[cables[i].port_b].cable.ix, i);
    }
    cr_assert_eq(s.item_count, 3);
    cr_expect_eq(s.items[0].library, LIBRARY_JACCL_MESH);
    cr_expect_eq(s.items[2].library, LIBRARY_TCP_RING);
    cr_expect_eq(s.items[0].size_count, 13);
    cr_expect_eq(s.items[0].sizes[12].bytes, UINT64_C(64) << 20);
    cr_expect_eq(s.items[0].node_count, 4);
    cr_expect_eq(s.expectation_count, 3);
    cr_expect_eq(s.warnings.count, 0);
    scenario_done(&s);
    files_free(&text);
}

/* A scenario with four M3 Ultras a1..a4, one Mac mini m, without cables; more text follows. */
#define HEAD                                                                      \
    "tbmesh: 1\nmachines:\n  - {name: a, model: mac-studio-m3-ultra, count: 4}\n" \
    "  - {name: m, model: mac-mini-m4-pro}\n"

struct bad_row {
    const char *name;
    const char *text;
    const char *errors; /* all of them */
};

static void expect_errors(const struct bad_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct source_text text = files_text("s.yaml", rows[i].text);
        struct scenario untouched = {.seed = 77};
        struct err_list errs;
        char all[4096];

        err_list_init(&errs);
        cr_expect_not(scenario_parse(&text, &catalog, &untouched, &errs), "%s", rows[i].name);
        cr_expect_eq(untouched.seed, 77, "%s: a failed parse changed the result", rows[i].name);
        files_join_errors(&errs, all, sizeof all);
        cr_expect_str_eq(all, rows[i].errors, "%s: got\n%s", rows[i].name, all);
        err_list_done(&errs);
    }
}

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

Test(scenario, top_level_slips_are_named_with_their_place)
{
    static const struct bad_row rows[] = {
        {"no version", "machines:\n  - {name: m, model: mac-mini-m4-pro}\n",
         "1:1: a scenario needs the key 'tbmesh'"},
        {"other version", "tbmesh: 2\nmachines:\n  - {name: m, model: mac-mini-m4-pro}\n",
         "1:9: tbmesh is '2'; accepted is 1 to 1"},
        {"misspelt key", HEAD "cabels: []\n", "5:1: unknown key 'cabels', did you mean 'cables'?"},
        {"a list", "- a\n", "1:1: a scenario has to be a map, not a list"},
        {"machines is a text", "tbmesh: 1\nmachines: many\n",
         "2:11: machines has to be a list, not a text"},
        {"no machine", "tbmesh: 1\nmachines: []\n", "2:11: machines: the list is empty"},
        {"duplicate key", HEAD "seed: 1\nseed: 2\n",
         "6:1: duplicate key 'seed': it stands at 5:1 already"},
        {"negative seed", HEAD "seed: -1\n", "5:7: seed: '-1' is negative; a number is 0 or more"},
        {"macOS too old", HEAD "macos: \"9.0\"\n",
         "5:8: macos: 9.0 is older than the oldest profile, 12.0"},
        {"macOS by name", HEAD "macos: Tahoe\n",
         "5:8: macos: 'Tahoe' is no version: a dotted number such as \"26.3\" is"},
        {"unknown ip", HEAD "ip: dhcp\n",
         "5:5: unknown ip 'dhcp': per-cable, bridge or none is accepted"},
        {"bridge as a text", HEAD "bridge: none\n", "5:9: bridge has to be a map, not a text"},
        {"bridge members", HEAD "bridge: {members: some}\n",
         "5:19: unknown members 'some': none or all is accepted"},
        {"all at once", HEAD "seed: x\ncabels: []\nrdma: maybe\n",
         "5:7: seed: 'x' is not a number: a number is wanted, with no unit\n"
         "6:1: unknown key 'cabels', did you mean 'cables'?\n"
         "7:7: unknown rdma 'maybe': enabled or disabled is accepted"},
    };

    expect_errors(rows, COUNT_OF(rows));
}

Test(scenario, machine_slips_are_named_with_their_place)
{
#define M "tbmesh: 1\nmachines:\n"
    static const struct bad_row rows[] = {
        {"unknown model", M "  - {name: a, model: mac-mini-m4-por}\n",
         "3:22: unknown model 'mac-mini-m4-por', did you mean 'mac-mini-m4-pro'?"},
        {"never sold", M "  - {name: a, model: mac-studio-m4-ultra}\n",
         "3:22: mac-studio-m4-ultra: such a Mac was never sold; Apple never made an M4 Ultra; "
         "mac-studio-m4-max and mac-studio-m3-ultra are the 2025 models"},
        {"not confirmed", M "  - {name: a, model: mac-studio-m5-ultra}\n",
         "3:22: mac-studio-m5-ultra: not confirmed: sources of 2026 disagree whether it is sold, and "
         "none states its Thunderbolt ports by chip; describe it yourself under `models:`"},
        {"count 0", M "  - {name: a, model: mac-mini-m4-pro, count: 0}\n",
         "3:46: count is '0'; accepted is 1 to 4096"},
        {"count far too large", M "  - {name: a, model: mac-mini-m4-pro, count: 5000}\n",
         "3:46: count is '5000'; accepted is 1 to 4096"},
        {"too many in all",
         M "  - {name: a, model: mac-mini-m4-pro, count: 4000}\n"
           "  - {name: b, model: mac-mini-m4-pro, count: 97}\n",
         "4:5: more than 4096 machines: this program simulates at most 4096"},
        {"size overflows", M "  - {name: a, model: mac-mini-m4-pro, memory: 99999999999 TiB}\n",
         "3:47: memory: '99999999999 TiB' is too large: at most 2^63 - 1 bytes"},
        {"memory not sold", M "  - {name: a, model: mac-mini-m4-pro, memory: 512 GB}\n",
         "3:47: mac-mini-m4-pro is sold with 24 GiB, 48 GiB, 64 GiB of memory, not with '512 GB'"},
        {"memory without unit", M "  - {name: a, model: mac-mini-m4-pro, memory: 64}\n",
         "3:47: memory: '64' needs a unit: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"GPU variant", M "  - {name: a, model: mac-studio-m3-ultra, gpu: 40-core}\n",
         "3:48: unknown gpu '40-core', did you mean '80-core'?"},
        {"two of a name",
         M "  - {name: a, model: mac-mini-m4-pro}\n  - {name: a, model: mac-mini-m4-pro}\n",
         "4:5: two machines are called 'a'; the other is at 3:5"},
        {"a number makes it two",
         M "  - {name: a, model: mac-mini-m4-pro, count: 2}\n  - {name: a2, model: mac-mini-m4}\n",
         "4:5: two machines are called 'a2'; the other is at 3:5"},
        {"name with a colon", M "  - {name: \"a:1\", model: mac-mini-m4-pro}\n",
         "3:12: name: 'a:1' is no name: letters, digits, '-', '_' and '.' are, at most 63, not "
         "beginning with '-' or '.'"},
        {"hub with macOS", M "  - {name: h, model: tb5-hub, macos: \"26.3\"}\n",
         "3:38: tb5-hub does not run macOS"},
        {"bridge port that is Ethernet",
         M "  - {name: a, model: mac-mini-m4-pro, bridge: {members: [4]}}\n",
         "3:47: bridge: mac-mini-m4-pro has no Thunderbolt port 4"},
        {"misspelt key", M "  - {name: a, modl: mac-mini-m4-pro}\n",
         "3:5: a machine needs the key 'model'\n3:15: unknown key 'modl', did you mean 'model'?"},
    };

    expect_errors(rows, COUNT_OF(rows));
}

Test(scenario, cable_slips_are_named_with_their_place)
{
#define C HEAD "cables:\n"
    static const struct bad_row rows[] = {
        {"misspelt key", C "  - {pair: [a1, a2], kid: tb5-1m}\n",
         "6:5: a cable needs the key 'kind'\n6:22: unknown key 'kid', did you mean 'kind'?"},
        {"unknown cable", C "  - {pair: [a1, a2], kind: tb5-3m}\n",
         "6:28: unknown cable 'tb5-3m', did you mean 'tb5-1m'?"},
        {"unknown machine", C "  - {from: b1 port 1, to: a1 port 1, kind: tb5-1m}\n",
         "6:12: unknown machine 'b1', did you mean 'a1'?"},
        {"port that the Mac lacks", C "  - {from: m port 5, to: a1 port 1, kind: tb5-1m}\n",
         "6:12: m has no port 5: a mac-mini-m4-pro has 3 Thunderbolt and 1 Ethernet ports, numbered "
         "1 to 4"},
        {"port used twice",
         C "  - {from: a1:1, to: a2:1, kind: tb5-1m}\n  - {from: a3:1, to: a1:1, kind: tb5-1m}\n",
         "7:22: a1 port 1 (en2) is used twice: the cable at 6:12 is in it already"},
        {"cable to itself", C "  - {from: a1:1, to: a1:2, kind: tb5-1m}\n",
         "6:22: a cable from a1 to itself: the two ends are on different machines"},
        {"Thunderbolt in Ethernet", C "  - {from: a1:7, to: a2:1, kind: tb5-1m}\n",
         "6:12: a1 port 7 (en0) is Ethernet; 'tb5-1m' is a Thunderbolt cable"},
        {"Ethernet in Thunderbolt", C "  - {from: a1 en0, to: a2 en2, kind: eth-10g}\n",
         "6:24: a2 port 1 (en2) is Thunderbolt; 'eth-10g' is an Ethernet cable"},
        {"no such port", C "  - {from: a1 en9, to: a2 en2, kind: tb5-1m}\n",
         "6:12: 'en9' is no port of a1: a number from 1 to 7 is, or an interface such as en2"},
        {"one end", C "  - {from: a1:1, kind: tb5-1m}\n",
         "6:5: a cable has two ends: the key 'to' is missing"},
        {"no form", C "  - {kind: tb5-1m}\n",
         "6:5: a cable needs 'from' and 'to', or one of pair, chain, ring, mesh, star, torus"},
        {"two forms", C "  - {mesh: [a], ring: [a], kind: tb5-1m}\n",
         "6:12: 'ring' and 'mesh' in one entry: an entry has one form"},
        {"a machine twice", C "  - {ring: [a1, a2, a1], kind: tb5-1m}\n",
         "6:12: ring: 'a1' stands twice"},
        {"pair of three", C "  - {pair: [a1, a2, a3], kind: tb5-1m}\n",
         "6:12: pair takes two machines, not 3"},
        {"star without ports", C "  - {star: [m, a1, a2, a3, a4], kind: tb5-1m}\n",
         "6:5: m has no free Thunderbolt port for this cable: all 3 of a mac-mini-m4-pro are in use"},
        {"torus without size", C "  - {torus: [a], kind: tb5-1m}\n",
         "6:5: a torus needs the key 'size', such as [4, 8] for 32 machines"},
        {"torus of another size", C "  - {torus: [a], size: [2, 3], kind: tb5-1m}\n",
         "6:24: size: this torus has 6 places, and 4 machines are listed"},
        {"rate above the cable", C "  - {pair: [a1, a2], kind: tb4-1m, rate: 80 Gb/s}\n",
         "6:5: rate: 'tb4-1m' between these two ports runs at 40 Gb/s at most"},
        {"rate without unit", C "  - {pair: [a1, a2], kind: tb5-1m, rate: 40}\n",
         "6:42: rate: '40' needs a unit: Gb/s, Mb/s, kb/s, GB/s, MB/s, GiB/s or MiB/s"},
        {"cables 0", C "  - {pair: [a1, a2], kind: tb5-1m, cables: 0}\n",
         "6:44: cables is '0'; accepted is 1 to 64"},
        {"mesh of some that is too large", C "  - {mesh: [a], cables: 3, kind: tb5-1m}\n",
         "6:5: a1 has no free Thunderbolt port for this cable: all 6 of a mac-studio-m3-ultra are in "
         "use"},
    };

    expect_errors(rows, COUNT_OF(rows));
}

Test(scenario, run_slips_are_named_with_their_place)
{
#define R HEAD "cables:\n  - {mesh: [a], kind: tb5-1m}\nrun:\n"
    static const struct bad_row rows[] = {
        {"unknown operation", R "  - allreduce: {sizes: [4 B]}\n",
         "8:5: unknown operation 'allreduce', did you mean 'all_reduce'?"},
        {"later version", R "  - llm: {model: x}\n",
         "8:5: 'llm' is not in this version of tbmesh: it runs collectives and single messages"},
        {"unknown library", R "  - all_reduce: {library: jacl-mesh, sizes: [4 B]}\n",
         "8:27: unknown library 'jacl-mesh', did you mean 'jaccl-mesh'?"},
        {"no sizes", R "  - all_reduce: {library: ring}\n",
         "8:5: all_reduce needs the key 'sizes'"},
        {"bare size", R "  - all_reduce: {sizes: [4096]}\n",
         "8:26: size: '4096' needs a unit: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"size overflows", R "  - all_reduce: {sizes: [9999999999 TiB]}\n",
         "8:26: size: '9999999999 TiB' is too large: at most 2^63 - 1 bytes"},
        {"size 0", R "  - all_reduce: {sizes: [0 B]}\n",
         "8:26: size is '0 B'; accepted is 1 B to 16 TiB"},
        {"half an element", R "  - all_reduce: {sizes: [6 B]}\n",
         "8:25: sizes: 6 B is not a whole number of float32 elements of 4 bytes"},
        {"range backwards", R "  - all_reduce: {sizes: {from: 8 B, to: 4 B, times: 2}}\n",
         "8:41: to: a range of sizes ends where it began or above"},
        {"range of one", R "  - all_reduce: {sizes: {from: 4 B, to: 8 B, times: 1}}\n",
         "8:53: times is '1'; accepted is 2 to 1048576"},
        {"key of another operation", R "  - barrier: {root: a1}\n",
         "8:15: unknown key 'root': barrier takes library, repeat, jaccl, nodes, wires, chunk, "
         "depth, handoff or send_completion"},
        {"repeat 0", R "  - barrier: {repeat: 0}\n",
         "8:23: repeat is '0'; accepted is 1 to 1000000"},
        {"verbs has no collectives", R "  - all_reduce: {library: verbs, sizes: [4 B]}\n",
         "8:27: library 'verbs' has no all_reduce: verbs and tcp move single messages"},
        {"mesh streams nothing", R "  - stream: {library: ring, sizes: [4 B]}\n",
         "8:23: library 'ring' has no stream: verbs and tcp have"},
        {"node outside", R "  - barrier: {nodes: [a1, z9]}\n",
         "8:27: unknown machine 'z9': no entry of `machines` makes it"},
        {"too many nodes", R "  - barrier: {nodes: 6}\n",
         "8:22: nodes is 6; accepted is 2 to the 5 computers of the scenario"},
        {"root not among the nodes", R "  - broadcast: {nodes: [a1, a2], root: a3, sizes: [4 B]}\n",
         "8:40: 'a3' is not among the nodes"},
        {"to itself", R "  - ping_pong: {from: a1, to: a1, size: 64 B}\n",
         "8:31: 'from' and 'to' are the same machine"},
        {"two operations in an entry", R "  - {barrier: {}, all_reduce: {sizes: [4 B]}}\n",
         "8:5: an entry of run is one operation with its keys in a map, such as all_reduce: {sizes: "
         "[4 KiB]}; this has 2 keys"},
        {"unknown type", R "  - all_reduce: {dtype: bfloat17, sizes: [4 B]}\n",
         "8:25: unknown dtype 'bfloat17', did you mean 'bfloat16'?"},
        {"verify a large size", R "  - all_reduce: {verify: true, sizes: [1 GiB]}\n",
         "8:39: sizes: 1 GiB is too large for `verify`, which carries real bytes: at most 64 MiB"},
    };

    expect_errors(rows, COUNT_OF(rows));
}

Test(scenario, other_slips_are_named_with_their_place)
{
#define P HEAD "cables:\n  - {mesh: [a], kind: tb5-1m}\n"
    static const struct bad_row rows[] = {
        {"unknown parameter", P "parameters: {rdma.godput: 70 Gb/s}\n",
         "7:14: unknown parameter 'rdma.godput', did you mean 'rdma.goodput'?"},
        {"wrong unit of a parameter", P "parameters: {rdma.goodput: 70 us}\n",
         "7:28: rdma.goodput: '70 us' is a duration; a rate is wanted here: Gb/s, Mb/s, kb/s, GB/s, "
         "MB/s, GiB/s or MiB/s"},
        {"rate of zero", P "parameters: {rdma.goodput: 0 Gb/s}\n",
         "7:28: rdma.goodput is '0 Gb/s'; accepted is 1 kb/s to 100 Tb/s"},
        {"header larger than the frame",
         P "parameters: {rdma.frame: 512 B, ip.frame_header: 1 KiB}\n",
         "7:13: ip.frame_header (1024 B) leaves no room in rdma.frame (512 B)"},
        {"profile", P "profile: {unmatched: keep}\n",
         "7:22: unknown unmatched 'keep': hold or drop is accepted"},
        {"unknown quirk", P "quirks: {limit: 3/6/6}\n",
         "7:10: unknown key 'limit', did you mean 'limits'?"},
        {"quirk limits", P "quirks: {limits: 3/6}\n", "7:18: limits: '3/6' is no QP/CQ/PD"},
        {"quirk limits of zero", P "quirks: {limits: 3/0/6}\n",
         "7:18: limits: '0' is out of range"},
        {"quirk limits on", P "quirks: {limits: on}\n", "7:18: limits: 'on' is no QP/CQ/PD"},
        {"quirk wedge", P "quirks: {wedge: 0}\n", "7:17: wedge: '0' is out of range"},
        {"quirk idle-sleep", P "quirks: {idle-sleep: 2/3}\n",
         "7:22: '2' needs a unit: ps, ns, us, ms, s or min"},
        {"quirk with a value", P "quirks: {crash-on-cut: 3}\n",
         "7:24: crash-on-cut is true or false (or on, off), not '3'"},
        {"quirks as a list", P "quirks: [crash-on-cut]\n",
         "7:9: quirks has to be a map, not a list"},
        {"goal", P "goals: {tensor_paralel: 4}\n",
         "7:9: unknown key 'tensor_paralel', did you mean 'tensor_parallel'?"},
        {"matrix not square", P "matrix: {devices: [[null, rdma_en2], [rdma_en2]]}\n",
         "7:38: row 1 has 1 cells; with 2 rows it needs 2"},
        {"matrix cell", P "matrix: {devices: [[null, {a: 1}], [rdma_en2, null]]}\n",
         "7:27: a cell is null, a device such as rdma_en5, or a list of them"},
        {"matrix hosts", P "matrix: {devices: [[null, rdma_en2], [rdma_en2, null]], hosts: [a1]}\n",
         "7:64: matrix: 2 rows need as many hosts, not 1"},
        {"fault without an end", P "faults:\n  - {at: 1 ms, cut: a1}\n",
         "8:21: 'a1' names no port; a cable is named by one of its ends, such as a1:1"},
        {"empty port", P "faults:\n  - {at: 1 ms, cut: \"a1:6\"}\n",
         "8:21: nothing is plugged into a1 port 6 (en7)"},
        {"fault without a time", P "faults:\n  - {cut: \"a1:1\"}\n",
         "8:5: cut needs the key 'at', such as 10 ms"},
        {"degrade upwards", P "faults:\n  - {at: 0 ms, degrade: \"a1:1\", rate: 120 Gb/s}\n",
         "8:39: degrade: the cable runs at 80000 and 80000 Mb/s, which is no more than that"},
        {"degrade without a rate", P "faults:\n  - {at: 0 ms, degrade: \"a1:1\"}\n",
         "8:5: degrade needs the key 'rate', such as 40 Gb/s"},
        {"flap without a length", P "faults:\n  - {at: 0 ms, flap: \"a1:1\"}\n",
         "8:5: flap needs the key 'for', such as 5 ms"},
        {"loss above 1", P "faults:\n  - {frames: {loss: 2}}\n",
         "8:21: loss: '2' is not a probability: 0 to 1 is"},
        {"no action", P "faults:\n  - {at: 1 ms}\n",
         "8:5: a fault needs one of cut, flap, degrade, restore, frames"},
        {"two actions", P "faults:\n  - {at: 1 ms, cut: a1:1, restore: a1:1}\n",
         "8:36: 'cut' and 'restore' in one fault"},
        {"expectation", P "expect:\n  - all_reduce.latency.medain < 5 us\n",
         "8:15: all_reduce has no field 'latency.medain', did you mean 'latency.median'?"},
        {"expectation with a map", P "expect:\n  - deadlock: false\n",
         "8:5: an expectation has to be a text, not a map"},
        {"own chip missing",
         P
         "models:\n  machines:\n    - {name: x, kind: mac, chip: m9, rdma: true, ports: [{number: "
         "1, ifname: en1, kind: thunderbolt, generation: 5, rate: 80 Gb/s}]}\n",
         "9:34: unknown chip 'm9', did you mean 'm5'?"},
    };

    expect_errors(rows, COUNT_OF(rows));
}

Test(scenario, a_mesh_with_too_few_ports_is_a_goal_and_a_warning)
{
    static const struct {
        const char *model;
        size_t ports;
    } rows[] = {{"mac-studio-m3-ultra", 6}, {"mac-studio-m4-max", 4}, {"mac-mini-m4-pro", 3}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t n = 2; n <= 9; n++) {
            char bytes[256];
            struct source_text text;
            struct scenario s;
            bool is_short = n > rows[i].ports + 1;

            (void)snprintf(bytes, sizeof bytes,
                           "tbmesh: 1\nmachines:\n  - {name: a, model: %s, count: %zu}\n"
                           "cables:\n  - {mesh: a, kind: tb5-1m}\n",
                           rows[i].model, n);
            text = files_text("s.yaml", bytes);
            parse_good(rows[i].model, &text, &s);
            cr_expect_eq(s.goal_count, is_short, "%s %zu", rows[i].model, n);
            cr_expect_eq(s.warnings.count, is_short, "%s %zu", rows[i].model, n);
            if (!is_short)
                cr_expect_eq(s.cluster.cable_count, n * (n - 1) / 2, "%s %zu", rows[i].model, n);
            scenario_done(&s);
        }
    }
}

/* Cables of a scenario of `count` machines with one generator. */
static size_t count_generated(const char *model, size_t count, const char *cable)
{
    char bytes[400];
    struct source_text text;
    struct scenario s;
    size_t cables;

    (void)snprintf(
        bytes, sizeof bytes,
        "tbmesh: 1\nmachines:\n  - {name: a, model: %s, count: %zu}\ncables:\n  - {%s}\n", model,
        count, cable);
    text = files_text("s.yaml", bytes);
    parse_good(cable, &text, &s);
    cables = s.cluster.cable_count;
    scenario_done(&s);
    return cables;
}

Test(scenario, generators_lay_as_many_cables_as_their_graph_has)
{
    static const struct {
        const char *cable;
        size_t machines, cables;
    } rows[] = {
        {"chain: a, kind: tb5-1m", 5, 4},
        {"ring: a, kind: tb5-1m", 5, 5},
        {"ring: a, kind: tb5-1m", 2, 1},
        {"star: a, kind: tb5-1m", 7, 6},
        {"mesh: a, kind: tb5-1m", 7, 21},
        {"pair: [a1, a2], cables: 3, kind: tb5-1m", 2, 3},
        {"torus: a, size: [4, 4], kind: tb5-1m", 16, 32},
        {"torus: a, size: [2, 4], kind: tb5-1m", 8, 12},
        {"torus: a, size: [3, 3, 3], kind: tb5-1m", 27, 81},
        {"torus: a, size: [32, 32], kind: tb5-1m", 1024, 2048},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        cr_expect_eq(count_generated("mac-studio-m3-ultra", rows[i].machines, rows[i].cable),
                     rows[i].cables, "%s", rows[i].cable);
}

Test(scenario, rates_are_the_least_of_ports_and_cable)
{
    static const struct {
        const char *cable;
        uint64_t forward, reverse;
    } rows[] = {
        {"{from: a1, to: a2, kind: tb5-1m}", 80, 80},
        {"{from: a1, to: a2, kind: tb4-1m}", 40, 40},
        {"{from: a1, to: o, kind: tb5-1m}", 40, 40},
        {"{from: a1, to: a2, kind: tb5-asym-1m}", 120, 40},
        {"{from: a1, to: o, kind: tb5-asym-1m}", 40, 40},
        {"{from: a1, to: a2, kind: tb5-1m, rate: 20 Gb/s}", 20, 20},
        {"{from: a1 port 7, to: a2:7, kind: eth-10g}", 10, 10},
        {"{from: a1 port 7, to: o:4, kind: eth-10g}", 1, 1},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char bytes[400];
        struct source_text text;
        struct scenario s;

        (void)snprintf(bytes, sizeof bytes,
                       "tbmesh: 1\nmachines:\n  - {name: a, model: mac-studio-m3-ultra, count: 2}\n"
                       "  - {name: o, model: mac-mini-m4}\ncables:\n  - %s\n",
                       rows[i].cable);
        text = files_text("s.yaml", bytes);
        parse_good(rows[i].cable, &text, &s);
        cr_assert_eq(s.cluster.cable_count, 1);
        cr_expect_eq(s.cluster.cables[0].rate_ab.bps, rows[i].forward * 1000000000, "%s",
                     rows[i].cable);
        cr_expect_eq(s.cluster.cables[0].rate_ba.bps, rows[i].reverse * 1000000000, "%s",
                     rows[i].cable);
        scenario_done(&s);
    }
}

Test(scenario, settings_of_a_machine_win_over_those_at_the_top)
{
    struct source_text text = files_text(
        "s.yaml", "tbmesh: 1\nmacos: \"26.2\"\nrdma: disabled\nip: none\nmachines:\n"
                  "  - {name: a, model: mac-studio-m3-ultra}\n"
                  "  - {name: b, model: mac-studio-m3-ultra, macos: \"26.3.1\", rdma: enabled, ip: "
                  "bridge, gpu: 60-core, bridge: {members: [2, 3]}}\n"
                  "  - {name: h, model: tb5-hub}\n");
    struct scenario s;

    parse_good("settings", &text, &s);

    const struct cluster_host *a = &s.cluster.hosts[0];
    const struct cluster_host *b = &s.cluster.hosts[1];
    const struct cluster_host *h = &s.cluster.hosts[2];

    cr_expect_not(a->is_rdma_enabled);
    cr_expect_not(a->macos_profile->has_large_buffers);
    cr_expect_null(a->variant);
    cr_expect_eq(a->ports[0].ip, PORT_IP_NONE);
    cr_expect(a->ports[5].is_bridge_member, "a Mac's default");
    cr_expect_not(a->ports[6].is_bridge_member, "Ethernet is not in bridge0");
    cr_expect(b->is_rdma_enabled);
    cr_expect(b->macos_profile->has_large_buffers);
    cr_expect_str_eq(b->variant, "60-core");
    cr_expect_eq(b->ports[0].ip, PORT_IP_BRIDGE);
    cr_expect_not(b->ports[0].is_bridge_member);
    cr_expect(b->ports[1].is_bridge_member);
    cr_expect_null(h->macos_profile);
    cr_expect_not(h->ports[0].is_bridge_member);
    scenario_done(&s);
}

Test(scenario, quirks_are_switched_on_and_are_what_the_profile_says)
{
    static const char machines[] =
        "tbmesh: 1\nmachines:\n  - {name: a, model: mac-studio-m3-ultra, count: 2}\n"
        "cables:\n  - {pair: [a1, a2], kind: tb5-1m}\nrun:\n  - barrier:\n";
    char bytes[1024];
    struct source_text text;
    struct scenario s;

    (void)snprintf(bytes, sizeof bytes,
                   "%squirks: {limits: 3/6/5, idle-sleep: 2s/3s, wedge: 7, crash-on-cut: on, "
                   "tb4-devices: off, early-completion: true}\n",
                   machines);
    text = files_text("s.yaml", bytes);
    parse_good("quirks", &text, &s);
    cr_expect_eq(s.quirks.on, QUIRK_BIT(LIMITS) | QUIRK_BIT(IDLE_SLEEP) | QUIRK_BIT(WEDGE) |
                                  QUIRK_BIT(CRASH_ON_CUT) | QUIRK_BIT(EARLY));
    cr_expect_eq(s.quirks.max_qp, 3);
    cr_expect_eq(s.quirks.max_cq, 6);
    cr_expect_eq(s.quirks.max_pd, 5);
    cr_expect_eq(s.quirks.wedge_after, 7);
    cr_expect_eq(s.quirks.idle_after.ps, INT64_C(2000000000000));
    cr_expect_eq(s.quirks.idle_wake.ps, INT64_C(3000000000000));
    cr_expect_str_eq(s.quirks.values[QUIRK_LIMITS], "3/6/5");
    cr_expect_null(s.quirks.values[QUIRK_CRASH_ON_CUT]);
    cr_expect_eq(s.quirks.keys[QUIRK_LIMITS].col, 10);
    cr_expect_eq(s.quirks.keys[QUIRK_WEDGE].line, 8);
    cr_expect_eq(s.unmatched, FABRIC_HOLD);
    cr_expect_eq(s.items[0].send_completion, FABRIC_SEND_WHEN_QUEUED);
    scenario_done(&s);

    (void)snprintf(bytes, sizeof bytes, "%sprofile: {unmatched: drop}\n", machines);
    text = files_text("s.yaml", bytes);
    parse_good("profile", &text, &s);
    cr_expect_eq(s.quirks.on, QUIRK_BIT(DROP));
    cr_expect_eq(s.quirks.keys[QUIRK_DROP].line, 8);
    cr_expect_eq(s.quirks.keys[QUIRK_DROP].col, 11);
    scenario_done(&s);

    (void)snprintf(bytes, sizeof bytes, "%squirks: {drop-unmatched: on}\n", machines);
    text = files_text("s.yaml", bytes);
    parse_good("quirk", &text, &s);
    cr_expect_eq(s.unmatched, FABRIC_DROP);
    scenario_done(&s);
}

/* What is asked for on the command line joins the file's, and its value wins. */
Test(scenario, quirks_of_two_origins_add_up)
{
    struct quirks file = {0};
    struct quirks asked = {0};
    struct err err = {0};

    cr_assert(quirk_take("limits=3/6/6", &file, &err));
    cr_assert(quirk_take("wedge=2", &file, &err));
    cr_assert(quirk_take("no-bad-wr", &file, &err));
    cr_assert(quirk_take("wedge=9", &asked, &err));
    cr_assert(quirk_take("idle-sleep=1ms/2ms", &asked, &err));
    quirks_add(&file, &asked);
    cr_expect_eq(file.on, QUIRK_BIT(LIMITS) | QUIRK_BIT(WEDGE) | QUIRK_BIT(NO_BAD_WR) |
                              QUIRK_BIT(IDLE_SLEEP));
    cr_expect_eq(file.max_cq, 6);
    cr_expect_eq(file.wedge_after, 9);
    cr_expect_str_eq(file.values[QUIRK_WEDGE], "9");
    cr_expect_eq(file.idle_wake.ps, INT64_C(2000000000));
    cr_expect_null(file.keys[QUIRK_WEDGE].file);
    cr_expect_not(quirk_take("wedge", &file, &err));
    cr_expect_not(quirk_take("no-bad-wr=1", &file, &err));
    cr_expect_not(quirk_take("no-bad", &file, &err));
}

Test(scenario, runs_fill_every_default_and_keep_what_is_written)
{
    struct source_text text = files_text(
        "s.yaml",
        "tbmesh: 1\nseed: 9\njitter: off\nprofile: {unmatched: drop, send_completion: queued}\n"
        "machines:\n  - {name: a, model: mac-studio-m3-ultra, count: 3}\n"
        "  - {name: h, model: tb5-hub}\ncables:\n  - {mesh: a, kind: tb5-1m}\nrun:\n"
        "  - all_reduce: {sizes: 4 KiB}\n"
        "  - all_reduce: {library: [ring, mesh], sizes: {from: 1 KiB, to: 10 KiB, times: 2}, dtype: "
        "bf16, reduction: max, repeat: 3, jaccl: 2026-02, nodes: [a3, a1], wires: 2, chunk: 16 KiB, "
        "depth: 5, handoff: fast, gpu_copy: true, send_completion: sent}\n"
        "  - stream: {from: a2, size: 64 KiB, count: 10, duplex: true, receiver_check: 2 GB/s}\n"
        "  - barrier:\n");
    struct scenario s;

    parse_good("runs", &text, &s);
    cr_expect_eq(s.seed, 9);
    cr_expect_not(s.has_jitter);
    cr_expect_eq(s.unmatched, FABRIC_DROP);
    cr_assert_eq(s.item_count, 5);

    const struct run_item *plain = &s.items[0];
    const struct run_item *full = &s.items[2];
    const struct run_item *stream = &s.items[3];

    cr_expect_eq(plain->library, LIBRARY_JACCL_MESH);
    cr_expect_eq(plain->repeat, 20);
    cr_expect_eq(plain->dtype, DTYPE_F32);
    cr_expect_eq(plain->jaccl, JACCL_LATEST);
    cr_expect_eq(plain->node_count, 3, "a hub is no node");
    cr_expect_eq(plain->handoff, HANDOFF_NONE);
    cr_expect_eq(plain->send_completion, FABRIC_SEND_WHEN_QUEUED);
    cr_expect_eq(s.items[1].library, LIBRARY_RING);
    cr_expect_eq(full->library, LIBRARY_MESH);
    cr_expect_eq(full->size_count, 4, "1, 2, 4, 8 KiB");
    cr_expect_eq(full->dtype, DTYPE_BF16);
    cr_expect_eq(full->reduction, REDUCTION_MAX);
    cr_expect_eq(full->jaccl, JACCL_2026_02);
    cr_expect_eq(full->nodes[0].ix, 2, "ranks in the order of the list");
    cr_expect_eq(full->nodes[1].ix, 0);
    cr_expect_eq(full->chunk.bytes, 16384);
    cr_expect_eq(full->send_completion, FABRIC_SEND_WHEN_SENT);
    cr_expect(full->has_gpu_copy);
    cr_expect_eq(stream->library, LIBRARY_VERBS);
    cr_expect_eq(stream->repeat, 1);
    cr_expect_eq(stream->from, 1);
    cr_expect_eq(stream->to, 0);
    cr_expect_eq(stream->receiver_check.bps, UINT64_C(16000000000));
    cr_expect_eq(s.items[4].op, RUN_BARRIER);
    cr_expect_eq(s.items[4].sizes[0].bytes, 1);
    scenario_done(&s);
}

Test(scenario, faults_goals_matrix_and_parameters_arrive)
{
    struct source_text text = files_text(
        "s.yaml",
        "tbmesh: 1\nmachines:\n  - {name: a, model: mac-studio-m3-ultra, count: 2}\ncables:\n"
        "  - {pair: a, kind: tb5-1m, cables: 2}\nfaults:\n"
        "  - {at: 10 ms, cut: a1:1, for: 5 ms}\n  - {at: 1 ms, degrade: \"a2:2\", rate: 40 Gb/s}\n"
        "  - {frames: {loss: 1e-6}}\n  - {flap: {at: 1 s, cut: a1:1, for: 1 ms}}\n"
        "goals: {mesh: true, tensor_parallel: 6, model: deepseek, heads: 128, weights: 380 GB}\n"
        "matrix: {devices: [[null, [rdma_en2, rdma_en3]], [~, \"null\"]], backend: ring}\n"
        "parameters: {rdma.credit_latency: 0.6 us, rdma.goodput: 30 Gb/s}\n");
    struct scenario s;

    parse_good("rest", &text, &s);
    cr_assert_eq(s.fault_count, 6);
    cr_expect_eq(s.faults[0].rate_forward.bps, 0);
    cr_expect_eq(s.faults[1].at.ps, 15 * PS_PER_MS);
    cr_expect_eq(s.faults[1].rate_forward.bps, UINT64_C(80000000000));
    cr_expect_eq(s.faults[2].cable.ix, 1);
    cr_expect_eq(s.faults[2].rate_reverse.bps, UINT64_C(40000000000));
    cr_expect_eq(s.faults[3].kind, FAULT_FRAMES);
    cr_expect_eq(s.faults[3].loss_ppb, 1000);
    cr_expect_eq(s.faults[3].cable.ix, ID_NONE);
    cr_expect_eq(s.faults[5].at.ps, PS_PER_S + PS_PER_MS);
    cr_assert_eq(s.goal_count, 1);
    cr_expect(s.goals[0].wants_mesh);
    cr_expect_eq(s.goals[0].tensor_parallel, 6);
    cr_expect_eq(s.goals[0].weights.bytes, UINT64_C(380000000000));
    cr_assert_eq(s.matrix.size, 2);
    cr_expect(s.matrix.prefers_ring);
    cr_expect_null(s.matrix.cells[0]);
    cr_expect_str_eq(s.matrix.cells[1][1], "rdma_en3");
    cr_expect_null(s.matrix.cells[1][2]);
    cr_expect_null(s.matrix.cells[2]);
    cr_expect_str_eq(s.matrix.cells[3][0], "null", "a quoted null is a device's name");
    cr_expect_eq(s.params.v[PARAM_RDMA_CREDIT_LATENCY].value, 600000);
    cr_expect_eq(s.params.v[PARAM_RDMA_CREDIT_LATENCY].label, PARAM_USER);
    cr_expect_str_eq(s.params.v[PARAM_RDMA_CREDIT_LATENCY].source, "s.yaml, line 13");
    cr_assert_eq(s.warnings.count, 1);
    cr_expect_str_eq(s.warnings.items[0].text, "rdma.goodput lies outside 70.9 Gb/s to 75.1 Gb/s, "
                                               "where sources put it");
    scenario_done(&s);
}

Test(scenario, a_key_without_effect_is_told)
{
    static const struct {
        const char *entry;
        const char *warning; /* NULL: none */
    } rows[] = {
        {"all_reduce: {size: 4 KiB, chunk: 4 KiB}",
         "'chunk' has no effect on all_reduce with jaccl-mesh"},
        {"all_reduce: {size: 4 KiB, depth: 4}",
         "'depth' has no effect on all_reduce with jaccl-mesh"},
        {"all_reduce: {size: 4 KiB, wires: 1}",
         "'wires' has no effect on all_reduce with jaccl-mesh"},
        {"all_reduce: {size: 4 KiB, jaccl: 2026-02}", NULL},
        {"all_reduce: {library: [ring, jaccl-mesh], size: 4 KiB, jaccl: 2026-02}", NULL},
        {"all_reduce: {library: ring, size: 4 KiB, jaccl: 2026-02}",
         "'jaccl' has no effect on all_reduce with ring"},
        {"all_reduce: {library: ring, size: 4 KiB, wires: 1, chunk: 4 KiB, depth: 4}", NULL},
        {"all_reduce: {library: tcp-ring, size: 4 KiB, send_completion: queued}",
         "'send_completion' has no effect on all_reduce with tcp-ring"},
        {"ping_pong: {size: 4 KiB, cold: true}", "'cold' has no effect on ping_pong with verbs"},
        {"ping_pong: {library: tcp, size: 4 KiB, cold: true}", NULL},
        {"ping_pong: {size: 4 KiB, depth: 2}", "'depth' has no effect on ping_pong with verbs"},
        {"stream: {library: tcp, size: 4 KiB, depth: 2}", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char bytes[512];
        struct source_text text;
        struct scenario s;

        (void)snprintf(bytes, sizeof bytes,
                       "tbmesh: 1\nmachines:\n  - {name: a, model: mac-mini-m4-pro, count: 2}\n"
                       "cables:\n  - {mesh: a, kind: tb5-1m}\nrun:\n  - %s\n",
                       rows[i].entry);
        text = files_text("s.yaml", bytes);
        parse_good(rows[i].entry, &text, &s);
        cr_expect_eq(s.warnings.count, rows[i].warning != NULL, "%s", rows[i].entry);
        if (rows[i].warning && s.warnings.count > 0)
            cr_expect_str_eq(s.warnings.items[0].text, rows[i].warning);
        scenario_done(&s);
    }
}

Test(scenario, own_models_stand_beside_the_catalogue)
{
    struct source_text text = files_text(
        "s.yaml",
        "tbmesh: 1\nmodels:\n  chips:\n    - {name: m6, thread_copy: 50 GB/s, thread_reduce: 40 "
        "GB/s, host_staging: 40 GB/s, memory_bandwidth: 900 GB/s}\n  machines:\n"
        "    - {name: mac-studio-m6, kind: mac, chip: m6, rdma: true, ports: [{number: 1, ifname: "
        "en2, kind: thunderbolt, generation: 5, rate: 80 Gb/s}]}\n  cables:\n"
        "    - {name: tb5-5m, kind: thunderbolt, generation: 5, rate: 80 Gb/s, length: 5 m}\n"
        "machines:\n  - {name: a, model: mac-studio-m6}\n  - {name: b, model: mac-mini-m4-pro}\n"
        "cables:\n  - {from: a, to: b, kind: tb5-5m}\n");
    struct scenario s;

    parse_good("own models", &text, &s);
    cr_expect_str_eq(s.cluster.hosts[0].model->chip->name, "m6");
    cr_expect_eq(s.cluster.cables[0].model->length_mm, 5000);
    cr_expect_null(catalog_find_machine(&catalog, "mac-studio-m6"));
    scenario_done(&s);
}

Test(scenario, rdma_to_linux_runs_at_40_gbps_and_between_macs_it_does_not)
{
    struct source_text text = files_text(
        "s.yaml", "tbmesh: 1\nmachines:\n  - {name: a, model: macbook-pro-m4-max, count: 2}\n"
                  "  - {name: l, model: linux-usb4}\n  - {name: o, model: mac-mini-m4}\ncables:\n"
                  "  - {from: a1, to: l, kind: usb4-40g-1m}\n  - {from: a1, to: a2, kind: tb4-1m}\n"
                  "  - {from: o, to: l, kind: tb4-1m}\n");
    struct scenario s;

    parse_good("linux", &text, &s);
    cr_expect(cluster_cable_has_rdma(&s.cluster, (cable_id){0}));
    cr_expect_not(cluster_cable_has_rdma(&s.cluster, (cable_id){1}));
    cr_expect_not(cluster_cable_has_rdma(&s.cluster, (cable_id){2}), "a Thunderbolt 4 Mac");
    scenario_done(&s);
}

Test(scenario, every_scenario_of_the_repository_is_right)
{
    static const char *const patterns[] = {SOURCE_ROOT "/scenarios/*.yaml",
                                           SOURCE_ROOT "/scenarios/*/*.yaml",
                                           SOURCE_ROOT "/scenarios/*/*/*.yaml"};
    size_t count = 0;

    for (size_t p = 0; p < COUNT_OF(patterns); p++) {
        glob_t found;

        if (glob(patterns[p], 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct source_text text = files_read(found.gl_pathv[i]);
            struct scenario s;

            parse_good(found.gl_pathv[i], &text, &s);
            scenario_done(&s);
            files_free(&text);
            count++;
        }
        globfree(&found);
    }
    cr_expect_geq(count, 1);
}
