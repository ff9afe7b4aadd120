#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --json prints one object, and nothing but it, for every command.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "skipped: jq is not installed"; exit 77; }

write_pair good.yaml
printf 'expect:\n  - deadlock == false\n' >>good.yaml

# object NAME FILTER COMMAND...: one JSON object for which the filter is true.
object() {
    name=$1
    filter=$2
    shift 2
    run "$name" 0 "$@"
    [ "$(jq -s 'length == 1 and (.[0] | type == "object")' stdout 2>jq.err)" = true ] ||
        fail "$name: not one JSON object"
    [ "$(jq ".tbmesh | test(\"^[0-9.]+$\")" stdout 2>jq.err)" = true ] || fail "$name: no version"
    [ "$(jq "$filter" stdout 2>jq.err)" = true ] || {
        fail "$name: not true: $filter"
        cat jq.err
    }
}

common='(.scenario == "a pair") and (.seed == 1) and (.warnings | type == "array")
    and (.parameters | length > 10 and all(has("name", "value", "unit", "source", "had_effect")))'
common=$(echo "$common" | sed 's/has("name", "value", "unit", "source", "had_effect")/has("name") and has("value") and has("unit") and has("source") and has("had_effect")/')

object check "$common"' and .feasible == true and (.binding | type == "string")
    and (.findings | type == "array") and .cables == 1 and .max_full_mesh == 4' \
    "$tbmesh" check --json good.yaml
object sim "$common"' and (.results | length == 2) and (.events > 0) and (.digest | length == 16)
    and (.results | all(.workload != null and .op == "all_reduce" and .library == "jaccl-mesh"
        and .nodes == 2 and .size_bytes > 0 and .algbw_bps > 0 and .busbw_bps > 0 and .bound_ps > 0
        and .latency_ps.min <= .latency_ps.median and .latency_ps.median <= .latency_ps.p99
        and .bound_ps <= .latency_ps.min))
    and (.parameters | any(.had_effect) and any(.had_effect | not))' \
    "$tbmesh" sim --json good.yaml
[ ! -e out ] || fail "sim --json writes files that nobody asked for"
object "sim with files" '.partial == false' "$tbmesh" sim --json good.yaml -o result
cmp -s stdout result/result.json || fail "sim: stdout and result.json differ"
object models '.machines | length > 5' "$tbmesh" models --json
object "models NAME" '.machines | length == 1 and .[0].name == "mac-studio-m3-ultra"' \
    "$tbmesh" models --json mac-studio-m3-ultra
object validate '(.rows | length > 10 and all(has("id") and has("predicted") and has("low")
    and has("high") and has("measured") and has("unit") and has("error_pct") and has("label")))
    and (.median_error_pct | type == "number") and has("p90_error_pct") and has("worst_error_pct")
    and has("coverage_pct") and has("not_expressed")' "$tbmesh" validate --json
object explain '.name == "rdma.goodput"' "$tbmesh" explain --json rdma.goodput
object "explain, all" '.names | length > 30' "$tbmesh" explain --json
object export '.text | fromjson | length == 2' "$tbmesh" export --json --matrix good.yaml
"$tbmesh" export --matrix good.yaml -o matrix.json
object import '.text | test("mac-mini-m4-pro")' \
    "$tbmesh" import --json --mlx matrix.json --model mac-mini-m4-pro
# In place of a result there are the errors, with their places.
sed 's|64 GiB|64 Gb/s|; s|^rdma:|rmda:|' good.yaml >bad.yaml
for command in check sim "export --dot"; do
    # shellcheck disable=SC2086 # the command may have an option
    run "errors" 2 "$tbmesh" $command --json bad.yaml
    [ "$(jq -s 'length == 1 and (.[0].errors | length == 2 and .[0].file == "bad.yaml"
        and .[0].line == 6 and .[0].col > 1 and (.[0].message | test("64 Gb/s")))' stdout)" = true ] ||
        fail "errors: $command: not an object with both errors"
done
if command -v gnuplot >/dev/null; then
    object plot '.files | length > 1' "$tbmesh" plot --json result
fi
finish
