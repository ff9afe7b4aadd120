/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Import from MLX
 *
 * The file says which device of rank r leads to rank c; a cable is what wire k of cell (r, c) and
 * wire k of cell (c, r) name together, because JACCL pairs its queue pairs by that index. Devices
 * are called after interfaces, and which port enN is depends on the Mac, which the file does not
 * say: the caller names it, or it is found as the only one that has all devices of a row. Where
 * several Macs have them on the same ports, the cables are known and only the model is left open.
 *
 * A matrix has to be one of the two shapes that JACCL accepts. A mesh: null on the diagonal, names
 * everywhere else. A ring: as many names towards both neighbours of every rank as cell (0, 1) has,
 * at least one here. Source: ml-explore/mlx at 846d176 (2026-08-22), jaccl.cpp and
 * python/mlx/_distributed_utils/common.py.
 */
#include "sim/scenario/import_mlx.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/fabric/model.h"
#include "sim/scenario/suggest.h"
#include "sim/scenario/yaml.h"

#define DEVICE_PREFIX "rdma_"
#define RANKS_MAX     256U
#define WIRES_MAX     16U
#define NAME_LENGTH   63U
#define NO_PORT       UINT32_MAX

struct cell {
    const char *const *names; /* of devices */
    const struct src_pos *name_pos;
    size_t count;
    struct src_pos pos;
};

struct rank {
    const char *name;
    struct src_pos pos;
    const struct machine_model *model; /* NULL: several are possible, on the same ports */
    const char *candidates;            /* their names, when there is no single model */
    struct cell *cells;                /* [ranks] */
    const struct yaml_value *row;      /* NULL after an error */
};

struct import {
    const struct import_mlx_options *options;
    struct arena *arena;
    struct err_list *errs;
    const char *file;
    struct rank *ranks;
    size_t count;
    bool is_mesh;
    bool prefers_ring;
    struct text notes; /* comments for the scenario */
};

/* "row 2 (b), column 3 (c)" */
static const char *place(const struct import *in, size_t row, size_t col)
{
    return arena_format(in->arena, "row %zu (%s), column %zu (%s)", row + 1, in->ranks[row].name,
                        col + 1, in->ranks[col].name);
}

static struct cell *cell_at(const struct import *in, size_t row, size_t col)
{
    return &in->ranks[row].cells[col];
}

/* ---- reading ---------------------------------------------------------------------------- */

/* A machine name out of an ssh destination: no user, and only what scenarios accept. */
static const char *machine_name(struct arena *arena, const char *ssh)
{
    const char *at = strrchr(ssh, '@');
    char *name;
    size_t length;

    ssh = at ? at + 1 : ssh;
    length = strlen(ssh) < NAME_LENGTH ? strlen(ssh) : NAME_LENGTH;
    name = arena_copy_text(arena, ssh, length);
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool is_fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';

        if (!is_fine)
            name[i] = '-';
    }
    if (length == 0)
        return "mac";
    /* What YAML would not take for a name: a leading sign, a word for nothing. */
    if (*name == '-' || *name == '.' || *name == '_' || strcmp(name, "null") == 0 ||
        strcmp(name, "Null") == 0 || strcmp(name, "NULL") == 0)
        return arena_format(arena, "mac%.*s", (int)NAME_LENGTH - 3, name);
    return name;
}

static bool read_name(struct import *in, const struct yaml_value *value, struct cell *cell,
                      const char **names, struct src_pos *name_pos)
{
    if (value->kind != YAML_TEXT || yaml_is_null(value) || *value->text == '\0')
        return err_list_add(in->errs, ERR_SYNTAX, value->pos,
                            "a device name such as \"rdma_en2\" belongs here");
    if (cell->count == WIRES_MAX)
        return err_list_add(in->errs, ERR_LIMIT, value->pos,
                            "more than %u devices in one cell; no Mac has as many ports",
                            WIRES_MAX);
    names[cell->count] = value->text;
    name_pos[cell->count] = value->pos;
    cell->count++;
    return true;
}

