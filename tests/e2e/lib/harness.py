# SPDX-License-Identifier: Apache-2.0
"""The library of every end-to-end test: servers on 127.0.0.1 with software GPUs, unmodified
programs that run on them or locally, all of it bounded in time and ended by process id, and a look
at what is left behind. Unmodified programs get the sanitizer's runtime preloaded where our library
is built with one.

A script defines functions test_* that take a Build and calls main(); ctest runs the script.
Programs reach their servers over TCP, as from other machines, unless GPUAAS_TEST_TRANSPORT says
otherwise: some scripts run several times. `tls`: servers listen with certificates to throw away.
`auto`: by shared memory, and so are large copies unless GPUAAS_TEST_SHARED_MEMORY is 0. `rdma`:
where there is a network card for it, whose address is GPUAAS_TEST_RDMA (tests/rdma/vm.sh)."""

import argparse
import atexit
import contextlib
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass

from lib import certificates

START_SECONDS = 30
STOP_SECONDS = 15
SPARES_SECONDS = 30  # one is promised within a second, but the machine may be busy
# An interpreter under a sanitizer, on a busy machine.
PROGRAM_SECONDS = 240
STACKS_MAX = 12  # processes
# A line of the log of gpuaasd
LINE = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<process>[\w-]+)"
                  r"\[(?P<pid>\d+)\] (?P<level>error|warn|info|debug): "
                  r"(?:(?P<client>127\.\d+\.\d+\.\d+:\d+): )?(?P<msg>.*)")
RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so"}  # of sanitizers


class Failure(Exception):
    """The product did something else than it promises; the text says what."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(condition, seconds, text):
    """Asks `condition` until it is true; its last answer is returned."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        expect(time.monotonic() < deadline, f"not within {seconds} s: {text}")
        time.sleep(0.02)


TRANSPORT = os.environ.get("GPUAAS_TEST_TRANSPORT", "tcp")
HOST = os.environ["GPUAAS_TEST_RDMA"] if TRANSPORT == "rdma" else "127.0.0.1"
# The machine with that card is emulated, and slow.
PATIENT = ["ticket_s = 120", "handshake_timeout_s = 120"] if TRANSPORT == "rdma" else []
SHARED_MEMORY = os.environ.get("GPUAAS_TEST_SHARED_MEMORY")  # of servers; "0": copies are sent


@functools.cache
def authority():
    """The one that this script's servers have their certificates from."""
    folder = tempfile.TemporaryDirectory(prefix="gpuaas-authority-")
    atexit.register(folder.cleanup)
    return certificates.Authority(folder.name)


@functools.cache
def certificate(host):
    """A server's: certificate and key."""
    kind = "IP" if re.fullmatch(r"[\d.]+", host) else "DNS"
    return authority().sign(f"server-{host}", f"{kind}:{host}")


def with_tls(config):
    """The configuration with tls where it says tcp."""
    host = re.search(r"(?m)^listen *= *tcp://([^:\s]+)", config)
    if not host:
        return config
    cert, key = certificate(host.group(1))
    return re.sub(r"(?m)^(listen *= *)tcp://", r"\1tls://", config).replace(
        "[server]\n", f"[server]\ntls_cert = {cert}\ntls_key = {key}\n", 1)


def with_consent(config):
    """The configuration; where others could reach the server, with `insecure = yes`. A test of just
    that says `insecure = no`."""
    hosts = re.findall(r"(?m)^listen *= *\w+://([^:\s]+)", config)
    if all(host.startswith(("127.", "localhost")) for host in hosts) or re.search(
            r"(?m)^(insecure|auth) *=", config):
        return config
    return config.replace("[server]\n", "[server]\ninsecure = yes\n", 1)


