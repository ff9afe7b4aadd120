/* SPDX-License-Identifier: Apache-2.0 */
/* A cabling sheet to print and to plug by: a picture and a table, as SVG. */
#ifndef SIM_REPORT_EXPORT_SHEET_H
#define SIM_REPORT_EXPORT_SHEET_H

#include "sim/base/text.h"
#include "sim/fabric/cluster.h"

/* Needs no other program: machines on a circle, each end of a cable with its port, and a table of
 * the cables below. */
void export_sheet(const struct cluster *cluster, const char *title, struct text *ret);

#endif
