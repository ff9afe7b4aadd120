/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: YAML
 *
 * libyaml's event parser with a builder of our own on top. The event interface, not the document
 * loader, because duplicate keys, anchors, aliases, tags and second documents must be errors with a
 * place, and the loader resolves or drops them silently. Text that is not UTF-8, or that holds
 * control characters, is refused before libyaml sees it, with the place of the first such byte.
 *
 * Cost: linear in the text but for the sort that finds duplicate keys. Depth, values and bytes
 * have limits, so that hostile input ends at once.
 */
#include "sim/scenario/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sim/base/utf8.h"
#include "sim/scenario/scenario.h"

struct reader {
    yaml_parser_t parser;
    const char *file; /* borrowed */
    size_t length;    /* in characters, as libyaml's marks count */
    struct src_pos end;
    struct arena *arena;
    struct err_list *errs;
    const struct yaml_value **stack; /* owned: members of the lists and maps being read */
    size_t stack_count;
    size_t stack_capacity;
    size_t value_count;
    bool is_broken; /* the text is not YAML from here on */
};

static struct src_pos mark_pos(const struct reader *reader, yaml_mark_t mark)
{
    return (struct src_pos){reader->file, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

/* Refuses what is not text at all: bytes that are no UTF-8, control characters. *ret is the place
 * after the last character. */
static bool check_text(const struct source_text *text, struct src_pos *ret, struct err_list *errs)
{
    const unsigned char *p = (const unsigned char *)text->bytes;
    struct src_pos pos = {text->name, 1, 1};
    size_t n;

    for (size_t i = 0; i < text->length; i += n) {
        n = utf8_length(p + i, text->length - i);
        if (n == 0)
            return err_list_add(errs, ERR_SYNTAX, pos,
                                "byte 0x%02x is not UTF-8: this is not a text file", p[i]);
        if (is_control(p[i]))
            return err_list_add(errs, ERR_SYNTAX, pos,
                                "control character 0x%02x: this is not a text file", p[i]);
        pos.col++;
        if (p[i] == '\n') {
            pos.line++;
            pos.col = 1;
        }
    }
    *ret = pos;
    return true;
}

/* Says what libyaml found wrong, and where. */
static void add_syntax_error(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "unreadable";
    struct src_pos pos = mark_pos(reader, parser->problem_mark);
    bool is_at_end = parser->problem_mark.index >= reader->length;
    /* libyaml puts the end of a text without a final newline on a line of its own. */
    if (is_at_end)
        pos = reader->end;

    const char *where = is_at_end ? "the file ends too early: " : "not valid YAML: ";

    if (parser->error == YAML_MEMORY_ERROR)
        abort(); /* out of memory ends sim; see docs/style.md, "Ownership" */
    if (parser->context)
        err_list_add(reader->errs, ERR_SYNTAX, pos, "%s%s, %s that begins at %zu:%zu", where,
                     problem, parser->context, parser->context_mark.line + 1,
                     parser->context_mark.column + 1);
    else
        err_list_add(reader->errs, ERR_SYNTAX, pos, "%s%s", where, problem);
}

/* The next event, to be deleted by the caller; false after a syntax error. */
static bool next_event(struct reader *reader, yaml_event_t *ret)
{
    if (reader->is_broken)
        return false;
    if (yaml_parser_parse(&reader->parser, ret) == 1)
        return true;
    add_syntax_error(reader);
    reader->is_broken = true;
    return false;
}

static bool stop_at_limit(struct reader *reader, yaml_mark_t mark, const char *what, size_t limit)
{
    reader->is_broken = true;
    return err_list_add(reader->errs, ERR_LIMIT, mark_pos(reader, mark),
                        "%s: at most %zu are accepted", what, limit);
}

static void push_value(struct reader *reader, const struct yaml_value *value)
{
    if (reader->stack_count == reader->stack_capacity) {
        size_t capacity = reader->stack_capacity ? 2 * reader->stack_capacity : 64;
        const struct yaml_value **stack =
            realloc(reader->stack, capacity * sizeof(const struct yaml_value *));

        if (!stack)
            abort(); /* see docs/style.md, "Ownership" */
        reader->stack = stack;
        reader->stack_capacity = capacity;
    }
    reader->stack[reader->stack_count++] = value;
}

/* Moves what was pushed since `base` into the arena as the members of `value`. */
static void take_members(struct reader *reader, size_t base, struct yaml_value *value)
{
    size_t count = reader->stack_count - base;
    const struct yaml_value **items =
        arena_alloc_array(reader->arena, count, sizeof(const struct yaml_value *));

    if (count > 0)
        memcpy(items, reader->stack + base, count * sizeof(const struct yaml_value *));
    value->items = items;
    value->count = count;
    reader->stack_count = base;
}

/* By key, then by place. */
static int compare_members(const void *a, const void *b)
{
    const struct yaml_value *x = *(const struct yaml_value *const *)a;
    const struct yaml_value *y = *(const struct yaml_value *const *)b;
    int order = strcmp(x->key, y->key);

    if (order != 0)
        return order;
    if (x->key_pos.line != y->key_pos.line)
        return x->key_pos.line < y->key_pos.line ? -1 : 1;
    return x->key_pos.col < y->key_pos.col ? -1 : x->key_pos.col > y->key_pos.col;
}

/* Reports each key that repeats another; sorts a copy, since a map may have 100,000 keys. */
static void report_duplicates(struct reader *reader, const struct yaml_value *map)
{
    if (map->count < 2)
        return;

    const struct yaml_value **sorted = malloc(map->count * sizeof(const struct yaml_value *));

    if (!sorted)
        abort(); /* see docs/style.md, "Ownership" */
    memcpy(sorted, map->items, map->count * sizeof(const struct yaml_value *));
    qsort(sorted, map->count, sizeof(const struct yaml_value *), compare_members);
    for (size_t i = 1; i < map->count; i++) {
        if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0)
            err_list_add(reader->errs, ERR_KEY, sorted[i]->key_pos,
                         "duplicate key '%.60s': it stands at %u:%u already", sorted[i]->key,
                         sorted[i - 1]->key_pos.line, sorted[i - 1]->key_pos.col);
    }
    free(sorted);
}

/* Errors of an event that carries an anchor or a tag. */
static void refuse_marks(struct reader *reader, yaml_mark_t mark, const yaml_char_t *anchor,
                         const yaml_char_t *tag)
{
    if (anchor)
        err_list_add(reader->errs, ERR_SYNTAX, mark_pos(reader, mark),
                     "anchor '&%.40s': anchors are not accepted; write the value out",
                     (const char *)anchor);
    if (tag)
        err_list_add(reader->errs, ERR_SYNTAX, mark_pos(reader, mark),
                     "tag '%.40s': tags are not accepted; a key decides what its value is",
                     (const char *)tag);
}

static struct yaml_value *new_value(struct reader *reader, enum yaml_kind kind, yaml_mark_t mark)
{
    if (++reader->value_count > YAML_VALUES_MAX) {
        stop_at_limit(reader, mark, "too many values", YAML_VALUES_MAX);
        return NULL;
    }