@dataclass
class Build:
    folder: str  # build/PRESET
    kernels: str  # build/kernels
    sanitize: str  # none, address, thread, or mutants (scripts/mutate)
    cuda: str  # root of the CUDA toolkit

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def has_failpoints(self):
        """Builds with sanitizers have them (base/failpoint.h)."""
        if self.sanitize == "none":
            print("  (left out: no failpoints in this build)")
        return self.sanitize != "none"

    def program(self, name, shared=False):
        return os.path.join(self.kernels, name + ("_shared" if shared else ""))

    def environment(self, library_folder=None, extra=None, preload=True):
        """The environment of a program that is to find our library in `library_folder`."""
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("GPUAAS_", "SOFTGPU_", "CUDA_", "LD_"))}
        folders = [library_folder] if library_folder else []
        env["LD_LIBRARY_PATH"] = ":".join([*folders, os.path.join(self.cuda, "lib64")])
        env["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
        env["TSAN_OPTIONS"] = "exitcode=66"
        env["SOFTGPU_NODE"] = f"test-{os.getpid()}"  # what else runs here has other GPUs
        if self.sanitize in RUNTIMES and preload:
            env["LD_PRELOAD"] = sanitizer_runtime(self.sanitize)
        if TRANSPORT == "tls":
            env["GPUAAS_CA"] = authority().ca
        env.update(extra or {})
        return env

    def remote(self, servers, **extra):
        extra["GPUAAS_SERVERS"] = ",".join(server.address for server in servers)
        extra.setdefault("GPUAAS_TRANSPORT", TRANSPORT)
        return self.environment(self.path("lib", "gpuaas"), extra)

    def keeping_ptx(self, env):
        """The environment with the libraries that make run-time compilers keep PTX."""
        jit = glob.glob(self.path("lib", "gpuaas", "jit", "*.so.*"))
        return {**env, "LD_PRELOAD": ":".join(filter(None, [env.get("LD_PRELOAD"), *jit]))}

    def local(self, devices=None):
        extra = {"SOFTGPU_DEVICES": devices} if devices else {}
        return self.environment(self.path("lib", "softgpu"), extra)


def sanitizer_runtime(sanitize):
    name = RUNTIMES[sanitize]
    found = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True,
                           text=True).stdout.strip()
    return os.path.realpath(found)


