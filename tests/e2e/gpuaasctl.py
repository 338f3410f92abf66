#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasctl about the node and its sessions: what it shows is what there is; a session that it ends
is ended; whoever may not is told so; every mistake has its own message and exit status."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import select
import shutil
import stat
import subprocess
import tempfile
import time

from lib import ctl, harness
from lib.ctl import DENIED, ERROR, NOT_FOUND, UNREACHABLE, USAGE
from lib.harness import expect, wait_until
from lib.player import Player

MIB = 1 << 20


def test_node(build):
    with ctl.administered(build, gpus=2) as (server, admin):
        health = admin.json("health")
        expect(health["state"] == "serving" and health["gpus"] == 2 and health["sessions"] == 0 and
               health["pid"] == server.pid, f"{health}")
        expect(health["listeners"][0].endswith(server.place), f"{health}")
        gpus = admin.items("gpus")
        expect([(gpu["gpu"], gpu["model"], gpu["memory_total_bytes"], gpu["state"])
                for gpu in gpus] == [(n, f"Soft {n}", (1 + n) << 30, "ready") for n in range(2)],
               f"{gpus}")
        expect(admin.items("gpus", gpus[1]["uuid"]) == gpus[1:], "by its UUID")
        expect(admin.items("gpus", "1") == gpus[1:], "by its number")
        admin.wrong(NOT_FOUND, "gpus", "2", says="no GPU 2")
        shown = admin.json("config", "show")["sections"]
        expect(shown["server"]["admin_socket"] == admin.socket and
               shown["server"]["auth"] == "off" and shown["server"]["audit_full"] == "deny" and
               shown["gpu.1"]["name"] == "Soft 1" and shown["gpu.1"]["memory"] ==
               "2147483648", f"{shown}")
        expect(admin.json("version", server=False)["version"] == health["version"], "the same")
        table = admin.text("gpus").splitlines()
        expect(re.match(r"GPU +NODE +MODEL", table[0]) and len(table) == 3 and
               re.search(r"Soft 1 .*/2\.0 GiB", table[2]), f"{table}")
        expect(len(admin.text("gpus", "-n").splitlines()) == 2, "without titles")
        expect(gpus[0]["uuid"] in admin.text("gpus", "-o", "wide"), "with more columns")


def test_csv(build):
    with ctl.administered(build, gpus=1, keys="node = a.b") as (_, admin):
        rows = list(csv.DictReader(io.StringIO(admin.text("gpus", "--csv"), newline="")))
        expect(len(rows) == 1 and rows[0]["memory_total_bytes"] == str(1 << 30) and
               rows[0]["node"] == "a.b", f"{rows}")


def test_csv_has_no_formulas(build):
    """Text that a spreadsheet would compute has an apostrophe before it."""
    with ctl.administered(build) as (server, admin), \
            tempfile.TemporaryDirectory(prefix="gpuaas-ctl-") as folder:
        name = os.path.join(folder, "=1+1")
        shutil.copy(build.program("steps"), name)
        with harness.running([name, "0"], build.remote([server])):
            wait_until(lambda: "1+1" in admin.text("sessions", "--csv"), 30, "it is there")
            row, = csv.DictReader(io.StringIO(admin.text("sessions", "--csv"), newline=""))
            expect(row["program"].startswith("'=1+1"), f"{row}")


def test_sessions(build):
    with ctl.administered(build, gpus=2) as (server, admin), contextlib.ExitStack() as stack:
        expect(admin.items("sessions") == [], "nobody is there")
        one, other = (stack.enter_context(contextlib.closing(Player(build, build.remote([server]))))
                      for _ in range(2))
        one.free(), other.free()
        sessions = admin.items("sessions")
        programs = {f"shares (pid {player.popen.pid})" for player in (one, other)}
        expect({each["program"] for each in sessions} == programs and
               all(each["gpus"] == [0] and each["state"] == "active" and
                   each["tenant"] == "default" and each["transport"] == "tcp"
                   for each in sessions), f"{sessions}")
        expect([gpu["sessions"] for gpu in admin.items("gpus")] == [2, 0], "by GPU")
        wanted = next(each for each in sessions if each["program"].endswith(f"{one.popen.pid})"))
        begin = wanted["id"][:8]
        before = admin.json("sessions", "show", begin)
        expect(before["objects"]["contexts"] == 1, f"{before}")
        expect(one.ask("take 64") == "took", one.report())
        after = admin.json("session", "show", wanted["id"])
        expect(after["gpu_mem_bytes"] == before["gpu_mem_bytes"] + 64 * MIB, f"{after}")
        expect(begin in admin.text("sessions") and wanted["id"] not in admin.text("sessions") and
               wanted["id"] in admin.text("sessions", "--output=wide"), "short and long ids")
        for words, count in ((["--gpu", "0"], 2), (["--gpu", "1"], 0), (["--state", "idle"], 0),
                             (["--tenant", "default"], 2), (["--tenant", "x"], 0),
                             (["--older", "1h"], 0), (["--older", "0s"], 2)):
            expect(len(admin.items("sessions", *words)) == count, f"{words}")
        killed(server, admin, one, wanted["id"])
        expect(other.free() > 0, "the other one goes on")


