/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Cabling sheet
 *
 * Machines stand on a circle, in the order of the scenario, far enough apart that their discs do
 * not touch: the radius is gap / (2 sin(pi / n)). A cable is a straight line between two discs;
 * cables of one pair run side by side. In a full mesh the lines leave a disc pi / n apart, so the
 * dots with the port numbers stay readable up to a dozen machines; the table below always is.
 *
 * Coordinates are printed in tenths from integers, so that no locale changes the file.
 */
#include "sim/report/export_sheet.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/model.h"

#define DISC_RADIUS  56.0
#define DISC_GAP     250.0
#define RADIUS_LEAST 215.0
#define SHORT_CHORD  170.0
#define DOT_RADIUS   10.0
#define NAME_SHIFT   8.0
#define NAME_LONG    14U
#define SIDE_BY_SIDE 26.0
#define PAGE_WIDTH   1120.0
#define PAGE_MARGIN  40.0
#define TITLE_HEIGHT 64.0
#define ROW_HEIGHT   24.0
#define PI           3.14159265358979323846

static const char *const colours[] = {
    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#332288",
    "#cc3311", "#117733", "#4477aa", "#882255", "#666633", "#555555",
};
#define COLOUR_COUNT (sizeof colours / sizeof colours[0])

struct point {
    double x, y;
};

struct sheet {
    const struct cluster *cluster;
    struct text *out;
    struct point centre;
    double radius;
    double width;
    double table_top;
};

/* ` name="12.3"` */
static void add_number(struct text *out, const char *name, double value)
{
    long tenths = lround(value * 10.0);
    long size = tenths < 0 ? -tenths : tenths;

    text_add(out, " %s=\"%s%ld.%ld\"", name, tenths < 0 ? "-" : "", size / 10, size % 10);
}

static void add_escaped(struct text *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            text_add(out, "&amp;");
            break;
        case '<':
            text_add(out, "&lt;");
            break;
        case '>':
            text_add(out, "&gt;");
            break;
        case '"':
            text_add(out, "&quot;");
            break;
        default:
            text_add(out, "%c", *text);
            break;
        }
    }
}

/* One line of text; `class` picks size, weight and anchor from the style sheet. */
static void add_label(struct text *out, const char *class, struct point at, const char *text)
{
    text_add(out, "<text class=\"%s\"", class);
    add_number(out, "x", at.x);
    add_number(out, "y", at.y);
    text_add(out, ">");
    add_escaped(out, text);
    text_add(out, "</text>\n");
}

static struct sheet lay_out(const struct cluster *cluster, struct text *out)
{
    struct sheet sheet = {.cluster = cluster, .out = out};
    double n = (double)cluster->host_count;

    if (cluster->host_count > 1) {
        sheet.radius = DISC_GAP / (2.0 * sin(PI / n));
        if (sheet.radius < RADIUS_LEAST)
            sheet.radius = RADIUS_LEAST;
    }

    double reach = 2.0 * (sheet.radius + DISC_RADIUS + PAGE_MARGIN);

    sheet.width = reach > PAGE_WIDTH ? reach : PAGE_WIDTH;
    /* Two machines stand side by side: the circle is flat. */
    double high = cluster->host_count == 2 ? 0.0 : sheet.radius;

    sheet.centre = (struct point){sheet.width / 2.0, TITLE_HEIGHT + high + DISC_RADIUS + 10.0};
    sheet.table_top = sheet.centre.y + high + DISC_RADIUS + PAGE_MARGIN;
    return sheet;
}

static struct point machine_at(const struct sheet *sheet, uint32_t host)
{
    double n = (double)sheet->cluster->host_count;
    double turn = 2.0 * PI * (double)host / n - (n > 2.0 ? PI / 2.0 : PI);

    return (struct point){sheet->centre.x + sheet->radius * cos(turn),
                          sheet->centre.y + sheet->radius * sin(turn)};
}

