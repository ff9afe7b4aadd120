/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue: what models/ says about chips, Macs, cables and macOS versions. */
#ifndef SIM_FABRIC_MODEL_H
#define SIM_FABRIC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/param.h"

/* Where a number comes from. All borrowed from the catalogue's arena. */
struct provenance {
    const char *source;
    const char *date;       /* ISO date */
    const char *confidence; /* "primary", "vendor", "secondary", "derived", "assumed" */
};

/* What the CPU side of a Mac does to staged data. Rates count the bytes of the vector, once. */
struct chip_model {
    const char *name;      /* "m3-ultra" */
    bitrate thread_copy;   /* memcpy into or out of a staging buffer, one thread */
    bitrate thread_reduce; /* element-wise reduction of a received buffer, one thread */
    bitrate host_staging;  /* all threads together */
    bitrate memory_bandwidth;
    struct provenance provenance;
};

enum port_kind {
    PORT_THUNDERBOLT,
    PORT_ETHERNET,
};

struct port_model {
    uint32_t number;    /* as users count: 1.. */
    const char *label;  /* "rear 1, beside Ethernet" */
    const char *ifname; /* "en2"; the RDMA device is "rdma_en2" */
    enum port_kind kind;
    bitrate rate;        /* line rate of one direction */
    uint32_t generation; /* Thunderbolt 4 or 5; 0 for Ethernet */
    bool is_doubtful;    /* sources disagree whether RDMA works here */
    const char *doubt;   /* what they say; NULL when there is none */
};

enum machine_kind {
    MACHINE_MAC,
    MACHINE_HUB,    /* forwards frames between its ports, runs nothing */
    MACHINE_SWITCH, /* the same for Ethernet */
    MACHINE_OTHER,  /* a computer that is not a Mac */
};

struct machine_model {
    const char *name; /* "mac-studio-m3-ultra" */
    const char *title;
    enum machine_kind kind;
    const struct chip_model *chip; /* NULL for hubs and switches */
    const char *const *variants;   /* names accepted for the key `gpu`, such as "60-core" */
    size_t variant_count;
    const bytecount *memory_options;
    size_t memory_option_count;
    const struct port_model *ports;
    size_t port_count;
    bool is_rdma_capable; /* Thunderbolt 5 and Apple silicon */
    struct provenance provenance;
};

struct cable_model {
    const char *name; /* "tb5-1m" */
    enum port_kind kind;
    uint32_t generation;  /* highest Thunderbolt generation it carries */
    bitrate rate_forward; /* line rate from the first-named end; a TB5 cable may be 120/40 */
    bitrate rate_reverse;
    uint32_t length_mm;
    struct provenance provenance;
};

/* What changes with the macOS version. */
struct macos_model {
    const char *version; /* "26.3": the profile holds from this version on */
    bool has_rdma;
    bool has_large_buffers; /* JACCL uses buffers above 4 KiB */
    bool bridge_default;    /* bridge0 takes all Thunderbolt ports after installation */
    uint32_t qp_limit;      /* queue pairs a device */
    uint32_t mr_limit;
    uint32_t qp_shown; /* what a device says of itself, which is not what it grants; 0: unknown */
    uint32_t cq_shown;
    uint32_t pd_shown;
    uint32_t wr_limit;  /* work requests a queue, in frames; 0: unknown */
    uint32_t cqe_limit; /* entries of a completion queue; 0: unknown */
    bytecount page;     /* zero: unknown */
    struct provenance provenance;
};

/* A name that people use for a Mac that nobody can buy, and why it is refused. */
struct unsold_model {
    const char *name; /* "mac-studio-m4-ultra" */
    const char *why;
};

struct catalog {
    struct arena arena;
    struct chip_model *chips;
    size_t chip_count;
    struct machine_model *machines;
    size_t machine_count;
    struct cable_model *cables;
    size_t cable_count;
    struct macos_model *macos; /* ascending version */
    size_t macos_count;
    struct unsold_model *unsold;
    size_t unsold_count;
    struct param_set params;
};

/* True for hubs and switches: they pass frames on between their ports and run no program. */
static inline bool machine_forwards(const struct machine_model *machine)
{
    return machine->kind == MACHINE_HUB || machine->kind == MACHINE_SWITCH;
}

const struct machine_model *catalog_find_machine(const struct catalog *catalog, const char *name);
const struct cable_model *catalog_find_cable(const struct catalog *catalog, const char *name);
const struct chip_model *catalog_find_chip(const struct catalog *catalog, const char *name);
/* The profile in force for a version such as "26.4.1": the newest one not above it; NULL when the
 * version is older than every profile or is not a dotted number. */
const struct macos_model *catalog_find_macos(const struct catalog *catalog, const char *version);
const struct unsold_model *catalog_find_unsold(const struct catalog *catalog, const char *name);
/* True for dotted numbers such as "26.4.1", each of at most six digits. */
bool macos_version_is_valid(const char *version);
/* Compares dotted versions number by number: "26.10" is above "26.9". */
int macos_version_compare(const char *a, const char *b);

#endif