class Reader(threading.Thread):
    """Reads a pipe to its end, so that nobody blocks on it; keeps the lines."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe = pipe
        self.lines = []
        self.start()

    def run(self):
        with self.pipe:
            for line in self.pipe:
                self.lines.append(line.rstrip("\n"))

    @property
    def text(self):
        return "\n".join(self.lines)


class Process:
    """A process that we started and end, with both its outputs."""

    def __init__(self, command, env, stdin=subprocess.DEVNULL):
        self.command = command
        self.started = time.monotonic()
        self.popen = subprocess.Popen(command, env=env, stdin=stdin, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      errors="replace")
        self.out = Reader(self.popen.stdout)
        self.err = Reader(self.popen.stderr)

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def wait(self, seconds):
        """Its exit status (negative: minus the signal that ended it)."""
        try:
            status = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            where = stacks()
            self.kill()
            raise Failure(f"{self} has not ended within {seconds} s\n{self.report()}\n"
                          f"{where}") from None
        self.seconds = time.monotonic() - self.started
        self.out.join(5)
        self.err.join(5)
        return status

    def kill(self, number=signal.SIGKILL):
        if self.running():
            os.kill(self.pid, number)

    def end(self):
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(10)

    def wait_for_line(self, pattern, seconds, reader=None):
        reader = reader or self.out

        def found():
            more = self.running() or reader.is_alive()  # asked first: then all lines are here
            for line in list(reader.lines):
                match = re.search(pattern, line)
                if match:
                    return match
            expect(more, f"{self} ended without saying {pattern!r}\n{self.report()}")
            return None
        return wait_until(found, seconds, f"{self} says {pattern!r}\n{self.report()}")

    def report(self):
        return f"--- stdout of {self}\n{self.out.text}\n--- stderr of {self}\n{self.err.text}"

    def __str__(self):
        return f"{os.path.basename(self.command[0])}[{self.pid}]"


def logged(process, level=r"\w+"):
    """The lines that our library has logged in a program."""
    return [line for line in list(process.err.lines)
            if re.match(rf"\S+Z gpuaas\[\d+\] {level}: ", line)]


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += [int(word) for word in f.read().split()]
    return found


def stacks():
    """Where every process that this test has started is now, if there is a debugger."""
    if shutil.which("gdb") is None:
        return "(without gdb nothing is known of where it stands)"
    found, new = [], children(os.getpid())
    while new:
        found += new
        new = [child for pid in new for child in children(pid)]
    texts = []
    for pid in found[:STACKS_MAX]:
        with contextlib.suppress(subprocess.TimeoutExpired):
            got = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"],
                                 capture_output=True, text=True, errors="replace", timeout=60,
                                 stdin=subprocess.DEVNULL, check=False)
            lines = [line for line in got.stdout.splitlines() if re.match(r"Thread|#", line)]
            texts.append("\n".join([f"--- {name_of(pid)}[{pid}]", *lines]))
    return "\n".join(texts)


def name_of(pid):
    """As `ps` shows it; "" when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()
    return ""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Server(Process):
    """A gpuaasd in the foreground, with its configuration in a folder of its own."""

    def __init__(self, build, gpus=2, host=HOST, keys=(), gpu_keys=(), config=None, program=None,
                 extra=None, prefix=()):
        self.folder = tempfile.TemporaryDirectory(prefix="gpuaas-e2e-")
        self.config = os.path.join(self.folder.name, "gpuaasd.conf")
        text = config if config is not None else configuration(gpus, host, keys, gpu_keys)
        text = with_consent(with_tls(text) if TRANSPORT == "tls" else text)
        self.store = os.path.join(self.folder.name, "store.db")
        text = text.replace("store = STORE", f"store = {self.store}")
        wanted = re.search(r"(?m)^spare_backends *= *(\d+)", text)
        self.spares_wanted = int(wanted.group(1)) if wanted else 1
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)
        env = build.environment(preload=False)
        env["ASAN_OPTIONS"] = "detect_leaks=1"
        del env["LD_LIBRARY_PATH"]
        env.update(extra or {})
        command = [program or build.path("bin", "gpuaasd"), "--config", self.config]
        super().__init__([*prefix, *command], env)

    def wait_ready(self):
        match = self.wait_for_line(r"ready (tcp|tls)://(\S+:\d+)", START_SECONDS, self.err)
        self.place = match.group(2)
        self.address = ("tls://" if match.group(1) == "tls" else "") + self.place
        return self

    def backends(self):
        """The processes that serve an application."""
        return [pid for pid in children(self.pid) if name_of(pid) == "gpuaasd-backend"]

    def spares(self):
        """Those that wait for one, with their driver open."""
        return [pid for pid in children(self.pid) if name_of(pid) == "gpuaasd-spare"]

    def wait_spares(self, besides=()):
        """All that shall be there, none of them one of `besides`."""
        def all_there():
            found = self.spares()
            return len(found) == self.spares_wanted and not set(found) & set(besides)
        wait_until(all_there, SPARES_SECONDS, f"{self.spares_wanted} spares, none of {besides}")
        return self.spares()

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def stop(self):
        """The graceful end: SIGTERM, exit status 0, no complaint of a sanitizer."""
        backends = children(self.pid)
        self.kill(signal.SIGTERM)
        status = self.wait(STOP_SECONDS)
        expect(status == 0, f"{self}: exit status {status} after SIGTERM\n{self.report()}")
        wait_until(lambda: not any(map(alive, backends)), 10, f"the backends {backends} are gone")
        for complaint in ("Sanitizer", "runtime error:"):
            expect(complaint not in self.err.text, f"{self}: {complaint}\n{self.report()}")


