/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Errors of a user's text
 *
 * Parsers fill a struct err or add to a struct err_list; only the command line prints them. A file
 * is read to its end, so that one run shows all its errors; past ERR_LIST_MAX they are counted
 * only, since ten megabytes of noise hold ten million of them.
 *
 * A message quotes what the user wrote, which may hold a newline or be cut inside a character; so
 * that it stays one line of UTF-8 on a terminal and in JSON, such bytes are shown as '?'.
 */
#include "sim/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

static void fill(struct err *err, enum err_code code, struct src_pos pos, const char *format,
                 va_list args) __attribute__((format(printf, 4, 0)));

/* Replaces control characters and bytes that are no UTF-8. */
static void make_printable(char *text)
{
    size_t length = strlen(text);
    size_t n;

    for (size_t i = 0; i < length; i += n) {
        n = utf8_length((const unsigned char *)text + i, length - i);
        if (n == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            text[i] = '?';
            n = 1;
        }
    }
}

static void fill(struct err *err, enum err_code code, struct src_pos pos, const char *format,
                 va_list args)
{
    err->code = code;
    err->pos = pos;
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    make_printable(err->text);
}

bool err_set(struct err *reterr, enum err_code code, struct src_pos pos, const char *format, ...)
{
    va_list args;

    if (reterr->code != ERR_NONE)
        return false;
    va_start(args, format);
    fill(reterr, code, pos, format, args);
    va_end(args);
    return false;
}

void err_list_init(struct err_list *list)
{
    *list = (struct err_list){0};
}

void err_list_done(struct err_list *list)
{
    free(list->items);
    *list = (struct err_list){0};
}

/* The slot for one more error, or NULL when the list is full. */
static struct err *next_slot(struct err_list *list)
{
    if (list->count == ERR_LIST_MAX) {
        list->dropped++;
        return NULL;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        struct err *items = realloc(list->items, capacity * sizeof *items);

        if (!items)
            abort(); /* out of memory ends sim; see docs/style.md, "Ownership" */
        list->items = items;
        list->capacity = capacity;
    }
    return &list->items[list->count++];
}

bool err_list_add(struct err_list *list, enum err_code code, struct src_pos pos, const char *format,
                  ...)
{
    struct err *slot = next_slot(list);
    va_list args;

    if (!slot)
        return false;
    va_start(args, format);
    fill(slot, code, pos, format, args);
    va_end(args);
    return false;
}

bool err_list_take(struct err_list *list, const struct err *err)
{
    if (err->code == ERR_NONE)
        return false;

    struct err *slot = next_slot(list);

    if (slot)
        *slot = *err;
    return false;
}

/* Insertion sort: stable, and the list is short. */
void err_list_sort(struct err_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        struct err moving = list->items[i];
        size_t k = i;

        while (k > 0 && (list->items[k - 1].pos.line > moving.pos.line ||
                         (list->items[k - 1].pos.line == moving.pos.line &&
                          list->items[k - 1].pos.col > moving.pos.col))) {
            list->items[k] = list->items[k - 1];
            k--;
        }
        list->items[k] = moving;
    }
}
