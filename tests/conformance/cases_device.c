/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, ports, GIDs and what they advertise. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

static void names(struct test *t)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);

    CHECK(t, list != NULL && count > 0);
    for (int i = 0; i < count; i++) {
        const char *name = ibv_get_device_name(list[i]);

        (void)test_expect(t, strncmp(name, "rdma_en", 7) == 0 && name[7] >= '0' && name[7] <= '9',
                          __LINE__, "a device is called %s", name);
        for (int k = 0; k < i; k++)
            (void)test_expect(t, strcmp(name, ibv_get_device_name(list[k])) != 0, __LINE__,
                              "two devices are called %s", name);
    }
    ibv_free_device_list(list);
}

static void guids(struct test *t)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    uint8_t first[8] = {0};

    CHECK(t, list != NULL && count > 0);
    for (int i = 0; i < count; i++) {
        __be64 guid = ibv_get_device_guid(list[i]);
        uint8_t bytes[8];

        memcpy(bytes, &guid, sizeof bytes);
        if (i == 0)
            memcpy(first, bytes, sizeof first);
        (void)test_expect(t, bytes[6] == 0xac && bytes[7] == 0x05, __LINE__, "GUID ends %02x%02x",
                          bytes[6], bytes[7]);
        (void)test_expect(t, memcmp(bytes + 1, first + 1, 7) == 0, __LINE__,
                          "GUIDs differ behind the first byte");
        (void)test_expect(t, i == 0 || bytes[0] != first[0], __LINE__, "two GUIDs are equal");
    }
    ibv_free_device_list(list);
}

static void opens_twice(struct test *t)
{
    struct ibv_context *one = make_context(t);
    struct ibv_context *two = make_context(t);

    NEED(!t->is_over);
    CHECK(t, one != two && one->device == two->device);
}

static void list_ends(struct test *t)
{
    int count = -1;
    struct ibv_device **list = ibv_get_device_list(&count);

    CHECK(t, list != NULL && count > 0);
    (void)test_expect(t, list[count] == NULL, __LINE__, "the list has no NULL at its end");
    ibv_free_device_list(list);
}

enum port_field {
    PORT_STATE,
    PORT_GIDS,
    PORT_WIDTH,
    PORT_SPEED,
    PORT_MTU
};

static void port_field(struct test *t)
{
    struct ibv_port_attr port = {.lid = 0};

    CHECK_EQ(t, ibv_query_port(t->lab->context, 1, &port), 0);
    if (t->row->a == PORT_STATE)
        CHECK_EQ(t, port.state, IBV_PORT_ACTIVE);
    else if (t->row->a == PORT_GIDS)
        CHECK(t, port.gid_tbl_len >= 2);
    else if (t->row->a == PORT_WIDTH)
        CHECK_EQ(t, port.active_width, 4);
    else if (t->row->a == PORT_SPEED)
        CHECK_EQ(t, port.active_speed, 4);
    else
        CHECK(t, port.active_mtu >= IBV_MTU_256 && port.active_mtu <= IBV_MTU_4096);
}

static void port_refused(struct test *t)
{
    struct ibv_port_attr port;

    CHECK(t, ibv_query_port(t->lab->context, (uint8_t)t->row->a, &port) != 0);
}

static void gid_is(struct test *t)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    union ibv_gid gid;

    CHECK_EQ(t, ibv_query_gid(t->lab->context, 1, (int)t->row->a, &gid), 0);
    if (t->row->b)
        CHECK(t, memcmp(gid.raw, mapped, sizeof mapped) == 0);
    else
        CHECK(t, gid.raw[0] == 0xfe && gid.raw[1] == 0x80);
}

static void gid_refused(struct test *t)
{
    union ibv_gid gid;

    CHECK(t, ibv_query_gid(t->lab->context, (uint8_t)t->row->b, (int)(int64_t)t->row->a, &gid));
}

enum attr_field {
    ATTR_QP,
    ATTR_CQ,
    ATTR_PD,
    ATTR_MR,
    ATTR_SGE,
    ATTR_WR,
    ATTR_SRQ,
    ATTR_MR_SIZE,
    ATTR_CQE,
    ATTR_PORTS
};

static void attr_field(struct test *t)
{
    struct ibv_device_attr attr;
    uint64_t found = 0;

    CHECK_EQ(t, ibv_query_device(t->lab->context, &attr), 0);
    switch ((enum attr_field)t->row->a) {
    case ATTR_QP:
        found = (uint64_t)attr.max_qp;
        break;
    case ATTR_CQ:
        found = (uint64_t)attr.max_cq;
        break;
    case ATTR_PD:
        found = (uint64_t)attr.max_pd;
        break;
    case ATTR_MR:
        found = (uint64_t)attr.max_mr;
        break;
    case ATTR_SGE:
        found = (uint64_t)attr.max_sge;
        break;
    case ATTR_WR:
        found = (uint64_t)attr.max_qp_wr;
        break;
    case ATTR_SRQ:
        found = (uint64_t)attr.max_srq;
        break;
    case ATTR_MR_SIZE:
        found = attr.max_mr_size;
        break;
    case ATTR_CQE:
        found = attr.max_cqe >= 4096 ? 4096 : 0;
        break;
    case ATTR_PORTS:
        found = attr.phys_port_cnt;
        break;
    }
    CHECK_EQ(t, found, t->row->b);
}

