/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Expectations, their text
 *
 *     subject      = name [ "[" key "=" value { "," key "=" value } "]" ] { "." field }
 *     expectation  = ( subject | "ratio(" subject "," subject ")" ) operator value
 *     operator     = "<" | "<=" | ">" | ">=" | "==" | "!=" | "has" | "has not"
 *
 * Subjects are operations of `run:`, `check`, and the facts about a whole run (deadlock, wrong,
 * frames, frames_lost, frames_corrupted). What a field is decides which values and operators fit
 * it, so that a slip shows when the scenario is read and not after the run.
 */
#include "sim/scenario/expect.h"

#include <string.h>

#include "sim/scenario/quantity.h"
#include "sim/scenario/suggest.h"
#include "sim/workload/run.h"

struct field {
    const char *name;
    enum expect_type type;
};

static const struct field run_fields[] = {
    {"latency.min", EXPECT_TYPE_SPAN},
    {"latency.median", EXPECT_TYPE_SPAN},
    {"latency.p99", EXPECT_TYPE_SPAN},
    {"latency.mean", EXPECT_TYPE_SPAN},
    {"latency.max", EXPECT_TYPE_SPAN},
    {"algbw", EXPECT_TYPE_RATE},
    {"busbw", EXPECT_TYPE_RATE},
    {"sender_rate", EXPECT_TYPE_RATE},
    {"bound", EXPECT_TYPE_SPAN},
    {"share.wire", EXPECT_TYPE_NUMBER},
    {"share.copy", EXPECT_TYPE_NUMBER},
    {"share.reduce", EXPECT_TYPE_NUMBER},
    {"share.software", EXPECT_TYPE_NUMBER},
    {"share.credit", EXPECT_TYPE_NUMBER},
    {"share.handoff", EXPECT_TYPE_NUMBER},
    {"messages", EXPECT_TYPE_NUMBER},
    {"limit", EXPECT_TYPE_NAME},
};

static const struct field check_fields[] = {
    {"feasible", EXPECT_TYPE_BOOL},
    {"binding", EXPECT_TYPE_NAME},
    {"findings", EXPECT_TYPE_NAME},
    {"cables", EXPECT_TYPE_NUMBER},
    {"mesh_cables", EXPECT_TYPE_NUMBER},
    {"max_full_mesh", EXPECT_TYPE_NUMBER},
    {"max_full_mesh_cautious", EXPECT_TYPE_NUMBER},
};