def killed(server, admin, player, session):
    admin.wrong(USAGE, "sessions", "kill", session, says="--yes")
    text = admin.text("sessions", "kill", session[:8], "--dry-run")
    expect("dry run" in text and player.free() > 0, f"nothing is done: {text}")
    change = admin.json("sessions", "kill", session[:8], "--yes", "--reason", "maintenance")
    expect(change["before"]["id"] == session and change["after"] is None, f"{change}")
    wait_until(lambda: len(admin.items("sessions")) == 1, 20, "it is gone")
    if "719" not in player.ask("free"):
        wait_until(lambda: not player.running(), 20, "its program has ended")
    expect(any("an administrator (uid:" in line and "maintenance" in line
               for line in server.err.lines), server.report())
    admin.wrong(NOT_FOUND, "sessions", "kill", session, "--yes", says="no session")
    admin.wrong(USAGE, "sessions", "show", "xyz", says="no id of a session")
    admin.wrong(USAGE, "sessions", "show", "abc", says="4 or more")


def test_wrong_words(build):
    with tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        for words, *says in (
                (["walk"], "no command walk", "--help"),
                (["gpsu"], "did you mean gpus?"),
                (["sesions", "show", "a"], "did you mean sessions?"),
                (["sessions", "stop", "a"], "show, kill"),
                (["config"], "config what?", "show"),
                (["config", "shw"], "no command config shw", "check"),
                (["health", "--jsn"], "no option --jsn", "did you mean --json?"),
                (["health", "-z"], "no option -z"),
                (["health", "--csv"], "health has no option --csv"),
                (["gpus", "--json", "--csv"], "contradict"),
                (["gpus", "--json=1"], "--json takes no value"),
                (["gpus", "--output"], "--output needs a value"),
                (["gpus", "-o", "tall"], "it is wide"),
                (["gpus", "1", "2"], "too many arguments"),
                (["health", "x"], "takes no argument x"),
                (["sessions", "show"], "an argument is missing", "sessions show ID"),
                (["sessions", "--state", "dead"], "active or idle"),
                (["sessions", "--gpu", "x"], "its number"),
                (["sessions", "--older", "1y"], "s, m, h, d or w"),
                (["health", "--timeout", "0"], "1 to 3600"),
                (["health", "--timeout", "x"], "1 to 3600"),
                (["health", "--timeout"], "--timeout needs a value"),
                (["health", "--server"], "--server needs a value"),
                (["health", "--server", "/x"], "it is unix:"),
                (["health", "--server", "unix:x"], "absolute path"),
                (["health", "--server", "unix:/" + "x" * 200], "at most 107"),
                (["health", "--server", "tls://a"], "GPUAAS_CERT and GPUAAS_KEY"),
                (["health", "--server", "unix:/a", "--server", "unix:/b"], "given twice")):
            admin.wrong(USAGE, *words, says=says, server=False)
        process = admin.run(status=USAGE, server=False)
        expect(process.err.text == admin.text("--help", server=False) and not process.out.text,
               process.report())


def test_wrong_times(build):
    """Each says what is possible, before anybody is asked."""
    drain = ["drain", "node", "--reason", "x", "--deadline"]
    with tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        for words, says in ((["token", "issue", "a", "--ttl"], "1m to 3653d"),
                            (["token", "rotate", "a", "--ttl"], "1m to 3653d"),
                            (["token", "rotate", "a", "--grace"], "0s to 3653d"),
                            (["cert", "issue", "a", "--ttl"], "1m to 3653d"),
                            (["cert", "issue-server", "a", "--ttl"], "1m to 3653d"),
                            (["cert", "issue-admin", "a", "--ttl"], "1m to 3653d"),
                            (drain, "1s to 3653d"), (["sessions", "--older"], "0s to 3653d")):
            for value in ("99999d", "-5d", "5", "1y", "d", "1.5h", "18446744073709551617s",
                          "99999999999999999999w"):
                admin.wrong(USAGE, *words, value, says=[f"{words[-1]} {value}: it can be {says}",
                                                        "a whole number and s, m, h, d or w"])
            admin.wrong(USAGE, *words, "",
                        says=f"{words[-1]} needs a value: {words[-1]} DURATION (")
        admin.wrong(USAGE, *drain, "0s", says="1s to 3653d")
        admin.wrong(USAGE, "token", "issue", "a", "--ttl", "59s", says="1m to 3653d")
        for word in ("2026-02-30", "2026-13-01", "2026-11-25x", "-7d", "7", "tomorrow",
                     "99999999999999d", "1969-01-01"):
            admin.wrong(USAGE, "usage", "--from", word, says=["--from " + word, "as 7d"])
        admin.wrong(USAGE, "usage", "--from", "today", "--to", "yesterday",
                    says="--from today is later than --to yesterday")
        for words in (["usage", "--top"], ["tenant", "resume", "a", "--if-generation"]):
            for value in ("-1", "x", "1.5", "9223372036854775808"):
                admin.wrong(USAGE, *words, value, says="give a number, 0 or more")


