#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up of a development machine: Debian packages by apt-get, and the CUDA toolkit, which it can
# only ask for. Does nothing when everything is there. --quiet: says nothing in that case. --fuzz:
# also what ./dev fuzz needs.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

quiet="" fuzz=""
for argument in "$@"; do
    case $argument in
    --quiet) quiet=$argument ;;
    --fuzz) fuzz=$argument ;;
    *) die "setup: unknown argument $argument" ;;
    esac
done

packages=(
    build-essential cmake ninja-build ccache pkg-config python3 git procps strace binutils
    clang-format-14 clang-tidy-14
    python3-venv     # packages of Python that tests use
    groff-base       # checks the manual pages
    valgrind         # counts the instructions of a launch
    libssl-dev       # TLS
    libcriterion-dev # unit tests
    libmicrohttpd-dev # /metrics
    libsqlite3-dev   # tenants and their usage
    libuv1-dev       # the server's event loop
    libinih-dev      # configuration files
    libseccomp-dev   # the sandbox of backend processes
    libjansson-dev   # JSON of admins, the audit log
    libncurses-dev   # gpuaasctl top
    liblz4-dev libzstd-dev # compressed device code
    libibverbs-dev         # RDMA
    # RDMA is tested in a machine of its own (tests/rdma/vm.sh), next to its usual tools.
    qemu-system-x86 busybox-static cpio kmod iproute2 util-linux ibverbs-providers perftest
)
[ -z "$fuzz" ] || packages+=(clang-14 libclang-rt-14-dev)

missing_packages() {
    local package
    for package in "${packages[@]}"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

install_or_update() { # with the command in `install`
    "${install[@]}" || { apt-get update -q && "${install[@]}"; }
}

install_packages() {
    local missing=("$@")
    command -v apt-get >/dev/null ||
        die "missing: ${missing[*]} (Debian's names; without apt-get, install them by hand)"
    if [ "$(id -u)" -ne 0 ]; then
        die "missing packages; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fi
    note "installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local install=(apt-get install -y -q --no-install-recommends "${missing[@]}")
    quietly "installing ${#missing[@]} packages and what they need" build/log/setup.log \
        install_or_update || die "apt-get could not install: ${missing[*]}"
}

check_cuda() {
    find_cuda || die "no CUDA toolkit (include/cuda.h and bin/nvcc) in: ${cuda_tried[*]}." \
        "Install version 12.4 or newer from https://developer.nvidia.com/cuda-downloads" \
        "(the toolkit alone: no driver, no GPU is needed) or set CUDA_HOME to where it is."
    local version
    version=$(awk '$2 == "CUDA_VERSION" {print $3; exit}' "$cuda_home/include/cuda.h")
    [ "${version:-0}" -ge 12040 ] ||
        die "the CUDA toolkit in $cuda_home is version ${version:-unknown};" \
            "12040 (12.4) or newer is needed: https://developer.nvidia.com/cuda-downloads"
    [ -n "$quiet" ] || note "CUDA toolkit $version in $cuda_home"
}

if ! command -v dpkg-query >/dev/null; then
    note "setup: not a Debian machine; cannot check for: ${packages[*]}"
else
    mapfile -t missing < <(missing_packages)
    if [ ${#missing[@]} -gt 0 ]; then
        install_packages "${missing[@]}"
    fi
    [ -n "$quiet" ] || note "Debian packages: all ${#packages[@]} are installed"
fi
check_cuda