/* Facts about the whole run: subjects without a field. */
static const struct field facts[] = {
    {"deadlock", EXPECT_TYPE_BOOL},           {"wrong", EXPECT_TYPE_BOOL},
    {"frames", EXPECT_TYPE_NUMBER},           {"frames_lost", EXPECT_TYPE_NUMBER},
    {"frames_corrupted", EXPECT_TYPE_NUMBER},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define NAMES_MAX       32

static const char *const filter_keys[] = {"library", "size", "nodes", "jaccl", "handoff", "dtype"};

static const char *const op_texts[] = {
    [EXPECT_LT] = "<",  [EXPECT_LE] = "<=", [EXPECT_GT] = ">",    [EXPECT_GE] = ">=",
    [EXPECT_EQ] = "==", [EXPECT_NE] = "!=", [EXPECT_HAS] = "has", [EXPECT_HAS_NOT] = "has not",
};

/* A text being read, and where it stands in the file. */
struct scanner {
    const char *start;
    const char *p;
    struct src_pos pos; /* of start */
    struct arena *arena;
    struct err *err;
};

static struct src_pos place(const struct scanner *scanner)
{
    struct src_pos pos = scanner->pos;

    pos.col += (uint32_t)(scanner->p - scanner->start);
    return pos;
}

static void skip_blanks(struct scanner *scanner)
{
    while (*scanner->p == ' ')
        scanner->p++;
}

static bool is_run(const char *subject)
{
    for (uint32_t i = 0; i < RUN_OP_COUNT; i++) {
        if (strcmp(run_op_name((enum run_op)i), subject) == 0)
            return true;
    }
    return false;
}

static const struct field *find_in(const struct field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

bool expect_find_field(const char *subject, const char *field, enum expect_type *ret)
{
    const struct field *found = NULL;

    if (is_run(subject))
        found = find_in(run_fields, COUNT_OF(run_fields), field);
    else if (strcmp(subject, "check") == 0)
        found = find_in(check_fields, COUNT_OF(check_fields), field);
    else if (*field == '\0')
        found = find_in(facts, COUNT_OF(facts), subject);
    if (!found)
        return false;
    *ret = found->type;
    return true;
}

/* ", did you mean" over a table of fields. */
static void suggest_field(char ret[SUGGEST_TEXT_MAX], const char *word, const struct field *fields,
                          size_t count)
{
    const char *names[NAMES_MAX];

    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    suggest_text(ret, word, names, count);
}

static bool report_subject(struct scanner *scanner, struct src_pos pos, const char *subject)
{
    const char *names[RUN_OP_COUNT + 1 + COUNT_OF(facts)];
    char suggestion[SUGGEST_TEXT_MAX];
    size_t count = 0;

    while (count < RUN_OP_COUNT) {
        names[count] = run_op_name((enum run_op)count);
        count++;
    }
    names[count++] = "check";
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        names[count++] = facts[i].name;
    suggest_text(suggestion, subject, names, count);
    return err_set(scanner->err, ERR_REFERENCE, pos, "unknown subject '%.60s'%s", subject,
                   *suggestion ? suggestion
                               : ": an operation such as all_reduce, check, deadlock, wrong, "
                                 "frames, frames_lost or frames_corrupted is wanted");
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes letters, digits and '_'; with dots, those too. Empty when none stands here. */
static const char *take_word(struct scanner *scanner, bool with_dots)
{
    const char *from = scanner->p;

    while (is_word(*scanner->p) || (with_dots && *scanner->p == '.'))
        scanner->p++;
    return arena_copy_text(scanner->arena, from, (size_t)(scanner->p - from));
}

/* Names that a filter accepts; NULL for quantities. */
static const char *const *filter_names(const char *key, size_t *ret_count)
{
    if (strcmp(key, "library") == 0) {
        *ret_count = COUNT_OF(run_library_names);
        return run_library_names;
    }
    if (strcmp(key, "jaccl") == 0) {
        *ret_count = COUNT_OF(jaccl_version_names);
        return jaccl_version_names;
    }
    if (strcmp(key, "handoff") == 0) {
        *ret_count = COUNT_OF(handoff_names);
        return handoff_names;
    }
    if (strcmp(key, "dtype") == 0) {
        *ret_count = COUNT_OF(dtype_names);
        return dtype_names;
    }
    return NULL;
}

/* Checks a filter's value, and reads it when it is a quantity. */
static bool read_filter_value(struct scanner *scanner, struct src_pos pos, const char *key,
                              const char *value, int64_t *ret)
{
    char suggestion[SUGGEST_TEXT_MAX];
    size_t count = 0;
    const char *const *names = filter_names(key, &count);

    if (!names)
        return quantity_parse(value, strcmp(key, "size") == 0 ? QUANTITY_SIZE : QUANTITY_COUNT, pos,
                              ret, scanner->err);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], value) == 0)
            return true;
    }
    suggest_text(suggestion, value, names, count);
    return err_set(scanner->err, ERR_REFERENCE, pos, "unknown %s '%.60s'%s", key, value,
                   suggestion);
}

/* Reads a filter's key; false and an error when there is no such filter. */
static bool read_filter_key(struct scanner *scanner, const char **ret)
{
    struct src_pos pos = place(scanner);
    const char *key = take_word(scanner, false);
    char suggestion[SUGGEST_TEXT_MAX];

    for (size_t i = 0; i < COUNT_OF(filter_keys); i++) {
        if (strcmp(filter_keys[i], key) == 0) {
            *ret = key;
            return true;
        }
    }
    suggest_text(suggestion, key, filter_keys, COUNT_OF(filter_keys));
    return err_set(scanner->err, ERR_KEY, pos, "unknown filter '%.40s'%s", key,
                   *suggestion ? suggestion
                               : ": library, size, nodes, jaccl, handoff and dtype are known");
}