def test_nobody_there(build):
    with tempfile.TemporaryDirectory() as folder:
        admin = ctl.Ctl(build, folder)
        admin.wrong(UNREACHABLE, "health", says=[admin.socket, "is gpuaasd started"])
        with ctl.administered(build) as (server, other):
            admin.socket = other.socket
            server.kill()
            server.wait(10)
            admin.wrong(UNREACHABLE, "health", says="nobody listens")


def test_config_check(build):
    with tempfile.TemporaryDirectory() as folder:
        admin, path = ctl.Ctl(build, folder), os.path.join(folder, "c.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(ctl.configuration(folder))
        admin.run("config", "check", path, server=False)
        with open(path, "a", encoding="ascii") as file:
            file.write("clinets = 3\n")
        admin.wrong(ERROR, "config", "check", path, server=False, says=[f"{path}:", "clinets"])
        admin.wrong(ERROR, "config", "check", "/nonexistent", server=False, says="No such file")


def test_files_of_the_socket(build):
    """Its mode; a place that is taken, that a killed gpuaasd has left, that is no socket."""
    with ctl.administered(build) as (server, admin):
        expect(stat.S_IMODE(os.stat(admin.socket).st_mode) == 0o600, "for its owner alone")
        with harness.running(server.command, admin.env) as second:
            expect(second.wait(20) == 1 and "another gpuaasd uses" in second.err.text,
                   second.report())
        admin.run("health")
        server.kill()
        server.wait(10)
        with harness.running(server.command, admin.env) as second:
            second.wait_for_line("ready ", 30, second.err)
            admin.run("health")
        os.unlink(admin.socket)
        with open(admin.socket, "w", encoding="ascii"):
            pass
        with harness.running(server.command, admin.env) as third:
            expect(third.wait(20) == 1 and "is no socket" in third.err.text, third.report())


def test_who_may(build):
    """Root and gpuaasd's own user may; others are told so, by the file and by gpuaasd."""
    if os.geteuid() != 0:
        print("  (left out: it takes root to be somebody else)")
        return
    stranger = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    member = ["setpriv", "--reuid=12346", "--regid=12346", "--groups=12347"]
    with ctl.administered(build, keys="admin_group = 12347") as (_, admin):
        admin.program = shutil.copy(admin.program, admin.folder)  # where others come to it
        os.chmod(admin.folder, 0o755)
        expect(stat.S_IMODE(os.stat(admin.socket).st_mode) == 0o660 and
               os.stat(admin.socket).st_gid == 12347, "for the group")
        admin.run("health", prefix=member)
        admin.wrong(DENIED, "health", prefix=stranger, says="admin_group")
        os.chmod(admin.socket, 0o666)  # somebody makes the first door too wide
        admin.wrong(DENIED, "health", prefix=stranger, says="you are none of them")
        admin.run("health", prefix=member)


def test_control_characters(build):
    """A program's name comes from its client: it does nothing to the terminal of an admin, nor to
    that of who reads the log."""
    acts = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
    with ctl.administered(build) as (server, admin), tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "a\x1b[31mb\x9bc\nd\u202ee\u2066f\u2028g\u061c")
        os.symlink(build.program("shares"), name)
        player = harness.Process([name], build.remote([server]), stdin=subprocess.PIPE)
        try:
            player.popen.stdin.write("free\n")
            player.popen.stdin.flush()
            player.wait_for_line(r"\d+", 60)
            for words in (["sessions"], ["sessions", "--csv"], ["--json", "sessions"]):
                text = admin.text(*words)
                expect("31mb" in text and not acts.search(text), f"{words}: {text!r}")
            expect("31mb" in server.err.text and not acts.search(server.err.text),
                   f"the log: {server.err.text!r}")
        finally:
            player.end()