/* null, a name, or a list of names. */
static bool read_cell(struct import *in, const struct yaml_value *value, struct cell *ret)
{
    const char **names = arena_alloc_array(in->arena, WIRES_MAX, sizeof *names);
    struct src_pos *name_pos = arena_alloc_array(in->arena, WIRES_MAX, sizeof *name_pos);
    bool is_fine = true;

    *ret =
        (struct cell){.names = (const char *const *)names, .name_pos = name_pos, .pos = value->pos};
    if (value->kind == YAML_BAD)
        return false;
    if (yaml_is_null(value))
        return true;
    if (value->kind == YAML_TEXT)
        return read_name(in, value, ret, names, name_pos);
    if (value->kind != YAML_LIST)
        return err_list_add(in->errs, ERR_SYNTAX, value->pos,
                            "a cell is null, a device name or a list of them, not %s",
                            yaml_kind_text(value->kind));
    for (size_t i = 0; i < value->count && is_fine; i++)
        is_fine = read_name(in, value->items[i], ret, names, name_pos);
    return is_fine;
}

static bool read_row(struct import *in, size_t row)
{
    struct rank *rank = &in->ranks[row];
    bool is_fine = true;

    if (rank->row->count != in->count)
        return err_list_add(in->errs, ERR_SYNTAX, rank->row->pos,
                            "row %zu (%s) has %zu cell%s, but there are %zu ranks: one cell for "
                            "each, null for the rank itself",
                            row + 1, rank->name, rank->row->count, rank->row->count == 1 ? "" : "s",
                            in->count);
    rank->cells = arena_alloc_array(in->arena, in->count, sizeof *rank->cells);
    for (size_t c = 0; c < in->count; c++)
        is_fine = read_cell(in, rank->row->items[c], &rank->cells[c]) && is_fine;
    return is_fine;
}

static bool read_host(struct import *in, const struct yaml_value *host, struct rank *ret)
{
    const struct yaml_value *ssh = yaml_find(host, "ssh");
    const struct yaml_value *rdma = yaml_find(host, "rdma");

    if (host->kind != YAML_MAP)
        return err_list_add(in->errs, ERR_SYNTAX, host->pos,
                            "a host is {\"ssh\": ..., \"ips\": [...], \"rdma\": [...]}, not %s",
                            yaml_kind_text(host->kind));
    if (!ssh || ssh->kind != YAML_TEXT || yaml_is_null(ssh) || *ssh->text == '\0')
        return err_list_add(in->errs, ERR_KEY, ssh ? ssh->pos : host->pos,
                            "this host has no \"ssh\" name");
    ret->name = machine_name(in->arena, ssh->text);
    ret->pos = ssh->pos;
    if (!rdma || rdma->kind != YAML_LIST || rdma->count == 0)
        return err_list_add(in->errs, ERR_KEY, rdma ? rdma->pos : host->pos,
                            "%s has no \"rdma\" row: a host file for TCP names no devices, so it "
                            "says nothing about cables",
                            ret->name);
    ret->row = rdma;
    return true;
}

static bool read_rank(struct import *in, const struct yaml_value *value, size_t row)
{
    struct rank *rank = &in->ranks[row];

    rank->pos = value->pos;
    if (value->kind == YAML_LIST) {
        rank->name = arena_format(in->arena, "mac%zu", row + 1);
        rank->row = value;
        return true;
    }
    return read_host(in, value, rank);
}

static bool check_names(struct import *in)
{
    bool is_fine = true;

    for (size_t i = 0; i < in->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(in->ranks[i].name, in->ranks[k].name) == 0)
                is_fine = err_list_add(in->errs, ERR_CONFLICT, in->ranks[i].pos,
                                       "rank %zu and rank %zu are both called %s; every Mac is one "
                                       "rank here",
                                       k, i, in->ranks[i].name);
        }
    }
    return is_fine;
}

