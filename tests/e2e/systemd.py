#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasd as systemd starts it from its unit: a systemd of our own is process 1 of new namespaces,
on a root whose changes go to memory (an overlay), where the machine allows that."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

from lib import harness
from lib.harness import expect, wait_until

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SYSTEMD = "/lib/systemd/systemd"
EXPOSURE_MAX = 3.0  # as systemd-analyze security counts it: 0 is least
SECONDS = 60

# The cgroups of systemd (version 1 and its own hierarchy, or version 2) begin at one of the test.
BOOT = """
set -e
for all in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -e $all/cgroup.procs ] || continue
    mkdir -p $all/{name}; echo $$ > $all/{name}/cgroup.procs
done
exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup bash -c '
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs {folder}
cd {folder}; mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
for seen in {seen}; do mkdir -p root$seen; mount --rbind $seen root$seen; done
cd root
mount -t proc proc proc
mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs dev
for one in null zero full random urandom tty; do
    touch dev/$one; mount --bind /dev/$one dev/$one
done
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts -o newinstance,ptmxmode=666; ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm; ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs run
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
else
    mount -t tmpfs tmpfs sys/fs/cgroup; mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
    mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
fi
rm -rf etc/systemd/system/*.wants
printf "[Unit]\\nDescription=the test\\nWants=systemd-journald.service\\n" \
    > etc/systemd/system/test.target
mkdir before; pivot_root . before; umount -l before
exec env -i container=test PATH=$PATH {systemd} --system --unit=test.target --show-status=no
'
"""

CONFIG = """[server]
listen = tcp://127.0.0.1:9955
store = /var/lib/gpuaas/gpuaas.db
audit_log = /var/lib/gpuaas/audit
admin_socket = /run/gpuaas/admin.sock
http = 127.0.0.1:9954
drain_s = 1
[gpu.0]
driver = soft
[gpu.1]
driver = soft
"""


def boots():
    return os.getuid() == 0 and os.path.exists(SYSTEMD) and shutil.which("nsenter") and \
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--net", "--cgroup", "true"],
                       check=False, capture_output=True).returncode == 0


class Machine:
    """The commands that run under that systemd, whose process is `pid`."""

    def __init__(self, build, pid):
        self.build, self.pid = build, pid

    def run(self, *command, status=0, env=None):
        return harness.run(["nsenter", "-t", str(self.pid), "-a", *command],
                           {**self.build.environment(preload=False), **(env or {})},
                           status=status)

    def text(self, *command):
        return self.run(*command).out.text

    def write(self, path, text):
        """In its file system."""
        path = f"/proc/{self.pid}/root{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def drop_in(self, *lines):
        self.write("/etc/systemd/system/gpuaasd.service.d/test.conf",
                   "[Service]\n" + "\n".join(lines) + "\n")
        self.run("systemctl", "daemon-reload")

    def show(self, name):
        return self.text("systemctl", "show", "gpuaasd", "-P", name).strip()

    def journal(self):
        return self.text("journalctl", "--no-pager", "-o", "cat", "-u", "gpuaasd")

    def main(self):
        """The number of gpuaasd's process out here."""
        inner = self.show("MainPID")
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/status", encoding="utf-8") as f:
                    text = f.read()
                if re.search(rf"(?m)^NSpid:\t{entry}\t{inner}$", text) and \
                        "Name:\tgpuaasd\n" in text:
                    return int(entry)
        return None

    def passes(self, name):
        env = self.build.environment()
        return self.run("/usr/local/bin/gpuaas", "run", "--servers", "127.0.0.1", "--",
                        self.build.program(name), env={"LD_PRELOAD": env.get("LD_PRELOAD", "")})


