#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev fuzz: feeds a target with inputs that libFuzzer makes of those that went deepest before,
# until one breaks something or the time is over. Inputs that go deeper are kept for the next time,
# in build/fuzz-corpus/TARGET; what breaks something lies in build/fuzz-findings/TARGET.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/lib.sh

folder=tests/fuzz
memory_mb=1024 # a target that needs more has been talked into it by its input
input_s=10     # for one input; most take less than a millisecond

targets() { basename -s .c -a "$folder"/targets/*.c; }

list() {
    local target
    cat <<'END'
usage: ./dev fuzz TARGET SECONDS    one target; `all`: each of them, one after another
       ./dev fuzz TARGET FILE...    replays inputs (or folders of them)
       ./dev fuzz TARGET add FILE...
                                    adds inputs to the corpus, tests/fuzz/corpus/TARGET.tar
       ./dev fuzz TARGET minimize   makes the corpus anew of all that is known
Targets:
END
    for target in $(targets); do
        # The first sentence of the file, behind the line of its licence.
        printf '  %-10s %s\n' "$target" "$(sed 1d "$folder/targets/$target.c" |
            sed -n '0,/[.;:]\( \|$\)/p' | tr '\n' ' ' |
            sed 's,^/\* ,,; s, \* , ,g; s,\([^.;:]*\)[.;:] .*,\1,; s, \*/ *,,')"
    done
}

build() { configure_and_build fuzz "$@" >&2; }

# The corpus of the repository, as a folder for libFuzzer.
unpacked() { # TARGET
    local made=build/fuzz/unpacked/$1
    rm -rf "$made"
    mkdir -p "$made"
    [ ! -e "$folder/corpus/$1.tar" ] || tar -xf "$folder/corpus/$1.tar" -C "$made"
    printf '%s\n' "$made"
}

# Equal files make an equal archive, whoever packs them.
pack() { # TARGET FOLDER
    mkdir -p "$folder/corpus"
    (cd "$2" && find . -type f -printf '%P\n' | LC_ALL=C sort) |
        tar -cf "$folder/corpus/$1.tar" -C "$2" --format=ustar --mode=0644 --mtime=@0 --owner=0 \
            --group=0 --numeric-owner --no-recursion -T -
    note "$folder/corpus/$1.tar: $(tar -tf "$folder/corpus/$1.tar" | wc -l) inputs," \
        "$(du -h "$folder/corpus/$1.tar" | cut -f 1)"
}

# The inputs of the repository, and those that this machine has found.
known() { # TARGET
    unpacked "$1"
    find "$folder/findings/$1" "build/fuzz-corpus/$1" -maxdepth 0 2>/dev/null || true
}

run() { # TARGET ARGUMENTS
    local target=$1
    shift
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 \
        "build/fuzz/fuzz/fuzz_$target" -rss_limit_mb=$memory_mb -malloc_limit_mb=$memory_mb \
        -timeout=$input_s "$@"
}

fuzz() { # TARGET SECONDS
    local target=$1 corpus=build/fuzz-corpus/$1 findings=build/fuzz-findings/$1 log
    mkdir -p "$corpus" "$findings"
    log=$findings/log
    note "== $target: $2 s; log: $log"
    if run "$target" -max_total_time="$2" -artifact_prefix="$findings/" -print_final_stats=1 \
        "$corpus" $(known "$target") >"$log" 2>&1; then
        sed -n 's/^#[0-9]*\tDONE */   nothing found; /p' "$log"
        return
    fi
    grep -E 'ERROR|SUMMARY|does not hold|runtime error|Test unit written' "$log" >&2 ||
        tail "$log" >&2
    note "$target found something. To replay it: ./dev fuzz $target $(
        sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
    note "When it is fixed, keep the input in $folder/findings/$target: every test run replays it."
    return 1
}

minimize() { # TARGET
    local made=build/fuzz/minimized
    rm -rf "$made"
    mkdir -p "$made"
    run "$1" -merge=1 -max_len=16384 "$made" $(known "$1") 2>&1 | tail -n 1
    pack "$1" "$made"
}

add() { # TARGET FILE...
    local target=$1 made
    shift
    [ $# -gt 0 ] || die "fuzz $target add: which files?"
    made=$(unpacked "$target")
    cp -- "$@" "$made/"
    pack "$target" "$made"
}

[ $# -gt 0 ] || { list && exit 0; }
target=$1
shift
if [ "${1:-}" = add ]; then
    [ -e "$folder/targets/$target.c" ] || { list && die "fuzz: no target $target"; }
    add "$target" "${@:2}"
    exit
fi
scripts/setup.sh --quiet --fuzz
if [ "$target" = all ]; then
    [[ ${1:-} =~ ^[0-9]+$ ]] || die "fuzz all: for how many seconds each?"
    build fuzzers
    found=0
    for target in $(targets); do
        fuzz "$target" "$1" || found=1
    done
    exit $found
fi
[ -e "$folder/targets/$target.c" ] || { list && die "fuzz: no target $target"; }
build "fuzz_$target"
case ${1:-} in
"") die "fuzz $target: for how many seconds, or which files?" ;;
minimize) minimize "$target" ;;
*[!0-9]*) run "$target" "$@" ;;
*) fuzz "$target" "$1" ;;
esac