/* The list of hosts or rows, NULL with an error when the file is something else. */
static const struct yaml_value *find_list(struct import *in, const struct yaml_value *root)
{
    const struct yaml_value *hosts = yaml_find(root, "hosts");
    const struct yaml_value *backend = yaml_find(root, "backend");

    if (backend && backend->kind == YAML_TEXT)
        in->prefers_ring = strcmp(backend->text, "jaccl-ring") == 0;
    if (hosts)
        root = hosts;
    if (root->kind != YAML_LIST) {
        (void)err_list_add(
            in->errs, ERR_SYNTAX, root->pos,
            "neither a host file of MLX (a list of {\"ssh\", \"ips\", \"rdma\"}) nor "
            "a device matrix (a list of lists of device names): this is %s",
            yaml_kind_text(root->kind));
        return NULL;
    }
    if (root->count < 2 || root->count > RANKS_MAX) {
        (void)err_list_add(in->errs, root->count < 2 ? ERR_RANGE : ERR_LIMIT, root->pos,
                           "%zu rank%s; 2 to %u are accepted", root->count,
                           root->count == 1 ? "" : "s", RANKS_MAX);
        return NULL;
    }
    return root;
}

static bool read_file(struct import *in, const struct yaml_value *root)
{
    const struct yaml_value *list = find_list(in, root);
    bool is_fine = true;

    if (!list)
        return false;
    in->count = list->count;
    in->ranks = arena_alloc_array(in->arena, in->count, sizeof *in->ranks);
    for (size_t i = 0; i < in->count; i++)
        is_fine = read_rank(in, list->items[i], i) && is_fine;
    if (!is_fine)
        return false;
    for (size_t i = 0; i < in->count; i++)
        is_fine = read_row(in, i) && is_fine;
    return check_names(in) && is_fine;
}

/* ---- shape ------------------------------------------------------------------------------ */

static bool is_neighbour(const struct import *in, size_t row, size_t col)
{
    return col == (row + 1) % in->count || row == (col + 1) % in->count;
}

/* The first cell that keeps the matrix from being a mesh; false when it is one. */
static bool find_mesh_fault(const struct import *in, size_t *ret_row, size_t *ret_col)
{
    for (size_t r = 0; r < in->count; r++) {
        for (size_t c = 0; c < in->count; c++) {
            if ((r == c) == (cell_at(in, r, c)->count == 0))
                continue;
            *ret_row = r;
            *ret_col = c;
            return true;
        }
    }
    return false;
}

static bool find_ring_fault(const struct import *in, size_t *ret_row, size_t *ret_col)
{
    size_t wires = cell_at(in, 0, 1)->count;

    for (size_t r = 0; r < in->count; r++) {
        for (size_t c = 0; c < in->count; c++) {
            if (!is_neighbour(in, r, c) || (wires && cell_at(in, r, c)->count == wires))
                continue;
            *ret_row = r;
            *ret_col = c;
            return true;
        }
    }
    return false;
}

/* "is null", "names 2 devices" */
static const char *cell_words(const struct import *in, size_t row, size_t col)
{
    size_t count = cell_at(in, row, col)->count;

    if (count == 0)
        return "is null";
    return arena_format(in->arena, "names %zu device%s", count, count == 1 ? "" : "s");
}

static bool check_shape(struct import *in)
{
    size_t row;
    size_t col;
    size_t ring_row;
    size_t ring_col;

    in->is_mesh = !find_mesh_fault(in, &row, &col);
    if (!find_ring_fault(in, &ring_row, &ring_col))
        return true;
    if (in->is_mesh) {
        in->prefers_ring = false; /* JACCL falls back to its mesh without a word */
        return true;
    }
    (void)err_list_add(in->errs, ERR_CONFLICT, cell_at(in, row, col)->pos,
                       "not a mesh: %s %s, where a mesh has %s", place(in, row, col),
                       cell_words(in, row, col),
                       row == col ? "null (the rank itself)" : "a device");
    return err_list_add(in->errs, ERR_CONFLICT, cell_at(in, ring_row, ring_col)->pos,
                        "and not a ring: %s %s, where a ring has the same number of devices "
                        "towards both neighbours of every rank (%s %s)",
                        place(in, ring_row, ring_col), cell_words(in, ring_row, ring_col),
                        place(in, 0, 1), cell_words(in, 0, 1));
}

