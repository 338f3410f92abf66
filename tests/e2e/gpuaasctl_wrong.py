#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First steps of operators with gpuaasctl: a wrong place of gpuaasd has one exit status whatever is
wrong there, `config show` prints a configuration that gpuaasd takes, `config check` looks at what
it names, a wrong file gets no advice to change it, each COMMAND has --help, -s and its variable
hold everywhere, `top` fits its terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import tempfile
import termios
import time

from lib import ctl, harness
from lib.harness import expect
from lib.player import Player


def test_one_exit_status_for_one_cause(build):
    """gpuaasd cannot be reached, or is not whom it should be: 7."""
    authority = harness.authority()
    cert, key = authority.sign("admin", "URI:gpuaas://admin/ana/ana1")
    with harness.serving(build, config=harness.with_tls(harness.configuration(1))) as server, \
            harness.serving(build) as plain, tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        admin.env.update(GPUAAS_CERT=cert, GPUAAS_KEY=key, GPUAAS_CA=authority.ca)
        for place, words in (("nobody.invalid", "there is no host of this name"),
                             ("127.0.0.1:1", "nobody listens there"),
                             (plain.place, "TLS"),
                             ("localhost:" + server.place.split(":")[1], "not for the name")):
            admin.url = f"tls://{place}"
            said = admin.run("health", status=ctl.UNREACHABLE)
            expect(words in said.err.text, said.report())
        admin.url = None
        said = admin.run("health", status=ctl.UNREACHABLE)
        expect("is gpuaasd started" in said.err.text, said.report())
        with open(os.path.join(ctl.ROOT, "docs", "man", "gpuaasctl.1"), encoding="utf-8") as file:
            manual = file.read().split(".SH EXIT STATUS")[1]
        expect(re.findall(r"\\fB(\d)\\fR", manual) == [str(n) for n in range(10)], manual)


