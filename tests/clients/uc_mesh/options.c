/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char options_usage[] =
    "usage: uc_mesh OP [OPTIONS]\n"
    "  OP               all_reduce, all_gather, reduce_scatter, send_recv (rank 0 to 1), barrier\n"
    "  --sizes LIST     bytes with B, KiB or MiB, separated by commas; default 4KiB,64KiB,1MiB\n"
    "  --repeat N       timed repetitions of each size; default 10\n"
    "  --warmup N       untimed ones before; default 1\n"
    "  --dtype NAME     float32 or int32; default float32\n"
    "  --ring           ring instead of mesh; JACCL_RING or MLX_JACCL_RING does the same\n"
    "  --wires W        ring: cables to each neighbour, 1 to 4; default all of the matrix\n"
    "  --small-buffers  4 KiB buffers only, as before macOS 26.3\n"
    "  --check          compare after every repetition, not only the last\n"
    "  --fill-once      data for the first repetition only, and compared after it: later ones add to\n"
    "                   what is there, so that a run is little else than collectives\n"
    "  --tsv            one line for every rank and size, tabs between\n"
    "Environment: JACCL_RANK or MLX_RANK; JACCL_IBV_DEVICES or MLX_IBV_DEVICES, the path of the\n"
    "JSON device matrix; JACCL_COORDINATOR or MLX_JACCL_COORDINATOR, ip:port of rank 0.\n"
    "Exit code: 0 all data right, 1 wrong data, 2 bad use, 3 a call failed.\n";

static const char *const op_names[OP_COUNT] = {[OP_ALL_REDUCE] = "all_reduce",
                                               [OP_ALL_GATHER] = "all_gather",
                                               [OP_REDUCE_SCATTER] = "reduce_scatter",
                                               [OP_SEND_RECV] = "send_recv",
                                               [OP_BARRIER] = "barrier"};

const char *options_op_name(enum op op)
{
    return op_names[op];
}

static bool parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *ret,
                         struct fault *fault)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < least || number > most)
        return fault_set(fault, "'%s' is no number from %u to %u", text, least, most);
    *ret = (uint32_t)number;
    return true;
}

/* One size; *at moves behind it. */
static bool parse_size(const char **at, uint64_t *ret, struct fault *fault)
{
    static const struct {
        const char *suffix;
        uint64_t scale;
    } units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"B", 1}, {"", 1}};
    char *end;
    unsigned long long number;
    size_t i = 0;

    errno = 0;
    number = strtoull(*at, &end, 10);
    while (i < 3 && strncmp(end, units[i].suffix, strlen(units[i].suffix)) != 0)
        i++;
    if (**at < '0' || **at > '9' || errno || number == 0 || number > UINT64_C(1) << 30)
        return fault_set(fault, "'%s': a size is a number with B, KiB or MiB", *at);
    *ret = number * units[i].scale;
    end += strlen(units[i].suffix);
    if (*ret % DTYPE_BYTES || *ret > UINT64_C(1) << 30 || (*end && *end != ','))
        return fault_set(fault, "'%s': a size is a multiple of 4 B, 1 GiB at most", *at);
    *at = end;
    return true;
}

static bool parse_sizes(const char *text, struct options *ret, struct fault *fault)
{
    ret->size_count = 0;
    for (;;) {
        if (ret->size_count == OPTIONS_SIZE_MAX)
            return fault_set(fault, "at most %u sizes", OPTIONS_SIZE_MAX);
        if (!parse_size(&text, &ret->sizes[ret->size_count++], fault))
            return false;
        if (!*text)
            return true;
        text++;
    }
}

static bool parse_dtype(const char *text, struct options *ret, struct fault *fault)
{
    if (strcmp(text, "float32") != 0 && strcmp(text, "int32") != 0)
        return fault_set(fault, "'%s' is no dtype: float32 or int32", text);
    ret->dtype = strcmp(text, "int32") != 0 ? DTYPE_FLOAT32 : DTYPE_INT32;
    return true;
}

static bool parse_flag(const char *name, struct options *ret)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--ring", &ret->is_ring},     {"--small-buffers", &ret->has_small_buffers},
                 {"--check", &ret->checks_all}, {"--fill-once", &ret->fills_once},
                 {"--tsv", &ret->is_tsv},       {"--help", &ret->is_help},
                 {"-h", &ret->is_help}};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!strcmp(name, flags[i].name)) {
            *flags[i].flag = true;
            return true;
        }
    }
    return false;
}

static bool parse_valued(const char *name, const char *value, struct options *ret,
                         struct fault *fault)
{
    if (!value)
        return fault_set(fault, "unknown option %s, or its value is missing", name);
    if (!strcmp(name, "--sizes"))
        return parse_sizes(value, ret, fault);
    if (!strcmp(name, "--repeat"))
        return parse_number(value, 1, OPTIONS_REPEAT_MAX, &ret->repeat, fault);
    if (!strcmp(name, "--warmup"))
        return parse_number(value, 0, OPTIONS_REPEAT_MAX, &ret->warmup, fault);
    if (!strcmp(name, "--wires"))
        return parse_number(value, 1, MATRIX_WIRE_MAX, &ret->wires, fault);
    if (!strcmp(name, "--dtype"))
        return parse_dtype(value, ret, fault);
    return fault_set(fault, "unknown option %s", name);
}

static bool parse_op(const char *text, struct options *ret, struct fault *fault)
{
    for (unsigned i = 0; i < OP_COUNT; i++) {
        if (strcmp(text, op_names[i]) == 0) {
            ret->op = (enum op)i;
            return true;
        }
    }
    return fault_set(fault, "'%s' is no operation", text);
}

/* The first of the two that is set; NULL: neither. */
static const char *look_up(const char *first, const char *second)
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before there are threads
    const char *value = getenv(first);

    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
    return value ? value : getenv(second);
}

static bool read_environment(struct options *ret, struct fault *fault)
{
    const char *rank = look_up("JACCL_RANK", "MLX_RANK");

    ret->matrix_path = look_up("JACCL_IBV_DEVICES", "MLX_IBV_DEVICES");
    ret->coordinator = look_up("JACCL_COORDINATOR", "MLX_JACCL_COORDINATOR");
    ret->is_ring = ret->is_ring || look_up("JACCL_RING", "MLX_JACCL_RING");
    if (!rank || !ret->matrix_path || !ret->coordinator)
        return fault_set(fault, "%s is not set: --help says what is needed",
                         !rank               ? "JACCL_RANK"
                         : !ret->matrix_path ? "JACCL_IBV_DEVICES"
                                             : "JACCL_COORDINATOR");
    return parse_number(rank, 0, MATRIX_RANK_MAX - 1, &ret->rank, fault);
}

bool options_read(int argc, char *const *argv, struct options *ret, struct fault *fault)
{
    *ret = (struct options){
        .sizes = {4096, 65536, 1048576}, .size_count = 3, .repeat = 10, .warmup = 1};
    if (argc < 2)
        return fault_set(fault, "an operation is missing: --help lists them");
    if (!parse_flag(argv[1], ret) && !parse_op(argv[1], ret, fault))
        return false;
    for (int i = 2; i < argc; i++) {
        if (parse_flag(argv[i], ret))
            continue;
        if (!parse_valued(argv[i], i + 1 < argc ? argv[i + 1] : NULL, ret, fault))
            return false;
        i++;
    }
    if (ret->op == OP_BARRIER) {
        ret->size_count = 1;
        ret->sizes[0] = DTYPE_BYTES;
    }
    return ret->is_help || read_environment(ret, fault);
}
