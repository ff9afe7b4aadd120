/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(void)
{
    puts("tbmesh " TBMESH_VERSION);
    return 0;
}