/* Reads "key=value" of a filter. */
static bool read_filter(struct scanner *scanner, struct expectation *ret)
{
    struct src_pos pos = place(scanner);
    size_t index = ret->filter_count;
    const char *key;
    const char *from;
    size_t length;

    if (!read_filter_key(scanner, &key))
        return false;
    skip_blanks(scanner);
    if (*scanner->p != '=')
        return err_set(scanner->err, ERR_SYNTAX, place(scanner), "'=' is missing after %s", key);
    if (index == EXPECT_FILTERS_MAX)
        return err_set(scanner->err, ERR_LIMIT, pos, "more than %d filters", EXPECT_FILTERS_MAX);
    scanner->p++;
    skip_blanks(scanner);
    pos = place(scanner);
    from = scanner->p;
    length = strcspn(from, ",]");
    scanner->p += length;
    while (length > 0 && from[length - 1] == ' ')
        length--;
    ret->filters[index].key = key;
    ret->filters[index].value = arena_copy_text(scanner->arena, from, length);
    ret->filter_count++;
    return read_filter_value(scanner, pos, key, ret->filters[index].value,
                             &ret->filters[index].number);
}

static bool read_filters(struct scanner *scanner, struct expectation *ret)
{
    struct src_pos open = place(scanner);

    if (*scanner->p != '[')
        return true;
    if (!is_run(ret->subject))
        return err_set(scanner->err, ERR_SYNTAX, open, "%s takes no filter", ret->subject);
    do {
        scanner->p++; /* '[' or ',' */
        skip_blanks(scanner);
        if (!read_filter(scanner, ret))
            return false;
    } while (*scanner->p == ',');
    if (*scanner->p != ']')
        return err_set(scanner->err, ERR_SYNTAX, place(scanner),
                       "the ']' for this '[' at column %u is missing", open.col);
    scanner->p++;
    return true;
}

static bool report_field(struct scanner *scanner, struct src_pos pos, const char *subject,
                         const char *field)
{
    char suggestion[SUGGEST_TEXT_MAX] = "";
    bool is_check = strcmp(subject, "check") == 0;

    if (is_check)
        suggest_field(suggestion, field, check_fields, COUNT_OF(check_fields));
    else if (is_run(subject))
        suggest_field(suggestion, field, run_fields, COUNT_OF(run_fields));
    if (*field == '\0')
        return err_set(scanner->err, ERR_KEY, pos, "%s needs a field, such as %s.%s", subject,
                       subject, is_check ? "feasible" : "latency.median");
    return err_set(scanner->err, ERR_KEY, pos, "%s has no field '%.60s'%s", subject, field,
                   suggestion);
}

/* Reads a subject with filters and field; ret->type becomes the field's. */
static bool read_subject(struct scanner *scanner, struct expectation *ret)
{
    struct src_pos pos = place(scanner);
    struct src_pos field_pos;
    bool is_fact;

    ret->subject = take_word(scanner, false);
    is_fact = find_in(facts, COUNT_OF(facts), ret->subject) != NULL;
    if (!is_run(ret->subject) && strcmp(ret->subject, "check") != 0 && !is_fact)
        return report_subject(scanner, pos, ret->subject);
    if (!read_filters(scanner, ret))
        return false;
    field_pos = place(scanner);
    if (*scanner->p == '.')
        scanner->p++;
    ret->field = take_word(scanner, true);
    return expect_find_field(ret->subject, ret->field, &ret->type) ||
           report_field(scanner, field_pos, ret->subject, ret->field);
}

static bool take_char(struct scanner *scanner, char c, const char *what)
{
    skip_blanks(scanner);
    if (*scanner->p != c)
        return err_set(scanner->err, ERR_SYNTAX, place(scanner), "'%c' is missing %s", c, what);
    scanner->p++;
    skip_blanks(scanner);
    return true;
}

/* Reads the inside of "ratio(a, b)", after the parenthesis. */
static bool read_ratio(struct scanner *scanner, struct expectation *ret)
{
    struct expectation *other = arena_alloc(scanner->arena, sizeof *other);
    struct src_pos pos = place(scanner);

    skip_blanks(scanner);
    if (!read_subject(scanner, ret) || !take_char(scanner, ',', "between the two of a ratio") ||
        !read_subject(scanner, other) || !take_char(scanner, ')', "after the two of a ratio"))
        return false;
    if (!is_run(ret->subject) || !is_run(other->subject))
        return err_set(scanner->err, ERR_REFERENCE, pos,
                       "a ratio is between results of operations such as all_reduce");
    if (ret->type != other->type || ret->type == EXPECT_TYPE_NAME)
        return err_set(scanner->err, ERR_UNIT, pos,
                       "a ratio is between two durations, two rates or two numbers");
    ret->ratio_to = other;
    ret->type = EXPECT_TYPE_NUMBER;
    return true;
}

