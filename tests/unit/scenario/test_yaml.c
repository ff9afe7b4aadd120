/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/yaml.h"
#include "tests/unit/scenario/support/files.h"

Test(yaml, keeps_text_and_places)
{
    struct source_text text =
        files_text("t.yaml", "a: 0x10\nlist:\n  - {k: no, \"q\": \"~\"}\n  - ~\n");
    struct arena arena;
    struct err_list errs;
    const struct yaml_value *root;

    arena_init(&arena);
    err_list_init(&errs);
    root = yaml_read(&text, &arena, &errs);
    cr_assert_not_null(root);
    cr_expect_eq(errs.count, 0);
    cr_expect_str_eq(yaml_find(root, "a")->text, "0x10");
    cr_expect_null(yaml_find(root, "b"));

    const struct yaml_value *list = yaml_find(root, "list");

    cr_assert_eq(list->count, 2);
    cr_expect_eq(list->items[0]->pos.line, 3);
    cr_expect_eq(list->items[0]->pos.col, 5);
    cr_expect_str_eq(list->items[0]->items[0]->text, "no");
    cr_expect_eq(list->items[0]->items[1]->key_pos.col, 13);
    cr_expect_not(yaml_is_null(list->items[0]->items[1]), "a quoted ~ is text");
    cr_expect(yaml_is_null(list->items[1]));
    err_list_done(&errs);
    arena_done(&arena);
}

Test(yaml, names_the_place_of_what_it_refuses)
{
    static const struct {
        const char *name;
        const char *text;
        const char *errors;
    } rows[] = {
        {"empty", "", "1:1: the file is empty: it holds no key"},
        {"only comments", "# nothing\n\n", "1:1: the file is empty: it holds no key"},
        {"duplicate key", "a: 1\nb: 2\na: 3\n", "3:1: duplicate key 'a': it stands at 1:1 already"},
        {"three times", "a: 1\na: 2\na: 3\n",
         "2:1: duplicate key 'a': it stands at 1:1 already\n"
         "3:1: duplicate key 'a': it stands at 2:1 already"},
        {"anchor and alias", "a: &x 1\nb: *x\n",
         "1:4: anchor '&x': anchors are not accepted; write the value out\n"
         "2:4: alias '*x': aliases are not accepted; write the value out"},
        {"tag", "a: !!int 1\n",
         "1:4: tag 'tag:yaml.org,2002:int': tags are not accepted; a key decides what its value is"},
        {"two documents", "a: 1\n---\nb: 2\n",
         "2:1: a second document begins here: one file holds one"},
        {"map as key", "? {a: 1}\n: 2\n", "1:3: a key has to be a word, not a map"},
        {"empty key", "\"\": 2\n", "1:1: a key is missing before this ':'"},
        {"no key", ": 2\n",
         "1:1: not valid YAML: did not find expected key, while parsing a block mapping that begins "
         "at 1:1"},
        {"truncated flow", "a: {b: 1, c: [1, 2",
         "1:19: the file ends too early: did not find expected ',' or ']', while parsing a flow "
         "sequence that begins at 1:14"},
        {"truncated quote", "a: \"b",
         "1:6: the file ends too early: found unexpected end of stream, while scanning a quoted "
         "scalar that begins at 1:4"},
        {"tab", "a:\n\tb: 1\n",
         "2:1: not valid YAML: found character that cannot start any token, while scanning for the "
         "next token that begins at 2:1"},
        {"missing comma", "a: [1 2\nb: 3\n",
         "2:2: not valid YAML: did not find expected ',' or ']', while parsing a flow sequence that "
         "begins at 1:4"},
        {"not UTF-8", "a: 1\nb: \xff\xfe\n",
         "2:4: byte 0xff is not UTF-8: this is not a text file"},
        {"overlong UTF-8", "a: \xc0\x80\n", "1:4: byte 0xc0 is not UTF-8: this is not a text file"},
        {"control character", "a: 1\x07\n", "1:5: control character 0x07: this is not a text file"},
        {"escaped NUL", "a: \"x\\0y\"\n", "1:4: a text may not hold a NUL character"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct source_text text = files_text("t.yaml", rows[i].text);
        struct arena arena;
        struct err_list errs;
        char all[2048];

        arena_init(&arena);
        err_list_init(&errs);
        (void)yaml_read(&text, &arena, &errs);
        err_list_sort(&errs);
        files_join_errors(&errs, all, sizeof all);
        cr_expect_str_eq(all, rows[i].errors, "%s: got\n%s", rows[i].name, all);
        err_list_done(&errs);
        arena_done(&arena);
    }
}

Test(yaml, refuses_a_binary_file_at_its_first_odd_byte)
{
    struct source_text text = {"elf",
                               "\x7f"
                               "ELF\0\0\0",
                               7};
    struct arena arena;
    struct err_list errs;

    arena_init(&arena);
    err_list_init(&errs);
    cr_expect_null(yaml_read(&text, &arena, &errs));
    cr_assert_eq(errs.count, 1);
    cr_expect_str_eq(errs.items[0].text, "control character 0x7f: this is not a text file");
    err_list_done(&errs);
    arena_done(&arena);
}

/* A text of `unit` repeated up to `length` bytes. */
static char *repeat(const char *unit, size_t length)
{
    size_t n = strlen(unit);
    char *text = malloc(length + 1);

    cr_assert_not_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = unit[i % n];
    text[length] = '\0';
    return text;
}

Test(yaml, ends_at_once_on_hostile_sizes, .timeout = 20)
{
    static const struct {
        const char *unit;
        size_t length;
        const char *error;
    } rows[] = {
        {"\xf0\x9f", 10 * 1024 * 1024,
         "1:1: the file has 10485760 bytes; at most 4194304 are read"},
        {"[", 1024 * 1024, "1:33: lists and maps inside one another: at most 32 are accepted"},
        {"- ", 1024 * 1024, "1:65: lists and maps inside one another: at most 32 are accepted"},
        {"a: ", 999, "1:5: not valid YAML: mapping values are not allowed in this context"},
        {"-\n", 2 * 1024 * 1024, "500000:2: too many values: at most 500000 are accepted"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *bytes = repeat(rows[i].unit, rows[i].length);
        struct source_text text = {"t.yaml", bytes, rows[i].length};
        struct arena arena;
        struct err_list errs;
        char all[1024];

        arena_init(&arena);
        err_list_init(&errs);
        cr_expect_null(yaml_read(&text, &arena, &errs));
        files_join_errors(&errs, all, sizeof all);
        cr_expect_str_eq(all, rows[i].error, "row %zu: got\n%s", i, all);
        err_list_done(&errs);
        arena_done(&arena);
        free(bytes);
    }
}
