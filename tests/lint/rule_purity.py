"""sched/ holds decisions only: its objects may refer to nothing but these functions of libc. What
counts are undefined symbols of the compiled objects, so no macro and no include hides a call."""

import os
import subprocess

ALLOWED = {
    "memcpy", "memmove", "memset", "memcmp", "strcmp", "strncmp", "strlen", "strchr", "snprintf",
    "malloc", "calloc", "realloc", "free", "qsort", "bsearch", "abort", "__assert_fail",
    "sqrt", "pow", "exp", "log", "floor", "ceil", "fabs", "fmin", "fmax", "round",
    "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_",
}
# What a sanitizer adds, and our own.
ALLOWED_PREFIXES = ("__asan_", "__ubsan_", "__tsan_", "ga_", "sched_")


def check_objects(objects):
    """Yields (object, symbol) for each symbol that does not belong there."""
    defined, wanted = set(), []
    for path in objects:
        listed = subprocess.run(["nm", "--format=posix", path], check=True, capture_output=True,
                                text=True)
        for line in listed.stdout.splitlines():
            name, kind = line.split()[:2]
            if kind == "U":
                wanted.append((path, name))
            else:
                defined.add(name)
    for path, name in wanted:
        if name not in defined and name not in ALLOWED and not name.startswith(ALLOWED_PREFIXES):
            yield path, name


def check(tree, build):
    """`build` is the folder of a build; sched's objects are looked for below it."""
    if not any(file.folder == "sched" and file.suffix == ".c" for file in tree.files):
        return
    objects = [os.path.join(folder, name)
               for folder, _, names in os.walk(os.path.join(build, "sched"))
               for name in names if name.endswith(".o") and "/tests/" not in folder]
    if not objects:
        yield f"{build}: there are sources in sched/ but no objects: build first"
    for path, name in check_objects(objects):
        yield f"{path}: {name}: sched/ decides only; time, randomness and I/O are arguments"
