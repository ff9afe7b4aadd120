/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a quantity of any kind. It is read or an error is named, never both and never
 * neither; a failure leaves the result alone; what is read is never negative, and printing and
 * reading it again loses at most half of the last of three decimals.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct src_pos here = {"fuzz", 1, 1};

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Prints and reads again. */
static void check_printed(enum quantity_kind kind, int64_t value)
{
    char text[QUANTITY_TEXT_MAX];
    struct err err = {0};
    int64_t again;
    int64_t off;

    quantity_format(text, kind, value);
    require(strlen(text) + 1 < QUANTITY_TEXT_MAX);
    if (kind == QUANTITY_CHANCE) /* printed in parts per billion, read as a fraction */
        return;
    if (!quantity_parse(text, kind, here, &again, &err)) {
        require(err.code == ERR_LIMIT && value > INT64_MAX / 2); /* rounded up past the end */
        return;
    }
    off = again > value ? again - value : value - again;
    require(off <= value / 1000);
}

static void check_kind(const char *text, enum quantity_kind kind)
{
    struct err err = {0};
    int64_t value = -1;
    bool is_read = quantity_parse(text, kind, here, &value, &err);

    require(is_read == (err.code == ERR_NONE));
    require(is_read == (value >= 0));
    require(is_read || err.text[0] != '\0');
    require(kind != QUANTITY_CHANCE || value <= 1000000000);
    if (is_read)
        check_printed(kind, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct err err = {0};
    int64_t value = -1;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (int kind = QUANTITY_SPAN; kind <= QUANTITY_CHANCE; kind++)
        check_kind(text, (enum quantity_kind)kind);

    bool is_read = quantity_parse_thousandths(text, here, &value, &err);

    require(is_read == (err.code == ERR_NONE) && is_read == (value >= 0));
    free(text);
    return 0;
}