    struct yaml_value *value = arena_alloc(reader->arena, sizeof *value);

    value->kind = kind;
    value->pos = mark_pos(reader, mark);
    value->text = "";
    return value;
}

static struct yaml_value *read_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct yaml_value *value = new_value(reader, YAML_TEXT, event->start_mark);

    if (!value)
        return NULL;
    refuse_marks(reader, event->start_mark, event->data.scalar.anchor, event->data.scalar.tag);
    value->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (memchr(text, '\0', length)) {
        err_list_add(reader->errs, ERR_SYNTAX, value->pos, "a text may not hold a NUL character");
        value->kind = YAML_BAD;
        return value;
    }
    value->text = arena_copy_text(reader->arena, text, length);
    return value;
}

static struct yaml_value *read_value(struct reader *reader, yaml_event_t *event, uint32_t depth);

static bool read_list(struct reader *reader, struct yaml_value *list, uint32_t depth)
{
    size_t base = reader->stack_count;
    yaml_event_t event;

    while (next_event(reader, &event)) {
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        struct yaml_value *item = is_end ? NULL : read_value(reader, &event, depth);

        yaml_event_delete(&event);
        if (is_end) {
            take_members(reader, base, list);
            return true;
        }
        if (!item)
            return false;
        push_value(reader, item);
    }
    return false;
}

/* One key and its value; NULL when the text is broken or the value was refused with its key. */
static struct yaml_value *read_member(struct reader *reader, yaml_event_t *key_event,
                                      uint32_t depth)
{
    struct yaml_value *key = read_value(reader, key_event, depth);
    struct yaml_value *value = NULL;
    yaml_event_t event;

    if (!key || !next_event(reader, &event))
        return NULL;
    value = read_value(reader, &event, depth);
    yaml_event_delete(&event);
    if (!value)
        return NULL;
    if (key->kind == YAML_LIST || key->kind == YAML_MAP)
        err_list_add(reader->errs, ERR_SYNTAX, key->pos, "a key has to be a word, not %s",
                     yaml_kind_text(key->kind));
    else if (key->kind == YAML_TEXT && *key->text == '\0')
        err_list_add(reader->errs, ERR_SYNTAX, key->pos, "a key is missing before this ':'");
    value->key = key->text;
    value->key_pos = key->pos;
    return value;
}

