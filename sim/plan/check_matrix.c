/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A JACCL device matrix against the cables
 *
 * Cell (r, c) names rank r's devices towards rank c. JACCL (ml-explore/mlx at 846d176, jaccl.cpp,
 * 2026-08-22) takes the ring when it is preferred and valid, else the mesh when that is valid, else
 * the ring. A valid mesh has an empty diagonal and every other cell filled, and uses the first name
 * of each cell; a valid ring has as many names towards both neighbours of every rank as cell (0, 1)
 * has, and looks at no other cell. (A ring of no names at all passes JACCL's test; not ours.)
 *
 * JACCL cannot see cables: it pairs queue pairs by index, so wire k of cell (r, c) has to be the
 * cable of wire k of cell (c, r). If it is not, both ends wait on different cables for ever
 * (exo PR 2160 and 2195). This file sees the cables and says so before anything runs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_rules.h"

#define DEVICE_PREFIX "rdma_"
#define CELLS_SHOWN   4U

static size_t cell_length(const struct check_matrix *m, size_t row, size_t col)
{
    const char *const *cell = m->cells[row * m->size + col];
    size_t length = 0;

    while (cell && cell[length])
        length++;
    return length;
}

/* One name of one cell. */
struct cell_ref {
    const struct check_matrix *m;
    size_t row, col, wire;
};

static const char *ref_name(const struct cell_ref *ref)
{
    return ref->m->cells[ref->row * ref->m->size + ref->col][ref->wire];
}

/* The same wire as the other end names it. */
static struct cell_ref ref_other_end(const struct cell_ref *ref)
{
    return (struct cell_ref){ref->m, ref->col, ref->row, ref->wire};
}

static struct src_pos cell_pos(const struct check_matrix *m, size_t row, size_t col)
{
    return m->cell_pos ? m->cell_pos[row * m->size + col] : m->pos;
}

/* "row 2 (studio2), column 3 (studio3)", counted from 1 as editors count lines. */
static const char *cell_place(const struct check_state *s, const struct check_matrix *m, size_t row,
                              size_t col)
{
    return arena_format(s->arena, "row %zu (%s), column %zu (%s)", row + 1,
                        check_host(s, m->hosts[row])->name, col + 1,
                        check_host(s, m->hosts[col])->name);
}

static bool is_valid_mesh(const struct check_matrix *m)
{
    for (size_t r = 0; r < m->size; r++) {
        for (size_t c = 0; c < m->size; c++) {
            if ((r == c) != (cell_length(m, r, c) == 0))
                return false;
        }
    }
    return m->size >= 2;
}

static bool is_neighbour(const struct check_matrix *m, size_t row, size_t col)
{
    return col == (row + 1) % m->size || col == (row + m->size - 1) % m->size;
}

static bool is_valid_ring(const struct check_matrix *m)
{
    size_t wires = m->size >= 2 ? cell_length(m, 0, 1) : 0;

    for (size_t r = 0; r < m->size && wires; r++) {
        for (size_t c = 0; c < m->size; c++) {
            if (is_neighbour(m, r, c) && cell_length(m, r, c) != wires)
                return false;
        }
    }
    return wires > 0;
}

/* What JACCL would run. */
enum matrix_shape {
    SHAPE_NONE,
    SHAPE_MESH,
    SHAPE_RING,
};

static enum matrix_shape shape_of(const struct check_matrix *m)
{
    if (m->prefers_ring && is_valid_ring(m))
        return SHAPE_RING;
    if (is_valid_mesh(m))
        return SHAPE_MESH;
    return is_valid_ring(m) ? SHAPE_RING : SHAPE_NONE;
}

static void add_bad_cell(const struct check_state *s, const struct check_matrix *m,
                         struct text *list, size_t row, size_t col)
{
    size_t length = cell_length(m, row, col);

    text_add_item(list, ", ", cell_place(s, m, row, col));
    if (row == col)
        text_add(list, " names a device for the rank itself");
    else if (length == 0)
        text_add(list, " is null");
    else
        text_add(list, " has %s", check_plural(s, length, "name"));
}

/* The cells that keep the matrix from being a mesh; the first one's place goes to *ret_pos. */
static const char *list_mesh_faults(const struct check_state *s, const struct check_matrix *m,
                                    struct src_pos *ret_pos)
{
    struct text list;
    size_t count = 0;

    text_init(&list, s->arena);
    for (size_t r = 0; r < m->size; r++) {
        for (size_t c = 0; c < m->size; c++) {
            if ((r == c) == (cell_length(m, r, c) == 0))
                continue;
            if (count++ == 0)
                *ret_pos = cell_pos(m, r, c);
            if (count <= CELLS_SHOWN)
                add_bad_cell(s, m, &list, r, c);
        }
    }
    if (count > CELLS_SHOWN)
        text_add(&list, " and %zu more", count - CELLS_SHOWN);
    return list.bytes;
}

static const char *list_ring_faults(const struct check_state *s, const struct check_matrix *m,
                                    bool *ret_has_empty)
{
    size_t wires = cell_length(m, 0, 1);
    struct text list;
    size_t count = 0;

    text_init(&list, s->arena);
    *ret_has_empty = wires == 0;
    if (wires == 0)
        add_bad_cell(s, m, &list, 0, 1);
    for (size_t r = 0; r < m->size && wires; r++) {
        for (size_t c = 0; c < m->size; c++) {
            size_t length = cell_length(m, r, c);

            if (!is_neighbour(m, r, c) || length == wires)
                continue;
            *ret_has_empty = *ret_has_empty || length == 0;
            if (count++ < CELLS_SHOWN)
                add_bad_cell(s, m, &list, r, c);
        }
    }
    if (count > CELLS_SHOWN)
        text_add(&list, " and %zu more", count - CELLS_SHOWN);
    if (wires && count)
        text_add(&list, " where %s has %s", cell_place(s, m, 0, 1), check_plural(s, wires, "name"));
    return list.bytes;
}

static void report_no_shape(struct check_state *s, const struct check_matrix *m)
{
    struct src_pos pos = m->pos;
    bool has_empty;
    const char *mesh = list_mesh_faults(s, m, &pos);
    const char *ring = list_ring_faults(s, m, &has_empty);
    bool is_unequal = !has_empty;

    check_add(s,
              &(struct finding){
                  .id = is_unequal ? "unequal-rails" : "matrix-shape",
                  .severity = CHECK_ERROR,
                  .where = is_unequal ? ring : mesh,
                  .why = arena_format(
                      s->arena,
                      "The matrix is neither a mesh nor a ring. Not a mesh, which has null on "
                      "the diagonal and a device everywhere else: %s. Not a ring, which has "
                      "the same number of devices towards both neighbours of every rank: %s "
                      "(ml-explore/mlx at 846d176, jaccl.cpp, 2026-08-22%s).",
                      *mesh ? mesh : "(that part holds)", ring,
                      is_unequal ? "; exo PR 2195: use the common minimum" : ""),
                  .fix = is_unequal ? "# name as many devices in every cell as the shortest has"
                                    : "# name a device in the cells listed, or leave out the ranks "
                                      "that have no cable to all others",
                  .pos = pos,
              });
}

static void note_ring_ignored(struct check_state *s, const struct check_matrix *m)
{
    bool has_empty;
    const char *ring = list_ring_faults(s, m, &has_empty);

    check_add(s, &(struct finding){
                     .id = "matrix-shape",
                     .severity = CHECK_WARNING,
                     .where = ring,
                     .why = arena_format(s->arena,
                                         "A ring is preferred, but the matrix is not a valid one "
                                         "(%s); JACCL runs its mesh instead and says nothing.",
                                         ring),
                     .fix = "# name the same number of devices towards both neighbours of every "
                            "rank",
                     .pos = m->pos,
                 });
}

/* The port that a device name stands for on a host; ID_NONE when there is none. */
static uint32_t find_device(const struct cluster_host *host, const char *name)
{
    size_t prefix = strlen(DEVICE_PREFIX);

    if (strncmp(name, DEVICE_PREFIX, prefix) != 0)
        return ID_NONE;
    for (uint32_t p = 0; p < host->port_count; p++) {
        const struct port_model *port = host->ports[p].model;

        if (port->kind == PORT_THUNDERBOLT && port->ifname && *port->ifname &&
            strcmp(port->ifname, name + prefix) == 0)
            return p;
    }
    return ID_NONE;
}

/* A cell reaches a machine over a hub too: then any cable to a hub that the other is on will do. */
static bool port_reaches(const struct check_state *s, host_id from, uint32_t port, host_id to)
{
    cable_id cable = check_host(s, from)->ports[port].cable;
    struct cluster_path paths[16];
    size_t count;

    if (cable.ix == ID_NONE)
        return false;
    count = cluster_find_paths(s->cluster, from, to, paths, 16);
    for (size_t i = 0; i < count && i < 16; i++) {
        if (paths[i].cables[0].ix == cable.ix)
            return true;
    }
    return false;
}

/* The devices of `from` towards `to` in the order of the cables, as JSON: "rdma_en4" or a list. */
static const char *right_cell(const struct check_state *s, host_id from, host_id to, size_t max)
{
    struct cluster_path paths[16];
    size_t found = cluster_find_paths(s->cluster, from, to, paths, 16);
    struct text names;
    size_t count = 0;

    text_init(&names, s->arena);
    for (size_t i = 0; i < found && i < 16 && count < max; i++) {
        const struct cluster_cable *cable = &s->cluster->cables[paths[i].cables[0].ix];
        struct cluster_end end = cable->a.host.ix == from.ix ? cable->a : cable->b;

        if (!check_is_thunderbolt(s, paths[i].cables[0]))
            continue;
        text_add_item(&names, ", ", "\"" DEVICE_PREFIX);
        text_add(&names, "%s\"", check_host(s, from)->ports[end.port].model->ifname);
        count++;
    }
    if (count == 0)
        return "null";
    return count == 1 ? names.bytes : arena_format(s->arena, "[%s]", names.bytes);
}

static void report_cell(struct check_state *s, const struct cell_ref *ref, const char *id,
                        const char *why)
{
    const struct check_matrix *m = ref->m;
    host_id from = m->hosts[ref->row];
    host_id to = m->hosts[ref->col];
    const char *right = right_cell(s, from, to, shape_of(m) == SHAPE_RING ? JACCL_WIRES_MAX : 1);
    struct text fix;

    text_init(&fix, s->arena);
    text_add(&fix, "# %s: %s", cell_place(s, m, ref->row, ref->col),
             strcmp(right, "null") == 0 ? "there is no cable between the two: plug one"
                                        : arena_format(s->arena, "write %s", right));
    check_command(&fix, check_host(s, from), "ibv_devinfo -d %s", ref_name(ref));
    check_add(s, &(struct finding){
                     .id = id,
                     .severity = CHECK_ERROR,
                     .where = arena_format(s->arena, "%s: %s", cell_place(s, m, ref->row, ref->col),
                                           ref_name(ref)),
                     .why = why,
                     .fix = fix.bytes,
                     .pos = cell_pos(m, ref->row, ref->col),
                 });
}

static void report_unknown_device(struct check_state *s, const struct cell_ref *ref)
{
    const struct cluster_host *host = check_host(s, ref->m->hosts[ref->row]);
    const char *name = ref_name(ref);
    const char *guess = arena_format(s->arena, DEVICE_PREFIX "%s", name);
    bool lacks_prefix = find_device(host, guess) != ID_NONE;
    struct text devices;
    size_t count = 0;

    text_init(&devices, s->arena);
    for (uint32_t p = 0; p < host->port_count; p++) {
        if (host->ports[p].model->kind != PORT_THUNDERBOLT)
            continue;
        text_add_item(&devices, ", ", DEVICE_PREFIX);
        text_add(&devices, "%s", host->ports[p].model->ifname);
        count++;
    }
    report_cell(s, ref, "matrix-unknown-device",
                arena_format(s->arena,
                             "%s (%s) has no device %s%s%s%s; its devices are %s. JACCL prints "
                             "\"Could not find device %s (%zu available)\".",
                             host->name, host->model->name, name,
                             lacks_prefix ? ": did you mean " : "", lacks_prefix ? guess : "",
                             lacks_prefix ? "?" : "", devices.bytes, name, count));
}

/* Why a port is DOWN, NULL when it is ACTIVE or when another finding explains it better. */
static const char *why_down(const struct check_state *s, host_id host, uint32_t port)
{
    const struct cluster_host *h = check_host(s, host);
    cable_id cable = h->ports[port].cable;

    if (cable.ix == ID_NONE)
        return "nothing is plugged into it";
    if (!check_is_capable(h) || cluster_cable_has_rdma(s->cluster, cable))
        return NULL;

    struct cluster_end peer = cluster_peer(&s->cluster->cables[cable.ix], host);
    const struct cluster_host *other = check_host(s, peer.host);

    if (check_is_capable(other) && h->is_rdma_enabled && !other->is_rdma_enabled)
        return arena_format(s->arena, "RDMA is disabled at the other end, %s", other->name);
    return NULL;
}

static void check_device(struct check_state *s, const struct cell_ref *ref)
{
    const struct check_matrix *m = ref->m;
    host_id from = m->hosts[ref->row];
    host_id to = m->hosts[ref->col];
    const struct cluster_host *host = check_host(s, from);
    uint32_t port = find_device(host, ref_name(ref));
    const char *down;

    if (port == ID_NONE) {
        report_unknown_device(s, ref);
        return;
    }
    down = why_down(s, from, port);
    if (down) {
        report_cell(s, ref, "matrix-dead-port",
                    arena_format(s->arena,
                                 "Row %zu is %s's, and its %s is DOWN: %s (%s). A protection "
                                 "domain on a DOWN port is NULL, and JACCL ends with \"Couldn't "
                                 "allocate protection domain\" or errno 60; the right entry is %s "
                                 "(mlx issue 4530; hotwa/mlx-jaccl-cluster).",
                                 ref->row + 1, host->name, ref_name(ref), down,
                                 check_port_name(s, (struct cluster_end){from, port}),
                                 right_cell(s, from, to, 1)));
        return;
    }
    if (!port_reaches(s, from, port, to)) {
        struct cluster_end peer =
            cluster_peer(&s->cluster->cables[host->ports[port].cable.ix], from);

        report_cell(s, ref, "matrix-wrong-cable",
                    arena_format(s->arena,
                                 "The cable in %s goes to %s, not to %s: the address of the peer "
                                 "cannot be reached on it and RTR fails with errno 60 (ETIMEDOUT; "
                                 "mlx issue 3755, exo issue 1847).",
                                 check_port_name(s, (struct cluster_end){from, port}),
                                 check_host(s, peer.host)->name, check_host(s, to)->name));
    }
}

/* The cable that a name stands for; ID_NONE when it stands for none. */
static cable_id named_cable(const struct check_state *s, const struct cell_ref *ref)
{
    const struct cluster_host *host = check_host(s, ref->m->hosts[ref->row]);
    uint32_t port = find_device(host, ref_name(ref));

    if (port == ID_NONE)
        return (cable_id){ID_NONE};
    return host->ports[port].cable;
}

static void report_crossed(struct check_state *s, const struct cell_ref *ref, cable_id here,
                           cable_id there)
{
    const struct check_matrix *m = ref->m;
    struct cell_ref other = ref_other_end(ref);
    host_id a = m->hosts[ref->row];
    host_id b = m->hosts[ref->col];
    const char *at_a = check_host(s, a)->name;
    const char *at_b = check_host(s, b)->name;

    check_add(
        s,
        &(struct finding){
            .id = "rail-crossed",
            .severity = CHECK_ERROR,
            .where = arena_format(s->arena, "%s - %s", at_a, at_b),
            .why = arena_format(
                s->arena,
                "Wire %zu of the pair %s - %s is %s at %s, which is cable %s, and %s at %s, "
                "which is cable %s. Queue pairs are paired by index, so one end sends on a cable "
                "that the other does not listen on: a deadlock without any error (exo PR 2160 "
                "and 2195: stuck at layer 47 of 48).",
                ref->wire + 1, at_a, at_b, ref_name(ref), at_a, check_cable_name(s, here),
                ref_name(&other), at_b, check_cable_name(s, there)),
            .fix = arena_format(
                s->arena,
                "# one cable (mesh or ring): %s: %s and %s: %s\n# all cables (ring, mlx.launch "
                "--backend jaccl-ring): %s: %s and %s: %s",
                cell_place(s, m, ref->row, ref->col), right_cell(s, a, b, 1),
                cell_place(s, m, ref->col, ref->row), right_cell(s, b, a, 1),
                cell_place(s, m, ref->row, ref->col), right_cell(s, a, b, JACCL_WIRES_MAX),
                cell_place(s, m, ref->col, ref->row), right_cell(s, b, a, JACCL_WIRES_MAX)),
            .pos = cell_pos(m, ref->row, ref->col),
        });
}

/* Wires of one pair that JACCL would use: all of a ring cell, the first of a mesh cell. */
static size_t used_wires(const struct check_matrix *m, size_t row, size_t col)
{
    size_t here = cell_length(m, row, col);
    size_t there = cell_length(m, col, row);
    size_t both = here < there ? here : there;

    if (shape_of(m) == SHAPE_MESH)
        return both ? 1 : 0;
    return both;
}

static void check_pair(struct check_state *s, const struct check_matrix *m, size_t row, size_t col)
{
    size_t wires = used_wires(m, row, col);

    for (size_t k = 0; k < wires; k++) {
        struct cell_ref ref = {m, row, col, k};
        struct cell_ref other = ref_other_end(&ref);
        cable_id here = named_cable(s, &ref);
        cable_id there = named_cable(s, &other);

        if (here.ix == there.ix || here.ix == ID_NONE || there.ix == ID_NONE)
            continue;

        /* Both cables join the two directly: it is the pairing that is wrong, not the port. */
        if (cluster_peer(&s->cluster->cables[here.ix], m->hosts[row]).host.ix == m->hosts[col].ix &&
            cluster_peer(&s->cluster->cables[there.ix], m->hosts[col]).host.ix ==
                m->hosts[row].ix) {
            report_crossed(s, &ref, here, there);
            return; /* once a pair */
        }
    }
}

static void check_matrix_caps(struct check_state *s, const struct check_matrix *m)
{
    enum matrix_shape shape = shape_of(m);
    size_t wires = cell_length(m, 0, 1);

    if (shape == SHAPE_MESH && m->size > JACCL_MESH_MAX)
        check_add_limited(s,
                          &(struct finding){
                              .id = "jaccl-mesh-cap",
                              .severity = CHECK_ERROR,
                              .where = "the device matrix",
                              .why = arena_format(s->arena,
                                                  "The matrix is a mesh of %zu ranks; JACCL's mesh "
                                                  "takes at most %u (ml-explore/mlx at 846d176).",
                                                  m->size, JACCL_MESH_MAX),
                              .fix = "# prefer the ring: mlx.launch --backend jaccl-ring",
                              .pos = m->pos,
                          },
                          JACCL_MESH_MAX);
    if (shape == SHAPE_RING && wires > JACCL_WIRES_MAX)
        check_add(s, &(struct finding){
                         .id = "jaccl-wires-cap",
                         .severity = CHECK_ERROR,
                         .where = cell_place(s, m, 0, 1),
                         .why = arena_format(s->arena,
                                             "The cells name %zu devices; JACCL's ring takes up to "
                                             "%u a direction (ml-explore/mlx at 846d176).",
                                             wires, JACCL_WIRES_MAX),
                         .fix = arena_format(s->arena, "# name at most %u devices a cell",
                                             JACCL_WIRES_MAX),
                         .pos = cell_pos(m, 0, 1),
                     });
}

void check_matrix_cells(struct check_state *s)
{
    const struct check_matrix *m = s->input->matrix;

    if (!m || m->size < 2)
        return;
    if (shape_of(m) == SHAPE_NONE)
        report_no_shape(s, m);
    else if (m->prefers_ring && shape_of(m) == SHAPE_MESH)
        note_ring_ignored(s, m);
    check_matrix_caps(s, m);
    for (size_t r = 0; r < m->size; r++) {
        for (size_t c = 0; c < m->size; c++) {
            for (size_t k = 0; r != c && k < cell_length(m, r, c); k++)
                check_device(s, &(struct cell_ref){m, r, c, k});
        }
    }
    for (size_t r = 0; r < m->size; r++) {
        for (size_t c = r + 1; c < m->size; c++)
            check_pair(s, m, r, c);
    }
}
