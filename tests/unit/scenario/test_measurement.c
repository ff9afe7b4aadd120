/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/measurement.h"
#include "tests/unit/scenario/support/files.h"

#define HEAD "id,kind,hosts,nodes,cables_per_pair,stack,size_bytes,value,unit,note,source\n"

static struct arena arena;
static struct err_list errs;

static void set_up(void)
{
    arena_init(&arena);
    err_list_init(&errs);
}

static void tear_down(void)
{
    err_list_done(&errs);
    arena_done(&arena);
}

TestSuite(measurement, .init = set_up, .fini = tear_down);

static const struct measurement *read_rows(const char *text, size_t expected)
{
    struct source_text source = files_text("t.csv", text);
    const struct measurement *rows = NULL;
    size_t count = 0;
    char errors[2048];
    bool is_ok = measurement_parse(&source, &arena, &rows, &count, &errs);

    files_join_errors(&errs, errors, sizeof errors);
    cr_assert(is_ok, "%s", errors);
    cr_assert_eq(count, expected);
    return rows;
}

Test(measurement, a_value_is_read_exactly_in_its_unit)
{
    static const struct {
        const char *value, *unit;
        enum measurement_unit kind;
        int64_t low, high;
    } rows[] = {
        {"4.15", "us", MEASUREMENT_SPAN, 4150000, 4150000},
        {"0.34-0.70", "ms", MEASUREMENT_SPAN, 340000000, 700000000},
        {"4.5-5.1", "GB/s", MEASUREMENT_RATE, 36000000000, 40800000000},
        {"52.6\xe2\x80\x93"
         "63.6",
         "Gb/s", MEASUREMENT_RATE, 52600000000, 63600000000},
        {"7.5e1", "Gb/s", MEASUREMENT_RATE, 75000000000, 75000000000},
        {"70e-1-80e-1", "us", MEASUREMENT_SPAN, 7000000, 8000000},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];

        (void)snprintf(text, sizeof text, HEAD "a,all_reduce,x,2,1,jaccl,8,%s,%s,,\n",
                       rows[i].value, rows[i].unit);

        const struct measurement *m = read_rows(text, 1);

        cr_expect_eq(m->unit, rows[i].kind, "%s %s", rows[i].value, rows[i].unit);
        cr_expect_eq(m->low, rows[i].low, "%s: %lld", rows[i].value, (long long)m->low);
        cr_expect_eq(m->high, rows[i].high, "%s: %lld", rows[i].value, (long long)m->high);
    }
}

Test(measurement, an_unknown_kind_is_kept_and_no_error)
{
    const struct measurement *m =
        read_rows(HEAD "a,bus_speed,x,,,whatever,,3,apples,,\nb,hpl,x,1,,HPL,,1.5,Gflop/s,,\n", 2);

    cr_expect_eq(m[0].kind, MEASUREMENT_OTHER);
    cr_expect_str_eq(m[0].kind_text, "bus_speed");
    cr_expect_eq(m[0].nodes, 2, "two machines unless the row says otherwise");
    cr_expect_not(m[0].has_size);
    cr_expect_eq(m[1].kind, MEASUREMENT_HPL);
}

Test(measurement, columns_may_stand_in_any_order_and_others_are_ignored)
{
    const struct measurement *m =
        read_rows("unit,value,size_bytes,stack,cables_per_pair,nodes,hosts,kind,id,mood\n"
                  "us,5,64,verbs,1,2,x,round_trip,a,good\n",
                  1);

    cr_expect_str_eq(m->id, "a");
    cr_expect_eq(m->size.bytes, 64);
    cr_expect_eq(m->low, 5000000);
    cr_expect_str_eq(m->source, "");
}

Test(measurement, token_rates_are_recognised)
{
    const struct measurement *m =
        read_rows("phase,engine,chip,nodes,parallelism,model,quant,context_tokens,tok_per_s,scored,"
                  "source,note\ndecode,exo,M3U80,4,tp,Qwen3,8bit,100,31.9,1,s,n\n",
                  1);

    cr_expect_eq(m->kind, MEASUREMENT_TOKEN_RATE);
    cr_expect_str_eq(m->value_text, "31.9");
}

