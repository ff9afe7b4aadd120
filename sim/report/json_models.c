/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/json_models.h"

#include <json-glib/json-glib.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"

struct models_writer {
    JsonBuilder *builder;
    const char *wanted; /* NULL: everything */
    size_t count;
};

static bool is_wanted(struct models_writer *w, const char *name)
{
    if (w->wanted && strcmp(w->wanted, name) != 0)
        return false;
    w->count++;
    return true;
}

static void add_provenance(JsonBuilder *builder, const struct provenance *from)
{
    json_add_text(builder, "source", from->source);
    json_add_text(builder, "date", from->date);
    json_add_text(builder, "confidence", from->confidence);
}

static void add_ports(JsonBuilder *builder, const struct machine_model *machine)
{
    json_begin_array(builder, "ports");
    for (size_t i = 0; i < machine->port_count; i++) {
        const struct port_model *port = &machine->ports[i];

        json_builder_begin_object(builder);
        json_add_int(builder, "number", port->number);
        json_add_text(builder, "label", port->label);
        json_add_text(builder, "ifname", port->ifname);
        json_add_text(builder, "kind", port->kind == PORT_ETHERNET ? "ethernet" : "thunderbolt");
        json_add_int(builder, "generation", port->generation);
        json_add_int(builder, "rate_bps", (int64_t)port->rate.bps);
        json_add_text(builder, "doubt", port->is_doubtful ? port->doubt : NULL);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static const char *kind_text(enum machine_kind kind)
{
    switch (kind) {
    case MACHINE_MAC:
        return "mac";
    case MACHINE_HUB:
        return "hub";
    case MACHINE_SWITCH:
        return "switch";
    case MACHINE_OTHER:
        return "other";
    }
    return "";
}

static void add_machine(JsonBuilder *builder, const struct machine_model *machine)
{
    json_builder_begin_object(builder);
    json_add_text(builder, "name", machine->name);
    json_add_text(builder, "title", machine->title);
    json_add_text(builder, "kind", kind_text(machine->kind));
    json_add_text(builder, "chip", machine->chip ? machine->chip->name : NULL);
    json_add_bool(builder, "rdma", machine->is_rdma_capable);
    json_add_int(builder, "rdma_ports", (int64_t)machine_count_rdma_ports(machine, false));
    json_add_int(builder, "rdma_ports_cautious", (int64_t)machine_count_rdma_ports(machine, true));
    json_begin_array(builder, "memory_bytes");
    for (size_t i = 0; i < machine->memory_option_count; i++)
        json_builder_add_int_value(builder, (int64_t)machine->memory_options[i].bytes);
    json_builder_end_array(builder);
    add_ports(builder, machine);
    add_provenance(builder, &machine->provenance);
    json_builder_end_object(builder);
}

static void add_machines(struct models_writer *w, const struct catalog *catalog)
{
    json_begin_array(w->builder, "machines");
    for (size_t i = 0; i < catalog->machine_count; i++) {
        if (is_wanted(w, catalog->machines[i].name))
            add_machine(w->builder, &catalog->machines[i]);
    }
    json_builder_end_array(w->builder);
}

static void add_chips(struct models_writer *w, const struct catalog *catalog)
{
    JsonBuilder *builder = w->builder;

    json_begin_array(builder, "chips");
    for (size_t i = 0; i < catalog->chip_count; i++) {
        const struct chip_model *chip = &catalog->chips[i];

        if (!is_wanted(w, chip->name))
            continue;
        json_builder_begin_object(builder);
        json_add_text(builder, "name", chip->name);
        json_add_int(builder, "thread_copy_bps", (int64_t)chip->thread_copy.bps);
        json_add_int(builder, "thread_reduce_bps", (int64_t)chip->thread_reduce.bps);
        json_add_int(builder, "host_staging_bps", (int64_t)chip->host_staging.bps);
        json_add_int(builder, "memory_bandwidth_bps", (int64_t)chip->memory_bandwidth.bps);
        add_provenance(builder, &chip->provenance);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_cables(struct models_writer *w, const struct catalog *catalog)
{
    JsonBuilder *builder = w->builder;

    json_begin_array(builder, "cables");
    for (size_t i = 0; i < catalog->cable_count; i++) {
        const struct cable_model *cable = &catalog->cables[i];

        if (!is_wanted(w, cable->name))
            continue;
        json_builder_begin_object(builder);
        json_add_text(builder, "name", cable->name);
        json_add_int(builder, "rate_forward_bps", (int64_t)cable->rate_forward.bps);
        json_add_int(builder, "rate_reverse_bps", (int64_t)cable->rate_reverse.bps);
        json_add_int(builder, "length_mm", cable->length_mm);
        add_provenance(builder, &cable->provenance);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_macos(struct models_writer *w, const struct catalog *catalog)
{
    JsonBuilder *builder = w->builder;

    json_begin_array(builder, "macos");
    for (size_t i = 0; i < catalog->macos_count; i++) {
        const struct macos_model *macos = &catalog->macos[i];

        if (!is_wanted(w, macos->version))
            continue;
        json_builder_begin_object(builder);
        json_add_text(builder, "from_version", macos->version);
        json_add_bool(builder, "rdma", macos->has_rdma);
        json_add_bool(builder, "large_buffers", macos->has_large_buffers);
        json_add_bool(builder, "bridge_default", macos->bridge_default);
        json_add_int(builder, "qp_limit", macos->qp_limit);
        json_add_int(builder, "mr_limit", macos->mr_limit);
        json_add_int(builder, "qp_shown", macos->qp_shown);
        json_add_int(builder, "cq_shown", macos->cq_shown);
        json_add_int(builder, "pd_shown", macos->pd_shown);
        json_add_int(builder, "wr_limit", macos->wr_limit);
        json_add_int(builder, "cqe_limit", macos->cqe_limit);
        json_add_int(builder, "page_bytes", (int64_t)macos->page.bytes);
        add_provenance(builder, &macos->provenance);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

/* The catalogue's parameters, with their ranges; the head's list has those of a run. */
static void add_parameters(struct models_writer *w, const struct catalog *catalog)
{
    JsonBuilder *builder = w->builder;

    json_begin_array(builder, "parameter_models");
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        enum param_id id = (enum param_id)i;
        const struct param_value *value = &catalog->params.v[i];

        if (!is_wanted(w, param_name(id)))
            continue;
        json_builder_begin_object(builder);
        json_add_text(builder, "name", param_name(id));
        json_add_text(builder, "what", param_what(id));
        json_add_text(builder, "unit", param_unit_text(param_unit_of(id)));
        json_add_int(builder, "value", value->value);
        json_add_int(builder, "low", value->low);
        json_add_int(builder, "high", value->high);
        json_add_text(builder, "label", param_label_text(value->label));
        json_add_text(builder, "source", value->source);
        json_add_text(builder, "date", value->date);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

bool json_print_models(const struct report_head *head, const struct catalog *catalog,
                       const char *name, struct text *ret)
{
    struct models_writer w = {json_report_begin(head), name, 0};
    struct text text;

    add_machines(&w, catalog);
    add_chips(&w, catalog);
    add_cables(&w, catalog);
    add_macos(&w, catalog);
    add_parameters(&w, catalog);
    text_init(&text, ret->arena);
    json_report_end(w.builder, &text);
    if (w.count == 0)
        return false;
    text_add(ret, "%s", text.bytes);
    return true;
}
