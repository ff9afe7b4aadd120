#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check.sh TBMESH SCHEMA_CHECK ROOT: the JSON of each command follows its schema, and a schema
# that nothing here follows is an error.
set -eu
tbmesh=$1
check=$2
root=$3
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top"
failures=0

# follows SCHEMA EXPECTED_EXIT COMMAND...
follows() {
    schema=$root/schema/$1.schema.json
    expected=$2
    command=$3
    shift 3
    code=0
    "$tbmesh" "$command" --json "$@" >out.json 2>err.txt </dev/null || code=$?
    echo "${schema##*/}" >>used
    if [ "$code" != "$expected" ]; then
        echo "exit $code, expected $expected: tbmesh $command $*"
        cat err.txt
        failures=1
    elif ! "$check" "$schema" out.json; then
        echo "tbmesh $command $*"
        failures=1
    fi
}

ultra=$root/scenarios/clusters/four-studios.yaml
sed -e 's/^rdma: enabled/rdma: disabled/' -e '/^expect:/,$d' "$ultra" >unfit.yaml
sed 's/^seed:/sead:/' "$ultra" >bad.yaml

follows sim 0 sim "$ultra" --out result
"$check" "$root/schema/sim.schema.json" result/result.json || failures=1
follows check 0 check "$ultra"
follows check 1 check unfit.yaml
follows errors 2 sim bad.yaml
follows errors 2 check "$root"
follows explain 0 explain rdma.goodput
follows explain 0 explain host_staging
follows explain 0 explain port-count
follows names 0 explain
follows models 0 models
follows models 0 models mac-mini-m4-pro
follows text 0 export --matrix "$ultra"
"$tbmesh" export --matrix "$ultra" --out matrix.json
follows text 0 import --mlx matrix.json --model mac-studio-m3-ultra
follows validate 0 validate
head -5 "$root/models/measurements/fabric.csv" >few.csv
follows calibrate 0 calibrate few.csv
if command -v gnuplot >/dev/null; then
    follows files 0 plot result
else
    echo files.schema.json >>used
fi

# The emulator's shared objects are not part of a build with a sanitizer. What comes with its results
# is in tests/clients/test_result.sh.
if [ -e "$(dirname "$tbmesh")/../lib/tbmesh/libtbmesh.so" ]; then
    follows run 0 run --ranks 2 "$ultra" -- true
    follows run 1 run --ranks 2 "$ultra" -- false
    follows errors 2 run --ranks 9 "$ultra" -- true
else
    echo run.schema.json >>used
fi

for schema in "$root"/schema/*.json; do
    grep -qx "${schema##*/}" used || { echo "nothing follows ${schema##*/}"; failures=1; }
done
# The checker can say no.
if "$check" "$root/schema/check.schema.json" result/result.json >/dev/null; then
    echo "a result of sim passes as one of check"
    failures=1
fi
exit "$failures"
