#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh PYTHON API_FOLDER STUB_LIBRARY: checks that every exported symbol is described
# exactly once.
set -eu
list=$(mktemp)
trap 'rm -f "$list"' EXIT
nm -D "$3" | awk '$2 == "T" { print $3 }' >"$list"
[ "$(wc -l <"$list")" -gt 500 ] || { echo "$3 exports too few symbols"; exit 1; }
PYTHONDONTWRITEBYTECODE=1 "$1" "$2/gen/generate.py" --api "$2/cuda" --check-symbols "$list"
