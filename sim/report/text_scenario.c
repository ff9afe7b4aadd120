/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/text_scenario.h"

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/model.h"
#include "sim/report/table.h"
#include "sim/scenario/quantity.h"

void text_add_count(struct text *ret, size_t count, const char *noun)
{
    text_add(ret, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

/* A name that a user wrote, without what would move the reader's cursor. */
static void add_name(struct text *ret, const char *name)
{
    for (const char *p = name; *p != '\0'; p++)
        text_add(ret, "%c", (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
}

void text_print_title(const struct scenario *scenario, struct text *ret)
{
    add_name(ret, scenario->name);
    text_add(ret, ": ");
    text_add_count(ret, scenario->cluster.host_count, "machine");
    text_add(ret, ", ");
    text_add_count(ret, scenario->cluster.cable_count, "cable");
    text_add(ret, ", seed %llu\n", (unsigned long long)scenario->seed);
}

static void add_end(struct table *table, const struct cluster *cluster, struct cluster_end end)
{
    const struct cluster_host *host = &cluster->hosts[end.host.ix];
    const struct port_model *port = host->ports[end.port].model;

    table_add(table, "%s:%u", host->name, port->number);
    table_add(table, "%s%s%s", port->label, *port->ifname != '\0' ? ", " : "", port->ifname);
}

void text_print_cabling(const struct cluster *cluster, struct text *ret)
{
    static const struct table_column columns[] = {
        {"from", NULL, true}, {"port", NULL, true}, {"to", NULL, true},   {"port", NULL, true},
        {"kind", NULL, true}, {"rate", NULL, true}, {"RDMA", NULL, true},
    };
    struct table table;

    if (cluster->cable_count == 0)
        return;
    table_init(&table, ret->arena, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *cable = &cluster->cables[i];
        char forward[QUANTITY_TEXT_MAX];
        char reverse[QUANTITY_TEXT_MAX];

        quantity_format(forward, QUANTITY_RATE, (int64_t)cable->rate_ab.bps);
        quantity_format(reverse, QUANTITY_RATE, (int64_t)cable->rate_ba.bps);
        add_end(&table, cluster, cable->a);
        add_end(&table, cluster, cable->b);
        table_add(&table, "%s", cable->model->name);
        if (cable->rate_ab.bps == cable->rate_ba.bps)
            table_add(&table, "%s", forward);
        else
            table_add(&table, "%s, back %s", forward, reverse);
        table_add(&table, "%s", cluster_cable_has_rdma(cluster, (cable_id){i}) ? "yes" : "no");
    }
    text_add(ret, "\ncables\n");
    table_print(&table, 2, ret);
}

static const char *verdict_word(enum expect_verdict verdict)
{
    switch (verdict) {
    case EXPECT_HOLDS:
        return "holds";
    case EXPECT_FAILS:
        return "FAILS";
    case EXPECT_NO_SUBJECT:
        return "FAILS, nothing to judge";
    case EXPECT_NOT_RUN:
        return "not run";
    }
    return "";
}

void text_print_expectations(const struct scenario *scenario, const struct expect_outcome *outcomes,
                             struct text *ret)
{
    bool has_title = false;

    for (size_t i = 0; i < scenario->expectation_count; i++) {
        if (outcomes[i].verdict == EXPECT_NOT_RUN)
            continue;
        if (!has_title)
            text_add(ret, "\nexpectations\n");
        has_title = true;
        text_add(ret, "  %s: ", verdict_word(outcomes[i].verdict));
        add_name(ret, scenario->expectations[i].text);
        text_add(ret, "\n    seen: %s\n", outcomes[i].seen);
    }
}
