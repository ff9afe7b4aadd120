#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_validation.sh TBMESH ROOT: the validation page, the shipped parameters and the program agree.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# The table in the page is the program's output.
"$tbmesh" validate >printed
awk '/^<!-- what `tbmesh validate` prints/ { wanted = 1; next }
     wanted && /^```/ { if (inside) exit; inside = 1; next }
     inside' "$root/docs/validation.md" >documented
[ -s documented ] || fail "docs/validation.md holds no table"
diff -u documented printed || fail "docs/validation.md is not what tbmesh validate prints"

# A file of the same rows gives the same table; JSON is one object with the keys that are promised.
"$tbmesh" validate "$root/models/measurements/fabric.csv" >again
cmp -s printed again || fail "the shipped rows and their file differ"
"$tbmesh" validate --json >json
for key in tbmesh rows median_error_pct p90_error_pct worst_error_pct coverage_pct not_expressed \
    id predicted low high measured unit error_pct label; do
    grep -q "\"$key\"" json || fail "no key $key in the JSON of validate"
done

# values FILE: "name value unit" of each parameter of a model file.
values() {
    sed -n 's/^  - {name: \([a-z_.0-9]*\), value: \([^,]*\), low.*/\1 \2/p' "$1"
}

# The shipped parameters are what the fit finds, to the digit. (test_calibrate begins elsewhere.)
"$tbmesh" calibrate "$root/models/measurements/fabric.csv" >fit.yaml
grep '^  - {chip:' fit.yaml >chips || fail "no rate of a chip was fitted"
awk '/name: m3-ultra/ { at = 1 } at && /host_staging/ { print $2 * 8; exit }' \
    "$root/models/chips.yaml" >staging
[ "$(sed -n 's/.*host_staging: \([0-9.]*\) Gb.*/\1/p' chips)" = "$(cat staging)" ] ||
    fail "host_staging of m3-ultra is not what the fit finds: $(cat chips)"

# names in units of the printed value, so that 7.5 GB/s and 60 Gb/s compare
normal() {
    values "$1" | awk '{
        f = 1; u = $3
        if (u == "GB/s") { f = 8e9 } else if (u == "Gb/s") { f = 1e9 } else if (u == "ps") { f = 1e-12 }
        else if (u == "ns") { f = 1e-9 } else if (u == "us") { f = 1e-6 } else if (u == "KiB") { f = 1024 }
        printf "%s %.12g\n", $1, $2 * f }'
}
normal fit.yaml >fitted
normal "$root/models/calibration.yaml" >shipped
[ -s shipped ] || fail "no parameter was read from models/calibration.yaml"
diff -u shipped fitted || fail "models/calibration.yaml is not what the fit finds"

# What is printed is a profile that can be used.
"$tbmesh" validate --calibration fit.yaml >with_fit || fail "the fitted profile is refused"
grep -q 'median 0' with_fit || fail "the fitted profile does not fit"

# A claim above the line rate is called so, and does not count.
{
    head -1 "$root/models/measurements/fabric.csv" | cut -d, -f1-11
    echo 'wild,send_bandwidth,M4 Max MBP - Linux,2,1,ib_send_bw,4096,191,Gb/s,,'
} >wild.csv
"$tbmesh" validate wild.csv >wild
grep -q 'wild: physically impossible: 191 Gb/s is above the 40.00 Gb/s' wild ||
    fail "191 Gb/s on a 40 Gb/s cable passed: $(cat wild)"

# Bad files: exit code 2 and a place.
echo 'id,kind' >columns.csv
code=0
"$tbmesh" validate columns.csv >/dev/null 2>err || code=$?
[ "$code" = 2 ] || fail "a file without columns gave exit code $code"
grep -q "^columns.csv:1:1: no column 'hosts'" err || fail "no place: $(cat err)"

finish
