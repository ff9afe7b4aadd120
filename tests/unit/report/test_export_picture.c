/* SPDX-License-Identifier: Apache-2.0 */
/* The Graphviz graph and the cabling sheet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/export_dot.h"
#include "sim/report/export_sheet.h"
#include "tests/unit/support/testbed.h"

static size_t count_pieces(const char *text, const char *piece)
{
    size_t count = 0;

    for (const char *at = strstr(text, piece); at; at = strstr(at + 1, piece))
        count++;
    return count;
}

static const char *draw_sheet(struct testbed *bed, const char *title)
{
    struct text text;

    text_init(&text, &bed->arena);
    export_sheet(&bed->cluster, title, &text);
    return text.bytes;
}

static void mesh_init(struct testbed *bed, uint32_t n)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model("mac-studio-m3-ultra"), n);
    cr_assert(testbed_mesh(bed));
}

Test(export_picture, dot_has_a_node_a_machine_and_an_edge_a_cable_with_its_ports)
{
    struct testbed bed;
    struct text text;

    mesh_init(&bed, 4);
    bed.cluster.hosts[0].name = "a\"b\\c";
    text_init(&text, &bed.arena);
    export_dot(&bed.cluster, "four \"Macs\"", &text);
    cr_expect_eq(count_pieces(text.bytes, "[shape=box"), 4);
    cr_expect_eq(count_pieces(text.bytes, " -- "), 6);
    cr_expect(strstr(text.bytes, "m0 -- m3 [label=\"tb5-1m\", taillabel=\"3 en4\", "
                                 "headlabel=\"1 en2\"];"),
              "%s", text.bytes);
    cr_expect(strstr(text.bytes, "label=\"a\\\"b\\\\c\\nmac-studio-m3-ultra\""));
    cr_expect(strstr(text.bytes, "label=\"four \\\"Macs\\\"\""));
    testbed_done(&bed);
}

Test(export_picture, the_sheet_draws_each_cable_once_and_lists_it_once)
{
    for (uint32_t n = 1; n <= 7; n++) {
        struct testbed bed;
        size_t cables = n * (n - 1) / 2;
        const char *svg;

        mesh_init(&bed, n);
        svg = draw_sheet(&bed, "a mesh");
        cr_expect_eq(count_pieces(svg, "<line "), 2 * cables, "a line and a swatch, mesh of %u", n);
        cr_expect_eq(count_pieces(svg, "<circle "), n + 3 * cables, "discs, tags and two dots");
        cr_expect_eq(count_pieces(svg, "class=\"cell\""), 4 * cables);
        cr_expect_eq(count_pieces(svg, "<text"), count_pieces(svg, "</text>"));
        cr_expect_eq(count_pieces(svg, "nan"), 0);
        testbed_done(&bed);
    }
}

/* Every attribute x, y, x1 .. cy of the file lies on the page. */
static void expect_on_page(const char *svg, const char *attribute, double limit, const char *name)
{
    size_t length = strlen(attribute);

    for (const char *at = strstr(svg, attribute); at; at = strstr(at + 1, attribute)) {
        double value = strtod(at + length, NULL);

        cr_expect(value >= 0.0 && value <= limit, "%s: %s%.1f beyond %.1f", name, attribute, value,
                  limit);
    }
}

static void expect_sheet_on_page(struct testbed *bed, const char *name)
{
    static const char *const across[] = {" x=\"", " x1=\"", " x2=\"", " cx=\""};
    static const char *const down[] = {" y=\"", " y1=\"", " y2=\"", " cy=\""};
    const char *svg = draw_sheet(bed, name);
    const char *width = strstr(svg, " width=\"");
    const char *height = strstr(svg, " height=\"");

    cr_assert(width && height);
    for (size_t i = 0; i < 4; i++) {
        expect_on_page(svg, across[i], strtod(width + strlen(" width=\""), NULL), name);
        expect_on_page(svg, down[i], strtod(height + strlen(" height=\""), NULL), name);
    }
}

Test(export_picture, everything_stays_on_the_page)
{
    struct testbed bed;

    for (uint32_t n = 1; n <= 7; n++) {
        mesh_init(&bed, n);
        expect_sheet_on_page(&bed, "mesh");
        testbed_done(&bed);
    }
    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 16);
    for (uint32_t i = 0; i < 16; i++)
        testbed_cable(&bed, i, 1, (i + 1) % 16, 2);
    expect_sheet_on_page(&bed, "a ring of sixteen");
    testbed_done(&bed);
    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    for (uint32_t i = 1; i <= 7; i++)
        testbed_cable(&bed, i % 2, i, (i + 1) % 2, i);
    expect_sheet_on_page(&bed, "seven cables side by side");
    cr_expect_eq(count_pieces(draw_sheet(&bed, ""), "nan"), 0);
    testbed_done(&bed);
}

Test(export_picture, the_sheet_marks_doubtful_ports_and_escapes_names)
{
    struct testbed bed;
    const char *svg;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    bed.cluster.hosts[1].name = "<b> & \"c\"";
    testbed_cable(&bed, 0, 2, 1, 3);
    svg = draw_sheet(&bed, "a < b");
    cr_expect_not(strstr(svg, "(?)"));
    cr_expect(strstr(svg, "&lt;b&gt; &amp; &quot;c&quot;, port 3 (en4): rear 3"), "%s", svg);
    cr_expect(strstr(svg, ">a &lt; b</text>"));

    testbed_cable(&bed, 0, 1, 1, 4);
    svg = draw_sheet(&bed, "");
    cr_expect(strstr(svg, "m1, port 1 (en2): rear 1, beside Ethernet (?)"));
    cr_expect(strstr(svg, "sources disagree"));
    testbed_done(&bed);
}

Test(export_picture, the_same_cluster_gives_the_same_bytes)
{
    struct testbed bed;

    mesh_init(&bed, 5);
    cr_expect_str_eq(draw_sheet(&bed, "t"), draw_sheet(&bed, "t"));
    testbed_done(&bed);
}
