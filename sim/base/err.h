/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a user's text, and where: file:line:col: message. */
#ifndef SIM_BASE_ERR_H
#define SIM_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ERR_TEXT_MAX 320

enum err_code {
    ERR_NONE = 0,
    ERR_SYNTAX,    /* not YAML, JSON or CSV at all */
    ERR_KEY,       /* unknown, missing or duplicate key */
    ERR_UNIT,      /* a number without its unit, or the wrong unit */
    ERR_RANGE,     /* a value outside what is accepted */
    ERR_REFERENCE, /* a name that nothing defines */
    ERR_CONFLICT,  /* two statements that cannot both hold, such as a port used twice */
    ERR_LIMIT,     /* too large for this program */
    ERR_MEMORY,
};

/* A place in a user's text. `file` is borrowed and outlives the error; line and col count from 1,
 * and are 0 where there is no such place. */
struct src_pos {
    const char *file;
    uint32_t line;
    uint32_t col;
};

struct err {
    enum err_code code;
    struct src_pos pos;
    char text[ERR_TEXT_MAX]; /* a full sentence without the position and without a newline */
};

/* Fills *reterr unless it already holds an error (the first error stays). Always returns false,
 * so that a parser can end in `return err_set(...)`. */
bool err_set(struct err *reterr, enum err_code code, struct src_pos pos, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All errors of one file, in the order of their positions when sorted. */
#define ERR_LIST_MAX 64

struct err_list {
    struct err *items; /* owned */
    size_t count;
    size_t capacity;
    size_t dropped; /* errors past ERR_LIST_MAX */
};

void err_list_init(struct err_list *list);
void err_list_done(struct err_list *list);
/* Adds one error; always returns false. */
bool err_list_add(struct err_list *list, enum err_code code, struct src_pos pos, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* Adds a filled struct err (ignored when it holds none); always returns false. */
bool err_list_take(struct err_list *list, const struct err *err);
/* Sorts by line, then column, keeping the order of equal places. */
void err_list_sort(struct err_list *list);

#endif
