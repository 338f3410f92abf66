#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vm.sh: runs a command on a machine that has an RDMA device, on one that has none: Debian's own
# kernel in QEMU with soft-RoCE (rdma_rxe), the root file system of this machine read-only with
# fresh folders for temporary files, DIR at its own path wherever that is, the command's output and
# exit status passed out. Needs no root.
#
#   vm.sh [-t SECONDS] [-e NAME[=VALUE]]... DIR COMMAND [ARGUMENT]...
#   vm.sh -p                                                    only download and unpack the kernel
#
# -t: the command's limit (120). -e: a variable of its environment; without a value, the one that it
# has here, if it has one.
#
# Exit status: the command's; 124: its time was up; 125: the machine failed (its console is shown).
# Note: /dev/kvm proves nothing. Without vmx or svm in /proc/cpuinfo an ordinary kernel crawls under
# it, and emulation is faster. In the machine: rxe0 on the device rd0, whose address 10.77.0.1 both
# ends of a connection use; for what stands between them it has 10.77.0.2. The kernel's package is
# only unpacked, into GPUAAS_RDMA_VM (~/.cache/gpuaas-rdma-vm).
set -u
seconds=120 boot_seconds=120 only_prepare="" environment=()
format=2 # of what is kept; another number: it is made anew
PATH=$PATH:/usr/sbin:/sbin

die() {
    echo "vm.sh: $*" >&2
    exit 125
}

while getopts t:e:p option; do
    case $option in
    t) seconds=$OPTARG ;;
    e)
        name=${OPTARG%%=*}
        if [ "$name" != "$OPTARG" ]; then
            environment+=("$OPTARG")
        elif [ -n "${!name+set}" ]; then
            environment+=("$name=${!name}")
        fi
        ;;
    p) only_prepare=yes ;;
    *) die "unknown option (see the beginning of $0)" ;;
    esac
done
shift $((OPTIND - 1))
cache=${GPUAAS_RDMA_VM:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuaas-rdma-vm}

# ---- the kernel and what it starts with

kernel_package() {
    apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends:/ {print $2; exit}'
}

download() { # INTO
    local package
    package=$(kernel_package)
    if [ -z "$package" ] || ! (cd "$1" && apt-get -q download "$package" >&2); then
        apt-get -q update >&2 # lists may be missing or old
        package=$(kernel_package)
        [ -n "$package" ] && (cd "$1" && apt-get -q download "$package" >&2) ||
            die "the package linux-image-amd64 cannot be downloaded: it has the kernel of the" \
                "machine in which RDMA is tested (is there a network, and a Debian mirror?)"
    fi
}

unpack_kernel() { # FROM TO: an uncompressed kernel starts sooner
    python3 - "$1" "$2" <<'PY' 2>/dev/null || cp "$1" "$2"
import lzma, sys
data, at = open(sys.argv[1], "rb").read(), -1
while True:
    at = data.find(b"\xfd7zXZ\0", at + 1)
    if at < 0:
        sys.exit(1)
    try:
        kernel = lzma.LZMADecompressor().decompress(data[at:])
    except lzma.LZMAError:
        continue
    if kernel[:4] == b"\x7fELF":
        open(sys.argv[2], "wb").write(kernel)
        sys.exit(0)
PY
}

write_init() { # TO
    cat >"$1" <<'INIT'
#!/bin/busybox sh
B=/bin/busybox
bye() { $B sync; $B poweroff -f; }
$B mount -t proc p /proc; $B mount -t sysfs s /sys; $B mount -t devtmpfs d /dev
while read m; do $B insmod /m/$m || echo "vm.sh: insmod $m failed"; done </m/order
M="trans=virtio,version=9p2000.L,msize=512000"
$B mount -t 9p -o $M,ro,cache=loose root /r || { echo "vm.sh: no root"; bye; }
$B mount -t 9p -o $M,cache=none ctl /c || { echo "vm.sh: no ctl"; bye; }
D=$($B cat /c/dir)
$B mount -t devtmpfs d /r/dev; $B mkdir -p /r/dev/shm /r/dev/pts; $B mount -t devpts p /r/dev/pts
for d in /tmp /run /var/tmp /dev/shm; do
    [ -d /r$d ] && $B mount -t tmpfs -o mode=1777 t /r$d; done
$B mount -t proc p /r/proc; $B mount -t sysfs s /r/sys
$B mkdir -p /r/run/vm "/r$D" 2>/dev/null
$B mount -o bind /c /r/run/vm
$B mount -t 9p -o $M,ro,cache=loose work "/r$D" || { echo "vm.sh: no work folder"; bye; }
$B hostname rdma-vm
[ -c /dev/hvc0 ] || { echo "vm.sh: no hvc0"; bye; }
exec 3<>/dev/hvc0; $B stty -F /dev/hvc0 raw -echo   # kept open: the last close resets it
$B chroot /r /bin/bash /run/vm/run </dev/null >/dev/hvc0 2>&1
bye
INIT
    chmod 755 "$1"
}

