#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tables of docs/scheduling.md are what gpuaas-sim writes. Arguments: gpuaas-sim, the page.
tables=$(awk '/^<!-- gpuaas-sim tables -->$/ { ours = 1; next } /^<!-- end -->$/ { ours = 0 }
              ours && /^\|/' "$2")
written=$("$1" tables | grep '^|')
if [ "$tables" != "$written" ]; then
    echo "the tables of $2 are old: write them with ./dev pages" >&2
    exit 1
fi
