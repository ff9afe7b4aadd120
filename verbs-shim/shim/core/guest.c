/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/shim/guest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/core/sys.h"

/* Which call is to fail; 0: none. Read once: a guest does not follow later changes. */
static long fail_at(void)
{
    static _Atomic long known = -1;
    long at = atomic_load_explicit(&known, memory_order_relaxed);

    if (at < 0) {
        const char *text = getenv("TBMESH_FAIL_ALLOC"); // NOLINT(concurrency-mt-unsafe): start-up

        at = text ? strtol(text, NULL, 10) : 0;
        if (at < 0)
            at = 0;
        atomic_store_explicit(&known, at, memory_order_relaxed);
    }
    return at;
}

void *shim_alloc(size_t bytes)
{
    static _Atomic long count;
    long at = fail_at();

    if (at > 0 && atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1 == at) {
        errno = ENOMEM;
        return NULL;
    }
    return calloc(1, bytes);
}

void shim_free(void *p)
{
    free(p);
}

struct line {
    char text[512];
    size_t length;
};

static void put_char(struct line *line, char c)
{
    if (line->length < sizeof line->text - 1)
        line->text[line->length++] = c;
}

static void put_text(struct line *line, const char *text)
{
    for (; *text; text++)
        put_char(line, *text);
}

static void put_number(struct line *line, uint64_t n, unsigned base)
{
    char digits[20];
    int count = 0;

    do {
        digits[count++] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n > 0);
    while (count > 0)
        put_char(line, digits[--count]);
}

static void put_signed(struct line *line, int n)
{
    if (n < 0)
        put_char(line, '-');
    put_number(line, (uint64_t)llabs((long long)n), 10);
}

void shim_log(const char *format, ...)
{
    int saved = errno;
    const struct proto_agreed *agreed = client_agreed();
    struct line line = {.length = 0};
    va_list args;

    put_text(&line, "tbmesh: ");
    if (agreed) {
        put_text(&line, agreed->host);
        put_text(&line, ": ");
    }
    va_start(args, format);
    for (const char *p = format; *p; p++) {
        bool is_long = p[0] == '%' && p[1] == 'l';

        if (*p != '%') {
            put_char(&line, *p);
            continue;
        }
        p += is_long ? 2 : 1;
        if (*p == 's')
            put_text(&line, va_arg(args, const char *));
        else if (*p == 'd')
            put_signed(&line, va_arg(args, int));
        else if (*p == 'u' || *p == 'x')
            put_number(&line, is_long ? va_arg(args, unsigned long) : va_arg(args, unsigned),
                       *p == 'x' ? 16 : 10);
        else
            put_char(&line, *p);
    }
    va_end(args);
    put_char(&line, '\n');
    sys_write(STDERR_FILENO, line.text, line.length);
    errno = saved;
}
