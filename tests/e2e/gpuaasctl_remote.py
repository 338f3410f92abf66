#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpuaasctl over the network: who has the certificate of an administrator may do what the admin
socket allows, but make administrators; nobody else may do anything; the audit log says who it was;
what is wrong has its own words and exit status."""

import contextlib
import json
import os
import socket
import ssl
import sys
import tempfile

from lib import certificates, ctl, harness
from lib.addresses import refusing_address
from lib.admin import CONNS_MAX
from lib.ctl import DENIED, OK, UNREACHABLE, USAGE
from lib.harness import expect, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import raw  # noqa: E402
from lib.remote_admin import Remote, issue, reachable


def audited(folder, **wanted):
    lines = []
    for file in sorted(os.listdir(f"{folder}/audit")):
        with open(f"{folder}/audit/{file}", encoding="utf-8") as text:
            lines += [json.loads(line) for line in text if line.startswith("{")]
    return [line for line in lines if all(line.get(key) == wanted[key] for key in wanted)]


def test_administrator_elsewhere(build):
    with reachable(build) as (server, local, folder):
        issue(local, folder, "issue-admin", "ana", name="ana")
        ana = Remote(build, folder, server.address, "ana")
        junk = build.remote([server], GPUAAS_CA=f"{folder}/ca/ca.pem", GPUAAS_TOKEN="junk")
        for _ in range(3):  # at the same address; keeps nobody out
            harness.run([build.program("devices")], junk, status=1)
        mine = next(each for each in ana.items("cert", "list") if each["scope"] == "admin")
        expect(mine["name"] == "ana" and mine["state"] == "valid", f"{mine}")
        ana.json("health")
        # All that the socket allows, and certificates by an authority that is elsewhere.
        ana.run("tenant", "add", "lab", "sessions=3")
        ana.run("tenant", "add", "lab", "sessions=3")
        ana.run("tenant", "set-quota", "lab", "sessions=4", "--dry-run")
        ana.run("tenant", "set-quota", "lab", "sessions=4", "--if-generation", "7",
                status=ctl.CONFLICT)
        issue(ana, folder, "issue", "lab", name="lab")
        expect(local.json("tenant", "show", "lab")["credentials"] == 1, "lab has a certificate")
        for change in audited(folder, event="admin.change", verb="tenant.add"):
            expect(change["who"] == "admin:ana" and change["credential"] == mine["id"] and
                   change["address"].startswith("127.0.0.1:") and "pid" not in change,
                   f"{change}")
        expect(audited(folder, event="auth.ok", admin="ana", credential=mine["id"]), "he came")
        # Not: to make administrators, and what is in files there.
        said = issue(ana, folder, "issue-admin", "eve", name="eve", status=DENIED).err.text
        expect("made on the machine of gpuaasd" in said and
               not os.path.exists(f"{folder}/eve.key"), said)
        expect(audited(folder, event="admin.refused", verb="cert.enter", who="admin:ana"),
               "that was written down")
        for words in (["db", "backup", f"{folder}/copy"], ["audit", "tail"], ["audit", "verify"]):
            ana.wrong(USAGE, *words, says="run this command there")
        # The certificate of an administrator uses no GPU; that of a tenant administrates nothing.
        program = {"GPUAAS_CA": f"{folder}/ca/ca.pem"}
        env = build.remote([server], **program, GPUAAS_CERT=f"{folder}/lab.crt",
                           GPUAAS_KEY=f"{folder}/lab.key")
        harness.run_passing([build.program("hello")], env)
        env = build.remote([server], **program, GPUAAS_CERT=f"{folder}/ana.crt",
                           GPUAAS_KEY=f"{folder}/ana.key")
        refused = harness.run([build.program("devices")], env, status=1)
        expect("(800," in refused.out.text, refused.report())


def test_authority_with_a_new_key(build):
    """gpuaasd knows it from the next reload on, and the old one as before."""
    with reachable(build) as (server, local, folder):
        issue(local, folder, "issue-admin", "ana", name="ana")
        local.run("ca", "rotate", "--ca", f"{folder}/ca", "--yes", server=False)
        issue(local, folder, "issue-admin", "bob", name="bob")
        ana, bob = (Remote(build, folder, server.address, name) for name in ("ana", "bob"))
        ana.run("health")
        bob.wrong(DENIED, "health", says="does not know the authority")
        local.run("reload")
        for each in (ana, bob):
            each.run("health")


def test_revoked(build):
    """It holds for one who is connected, too."""
    with reachable(build, keys="auth = off") as (server, local, folder):
        issue(local, folder, "issue-admin", "ana", name="ana")
        issue(local, folder, "issue-admin", "bob", name="bob")
        ana, bob = (Remote(build, folder, server.address, name) for name in ("ana", "bob"))
        mine = next(each["id"] for each in bob.items("cert", "list") if each["name"] == "ana")
        with harness.running([ana.program, "--server", ana.url, "top", "-b", "-n", "500", "-i",
                              "1"], ana.env) as top:
            top.wait_for_line("GPU", 60)
            bob.run("cert", "revoke", mine, "--yes")
            expect(top.wait(60) == DENIED and "was revoked" in top.err.text, top.report())
        ana.wrong(DENIED, "health", says="was revoked")
        # A failed login is not looked at for a second, nor are others from its address.
        wait_until(lambda: harness.run([bob.program, "--server", bob.url, "health"], bob.env,
                                       status=None).status == OK, 20, "bob may")


def at_the_admin_door(url, token, ca=None):
    """The answer to this token there."""
    host, port = url.split("://")[-1].rsplit(":", 1)
    with socket.create_connection((host, int(port)), raw.SECONDS) as plain:
        context = ssl.create_default_context(cafile=ca)
        with context.wrap_socket(plain, server_hostname=host) if ca else plain as door:
            raw.Raw.say(door, raw.ADMIN, raw.greeting(bytes(16), token))
            got = b""
            while piece := door.recv(4096):
                got += piece
            expect(raw.HEADER.unpack_from(got)[1] == raw.REFUSED, got)
            return got.decode(errors="replace")


def test_whoever_may_not_is_written_down(build):
    """Each time, with the credential that was shown."""
    with reachable(build) as (server, local, folder):
        local.run("tenant", "add", "lab")
        issue(local, folder, "issue", "lab", name="lab")
        certificate = local.items("cert", "list")[-1]["id"]
        token = local.json("token", "issue", "lab")
        text, number = token["token"], token["after"]["id"]
        remote = Remote(build, folder, server.address, "lab")
        for times in (1, 2, 3):
            remote.wrong(DENIED, "health", says="a tenant's: it may use GPUs")
            lines = audited(folder, event="admin.refused", credential=certificate)
            expect(len(lines) == times, lines)
            expect("not-for-this" in lines[-1]["error"] and
                   lines[-1]["address"].startswith("127.0.0.1:"), lines)
        said = at_the_admin_door(server.address, text, f"{folder}/ca/ca.pem")
        expect("a tenant's: it may use GPUs" in said, said)
        lines = audited(folder, event="admin.refused", credential=number)
        expect(len(lines) == 1 and "not-for-this" in lines[0]["error"], lines)
        said = at_the_admin_door(server.address, "junk", f"{folder}/ca/ca.pem")
        expect(len(audited(folder, event="admin.refused")) == 5, audited(folder))
        with open(os.path.join(folder, "audit", sorted(os.listdir(f"{folder}/audit"))[0]),
                  encoding="ascii") as file:
            expect(text.split("_", 2)[2] not in file.read(), "no secret is written")
    with tempfile.TemporaryDirectory(prefix="gpuaas-ctl-") as folder:
        config = ctl.configuration(folder, keys=f"audit_log = {folder}/audit")
        with harness.serving(build, config=config) as server:
            said = at_the_admin_door(server.address, "junk")
            expect("needs tls://" in said, said)
            lines = audited(folder, event="admin.refused")
            expect(len(lines) == 1 and "needs tls://" in lines[0]["error"], lines)


def test_wrong_ends(build):
    with reachable(build) as (server, local, folder):
        local.run("tenant", "add", "lab")
        issue(local, folder, "issue", "lab", name="lab")
        issue(local, folder, "issue-admin", "ana", name="ana")
        foreign = certificates.Authority(folder, "foreign")
        cert, key = foreign.sign("stranger", "URI:gpuaas://admin/ana/abc")

        def wrong(status, says, url=server.address, name="ana", **env):
            remote = Remote(build, folder, url, name)
            remote.env.update(env)
            text = remote.wrong(status, "health", says=says)
            expect(url in text, text)

        wrong(UNREACHABLE, "nobody listens there: is gpuaasd started",
              url=f"tls://{refusing_address()}")
        wrong(UNREACHABLE, "no authority that is trusted here", GPUAAS_CA=foreign.ca)
        wrong(DENIED, "a tenant's: it may use GPUs, and administrate nothing", name="lab")
        wrong(DENIED, "authority of this client's certificate", GPUAAS_CERT=cert, GPUAAS_KEY=key)
        wrong(USAGE, "GPUAAS_CERT and GPUAAS_KEY", name=None)
        wrong(USAGE, "/nonexistent.pem", GPUAAS_CERT="/nonexistent.pem")
        wrong(USAGE, "port", url="tls://127.0.0.1:x")
        # A program that is told of the same closed port.
        env = build.remote([server], GPUAAS_CA=f"{folder}/ca/ca.pem")
        env["GPUAAS_SERVERS"] = f"tls://{refusing_address()}"
        program = harness.run([build.program("devices")], env, status=1)
        expect("(100," in program.out.text and "nobody listens there" in program.err.text,
               program.report())


def connected(server, folder, name):
    """A connection as gpuaasctl begins one, behind its greeting."""
    host, port = server.place.rsplit(":", 1)
    context = ssl.create_default_context(cafile=f"{folder}/ca/ca.pem")
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    conn = context.wrap_socket(socket.create_connection((host, int(port)), raw.SECONDS),
                               server_hostname=host)
    raw.Raw.say(conn, raw.ADMIN, raw.greeting(bytes(16)))
    answer = raw.HEADER.unpack(conn.recv(raw.HEADER.size))
    expect(answer[:2] == (0, raw.ADMIN), f"{answer}")
    return conn


def test_many_elsewhere(build):
    """One too many is told so, and those at the admin socket notice nothing."""
    with reachable(build) as (server, local, folder), contextlib.ExitStack() as stack:
        issue(local, folder, "issue-admin", "ana", name="ana")
        ana = Remote(build, folder, server.address, "ana")
        for _ in range(CONNS_MAX):
            stack.enter_context(connected(server, folder, "ana"))
        ana.wrong(ctl.LIMIT, "health", says="too many admins")
        local.run("health")
        stack.close()
        wait_until(lambda: ana.run("health", status=None).popen.returncode == OK, 20,
                   "they have left")


if __name__ == "__main__":
    harness.main(globals())
