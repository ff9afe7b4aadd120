/* SPDX-License-Identifier: Apache-2.0 */
/* A small result made by hand, with every oddity that a report has to show. */
#ifndef TESTS_UNIT_REPORT_RESULT_H
#define TESTS_UNIT_REPORT_RESULT_H

#include <json-glib/json-glib.h>

#include "sim/report/json_sim.h"
#include "sim/report/tsv.h"
#include "tests/unit/support/testbed.h"

#define HAND_ITEMS 3
#define HAND_ROWS  5
#define HAND_BINS  4

struct hand_result {
    struct testbed bed; /* two Macs, one cable */
    host_id nodes[2];
    bytecount sizes[3];
    struct run_item items[HAND_ITEMS];
    struct run_result rows[HAND_ROWS];
    struct expectation expectations[2];
    struct expect_outcome outcomes[2];
    uint64_t busy_ps[2 * HAND_BINS];
    struct scenario scenario;
    struct sim_result result;
    struct check_result check;
    struct finding findings[3];
    struct sim_report report; /* of all these */
};

/* jaccl-mesh at 4 B, 64 KiB and 1 MiB; tcp-ring at 4 B; jaccl-ring ended in a deadlock. */
void hand_result_init(struct hand_result *hand);
void hand_result_done(struct hand_result *hand);
/* Printed as JSON and read back; to be freed by json_node_unref. Fails the test otherwise. */
JsonNode *hand_result_read(const struct hand_result *hand, struct arena *arena);
/* The JSON text. */
const char *hand_result_json(const struct hand_result *hand, struct arena *arena);

#endif
