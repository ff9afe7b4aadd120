/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/check_ring.h"

/* Links as pairs of digits: "01 12 20". */
static bool find(const char *links, size_t n, size_t *order)
{
    bool linked[RING_MACHINES_MAX * RING_MACHINES_MAX] = {false};

    for (; *links; links += links[2] ? 3 : 2) {
        size_t a = (size_t)(links[0] - '0');
        size_t b = (size_t)(links[1] - '0');

        linked[a * n + b] = linked[b * n + a] = true;
    }
    return ring_find(linked, n, order);
}

Test(check_ring, finds_the_least_order_or_none)
{
    static const struct {
        const char *name;
        const char *links;
        size_t n;
        const char *order; /* "": none */
    } rows[] = {
        {"two with one cable", "01", 2, "01"},
        {"two without", "", 2, ""},
        {"one machine", "", 1, ""},
        {"a triangle", "01 12 20", 3, "012"},
        {"a chain", "01 12", 3, ""},
        {"a ring in another order", "02 21 13 30", 4, "0213"},
        {"a full mesh takes the listed order", "01 02 03 12 13 23", 4, "0123"},
        {"a star", "01 02 03 04", 5, ""},
        {"two triangles that share a machine", "01 12 20 03 34 40", 5, ""},
        {"needs to turn back", "01 02 13 23 24 34 14", 5, "01342"},
        {"the Petersen graph has none", "01 12 23 34 40 05 16 27 38 49 57 79 96 68 85", 10, ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t order[RING_MACHINES_MAX];
        char text[RING_MACHINES_MAX + 1] = "";

        if (find(rows[i].links, rows[i].n, order)) {
            for (size_t k = 0; k < rows[i].n; k++)
                text[k] = (char)('0' + order[k]);
        }
        cr_expect_str_eq(text, rows[i].order, "%s: '%s'", rows[i].name, text);
    }
}

Test(check_ring, gives_up_on_what_is_too_large)
{
    static bool linked[65 * 65];
    size_t order[65];

    memset(linked, 1, sizeof linked);
    cr_expect(ring_find(linked, 64, order));
    cr_expect_not(ring_find(linked, 65, order));
}

/* Two large meshes joined at one machine: no ring, and too many orders to try them all. */
Test(check_ring, ends_on_a_graph_that_would_take_for_ever)
{
    enum {
        N = 41
    };
    static bool linked[N * N];
    size_t order[N];

    for (size_t a = 0; a < N; a++) {
        for (size_t b = 0; b < N; b++)
            linked[a * N + b] = a != b && ((a <= 20 && b <= 20) || (a >= 20 && b >= 20));
    }
    cr_expect_not(ring_find(linked, N, order));
}
