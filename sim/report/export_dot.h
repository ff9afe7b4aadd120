/* SPDX-License-Identifier: Apache-2.0 */
/* The cabling as a Graphviz graph. */
#ifndef SIM_REPORT_EXPORT_DOT_H
#define SIM_REPORT_EXPORT_DOT_H

#include "sim/base/text.h"
#include "sim/fabric/cluster.h"

/* Machines as boxes, cables as edges from port to port, for `dot`, `neato` or `circo`. */
void export_dot(const struct cluster *cluster, const char *title, struct text *ret);

#endif