@contextlib.contextmanager
def booted(build):
    name = f"gpuaas-test-{os.getpid()}"
    seen = sorted({ROOT, os.path.realpath(build.folder),
                   os.path.realpath(os.path.dirname(build.program("hello")))})
    with tempfile.TemporaryDirectory() as folder:
        script = BOOT.format(name=name, folder=folder, seen=" ".join(seen), systemd=SYSTEMD)
        process = subprocess.Popen(["bash", "-c", script], stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            children = f"/proc/{process.pid}/task/{process.pid}/children"

            def systemd():
                with open(children, encoding="utf-8") as f:
                    found = f.read().split()
                with contextlib.suppress(OSError, IndexError):
                    if os.readlink(f"/proc/{found[0]}/exe").endswith("/systemd/systemd"):
                        return int(found[0])
                expect(process.poll() is None, "the machine does not start")
                return None
            machine = Machine(build, wait_until(systemd, SECONDS, "systemd"))
            wait_until(lambda: "running" in machine.run("systemctl", "is-system-running",
                                                        status=None).out.text, SECONDS, "it runs")
            machine.run("cmake", "--install", build.folder, "--prefix", "/usr/local")
            machine.write("/etc/gpuaas/gpuaasd.conf", CONFIG)
            machine.drop_in("Environment=ASAN_OPTIONS=detect_leaks=0")
            yield machine
        finally:
            # --kill-child: process 1, and so all others
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for each in ("systemd", "unified", "."):
                with contextlib.suppress(OSError):
                    for path, _, _ in os.walk(f"/sys/fs/cgroup/{each}/{name}", topdown=False):
                        wait_until(lambda path=path: gone(path), SECONDS, path)


def gone(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def test_unit(build):
    """Its life: start, status, reload, a gpuaasd that stands still, stop, and a start that
    fails."""
    if not boots():
        print("  (left out: systemd does not start here)")
        return
    with booted(build) as machine:
        machine.run("systemd-analyze", "verify", "gpuaasd.service")
        said = machine.text("systemd-analyze", "security", "--no-pager", "gpuaasd.service")
        exposure = float(re.search(r"exposure level for gpuaasd.service: ([0-9.]+)", said).group(1))
        expect(exposure <= EXPOSURE_MAX, f"{exposure}")
        machine.run("systemctl", "start", "gpuaasd")
        said = machine.text("systemctl", "status", "--no-pager", "gpuaasd")
        expect("active (running)" in said and 'Status: "serving"' in said, said)
        expect("ready tcp://127.0.0.1:9955" in machine.journal(), machine.journal())
        with open(f"/proc/{machine.main()}/status", encoding="utf-8") as f:
            expect("\nSeccomp:\t2\n" in f.read(), "system calls are filtered")
        machine.passes("vector_add")
        expect("state" in machine.text("/usr/local/bin/gpuaasctl", "health"), "admins")

        machine.run("systemctl", "reload", "gpuaasd")
        wait_until(lambda: "has been read anew" in machine.journal(), SECONDS, "the reload")

        before = machine.main()
        machine.drop_in("WatchdogSec=2", "Environment=ASAN_OPTIONS=detect_leaks=0")
        machine.run("systemctl", "restart", "gpuaasd")
        first = wait_until(machine.main, SECONDS, "it is there")
        expect(first != before, "it was started anew")
        os.kill(first, signal.SIGSTOP)
        wait_until(lambda: machine.show("NRestarts") == "1" and
                   machine.show("ActiveState") == "active", SECONDS, machine.journal())
        expect("Watchdog timeout" in machine.journal(), machine.journal())
        machine.passes("vector_add")

        machine.run("systemctl", "stop", "gpuaasd")
        expect((machine.show("ActiveState"), machine.show("Result")) == ("inactive", "success"),
               machine.journal())
        machine.write("/etc/gpuaas/gpuaasd.conf",
                      CONFIG.replace("tcp://127.0.0.1:9955", "tcp://0.0.0.0:9955"))
        machine.run("systemctl", "start", "gpuaasd", status=1)
        expect(machine.show("ActiveState") == "failed", "it does not try again")
        said = machine.run("systemctl", "status", "--no-pager", "-l", "gpuaasd", status=3)
        expect("insecure = yes" in said.out.text, f"{said.report()}\n{machine.journal()}")


PROGRAMS = ("hello", "vector_add", "reduction", "streams_events", "pinned_copies", "managed",
            "virtual_memory", "memory_pools", "graph_launch", "exported", "two_devices",
            "host_functions", "wrong_out_of_bounds")


def test_no_system_call_is_missing(build):
    """A process that makes a call which the unit does not allow is ended here, and not only
    refused."""
    if not boots():
        print("  (left out: systemd does not start here)")
        return
    with booted(build) as machine:
        machine.drop_in("SystemCallErrorNumber=", "Restart=no",
                        "Environment=ASAN_OPTIONS=detect_leaks=0")
        machine.run("systemctl", "start", "gpuaasd")
        for name in PROGRAMS:
            if os.path.exists(build.program(name)):
                machine.passes(name)
        machine.run("systemctl", "reload", "gpuaasd")
        machine.run("/usr/local/bin/gpuaasctl", "db", "backup", "/var/lib/gpuaas/copy")
        expect(machine.show("ActiveState") == "active" and machine.show("NRestarts") == "0",
               machine.journal())
        machine.run("systemctl", "stop", "gpuaasd")
        expect(machine.show("Result") == "success" and "SIGSYS" not in machine.journal(),
               machine.journal())


if __name__ == "__main__":
    harness.main(globals())