/* ---- devices and ports ------------------------------------------------------------------ */

/* The port of a model that a device belongs to; NO_PORT when it has none. */
static uint32_t find_port(const struct machine_model *model, const char *device)
{
    size_t prefix = strlen(DEVICE_PREFIX);

    if (strncmp(device, DEVICE_PREFIX, prefix) != 0)
        return NO_PORT;
    for (size_t p = 0; p < model->port_count; p++) {
        const struct port_model *port = &model->ports[p];

        if (port->kind == PORT_THUNDERBOLT && port->ifname && *port->ifname &&
            strcmp(port->ifname, device + prefix) == 0)
            return port->number;
    }
    return NO_PORT;
}

/* Reports a name that the Mac does not have. */
static bool report_device(struct import *in, const struct rank *rank, const char *device,
                          struct src_pos pos)
{
    const char *names[WIRES_MAX];
    size_t count = 0;
    struct text list;
    char hint[SUGGEST_TEXT_MAX];

    text_init(&list, in->arena);
    for (size_t p = 0; p < rank->model->port_count && count < WIRES_MAX; p++) {
        const struct port_model *port = &rank->model->ports[p];

        if (port->kind != PORT_THUNDERBOLT || !port->ifname || !*port->ifname)
            continue;
        names[count] = arena_format(in->arena, DEVICE_PREFIX "%s", port->ifname);
        text_add_item(&list, ", ", names[count]);
        count++;
    }
    suggest_text(hint, device, names, count);
    return err_list_add(in->errs, ERR_REFERENCE, pos, "%s (%s) has no device '%.60s'%s: it has %s",
                        rank->name, rank->model->name, device, hint, list.bytes);
}

/* Does a model have every device of a row? */
static bool fits_row(const struct import *in, const struct rank *rank,
                     const struct machine_model *model)
{
    for (size_t c = 0; c < in->count; c++) {
        for (size_t k = 0; k < rank->cells[c].count; k++) {
            if (find_port(model, rank->cells[c].names[k]) == NO_PORT)
                return false;
        }
    }
    return true;
}

/* Do two models have the devices of a row on the same ports? The first that differs is reported. */
static bool agree_on_row(struct import *in, const struct rank *rank, const struct machine_model *a,
                         const struct machine_model *b)
{
    for (size_t c = 0; c < in->count; c++) {
        for (size_t k = 0; k < rank->cells[c].count; k++) {
            const char *device = rank->cells[c].names[k];

            if (find_port(a, device) != find_port(b, device))
                return err_list_add(in->errs, ERR_REFERENCE, rank->cells[c].name_pos[k],
                                    "which Mac is %s? %s is port %u of %s and port %u of %s; name "
                                    "the model with --model",
                                    rank->name, device, find_port(a, device), a->name,
                                    find_port(b, device), b->name);
        }
    }
    return true;
}

/* Finds the Macs that have all devices of a row; several are fine on the same ports. */
static bool infer_model(struct import *in, struct rank *rank)
{
    const struct catalog *catalog = in->options->catalog;
    const struct machine_model *first = NULL;
    size_t count = 0;
    struct text list;

    text_init(&list, in->arena);
    for (size_t m = 0; m < catalog->machine_count; m++) {
        const struct machine_model *model = &catalog->machines[m];

        if (model->kind != MACHINE_MAC || !model->is_rdma_capable || !fits_row(in, rank, model))
            continue;
        if (first && !agree_on_row(in, rank, first, model))
            return false;
        first = first ? first : model;
        text_add_item(&list, ", ", model->name);
        count++;
    }
    if (!first)
        return err_list_add(in->errs, ERR_REFERENCE, rank->row->pos,
                            "no Mac with Thunderbolt 5 in the catalogue has all devices of row "
                            "'%s'; name the model with --model to see which one is missing",
                            rank->name);
    rank->model = first;
    rank->candidates = count > 1 ? list.bytes : NULL;
    return true;
}