Test(measurement, each_slip_is_named_at_its_place)
{
    static const struct {
        const char *name;
        const char *text;
        const char *expected;
    } rows[] = {
        {"value", HEAD "a,all_reduce,x,2,1,s,8,fast,us,,\n",
         "2:24: value: 'fast' is no number or range such as 52.6-63.6"},
        {"negative", HEAD "a,all_reduce,x,2,1,s,8,-5,us,,\n", "2:24: value: '-5' is no number"},
        {"backwards", HEAD "a,all_reduce,x,2,1,s,8,5-4,us,,\n",
         "2:24: value: the range '5-4' ends before it begins"},
        {"zero", HEAD "a,all_reduce,x,2,1,s,8,0,us,,\n", "2:24: value is zero"},
        {"no value", HEAD "a,all_reduce,x,2,1,s,8,,us,,\n", "2:24: value is empty"},
        {"unit", HEAD "a,send_bandwidth,x,2,1,s,8,5,us,,\n",
         "2:30: unit: 'us' does not suit send_bandwidth; accepted is a rate"},
        {"unknown unit", HEAD "a,round_trip,x,2,1,s,8,5,usec,,\n",
         "2:26: unit: 'usec' does not suit round_trip; accepted is a time: ns, us, ms or s"},
        {"nodes", HEAD "a,round_trip,x,0,1,s,8,5,us,,\n",
         "2:16: nodes is '0'; accepted is 1 to 1024"},
        {"size", HEAD "a,round_trip,x,2,1,s,8 KiB,5,us,,\n", "2:22: "},
        {"id twice",
         HEAD "a,hpl,x,2,1,s,8,5,us,,\nb,hpl,x,2,1,s,8,5,us,,\na,hpl,x,2,1,s,8,5,us,,\n",
         "4:1: id 'a' stands in line 2 already"},
        {"column", "id,kind,host,nodes,cables_per_pair,stack,size_bytes,value,unit\n",
         "1:1: no column 'hosts', did you mean 'host'?"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct source_text source = files_text("t.csv", rows[i].text);
        const struct measurement *ret;
        size_t count;
        char text[2048];

        cr_expect_not(measurement_parse(&source, &arena, &ret, &count, &errs), "%s", rows[i].name);
        files_join_errors(&errs, text, sizeof text);
        cr_expect(strstr(text, rows[i].expected), "%s: %s", rows[i].name, text);
        err_list_done(&errs);
        err_list_init(&errs);
    }
}

Test(measurement, all_slips_of_a_file_are_told_in_one_run)
{
    struct source_text source =
        files_text("t.csv", HEAD "a,round_trip,x,0,1,s,8,5,us,,\nb,round_trip,x,2,1,s,8,?,us,,\n");
    const struct measurement *ret;
    size_t count;

    cr_expect_not(measurement_parse(&source, &arena, &ret, &count, &errs));
    cr_expect_eq(errs.count, 2);
}

Test(measurement, the_shipped_rows_have_a_source_and_a_date)
{
    struct source_text source = files_read(SOURCE_ROOT "/models/measurements/fabric.csv");
    const struct measurement *rows;
    size_t count;

    cr_assert(measurement_parse(&source, &arena, &rows, &count, &errs));
    cr_expect_eq(count, 19);
    for (size_t i = 0; i < count; i++) {
        cr_expect_gt(strlen(rows[i].source), 3, "%s", rows[i].id);
        cr_expect_geq(strlen(rows[i].date), 7, "%s", rows[i].id);
        cr_expect_neq(rows[i].kind, MEASUREMENT_OTHER, "%s", rows[i].id);
    }
    files_free(&source);
}

Test(measurement, every_alias_names_a_machine_of_the_catalogue)
{
    struct source_text source = files_read(SOURCE_ROOT "/models/aliases.csv");
    const struct host_alias *aliases;
    struct catalog catalog;
    size_t count;

    files_read_catalog(&catalog);
    cr_assert(aliases_parse(&source, &arena, &aliases, &count, &errs));
    cr_expect_gt(count, 10);
    for (size_t i = 0; i < count; i++) {
        cr_expect_not_null(catalog_find_machine(&catalog, aliases[i].model), "%s", aliases[i].name);
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(aliases[i].name, aliases[k].name);
    }
    catalog_done(&catalog);
    files_free(&source);
}