static void guid_agrees(struct test *t)
{
    struct ibv_device_attr attr;

    CHECK_EQ(t, ibv_query_device(t->lab->context, &attr), 0);
    CHECK(t, attr.node_guid == ibv_get_device_guid(t->lab->context->device));
}

#define PORT(name, field, fact)                                                    \
    {                                                                              \
        "port/" name, fact, "TN3205", port_field, field, 0, 1, VARIANT_BOTH, false \
    }
#define ATTR(name, field, value, source)                                                      \
    {                                                                                         \
        "attr/" name, "the advertised value is " #value, source, attr_field, field, value, 1, \
            VARIANT_BOTH, false                                                               \
    }

static const struct row rows[] = {
    {"device/names_are_rdma_en_and_unique", "devices are called rdma_enN", "TN3205", names, 0, 0, 1,
     VARIANT_BOTH, false},
    {"device/guids_end_ac05", "GUIDs end ac05 and differ in the first byte only", "TN3205", guids,
     0, 0, 1, VARIANT_BOTH, false},
    {"device/opens_twice", "a device can be open several times", "mlx rdma.cpp", opens_twice, 0, 0,
     1, VARIANT_BOTH, false},
    {"device/list_ends_with_null", "the list is terminated by NULL", "ibv_get_device_list(3)",
     list_ends, 0, 0, 1, VARIANT_BOTH, false},
    PORT("one_is_active", PORT_STATE, "ACTIVE: the cable is up and the other Mac has RDMA on"),
    PORT("has_gids", PORT_GIDS, "the GID table has the IPv4-mapped entry"),
    PORT("is_8x_wide", PORT_WIDTH, "active_width is 8X, code 4"),
    PORT("is_10_gbps_fast", PORT_SPEED, "active_speed is 10 Gb/s, code 4"),
    PORT("mtu_is_an_mtu", PORT_MTU, "the port's active MTU can be used for RTR"),
    {"port/zero_is_refused", "port numbers begin at 1", "TN3205", port_refused, 0, 0, 1,
     VARIANT_BOTH, false},
    {"port/two_is_refused", "a device has one port", "TN3205", port_refused, 2, 0, 1, VARIANT_BOTH,
     false},
    {"gid/zero_is_link_local", "GID 0 is fe80", "TN3205", gid_is, 0, 0, 1, VARIANT_BOTH, false},
    {"gid/one_is_ipv4_mapped", "GID 1 is ::ffff:a.b.c.d", "TN3205", gid_is, 1, 1, 1, VARIANT_BOTH,
     false},
    {"gid/two_is_link_local", "GID 2 is a second fe80", "TN3205", gid_is, 2, 0, 1, VARIANT_BOTH,
     false},
    {"gid/past_the_table_is_refused", "no entry 1000", "ibv_query_gid(3)", gid_refused, 1000, 1, 1,
     VARIANT_BOTH, false},
    {"gid/negative_is_refused", "no entry -1", "ibv_query_gid(3)", gid_refused, UINT64_MAX, 1, 1,
     VARIANT_BOTH, false},
    {"gid/of_port_two_is_refused", "a device has one port", "TN3205", gid_refused, 0, 2, 1,
     VARIANT_BOTH, false},
    ATTR("max_qp", ATTR_QP, 11, "nix-ai"),
    ATTR("max_cq", ATTR_CQ, 11, "nix-ai"),
    ATTR("max_pd", ATTR_PD, 11, "nix-ai"),
    ATTR("max_mr", ATTR_MR, 100, "mesh-notes"),
    ATTR("max_sge", ATTR_SGE, 1, "mesh-notes"),
    ATTR("max_qp_wr", ATTR_WR, 4095, "TN3205"),
    ATTR("max_srq", ATTR_SRQ, 0, "mesh-notes"),
    ATTR("max_mr_size", ATTR_MR_SIZE, 16384000, "mesh-notes"),
    ATTR("max_cqe_at_least", ATTR_CQE, 4096, "TN3205"),
    ATTR("phys_port_cnt", ATTR_PORTS, 1, "TN3205"),
    {"attr/node_guid_is_the_devices", "both calls give one GUID", "ibv_query_device(3)",
     guid_agrees, 0, 0, 1, VARIANT_BOTH, false},
};

const struct row_table device_rows = {rows, sizeof rows / sizeof *rows};