/* How far a cable runs beside the line between two centres: its rank among those of the pair. */
static double side_offset(const struct cluster *cluster, uint32_t cable)
{
    const struct cluster_cable *c = &cluster->cables[cable];
    double before = 0.0;
    double all = 0.0;

    for (uint32_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *other = &cluster->cables[i];
        bool is_same = (other->a.host.ix == c->a.host.ix && other->b.host.ix == c->b.host.ix) ||
                       (other->a.host.ix == c->b.host.ix && other->b.host.ix == c->a.host.ix);

        all += is_same ? 1.0 : 0.0;
        before += is_same && i < cable ? 1.0 : 0.0;
    }

    double widest = 1.7 * DISC_RADIUS;
    double step =
        all > 1.0 && SIDE_BY_SIDE * (all - 1.0) > widest ? widest / (all - 1.0) : SIDE_BY_SIDE;

    /* The line's direction depends on which end comes first; the offset must not. */
    return (before - (all - 1.0) / 2.0) * step * (c->a.host.ix < c->b.host.ix ? 1.0 : -1.0);
}

/* A cable as drawn: where it meets both discs, and its direction. */
struct chord {
    struct point from, to;
    struct point along; /* unit vector from `from` to `to` */
};

static struct chord chord_of(const struct sheet *sheet, uint32_t cable)
{
    const struct cluster_cable *c = &sheet->cluster->cables[cable];
    struct point a = machine_at(sheet, c->a.host.ix);
    struct point b = machine_at(sheet, c->b.host.ix);
    double length = hypot(b.x - a.x, b.y - a.y);
    double side = side_offset(sheet->cluster, cable);
    double deep = sqrt(DISC_RADIUS * DISC_RADIUS - side * side);
    struct point along = {(b.x - a.x) / length, (b.y - a.y) / length};
    struct point across = {-along.y, along.x};

    return (struct chord){
        .from = {a.x + deep * along.x + side * across.x, a.y + deep * along.y + side * across.y},
        .to = {b.x - deep * along.x + side * across.x, b.y - deep * along.y + side * across.y},
        .along = along,
    };
}

static const char *colour_of(uint32_t cable)
{
    return colours[cable % COLOUR_COUNT];
}

/* Every further dozen of cables repeats the colours with another dash. */
static const char *dash_of(uint32_t cable)
{
    static const char *const dashes[] = {"", "10 5", "3 4", "12 4 3 4"};

    return dashes[cable / COLOUR_COUNT % (sizeof dashes / sizeof dashes[0])];
}

static void draw_line(const struct sheet *sheet, uint32_t cable)
{
    struct chord chord = chord_of(sheet, cable);

    text_add(sheet->out, "<line stroke=\"%s\" stroke-width=\"3\"", colour_of(cable));
    if (*dash_of(cable))
        text_add(sheet->out, " stroke-dasharray=\"%s\"", dash_of(cable));
    add_number(sheet->out, "x1", chord.from.x);
    add_number(sheet->out, "y1", chord.from.y);
    add_number(sheet->out, "x2", chord.to.x);
    add_number(sheet->out, "y2", chord.to.y);
    text_add(sheet->out, "/>\n");
}

static void draw_circle(struct text *out, struct point at, double radius, const char *rest)
{
    text_add(out, "<circle");
    add_number(out, "cx", at.x);
    add_number(out, "cy", at.y);
    add_number(out, "r", radius);
    text_add(out, " %s/>\n", rest);
}

/* The number of the cable: a third of the way along, since the middle is where meshes cross, but in
 * the middle of a short cable, since its ends are taken by the names of interfaces. */
static void draw_tag(const struct sheet *sheet, uint32_t cable)
{
    struct chord chord = chord_of(sheet, cable);
    double length = hypot(chord.to.x - chord.from.x, chord.to.y - chord.from.y);
    double way = length < SHORT_CHORD ? 0.5 : 0.36;
    struct point at = {chord.from.x + (chord.to.x - chord.from.x) * way,
                       chord.from.y + (chord.to.y - chord.from.y) * way};
    char number[16];
    struct text style;

    text_init(&style, sheet->out->arena);
    text_add(&style, "fill=\"white\" stroke=\"%s\" stroke-width=\"1.5\"", colour_of(cable));
    draw_circle(sheet->out, at, 9.0, style.bytes);
    (void)snprintf(number, sizeof number, "%u", cable + 1);
    add_label(sheet->out, "tag", (struct point){at.x, at.y + 3.6}, number);
}