def test_configuration_that_is_shown(build):
    with tempfile.TemporaryDirectory() as folder:
        config = ctl.configuration(
            folder, gpus=2, keys=f"audit_log = {folder}/audit\nstore = {folder}/store.db\n"
            f"listen = shm:gpuaas-shown-{os.getpid()}\nhttp = 127.0.0.1:0")
        config += "timing = yes\npolicy = rr\nslice = 3ms\n"
        with harness.serving(build, config=config):
            admin = ctl.Ctl(build, folder)
            shown = admin.text("config", "show")
        expect(shown.count("listen = ") == 2 and "timing = yes" in shown, shown)
        path = os.path.join(folder, "shown.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(shown)
        admin.run("config", "check", path, server=False)
        with harness.serving(build, config=shown):
            expect(admin.text("config", "show") == shown, "the same again")


def test_configuration_that_names_what_is_not_there(build):
    """`config check`, and gpuaasd itself, name the key, the path and the cure."""
    with tempfile.TemporaryDirectory() as folder:
        admin, path = ctl.Ctl(build, folder), os.path.join(folder, "gpuaasd.conf")
        for line, words in (("store = /nowhere/gpuaas.db", ["store: ", "no folder /nowhere"]),
                            ("audit_log = /nowhere/audit", ["audit_log: ", "no folder /nowhere"]),
                            ("admin_socket = /nowhere/a", ["admin_socket: ", "/nowhere"]),
                            ("admin_group = nobodies", ["admin_group: ", "no group nobodies"]),
                            ("tls_client_ca = /nowhere.pem", ["tls_client_ca: ", "cannot read"]),
                            ("tls_cert = /etc/hostname\ntls_key = /etc/passwd",
                             ["tls_key: ", "holds no private key"])):
            with open(path, "w", encoding="utf-8") as file:
                file.write(ctl.configuration(folder, keys=line).replace(
                    f"admin_socket = {folder}/admin.sock\n", "") if "admin_socket" in line else
                    ctl.configuration(folder, keys=line))
            said = admin.run("config", "check", path, server=False, status=ctl.ERROR)
            expect(all(word in said.err.text for word in words) and "chmod" not in said.err.text,
                   said.report())


def test_wrong_files(build):
    """No message tells to change the mode of a file that is not of the kind expected."""
    with tempfile.TemporaryDirectory() as folder, harness.serving(build) as server:
        admin = ctl.Ctl(build, folder)
        env = build.remote([server], GPUAAS_TOKEN_FILE="/etc/passwd")
        told = harness.run([build.program("hello")], env, status=None)
        expect("holds no token" in told.err.text, told.report())
        cert = harness.authority().sign("one", "DNS:one")[0]
        env = build.remote([server], GPUAAS_CERT=cert, GPUAAS_KEY="/etc/passwd",
                           GPUAAS_CA=harness.authority().ca)
        env["GPUAAS_SERVERS"] = f"tls://{server.place}"
        key = harness.run([build.program("hello")], env, status=None)
        expect("holds no private key" in key.err.text, key.report())
        base = admin.run("db", "check", "--store", "/etc/passwd", server=False, status=None)
        os.symlink("/etc/passwd", os.path.join(folder, "ca.key"))
        authority = admin.run("cert", "issue-server", "x", "--ca", folder, status=None)
        for process in (told, key, base, authority):
            expect("chmod" not in process.err.text, process.report())


def test_help_and_server_everywhere(build):
    with open(os.path.join(ctl.ROOT, "ctl", "commands.def"), encoding="utf-8") as file:
        commands = re.findall(r'(?m)^COMMAND\("([^"]+)"', file.read())
    with ctl.administered(build) as (_, admin):
        groups = sorted({words.split()[0] for words in commands})
        for words in [*commands, *groups]:
            shown = admin.text(*words.split(), "--help", server=False)
            expect(shown.startswith(f"usage: gpuaasctl {words}"), shown)
            admin.run(*words.split(), "-s", f"unix:{admin.socket}", "--help", server=False)
        for words in (["version"], ["completion", "bash"], ["ca", "show"], ["health"]):
            process = admin.run(*words, "-s", f"unix:{admin.socket}", server=False, status=None)
            expect("no option" not in process.err.text, process.report())
        admin.env["GPUAAS_ADMIN_SERVER"] = f"unix:{admin.socket}"
        admin.run("health", server=False)
        admin.run("health", "-s", "unix:/nowhere", server=False, status=ctl.UNREACHABLE)


def test_user_show(build):
    with tempfile.TemporaryDirectory() as folder:
        config = ctl.configuration(folder, keys=f"auth = on\nstore = {folder}/store.db")
        with harness.serving(build, config=config) as server:
            admin, token = ctl.Ctl(build, folder), os.path.join(folder, "token")
            admin.run("tenant", "add", "lab", "sessions=4")
            admin.run("user", "add", "lab", "ana", "sessions=2", "gpu-mem=64MiB")
            admin.run("token", "issue", "lab", "--user", "ana", "--out", token)
            with contextlib.closing(
                    Player(build, build.remote([server], GPUAAS_TOKEN_FILE=token))) as player:
                expect(player.ask("take 1") == "took", player.report())
                user = admin.json("user", "show", "lab", "ana")
                expect(user["sessions"] == 1 and user["limits"]["sessions"] == 2, f"{user}")
                table = admin.text("user", "show", "lab", "ana")
                expect(re.search(r"(?m)^sessions +1/2$", table) and "64.0 MiB" in table, table)
            admin.wrong(ctl.NOT_FOUND, "user", "show", "lab", "ben", says="ben")


def test_short_times(build):
    """A second of GPU time is not shown as no hour."""
    with ctl.administered(build) as (server, admin):
        harness.run_passing([build.program("vector_add")], build.remote([server]))
        harness.wait_until(lambda: any(each["gpu_time_ms"] for each in admin.items("usage")), 20,
                           "its usage")
        tenants = admin.text("tenant", "list")
        expect("GPU TIME (MONTH)" in tenants and not re.search(r" 0\.0/", tenants) and
               re.search(r"\d\.\d+s", tenants), tenants)
        hours = admin.text("usage")
        expect(re.search(r"0\.0*[1-9]", hours), hours)


class Terminal:
    """A terminal of 80 columns, with `top` in it."""

    def __init__(self, admin, *words):
        pid, self.fd = pty.fork()
        if pid == 0:
            env = {**admin.env, "TERM": "vt100", "LC_ALL": "C.UTF-8"}
            os.execve(admin.program, [admin.program, "-s", f"unix:{admin.socket}", "top", *words],
                      env)
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, seconds):
        text, deadline = b"", time.monotonic() + seconds
        while time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    text += os.read(self.fd, 65536)
                except OSError:
                    break
        return text.decode(errors="replace")

    def type(self, text):
        os.write(self.fd, text.encode())

    def ended(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(0.1)
            if os.waitpid(self.pid, os.WNOHANG)[0] != 0:
                return True
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        return False


def test_top_on_a_narrow_terminal(build):
    with ctl.administered(build) as (server, admin), \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 60)
        batch = Terminal(admin, "-b", "-n", "1")
        text = batch.read(4)
        lines = re.sub(r"\x1b\[[\d;?]*\w", "", text).splitlines()
        expect(any("SESSION" in line for line in lines) and
               all(len(line) <= 80 for line in lines), f"{lines}")
        expect(batch.ended(20), "it is over")
        screen = Terminal(admin)
        expect("SESSION" in screen.read(4), "it shows")
        screen.type("k")
        expect("end which session?" in screen.read(2), "it asks")
        screen.type("abc\x1b")  # Escape leaves the question
        screen.read(2)
        screen.type("\x1b[A")  # an arrow is no Escape
        screen.read(2)
        screen.type("q")
        expect(screen.ended(20), "q ends it")
        expect(program.running() and len(admin.items("sessions")) == 1, "nobody was ended")
        screen = Terminal(admin)
        screen.read(3)
        screen.type("\x1b")
        expect(screen.ended(20), "and so does Escape")


if __name__ == "__main__":
    harness.main(globals())