static bool name_model(struct import *in, size_t row)
{
    const struct import_mlx_options *options = in->options;
    const char *name = options->models[options->model_count == 1 ? 0 : row];
    struct rank *rank = &in->ranks[row];
    const char **names;
    char hint[SUGGEST_TEXT_MAX];

    rank->model = catalog_find_machine(options->catalog, name);
    if (rank->model && rank->model->kind == MACHINE_MAC)
        return true;
    names = arena_alloc_array(in->arena, options->catalog->machine_count, sizeof *names);
    for (size_t i = 0; i < options->catalog->machine_count; i++)
        names[i] = options->catalog->machines[i].name;
    suggest_text(hint, name, names, options->catalog->machine_count);
    return err_list_add(in->errs, ERR_REFERENCE, (struct src_pos){in->file, 0, 0},
                        "the catalogue has no Mac '%.60s'%s", name, hint);
}

static bool check_devices(struct import *in, const struct rank *rank)
{
    bool is_fine = true;

    for (size_t c = 0; c < in->count; c++) {
        const struct cell *cell = &rank->cells[c];

        for (size_t k = 0; k < cell->count; k++) {
            if (find_port(rank->model, cell->names[k]) == NO_PORT)
                is_fine = report_device(in, rank, cell->names[k], cell->name_pos[k]);
        }
    }
    return is_fine;
}

static bool find_models(struct import *in)
{
    size_t given = in->options->model_count;
    bool is_fine = true;

    if (given > 1 && given != in->count)
        return err_list_add(in->errs, ERR_RANGE, (struct src_pos){in->file, 0, 0},
                            "%zu models for %zu ranks: name one for all, or one for each", given,
                            in->count);
    for (size_t i = 0; i < in->count; i++) {
        if (given == 0)
            is_fine = infer_model(in, &in->ranks[i]) && is_fine;
        else
            is_fine = name_model(in, i) && check_devices(in, &in->ranks[i]) && is_fine;
        if (given == 1 && !in->ranks[i].model)
            return false; /* once is enough */
    }
    return is_fine;
}

/* The column of a row, up to `last`, that names this device before place `wire` of column `last`;
 * `last` + 1 when none does. The diagonal does not count: JACCL's ring ignores it. */
static size_t find_use(const struct import *in, size_t row, size_t last, size_t wire)
{
    const struct cell *cells = in->ranks[row].cells;
    const char *device = cells[last].names[wire];

    for (size_t c = 0; c <= last; c++) {
        size_t count = c == last ? wire : cells[c].count;

        for (size_t k = 0; c != row && k < count; k++) {
            if (strcmp(cells[c].names[k], device) == 0)
                return c;
        }
    }
    return last + 1;
}

