/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/log.h"

#include <stdarg.h>
#include <stdio.h>

#include <glib.h>

/* Nothing can be done about a stderr that cannot be written to. */
static void put_line(const char *text)
{
    GString *line = g_string_new(NULL);

    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            g_string_append_printf(line, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            g_string_append_c(line, *c);
    }
    g_string_append_c(line, '\n');
    (void)fwrite(line->str, 1, line->len, stderr);
    g_string_free(line, TRUE);
}

static void put_message(const char *prefix, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void put_message(const char *prefix, const char *format, va_list args)
{
    char *message = g_strdup_vprintf(format, args);
    char *text = g_strconcat(prefix, message, NULL);

    put_line(text);
    g_free(text);
    g_free(message);
}

void log_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_message("tbmesh: ", format, args);
    va_end(args);
}

void log_warning(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_message("tbmesh: warning: ", format, args);
    va_end(args);
}

void log_err(const struct err *err)
{
    const char *file = err->pos.file ? err->pos.file : "tbmesh";
    char *text;

    if (err->pos.line == 0)
        text = g_strdup_printf("%s: %s", file, err->text);
    else
        text = g_strdup_printf("%s:%u:%u: %s", file, err->pos.line, err->pos.col, err->text);
    put_line(text);
    g_free(text);
}

void log_err_list(const struct err_list *errs)
{
    for (size_t i = 0; i < errs->count; i++)
        log_err(&errs->items[i]);
    if (errs->dropped > 0)
        log_error("%zu more errors are not shown", errs->dropped);
}
