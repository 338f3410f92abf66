# SPDX-License-Identifier: Apache-2.0
"""The client library is a guest in arbitrary processes: what it needs, exports and asks of the
loader is checked on the release build, on the library as it lies there."""

import os
import re
import subprocess

NEEDED = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
EXPORTS = re.compile(r"^(cu|nvml)[A-Z]\w*$")
NEWEST_GLIBC = (2, 28)
FAULT_VARIABLE = b"GPUAAS_TEST_FAULT"
LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
# pthreads(7), where a thread that is cancelled ends; of those that only may be, what does input or
# output. Left out is what OpenSSL has, and the library never comes to: gethostbyname, perror.
CANCELLATION_POINTS = set("""
    accept accept4 aio_suspend clock_nanosleep close connect creat epoll_pwait epoll_wait fcntl
    fcntl64 fdatasync fsync getrandom lockf msgrcv msgsnd msync nanosleep open open64 openat
    openat64 pause poll ppoll pread pread64 preadv pselect pthread_cond_clockwait
    pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel pwrite pwrite64 pwritev
    read readv recv recvfrom recvmmsg recvmsg select sem_clockwait sem_timedwait sem_wait send
    sendmmsg sendmsg sendto sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice system
    tcdrain tee usleep vmsplice wait wait3 wait4 waitid waitpid write writev
    closedir dprintf fclose fflush fgetc fgets fopen fopen64 fprintf fputc fputs fread freopen
    fscanf fseek fseeko ftell fwrite getaddrinfo getc getdelim getline getnameinfo mkstemp opendir
    pclose popen printf putc puts readdir readdir64 syslog vdprintf vfprintf vprintf""".split())
UNCANCELLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "client",
                           "process", "cancellation.c")


def uncancelled():
    """The functions that client/process/cancellation.c wraps."""
    with open(UNCANCELLED, encoding="utf-8") as f:
        return set(re.findall(r"(?m)^UNCANCELLED(?:_BY)?\((\w+),", f.read()))


def readelf(flag, path):
    return subprocess.run(["readelf", "-W", flag, path], check=True, capture_output=True,
                          text=True).stdout


def check(build):
    folder = os.path.join(build, "lib", "gpuaas")
    if not os.path.exists(os.path.join(folder, LIBRARIES[0])):
        yield f"{folder}/{LIBRARIES[0]}: not there; build the release preset first"
    for name in LIBRARIES:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            for message in check_library(path, name):
                yield f"{path}: {message}"


def check_library(path, soname):
    yield from check_dynamic(readelf("-d", path), soname)
    yield from check_symbols(readelf("--dyn-syms", path))
    stack = re.search(r"GNU_STACK.*", readelf("-l", path))
    if not stack or re.search(r"\bRWE\b", stack.group()):
        yield "asks for an executable stack"
    with open(path, "rb") as f:
        if FAULT_VARIABLE in f.read():
            yield "contains the transport that breaks connections; that is for tests alone"


def check_dynamic(text, soname):
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", text):
        if needed not in NEEDED:
            yield f"needs {needed}; allowed are {', '.join(sorted(NEEDED))}"
    if not re.search(rf"\(SONAME\).*\[{re.escape(soname)}\]", text):
        yield f"has another SONAME than {soname}"
    if not re.search(r"\(FLAGS_1\).*\bNODELETE\b", text):
        yield "may be unloaded: link it with -z nodelete"
    for tag in ("TEXTREL", "RPATH", "RUNPATH"):
        if f"({tag})" in text:
            yield f"has {tag}"


def check_symbols(text):
    wrapped = uncancelled()
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        bind, section, name = fields[4], fields[6], fields[7]
        version = re.search(r"@GLIBC_(\d+)\.(\d+)", name)
        if section != "UND" and bind != "LOCAL" and not EXPORTS.match(name.split("@")[0]):
            yield f"exports {name}; only names of CUDA and NVML may be seen"
        if section == "UND" and name.split("@")[0] in CANCELLATION_POINTS - wrapped:
            yield f"calls {name}, a cancellation point that is not in client/process/cancellation.c"
        if section == "UND" and version and tuple(map(int, version.groups())) > NEWEST_GLIBC:
            yield f"binds {name}; nothing newer than GLIBC_{NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}"