/* Names a device that a row uses twice: a port holds one cable. */
static bool check_uses(struct import *in, size_t row)
{
    const struct rank *rank = &in->ranks[row];
    bool is_fine = true;

    for (size_t c = 0; c < in->count; c++) {
        for (size_t k = 0; c != row && k < rank->cells[c].count; k++) {
            size_t before = find_use(in, row, c, k);

            if (before <= c)
                is_fine = err_list_add(in->errs, ERR_CONFLICT, rank->cells[c].name_pos[k],
                                       "%s names %s again after column %zu (%s); a port holds one "
                                       "cable",
                                       place(in, row, c), rank->cells[c].names[k], before + 1,
                                       in->ranks[before].name);
        }
    }
    return is_fine;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Wires that both cells of a pair name; what is left over is mentioned in a comment. */
static size_t common_wires(struct import *in, size_t row, size_t col)
{
    size_t here = cell_at(in, row, col)->count;
    size_t there = cell_at(in, col, row)->count;

    if (here != there)
        text_add(&in->notes, "# %s %s, %s %s: a cable needs both ends, the rest is left out\n",
                 place(in, row, col), cell_words(in, row, col), place(in, col, row),
                 cell_words(in, col, row));
    return here < there ? here : there;
}

static void write_cables(struct import *in, struct text *out)
{
    const char *kind = in->options->cable ? in->options->cable : "tb5-1m";

    for (size_t r = 0; r < in->count; r++) {
        for (size_t c = r + 1; c < in->count; c++) {
            const struct rank *a = &in->ranks[r];
            const struct rank *b = &in->ranks[c];
            size_t wires = common_wires(in, r, c);

            for (size_t k = 0; k < wires; k++)
                text_add(out, "  - {from: %s port %u, to: %s port %u, kind: %s}\n", a->name,
                         find_port(a->model, a->cells[c].names[k]), b->name,
                         find_port(b->model, b->cells[r].names[k]), kind);
        }
    }
}

static void write_machines(const struct import *in, struct text *out)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct rank *rank = &in->ranks[i];

        text_add(out, "  - {name: %s, model: %s}", rank->name,
                 rank->candidates ? IMPORT_MODEL_UNKNOWN : rank->model->name);
        if (rank->candidates)
            text_add(out, "   # one of: %s", rank->candidates);
        text_add(out, "\n");
    }
}

/* A YAML double-quoted text without anything that would need more than these escapes. */
static void write_quoted(struct text *out, const char *text)
{
    text_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            text_add(out, "\\%c", c);
        else
            text_add(out, "%c", c < 0x20 || c == 0x7f ? '?' : c);
    }
    text_add(out, "\"");
}

static void write_run(const struct import *in, struct text *out)
{
    bool is_ring = in->prefers_ring || !in->is_mesh;
    size_t wires = cell_at(in, 0, 1)->count;

    text_add(out, "run:\n  - all_reduce: {library: %s, sizes: [4 KiB, 64 KiB, 1 MiB, 16 MiB]",
             is_ring ? "jaccl-ring" : "jaccl-mesh");
    if (is_ring && wires > 1)
        text_add(out, ", wires: %zu", wires);
    text_add(out, "}\n");
}

static const char *write_scenario(struct import *in)
{
    const char *base = strrchr(in->file, '/');
    struct text machines;
    struct text cables;
    struct text out;

    text_init(&machines, in->arena);
    text_init(&cables, in->arena);
    text_init(&out, in->arena);
    write_machines(in, &machines);
    write_cables(in, &cables);
    text_add(&out,
             "# Made by tbmesh import. The file it was made from does not say the version of macOS,"
             "\n# the memory, the length of the cables or how the Macs are set up: correct what "
             "follows.\n%stbmesh: 1\nname: ",
             in->notes.bytes);
    write_quoted(&out, base ? base + 1 : in->file);
    text_add(&out, "\nmacos: \"%s\"\n\nmachines:\n%scables:\n%s",
             in->options->macos ? in->options->macos : "26.3", machines.bytes, cables.bytes);
    text_add(&out, "rdma: enabled\nbridge: {members: none}\nip: per-cable\n\n");
    write_run(in, &out);
    return out.bytes;
}

bool import_mlx_parse(const struct source_text *text, const struct import_mlx_options *options,
                      struct arena *arena, const char **ret, struct err_list *reterrs)
{
    struct import in = {.options = options, .arena = arena, .errs = reterrs, .file = text->name};
    size_t before = reterrs->count;
    const struct yaml_value *root = yaml_read(text, arena, reterrs);
    bool is_fine;

    text_init(&in.notes, arena);
    is_fine = root && reterrs->count == before && read_file(&in, root) && check_shape(&in);
    for (size_t i = 0; is_fine && i < in.count; i++)
        is_fine = check_uses(&in, i);
    is_fine = is_fine && find_models(&in);
    err_list_sort(reterrs);
    if (!is_fine || reterrs->count != before)
        return false;
    *ret = write_scenario(&in);
    return true;
}
