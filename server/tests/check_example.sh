#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example file in docs/ is what gpuaasd writes. Arguments: gpuaasd, the file.
"$1" --example-config | diff -u "$2" - || {
    echo "docs/gpuaasd.conf.example is old: write it with gpuaasd --example-config" >&2
    exit 1
}
