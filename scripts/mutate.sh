#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev mutate: faults that the tests do not notice. scripts/mutate does the work; it needs clang's
# Python module, which is installed in build/mutate/venv.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

venv=build/mutate/venv
need_setup
if ! "$venv/bin/python" -c 'import clang.cindex' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        -r scripts/mutate/requirements.txt || die "pip could not install clang's Python module"
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" scripts/mutate "$@"
