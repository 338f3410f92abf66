#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasd as a service: what it tells the service manager, reading its configuration anew, and
draining."""

import os
import re
import signal
import socket
import tempfile

from lib import harness
from lib.harness import expect, wait_until


class Manager:
    """A service manager's socket, as systemd makes it for Type=notify."""

    def __init__(self, folder, name=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = name or os.path.join(folder, "notify")
        self.socket.bind(self.name.replace("@", "\0", 1))
        self.socket.setblocking(False)
        self.told = []

    def lines(self):
        try:
            while True:
                self.told += self.socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return self.told

    def wait_for(self, pattern, after=0):
        """The place behind the first line after `after` that fits."""
        def found():
            for at, line in enumerate(self.lines()[after:]):
                if re.fullmatch(pattern, line):
                    return after + at + 1
            return None
        return wait_until(found, 20, f"{pattern} among {self.told[after:]}")


def rewrite(server, config):
    """SIGHUP with another configuration. The lines that it has logged about it."""
    before = len(server.err.lines)
    with open(server.config, "w", encoding="utf-8") as f:
        f.write(config)
    server.kill(signal.SIGHUP)
    server.wait_for_line("read anew", 20, Since(server.err, before))
    return "\n".join(server.err.lines[before:])


class Since:
    """The lines of a reader from one on."""

    def __init__(self, reader, first):
        self.reader, self.first = reader, first

    @property
    def lines(self):
        return self.reader.lines[self.first:]

    def is_alive(self):
        return self.reader.is_alive()


def test_notify(build):
    """A path, and a name that lies in no folder."""
    for name in (None, f"@gpuaas-test-{os.getpid()}"):
        with tempfile.TemporaryDirectory() as folder:
            manager = Manager(folder, name)
            extra = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"}
            with harness.serving(build, extra=extra) as server:
                at = manager.wait_for("READY=1")
                expect("ready" in server.err.text, "it listens before it says so")
                manager.wait_for("WATCHDOG=1", manager.wait_for("WATCHDOG=1", at))
                for pid in server.wait_spares():
                    with open(f"/proc/{pid}/environ", encoding="utf-8") as f:
                        text = f.read()
                    expect("NOTIFY" not in text and "WATCHDOG" not in text,
                           "a child could tell in its name")
                server.kill(signal.SIGHUP)
                at = manager.wait_for(r"RELOADING=1", at)
                at = manager.wait_for(r"MONOTONIC_USEC=\d+", at)
                at = manager.wait_for("READY=1", at)
            manager.wait_for("STOPPING=1", at)


def test_nobody_to_notify(build):
    """A watchdog of another process; a socket that is not there: it serves all the same."""
    with tempfile.TemporaryDirectory() as folder:
        manager = Manager(folder)
        extra = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}
        with harness.serving(build, extra=extra):
            manager.wait_for("READY=1")
        expect("WATCHDOG=1" not in manager.lines(), f"{manager.told}")
        for name in (os.path.join(folder, "nowhere"), "relative", "/" + "x" * 200):
            with harness.serving(build, extra={"NOTIFY_SOCKET": name}) as server:
                expect(f"NOTIFY_SOCKET={name}: " in server.err.text, server.report())


def test_reload(build):
    with harness.serving(build, gpus=1) as server, \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        with open(server.config, encoding="utf-8") as f:
            config = f.read()
        program.wait_for_line("started", 60)
        server.wait_spares()
        said = rewrite(server, harness.with_keys(config, "spare_backends = 2"))
        expect("a restart needs" not in said, said)
        server.spares_wanted = 2
        server.wait_spares()
        more = harness.with_keys(config, "clients = 7", "listen = tcp://127.0.0.2:0")
        said = rewrite(server, more + "sms = 3\n")
        expect("a restart needs: listen, clients, [gpu.N]" in said, said)
        server.spares_wanted = 1
        server.wait_spares()
        said = rewrite(server, config + "colour = red\n")
        expect(": [gpu.0] colour: there is no such key" in said and "nothing has changed" in said,
               said)
        said = rewrite(server, harness.with_keys(config, "listen = tcp://0.0.0.0:0"))
        expect("insecure = yes" in said and "nothing has changed" in said, said)
        os.unlink(server.config)
        server.kill(signal.SIGHUP)
        server.wait_for_line("No such file", 20, server.err)
        rewrite(server, harness.with_keys(config, "log_level = error"))
        expect(program.running(), program.report())
        harness.run_passing([build.program("hello")], build.remote([server]))
        expect("hello" not in "\n".join(server.err.lines[-3:]), "the log level holds")