/* Reads the operator; longer ones first, since "<=" begins with "<". */
static bool read_operator(struct scanner *scanner, enum expect_op *ret)
{
    static const enum expect_op order[] = {EXPECT_HAS_NOT, EXPECT_HAS, EXPECT_LE, EXPECT_GE,
                                           EXPECT_EQ,      EXPECT_NE,  EXPECT_LT, EXPECT_GT};

    skip_blanks(scanner);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        size_t length = strlen(op_texts[order[i]]);

        if (strncmp(scanner->p, op_texts[order[i]], length) != 0)
            continue;
        scanner->p += length;
        *ret = order[i];
        return true;
    }
    return err_set(scanner->err, ERR_SYNTAX, place(scanner),
                   "an operator is wanted here: < <= > >= == !=, has, has not");
}

/* Which operators make sense for which values. */
static bool check_operator(struct scanner *scanner, struct src_pos pos, const struct expectation *e)
{
    bool is_list = strcmp(e->field, "findings") == 0;
    bool is_has = e->op == EXPECT_HAS || e->op == EXPECT_HAS_NOT;
    bool is_equality = e->op == EXPECT_EQ || e->op == EXPECT_NE;

    if (is_list != is_has)
        return err_set(scanner->err, ERR_SYNTAX, pos,
                       is_list ? "'%s' does not fit a list of names: has and has not do"
                               : "'%s' fits check.findings only",
                       op_texts[e->op]);
    if ((e->type == EXPECT_TYPE_BOOL || e->type == EXPECT_TYPE_NAME) && !is_list && !is_equality)
        return err_set(scanner->err, ERR_SYNTAX, pos,
                       "'%s' needs numbers on both sides; here == and != fit", op_texts[e->op]);
    return true;
}

static bool read_bool(struct scanner *scanner, struct src_pos pos, const char *text, int64_t *ret)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return err_set(scanner->err, ERR_RANGE, pos, "'%.40s' is neither true nor false", text);
    *ret = strcmp(text, "true") == 0;
    return true;
}

/* Reads the value on the right, to the end of the text. */
static bool read_value(struct scanner *scanner, struct expectation *ret)
{
    struct src_pos pos;
    const char *text;
    size_t length;

    skip_blanks(scanner);
    pos = place(scanner);
    length = strlen(scanner->p);
    while (length > 0 && scanner->p[length - 1] == ' ')
        length--;
    text = arena_copy_text(scanner->arena, scanner->p, length);
    if (length == 0)
        return err_set(scanner->err, ERR_SYNTAX, pos, "a value is missing after '%s'",
                       op_texts[ret->op]);
    switch (ret->type) {
    case EXPECT_TYPE_SPAN:
        return quantity_parse(text, QUANTITY_SPAN, pos, &ret->value, scanner->err);
    case EXPECT_TYPE_RATE:
        return quantity_parse(text, QUANTITY_RATE, pos, &ret->value, scanner->err);
    case EXPECT_TYPE_SIZE:
        return quantity_parse(text, QUANTITY_SIZE, pos, &ret->value, scanner->err);
    case EXPECT_TYPE_NUMBER:
        return quantity_parse_thousandths(text, pos, &ret->value, scanner->err);
    case EXPECT_TYPE_BOOL:
        return read_bool(scanner, pos, text, &ret->value);
    case EXPECT_TYPE_NAME:
        ret->name = text;
        return true;
    }
    return false;
}

bool expect_parse(const char *text, struct src_pos pos, struct arena *arena,
                  struct expectation *ret, struct err *reterr)
{
    struct scanner scanner = {text, text, pos, arena, reterr};
    struct expectation read = {.text = text, .pos = pos, .field = ""};
    struct src_pos op_pos;
    bool is_ratio = strncmp(text, "ratio(", 6) == 0;

    if (is_ratio)
        scanner.p += 6;
    if (is_ratio ? !read_ratio(&scanner, &read) : !read_subject(&scanner, &read))
        return false;
    skip_blanks(&scanner);
    op_pos = place(&scanner);
    if (!read_operator(&scanner, &read.op) || !check_operator(&scanner, op_pos, &read) ||
        !read_value(&scanner, &read))
        return false;
    *ret = read;
    return true;
}