static void draw_end(const struct sheet *sheet, uint32_t cable, struct cluster_end end)
{
    const struct port_model *port = sheet->cluster->hosts[end.host.ix].ports[end.port].model;
    struct chord chord = chord_of(sheet, cable);
    bool is_first = sheet->cluster->cables[cable].a.host.ix == end.host.ix;
    struct point at = is_first ? chord.from : chord.to;
    double way = is_first ? 25.0 : -25.0;
    char number[16];
    struct text style;

    text_init(&style, sheet->out->arena);
    text_add(&style, "fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"%s", colour_of(cable),
             port->is_doubtful ? "#000000" : "white",
             port->is_doubtful ? " stroke-dasharray=\"3 2\"" : "");
    draw_circle(sheet->out, at, DOT_RADIUS, style.bytes);
    (void)snprintf(number, sizeof number, "%u", port->number);
    add_label(sheet->out, "port", (struct point){at.x, at.y + 4.0}, number);
    if (port->ifname && *port->ifname)
        add_label(sheet->out, "ifname",
                  (struct point){at.x + way * chord.along.x, at.y + way * chord.along.y + 3.5},
                  port->ifname);
}

static void draw_machine(const struct sheet *sheet, uint32_t host)
{
    const struct cluster_host *h = &sheet->cluster->hosts[host];
    struct point at = machine_at(sheet, host);
    bool is_computer = h->model->kind == MACHINE_MAC || h->model->kind == MACHINE_OTHER;

    draw_circle(sheet->out, at, DISC_RADIUS,
                is_computer ? "fill=\"#f2f4f7\" stroke=\"#333333\" stroke-width=\"2\""
                            : "fill=\"#fff7e0\" stroke=\"#333333\" stroke-width=\"2\" "
                              "stroke-dasharray=\"6 3\"");
    /* Names move away from the side where the cables arrive. */
    if (sheet->radius > 0.0) {
        at.x += NAME_SHIFT * (at.x - sheet->centre.x) / sheet->radius;
        at.y += NAME_SHIFT * (at.y - sheet->centre.y) / sheet->radius;
    }
    add_label(sheet->out, strlen(h->name) > NAME_LONG ? "model" : "name", at, h->name);
    add_label(sheet->out, "model", (struct point){at.x, at.y + 15.0}, h->model->name);
}

/* "studio1, port 1 (en2): rear 1, beside Ethernet" */
static const char *end_text(const struct sheet *sheet, struct cluster_end end)
{
    const struct cluster_host *host = &sheet->cluster->hosts[end.host.ix];
    const struct port_model *port = host->ports[end.port].model;
    struct text text;

    text_init(&text, sheet->out->arena);
    text_add(&text, "%s, port %u", host->name, port->number);
    if (port->ifname && *port->ifname)
        text_add(&text, " (%s)", port->ifname);
    if (port->label && *port->label)
        text_add(&text, ": %s", port->label);
    text_add(&text, "%s", port->is_doubtful ? " (?)" : "");
    return text.bytes;
}

static void add_rate(struct text *text, bitrate rate)
{
    uint64_t tenths = (rate.bps + 50000000U) / 100000000U;

    text_add(text, "%llu", (unsigned long long)(tenths / 10));
    if (tenths % 10)
        text_add(text, ".%llu", (unsigned long long)(tenths % 10));
}

static void draw_row(const struct sheet *sheet, uint32_t cable, double y)
{
    const struct cluster_cable *c = &sheet->cluster->cables[cable];
    double left = (sheet->width - PAGE_WIDTH) / 2.0 + PAGE_MARGIN;
    char number[16];
    struct text kind;

    text_init(&kind, sheet->out->arena);
    text_add(&kind, "%s, ", c->model->name);
    add_rate(&kind, c->rate_ab);
    if (c->rate_ab.bps != c->rate_ba.bps) {
        text_add(&kind, "/");
        add_rate(&kind, c->rate_ba);
    }
    text_add(&kind, " Gb/s");

    (void)snprintf(number, sizeof number, "%u", cable + 1);
    text_add(sheet->out, "<line stroke=\"%s\" stroke-width=\"6\"", colour_of(cable));
    if (*dash_of(cable))
        text_add(sheet->out, " stroke-dasharray=\"%s\"", dash_of(cable));
    add_number(sheet->out, "x1", left + 34.0);
    add_number(sheet->out, "y1", y - 4.0);
    add_number(sheet->out, "x2", left + 74.0);
    add_number(sheet->out, "y2", y - 4.0);
    text_add(sheet->out, "/>\n");
    add_label(sheet->out, "cell", (struct point){left, y}, number);
    add_label(sheet->out, "cell", (struct point){left + 90.0, y}, end_text(sheet, c->a));
    add_label(sheet->out, "cell", (struct point){left + 475.0, y}, end_text(sheet, c->b));
    add_label(sheet->out, "cell", (struct point){left + 860.0, y}, kind.bytes);
}