def test_new_certificates(build):
    """Connections that are there go on; new ones see the new certificate."""
    if harness.TRANSPORT != "tls":
        return
    authority = harness.authority()
    first = authority.sign("first", "IP:127.0.0.1")
    second = authority.sign("second", "DNS:elsewhere.example")
    config = harness.with_tls(harness.configuration(1))

    def named(files):
        text = re.sub(r"(?m)^tls_cert = .*$", f"tls_cert = {files[0]}", config)
        return re.sub(r"(?m)^tls_key = .*$", f"tls_key = {files[1]}", text)
    with harness.serving(build, config=named(first)) as server, \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 60)
        said = rewrite(server, named([first[0], second[1]]))
        expect("key values mismatch" in said and "nothing has changed" in said, said)
        harness.run_passing([build.program("hello")], build.remote([server]))
        rewrite(server, named(second))
        process = harness.run([build.program("hello")], build.remote([server]), status=None)
        expect("not for the name" in process.err.text, process.report())
        expect(program.running(), program.report())
        rewrite(server, named(first))
        harness.run_passing([build.program("hello")], build.remote([server]))


def told(program, words):
    wait_until(lambda: any(words in line for line in program.err.lines), 20,
               f"{words}\n{program.report()}")


def test_drain(build):
    """SIGTERM with drain_s: who is there goes on and is told, nobody else comes in."""
    config = harness.configuration(1, keys=["drain_s = 300"])
    with harness.serving(build, config=config) as server:
        env = build.remote([server])
        with harness.running([build.program("endless"), "idle"], env) as program:
            program.wait_for_line("started", 60)
            server.kill(signal.SIGTERM)
            told(program, "takes no new programs (the server is being stopped); this program uses "
                          "it: it may go on for 300 s")
            process = harness.run([build.program("hello")], env, status=None)
            expect("takes no new programs: the server is being stopped" in process.err.text and
                   process.status != 0, process.report())
            expect(program.running() and server.running(), server.report())
        expect(server.wait(20) == 0, server.report())
        expect("is drained: no program uses it" in server.err.text, server.report())


def test_drain_of_nobody(build):
    with harness.serving(build, gpus=1, keys=["drain_s = 300"]) as server:
        server.kill(signal.SIGTERM)
        expect(server.wait(20) == 0, server.report())


def test_end_of_draining(build):
    """At the deadline programs get error 719 and the reason."""
    config = harness.configuration(1, keys=["drain_s = 1"])
    with harness.serving(build, config=config) as server, \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 60)
        server.kill(signal.SIGTERM)
        program.wait_for_line("cudaDeviceSynchronize: error 719", 20)
        told(program, "is taken out of service (the server is being stopped), and the time to end "
                      "is up; every further CUDA call answers error 719")
        expect(server.wait(20) == 0, server.report())


def test_second_signal(build):
    config = harness.configuration(1, keys=["drain_s = 300"])
    with harness.serving(build, config=config) as server, \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 60)
        server.kill(signal.SIGTERM)
        told(program, "takes no new programs")
        server.kill(signal.SIGTERM)
        expect(server.wait(20) == 0, server.report())
        program.wait_for_line("cudaDeviceSynchronize: error 719", 20)


if __name__ == "__main__":
    harness.main(globals())
