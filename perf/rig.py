# SPDX-License-Identifier: Apache-2.0
"""The rig of measurements: a gpuaasd with the null device on one core, the measuring programs on
another, each controlled line by line. Servers and environments are those of the end-to-end
tests."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "e2e"))

from lib import harness  # noqa: E402  (found by the line above)

ANSWER_SECONDS = 300


class Failure(Exception):
    """A measured program failed; the text has the reason."""


def cores():
    """(client's, server's): two different ones if there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


REAL_TIME_PRIORITY = 10
SHARING = "sharing"  # a priority: before all others, but taking turns as programs usually do


@contextlib.contextmanager
def starting(core=None, real_time=False):
    """Programs started inside run on that core and with that priority, and their children as
    well."""
    before = os.sched_getaffinity(0)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        if core is not None:
            os.sched_setaffinity(0, {core})
        if real_time == SHARING:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        elif real_time:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
        yield
    except PermissionError:
        raise Failure("real-time priority needs root") from None
    finally:
        os.sched_setaffinity(0, before)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if real_time == SHARING:
            os.setpriority(os.PRIO_PROCESS, 0, nice)


def hurry(pid):
    """All its threads get the real-time priority."""
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setscheduler(int(task), os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))


class Speaker:
    """A program that answers each line with a line of JSON."""

    def __init__(self, command, env=None):
        self.command = command
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.popen = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def answer(self):
        line = self.popen.stdout.readline()
        if not line:
            self.popen.wait(30)
            self.errors.seek(0)
            raise Failure(f"{' '.join(self.command)} has ended ({self.popen.returncode}): "
                          f"{self.errors.read().strip()}")
        return json.loads(line)

    def tell(self, *words):
        """As ask, and the answer is fetched later."""
        self.popen.stdin.write(" ".join(map(str, words)) + "\n")
        self.popen.stdin.flush()

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def end(self):
        """Its standard error, after an orderly end."""
        if self.errors.closed:
            return ""
        self.popen.stdin.close()
        try:
            self.popen.wait(30)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.popen.stdout.close()
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.close()
        return text


class Rig:
    """Starts things and ends them, in reverse order, when the block is left."""

    def __init__(self, build, real_time=False):
        self.build = build
        self.real_time = real_time
        self.client_core, self.server_core = cores()
        self.stack = contextlib.ExitStack()
        self.servers = []

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.stack.close()

    def beside(self, real_time):
        """Another one with that priority, which ends with this one."""
        return self.stack.enter_context(Rig(self.build, real_time))

    def null_library(self):
        return self.build.path("lib", "null", "libcuda.so.1")

    def starting_server(self):
        """A gpuaasd never has a real-time priority: the kernel may spin for ever waiting for the
        end of a process whose files in /proc are read by a process that cannot run."""
        return starting(self.server_core, SHARING if self.real_time else False)

    def server(self, lines=(), null=True, program=None, port=0, gpus=1, scheme="tcp",
               gpu_lines=()):
        """A gpuaasd; `lines` go to its section [server], `gpu_lines` to each [gpu.N]."""
        config = ["[server]", f"listen = {scheme}://127.0.0.1:{port}", *lines]
        if not any(line.startswith("data_ports") for line in lines):
            config.append("data_ports = 0")
        for number in range(gpus):
            config += [f"[gpu.{number}]", "driver = soft", *gpu_lines]
            if null:
                config.append(f"driver_path = {self.null_library()}")
        with self.starting_server():
            server = harness.Server(self.build, config="\n".join(config) + "\n", program=program)
        self.stack.callback(server.folder.cleanup)
        self.stack.callback(server.end)
        self.servers.append(server)
        return server.wait_ready()

    def speaker(self, command, env=None):
        with starting(real_time=self.real_time):
            speaker = Speaker(command, env)
        self.stack.callback(speaker.end)
        return speaker

    def floor(self):
        return self.speaker([self.build.path("perf", "perf_floor"), str(self.client_core),
                             str(self.server_core)])

    def loops(self, env, core=None):
        """The loops, with the device that `env` gives them; a negative core: on all."""
        core = self.client_core if core is None else core
        speaker = self.speaker([self.build.path("perf", "perf_loops"), str(core)], env)
        speaker.opened = speaker.answer()
        if self.real_time is True:
            for server in self.servers:
                for pid in server.backends():
                    hurry(pid)
        return speaker

    def loops_remote(self, server, transport="tcp"):
        """Uncompressed, even by a long wire: the floor sends all bytes, too."""
        return self.loops(self.build.remote([server], GPUAAS_TRANSPORT=transport,
                                            GPUAAS_COMPRESSION="off"))

    def loops_local(self, name, core=None):
        """`name` is softgpu or null: a driver in the program's own process."""
        return self.loops(self.build.environment(self.build.path("lib", name)), core)

    def kernels(self, cores_used):
        """The kernels on softgpu with this number of multiprocessors, on one core if it has one,
        and plain C with as many threads."""
        env = self.build.environment(self.build.path("lib", "softgpu"))
        env["SOFTGPU_DEVICES"] = f"sms={cores_used},memory=2GiB"
        core = self.client_core if cores_used == 1 else -1
        return self.speaker([self.build.path("perf", "perf_soft"),
                             self.build.path("perf", "soft_kernels.ptx"), str(core),
                             str(cores_used)], env)