def on_terminal(command, env, columns):
    """The output of a command to a terminal of so many columns."""
    own, other = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=other, check=True)
    process = subprocess.Popen(command, env=env, stdin=other, stdout=other, stderr=other)
    os.close(other)
    text = b""
    while select.select([own], [], [], 30)[0]:
        try:
            text += os.read(own, 65536)
        except OSError:
            break
    os.close(own)
    process.wait(30)
    return text.decode()


def test_tables_fit_the_terminal(build):
    with ctl.administered(build, keys="node = " + "n" * 60) as (_, admin):
        command = [build.path("bin", "gpuaasctl"), "--server", f"unix:{admin.socket}", "gpus"]
        wide = on_terminal(command, admin.env, 200).splitlines()
        narrow = on_terminal(command, admin.env, 70).splitlines()
        expect("n" * 60 in wide[1] and len(narrow[0]) <= 70 and len(narrow[1]) <= 70 and
               "n~" in narrow[1], f"{wide} {narrow}")


def test_top_for_scripts(build):
    """The share of a GPU that a kernel keeps busy, and nothing of one that nobody uses."""
    with ctl.administered(build, gpus=2) as (server, admin), \
            harness.running([build.program("endless"), "kernel"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 60)
        first = admin.json("top", "-n", "1")
        expect(first["sessions"], f"{first}")
        both = admin.text("top", "--json", "-n", "2", "-i", "2")
        top = json.loads(both[both.index("\n}\n") + 3:])  # its looks lie further apart
        busy = [gpu["compute_percent"] for gpu in top["gpus"]]
        session, = top["sessions"]
        expect(busy[0] > 50 and busy[1] == 0 and session["busy_percent"] > 50 and
               top["tenants"][0]["name"] == "default", f"{top}")
        lines = admin.text("top", "-b", "-n", "1").splitlines()
        expect("1 sessions, 2 GPUs" in lines[0] and
               any(re.match(r"  0  Soft 0 +ready +[\d.]+ \w+/1\.0 GiB +[5-9]\d%|  0  .* 100%", line)
                   for line in lines) and
               any(line.startswith(session["id"][:8]) for line in lines), "\n".join(lines))
        heading = next(line for line in lines if line.startswith("SESSION"))
        expect(heading.index("AGE") + 3 <= 80 and
               all(len(line.rstrip()) <= 80 for line in lines[:5]) and
               all(len(line) <= 80 for line in admin.text("sessions").splitlines()),
               "what matters is within 80 columns")
        expect(admin.text("top", "-b", "-n", "2", "-i", "1").count("1 sessions") == 2, "twice")
        admin.wrong(USAGE, "top", says="no terminal")
        admin.wrong(USAGE, "top", "-b", "-n", "0", says="1 to")
        admin.wrong(USAGE, "top", "-b", "-i", "x", says="1 to")
        admin.wrong(USAGE, "top", "-n", "1", says="--batch")


def test_top_on_a_terminal(build):
    """It draws, its keys do what they say, and it leaves the terminal as it was."""
    with ctl.administered(build, gpus=1) as (server, admin), \
            contextlib.closing(Player(build, build.remote([server]))) as player:
        player.free()
        session = admin.items("sessions")[0]["id"][:8]
        own, other = pty.openpty()
        subprocess.run(["stty", "cols", "160", "rows", "40"], stdin=other, check=True)
        command = [build.path("bin", "gpuaasctl"), "--server", f"unix:{admin.socket}", "top"]
        process = subprocess.Popen(command, env={**admin.env, "TERM": "xterm"}, stdin=other,
                                   stdout=other, stderr=other)
        text = wait_for_text(own, session)
        expect("Soft 0" in text and "GPU TIME" in text, text)
        os.write(own, f"k{session}\rtoo loud\r".encode())
        player.wait_for_line("too loud", 20, player.err)
        os.write(own, b"q")
        expect(process.wait(20) == 0, "q ends it")
        process = subprocess.Popen(command, env={**admin.env, "TERM": "xterm"}, stdin=other,
                                   stdout=other, stderr=other)
        os.close(other)
        wait_for_text(own, "q quit")
        os.close(own)
        process.wait(20)  # and so does the end of the terminal


def wait_for_text(terminal, wanted):
    text, until = "", time.monotonic() + 60
    while wanted not in text:
        expect(time.monotonic() < until, f"{wanted!r} in {text!r}")
        expect(select.select([terminal], [], [], 30)[0], f"{wanted!r} in {text!r}")
        text += os.read(terminal, 65536).decode(errors="replace")
    return text


if __name__ == "__main__":
    harness.main(globals())
