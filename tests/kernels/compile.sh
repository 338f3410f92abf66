#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compile.sh NVCC OUT_DIR SOURCE LINK_FLAGS...: SOURCE into OUT_DIR/NAME (static CUDA runtime, as
# nvcc does by itself) and OUT_DIR/NAME_shared (-cudart shared); with the single flag -ptx into
# OUT_DIR/NAME.ptx. OUT_DIR is shared by all presets, so the work is skipped when a hash of what
# goes in says that it was done, and a lock keeps two builds from doing it at once.
set -euo pipefail
nvcc=$1 out=$2 source=$3
shift 3
name=$(basename "$source" .cu)
mkdir -p "$out"
exec 9>"$out/.$name.lock"
flock 9

outputs=("$out/$name" "$out/${name}_shared")
[ "${1:-}" != -ptx ] || outputs=("$out/$name.ptx")
here=$(dirname "$(readlink -f "$0")")
hash=$({ cat "$0" "$source" "$here"/*.h; echo "$nvcc $*"; "$nvcc" --version; } | sha256sum)
if [ "$(cat "$out/.$name.hash" 2>/dev/null)" = "$hash" ] && ls "${outputs[@]}" >/dev/null 2>&1; then
    touch "${outputs[@]}"
    exit 0
fi

rm -f "$out/.$name.hash"
if [ "${1:-}" = -ptx ]; then
    "$nvcc" -ptx "$source" -o "$out/$name.ptx"
else
    ccache=$(command -v ccache || true)
    # In the source's folder, so that ccache knows the same file again in another work tree.
    (cd "$here" && CCACHE_NOHASHDIR=1 $ccache "$nvcc" -c "$name.cu" -o "$out/.$name.o")
    "$nvcc" "$out/.$name.o" -o "$out/$name" "$@"
    "$nvcc" -cudart shared "$out/.$name.o" -o "$out/${name}_shared" "$@"
    rm "$out/.$name.o"
fi
echo "$hash" >"$out/.$name.hash"