prepare() {
    local tool work root modules version module file
    for tool in qemu-system-x86_64 busybox cpio modprobe depmod rdma python3; do
        command -v $tool >/dev/null || die "$tool is missing (./dev setup installs it)"
    done
    mkdir -p "$cache" || die "cannot make $cache"
    exec 9>"$cache/lock"
    flock 9
    if [ "$(cat "$cache/format" 2>/dev/null)" != $format ]; then
        work=$(mktemp -d "$cache/making.XXXXXX") || die "cannot write to $cache"
        download "$work"
        modules=$work/package root=$work/root
        dpkg -x "$work"/*.deb "$modules" || die "the kernel's package cannot be unpacked"
        [ -d "$modules/lib/modules" ] || ln -sfn usr/lib "$modules/lib"
        version=$(basename "$modules"/lib/modules/*)
        depmod -b "$modules" "$version" || die "depmod fails"
        unpack_kernel "$modules/boot/vmlinuz-$version" "$work/kernel"
        mkdir -p "$root"/{bin,proc,sys,dev,r,c,m}
        cp "$(command -v busybox)" "$root/bin/busybox"
        : >"$root/m/order"
        for module in virtio_pci virtio_console 9pnet_virtio 9p crc32_generic rdma_rxe rdma_ucm \
            ib_uverbs dummy; do
            modprobe -d "$modules" -S "$version" --show-depends $module 2>/dev/null |
                awk '/^insmod/ {print $2}' | while read -r file; do
                grep -qx "${file##*/}" "$root/m/order" && continue
                echo "${file##*/}" >>"$root/m/order"
                cp "$file" "$root/m/"
            done
        done
        grep -q rdma_rxe "$root/m/order" || die "the kernel $version has no rdma_rxe"
        write_init "$root/init"
        (cd "$root" && find . | cpio -o -H newc --quiet | gzip -6) >"$work/initrd.gz" ||
            die "cpio fails"
        mv "$work/kernel" "$work/initrd.gz" "$cache/" && echo $format >"$cache/format"
        rm -rf "$work"
    fi
    exec 9>&-
}

prepare
[ -z "$only_prepare" ] || exit 0
[ $# -ge 2 ] || die "DIR and COMMAND are missing (see the beginning of $0)"
folder=$(readlink -f "$1") && [ -d "$folder" ] || die "no folder $1"
shift

# ---- one machine

accelerator="-accel tcg,thread=multi -cpu max,la57=off"
if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
    accelerator="-accel kvm -cpu host"
fi
state=$(mktemp -d "${TMPDIR:-/tmp}/gpuaas-rdma-vm.XXXXXX") || die "no temporary folder"
machine=""
leave() {
    [ -z "$machine" ] || { kill -9 "$machine" && wait "$machine"; } 2>/dev/null
    rm -rf "$state"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$state/ctl"
printf '%s\n' "$folder" >"$state/ctl/dir"
{
    echo 'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    echo 'export HOME=/tmp LANG=C.UTF-8'
    for variable in "${environment[@]}"; do printf 'export %q\n' "$variable"; done
    printf 'seconds=%q folder=%q command=(' "$seconds" "$folder"
    printf '%q ' "$@"
    echo ')'
    cat <<'RUN'
{
    ip link set lo up
    ip link add rd0 type dummy && ip addr add 10.77.0.1/24 dev rd0
    ip addr add 10.77.0.2/24 dev rd0 && ip link set rd0 mtu 4200 up
    rdma link add rxe0 type rxe netdev rd0
} >/dev/ttyS0 2>&1
state=/sys/class/infiniband/rxe0/ports/1/state
for i in $(seq 100); do
    grep -q ACTIVE $state 2>/dev/null && break
    sleep .05
done
grep -q ACTIVE $state || { echo "vm.sh: no rxe0" >/dev/ttyS0; exit; }
ulimit -l unlimited
ulimit -c 0
cd "$folder"
echo >/run/vm/started
timeout -k 5 "$seconds" "${command[@]}"
status=$?
if [ $status = 124 ]; then
    { ps axo pid,stat,wchan:20,args | grep -v '\]$'; rdma resource show qp; } >/dev/ttyS0 2>&1
fi
stty -F /dev/hvc0 -a >/dev/null 2>&1 # what was written has left by then
echo $status >/run/vm/status.new
mv /run/vm/status.new /run/vm/status
RUN
} >"$state/ctl/run"

share() { # NAME PATH OPTIONS
    echo "-fsdev local,id=$1,path=$2,security_model=none,multidevs=remap$3" \
        "-device virtio-9p-pci,fsdev=$1,mount_tag=$1"
}

boot() { # whether the command was reached
    local begun=$SECONDS limit=$boot_seconds
    rm -f "$state/ctl/started" "$state/ctl/status"
    # shellcheck disable=SC2046,SC2086
    qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M pc $accelerator \
        -smp 2 -m 1536 -kernel "$cache/kernel" -initrd "$cache/initrd.gz" \
        -append "console=ttyS0 panic=-1 nokaslr mitigations=off random.trust_cpu=on tsc=reliable \
no_timer_check audit=0 quiet loglevel=4" \
        -serial "file:$state/console" -chardev stdio,id=out,signal=off \
        -device virtio-serial-pci -device virtconsole,chardev=out \
        $(share root / ,readonly=on) $(share ctl "$state/ctl" "") \
        $(share work "$folder" ,readonly=on) </dev/null &
    machine=$!
    while kill -0 "$machine" 2>/dev/null; do
        [ ! -e "$state/ctl/started" ] || limit=$((boot_seconds + seconds + 15))
        if [ $((SECONDS - begun)) -ge $limit ]; then
            kill -9 "$machine"
            echo "vm.sh: killed after $limit s" >>"$state/console"
        fi
        sleep .1
    done
    wait "$machine" 2>/dev/null
    machine=""
    [ -e "$state/ctl/started" ]
}

for try in 1 2 3; do
    boot && break
    echo "vm.sh: boot $try failed; the console:" >&2
    tail -n 15 "$state/console" >&2
done
status=125
[ ! -s "$state/ctl/status" ] || status=$(cat "$state/ctl/status")
case $status in 124 | 125) cat "$state/console" >&2 ;; esac
exit "$status"