def configuration(gpus, host=HOST, keys=(), gpu_keys=()):
    """`keys`: further lines of [server]; `gpu_keys`: further lines of each [gpu.N]."""
    lines = ["[server]", f"listen = tcp://{host}:0", "data_ports = 0", *PATIENT, *keys]
    if SHARED_MEMORY is not None:
        lines.append(f"shared_memory = {SHARED_MEMORY}")
    for number in range(gpus):
        lines += [f"[gpu.{number}]", "driver = soft", f"name = Soft {host} {number}",
                  f"memory = {1 + number}GiB", *gpu_keys]
    return "\n".join(lines) + "\n"


def with_keys(config, *keys):
    """The configuration, with further lines of [server] in front of the others."""
    return config.replace("[server]\n", "\n".join(["[server]", *keys, ""]), 1)


@contextlib.contextmanager
def serving(build, kind=Server, **options):
    """A server that is ready; it must also stop gracefully, unless the test ended it itself."""
    server = kind(build, **options)
    try:
        yield server.wait_ready()
        if server.running():
            server.stop()
    except BaseException:
        print(server.report(), file=sys.stderr)
        raise
    finally:
        server.end()
        server.folder.cleanup()


@contextlib.contextmanager
def running(command, env):
    """A process that is killed at the end, if it still runs then."""
    process = Process(command, env)
    try:
        yield process
    finally:
        process.end()


def run(command, env, seconds=PROGRAM_SECONDS, status=0):
    """Runs a program to its end. `status` is the exit status it must have; None: any."""
    with running(command, env) as process:
        got = process.wait(seconds)
        process.status = got
        expect(status is None or got == status,
               f"{process}: exit status {got}, {status} is due\n{process.report()}")
        return process


def run_passing(command, env, seconds=PROGRAM_SECONDS):
    """A program of tests/kernels: it ends with 0 and its last line is PASSED."""
    process = run(command, env, seconds)
    expect(process.out.lines and process.out.lines[-1] == "PASSED",
           f"{process} has not said PASSED\n{process.report()}")
    return process


class Traces:
    """The resources of a server and the machine, to compare before and after."""

    def __init__(self, server):
        self.server = server
        server.wait_spares()
        self.before = self.now()

    def now(self):
        return {"backend processes": len(self.server.backends()),
                "descriptors of gpuaasd": len(self.server.descriptors()),
                "/dev/shm": sorted(name for name in os.listdir("/dev/shm")
                                   if re.search("gpuaas|softgpu", name))}

    def expect_none(self, seconds=10):
        wait_until(lambda: self.now() == self.before, seconds,
                   f"nothing left behind: before {self.before}, now {self.now()}")


def parse_arguments(parser):
    parser.add_argument("--build", required=True)
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--sanitize", required=True, choices=("none", "mutants", *RUNTIMES))
    parser.add_argument("--cuda", required=True)
    arguments = parser.parse_args()
    build = Build(os.path.abspath(arguments.build), os.path.abspath(arguments.kernels),
                  arguments.sanitize, arguments.cuda)
    return build, arguments


def run_tests(tests):
    """Runs (name, function without arguments) pairs; the exit status for ctest."""
    failed = 0
    for name, test in tests:
        start = time.monotonic()
        try:
            test()
            verdict = "ok"
        except Failure as failure:
            verdict = f"FAILED: {failure}"
        except Exception:  # a mistake of the test itself, shown whole
            verdict = f"FAILED:\n{traceback.format_exc()}"
        failed += verdict != "ok"
        print(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    return 1 if failed else 0


def main(module):
    """Runs the module's test_* functions in the order in which they stand."""
    parser = argparse.ArgumentParser(description=module["__doc__"])
    parser.add_argument("only", nargs="*", help="names of tests")
    build, arguments = parse_arguments(parser)
    tests = [(name, lambda test=value: test(build)) for name, value in module.items()
             if name.startswith("test_") and (not arguments.only or name in arguments.only)]
    sys.exit(run_tests(tests) if tests else "no such test")