static bool has_doubtful_end(const struct cluster *cluster)
{
    for (size_t h = 0; h < cluster->host_count; h++) {
        for (size_t p = 0; p < cluster->hosts[h].port_count; p++) {
            const struct cluster_port *port = &cluster->hosts[h].ports[p];

            if (port->cable.ix != ID_NONE && port->model->is_doubtful)
                return true;
        }
    }
    return false;
}

static void draw_table(const struct sheet *sheet)
{
    static const struct {
        double x;
        const char *text;
    } heads[] = {{0.0, "cable"}, {90.0, "one end"}, {475.0, "other end"}, {860.0, "kind, rate"}};
    double left = (sheet->width - PAGE_WIDTH) / 2.0 + PAGE_MARGIN;
    double y = sheet->table_top;

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        add_label(sheet->out, "head", (struct point){left + heads[i].x, y}, heads[i].text);
    for (uint32_t i = 0; i < sheet->cluster->cable_count; i++)
        draw_row(sheet, i, y + ROW_HEIGHT * (double)(i + 1));
    if (has_doubtful_end(sheet->cluster))
        add_label(sheet->out, "foot",
                  (struct point){left,
                                 y + ROW_HEIGHT * ((double)sheet->cluster->cable_count + 1.5)},
                  "(?) and a dashed ring: sources disagree whether RDMA works on this port; "
                  "tbmesh check says who says what.");
}

static void add_start(const struct sheet *sheet, const char *title)
{
    struct text *out = sheet->out;
    double height =
        sheet->table_top + ROW_HEIGHT * ((double)sheet->cluster->cable_count + 2.5) + 10.0;

    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    add_number(out, "width", sheet->width);
    add_number(out, "height", height);
    text_add(out, " viewBox=\"0 0 %ld %ld\">\n", lround(sheet->width), lround(height));
    text_add(out, "<style>text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#111}"
                  ".title{font-size:20px;font-weight:bold;text-anchor:middle}"
                  ".sub{font-size:13px;fill:#444;text-anchor:middle}"
                  ".name{font-size:14px;font-weight:bold;text-anchor:middle}"
                  ".model{font-size:9px;fill:#444;text-anchor:middle}"
                  ".port{font-size:11px;font-weight:bold;fill:white;text-anchor:middle}"
                  ".ifname{font-size:10px;text-anchor:middle;stroke:white;stroke-width:4px;"
                  "stroke-linejoin:round;paint-order:stroke}"
                  ".tag{font-size:10px;font-weight:bold;text-anchor:middle}"
                  ".head{font-size:13px;font-weight:bold}.cell{font-size:13px}"
                  ".foot{font-size:12px;fill:#444}</style>\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    add_label(out, "title", (struct point){sheet->width / 2.0, 28.0}, title);
}

void export_sheet(const struct cluster *cluster, const char *title, struct text *ret)
{
    struct sheet sheet = lay_out(cluster, ret);
    struct text sub;

    text_init(&sub, ret->arena);
    text_add(&sub, "%zu machines, %zu cables", cluster->host_count, cluster->cable_count);
    add_start(&sheet, title);
    add_label(ret, "sub", (struct point){sheet.width / 2.0, 48.0}, sub.bytes);
    for (uint32_t i = 0; i < cluster->cable_count; i++)
        draw_line(&sheet, i);
    for (uint32_t i = 0; i < cluster->host_count; i++)
        draw_machine(&sheet, i);
    for (uint32_t i = 0; i < cluster->cable_count; i++)
        draw_tag(&sheet, i);
    for (uint32_t i = 0; i < cluster->cable_count; i++) {
        draw_end(&sheet, i, cluster->cables[i].a);
        draw_end(&sheet, i, cluster->cables[i].b);
    }
    draw_table(&sheet);
    text_add(ret, "</svg>\n");
}