static bool read_map(struct reader *reader, struct yaml_value *map, uint32_t depth)
{
    size_t base = reader->stack_count;
    yaml_event_t event;

    while (next_event(reader, &event)) {
        bool is_end = event.type == YAML_MAPPING_END_EVENT;
        struct yaml_value *member = is_end ? NULL : read_member(reader, &event, depth);

        yaml_event_delete(&event);
        if (is_end) {
            take_members(reader, base, map);
            report_duplicates(reader, map);
            return true;
        }
        if (!member)
            return false;
        push_value(reader, member);
    }
    return false;
}

/* The value that begins with `event`; NULL when the text is broken from here on. */
static struct yaml_value *read_value(struct reader *reader, yaml_event_t *event, uint32_t depth)
{
    struct yaml_value *value;

    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(reader, event);
    if (event->type == YAML_ALIAS_EVENT) {
        err_list_add(reader->errs, ERR_SYNTAX, mark_pos(reader, event->start_mark),
                     "alias '*%.40s': aliases are not accepted; write the value out",
                     (const char *)event->data.alias.anchor);
        return new_value(reader, YAML_BAD, event->start_mark);
    }
    if (depth == YAML_DEPTH_MAX) {
        stop_at_limit(reader, event->start_mark, "lists and maps inside one another",
                      YAML_DEPTH_MAX);
        return NULL;
    }
    if (event->type == YAML_SEQUENCE_START_EVENT) {
        value = new_value(reader, YAML_LIST, event->start_mark);
        refuse_marks(reader, event->start_mark, event->data.sequence_start.anchor,
                     event->data.sequence_start.tag);
        return value && read_list(reader, value, depth + 1) ? value : NULL;
    }
    value = new_value(reader, YAML_MAP, event->start_mark);
    refuse_marks(reader, event->start_mark, event->data.mapping_start.anchor,
                 event->data.mapping_start.tag);
    return value && read_map(reader, value, depth + 1) ? value : NULL;
}

static bool refuse_document(struct reader *reader, yaml_mark_t mark)
{
    return err_list_add(reader->errs, ERR_SYNTAX, mark_pos(reader, mark),
                        "a second document begins here: one file holds one");
}

/* Skips stream and document events to the first value of the document, reads it, and refuses a
 * second document. */
static const struct yaml_value *read_stream(struct reader *reader)
{
    struct yaml_value *root = NULL;
    yaml_event_t event;
    bool is_end = false;

    while (!is_end && next_event(reader, &event)) {
        switch ((int)event.type) {
        case YAML_STREAM_END_EVENT:
            is_end = true;
            break;
        case YAML_DOCUMENT_START_EVENT:
            is_end = root && !refuse_document(reader, event.start_mark);
            break;
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            break;
        default:
            root = read_value(reader, &event, 0);
            is_end = !root;
            break;
        }
        yaml_event_delete(&event);
    }
    if (!root && !reader->is_broken)
        err_list_add(reader->errs, ERR_SYNTAX, (struct src_pos){reader->file, 1, 1},
                     "the file is empty: it holds no key");
    return reader->is_broken ? NULL : root;
}

const struct yaml_value *yaml_read(const struct source_text *text, struct arena *arena,
                                   struct err_list *reterrs)
{
    struct reader reader = {.file = text->name, .arena = arena, .errs = reterrs};
    const struct yaml_value *root;

    if (text->length > YAML_BYTES_MAX) {
        err_list_add(reterrs, ERR_LIMIT, (struct src_pos){text->name, 1, 1},
                     "the file has %zu bytes; at most %zu are read", text->length, YAML_BYTES_MAX);
        return NULL;
    }
    if (!check_text(text, &reader.end, reterrs))
        return NULL;
    if (yaml_parser_initialize(&reader.parser) != 1)
        abort(); /* see docs/style.md, "Ownership" */
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text->bytes, text->length);
    for (size_t i = 0; i < text->length; i++)
        reader.length += ((unsigned char)text->bytes[i] & 0xc0U) != 0x80;
    root = read_stream(&reader);
    yaml_parser_delete(&reader.parser);
    free(reader.stack);
    return root;
}

const struct yaml_value *yaml_find(const struct yaml_value *map, const char *key)
{
    if (map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->items[i]->key, key) == 0)
            return map->items[i];
    }
    return NULL;
}

bool yaml_is_null(const struct yaml_value *value)
{
    return value->kind == YAML_TEXT && !value->is_quoted &&
           (*value->text == '\0' || strcmp(value->text, "~") == 0 ||
            strcmp(value->text, "null") == 0);
}

const char *yaml_kind_text(enum yaml_kind kind)
{
    switch (kind) {
    case YAML_TEXT:
        return "a text";
    case YAML_LIST:
        return "a list";
    case YAML_MAP:
        return "a map";
    case YAML_BAD:
        return "nothing readable";
    }
    return "";
}
