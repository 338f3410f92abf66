#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scheduling policies: gpuaasctl shows and changes policies while programs use the GPU, a reload
takes those of the file, and what is wrong is told with what is possible."""

import contextlib
import tempfile

from lib import ctl, harness
from lib.ctl import CONFLICT, NOT_FOUND, USAGE
from lib.harness import expect, wait_until
from lib.turn_taker import SECONDS, TurnTaker

GPU = "driver = soft\nmemory = 256MiB\nsms = 1\n"


@contextlib.contextmanager
def node(build, *gpus, keys=""):
    """A GPU for each text of keys."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-policy-") as folder:
        config = ctl.configuration(folder, gpus=0, keys=keys)
        for number, more in enumerate(gpus):
            config += f"[gpu.{number}]\n{GPU}{more}"
        with harness.serving(build, config=config) as server:
            yield server, ctl.Ctl(build, folder)


def policy(admin, gpu=0):
    return admin.json("policy", "show", str(gpu))


def test_show(build):
    with node(build, "policy = tfs\nslice = 5ms\n", "") as (_, admin):
        first, second = admin.items("policy", "show")
        expect((first["policy"], first["slice_ns"], first["generation"]) == ("tfs", 5000000, 1),
               f"{first}")
        expect((second["policy"], second["slice_ns"]) == ("none", 10000000), f"{second}")
        expect(policy(admin, 1)["gpu"] == 1, "one GPU is asked for")
        text = admin.text("policy", "show")
        expect("tfs" in text and "5ms" in text, text)
        text = admin.text("policy", "show", "0")
        expect("hold" in text and "500us" in text, text)


def test_set(build):
    with node(build, "") as (_, admin):
        change = admin.json("policy", "set", "0", "las", "slice=2ms", "--dry-run")
        expect((change["before"]["policy"], change["after"]["policy"]) == ("none", "las"),
               f"{change}")
        expect(policy(admin)["policy"] == "none", "a dry run changes nothing")
        text = admin.text("policy", "set", "0", "las", "slice=2ms", "patience=5s")
        expect("policy none -> las" in text and "GPU 0: slice 10ms -> 2ms" in text and
               "GPU 0: patience 2s -> 5s" in text, text)
        now = policy(admin)
        expect((now["policy"], now["slice_ns"], now["generation"]) == ("las", 2000000, 2), f"{now}")
        admin.run("policy", "set", "0", "rr", "--if-generation", "2")
        admin.wrong(CONFLICT, "policy", "set", "0", "fs", "--if-generation", "2",
                    says="generation 3, not 2")
        expect(policy(admin)["slice_ns"] == 2000000, "keys that are not named stay")
        admin.run("policy", "set", "0", "rr")
        expect(policy(admin)["generation"] == 3, "the same again is no change")


def test_what_has_no_effect(build):
    """A setting that the policy does not use is refused at once, with the policies that use it."""
    with node(build, "") as (_, admin):
        process = admin.run("policy", "set", "0", "rr", "slice=5ms", "aging=2s")
        expect("aging has no effect with policy rr: it is for policy priority" in process.err.text
               and "slice has" not in process.err.text, process.report())
        process = admin.run("tenant", "add", "a", "share=300", "priority=2")
        expect("share of a holds on GPUs with policy las, las_fcfs, las_fill, fs, tfs or auto"
               in process.err.text, process.report())
        expect("priority of a holds on GPUs with policy priority (gpuaasctl policy set); "
               "1 of 1 have another one" in process.err.text, process.report())
        admin.run("policy", "set", "0", "tfs")
        process = admin.run("tenant", "set-quota", "a", "share=200")
        expect("share of a holds" not in process.err.text, process.report())


def test_what_has_no_effect_in_the_file(build):
    """The start, a reload, and a check of the file name it."""
    says = ("[gpu.0] quantum: has no effect with policy rr: remove it, or choose policy las, "
            "las_fcfs, las_fill or auto")
    keys = ("policy = rr\nquantum = 2s\nslice = 5ms\n", "policy = las\nquantum = 2s\n")
    with node(build, *keys) as (server, admin):
        log = server.err.text
        expect(says in log and "[gpu.0] slice" not in log and "[gpu.1] quantum" not in log, log)
        check = admin.run("config", "check", server.config)
        expect(says in check.err.text and "quantum" not in check.err.text.replace(says, ""),
               check.report())
        admin.run("reload")
        expect(server.err.text.count(says) == 2, server.err.text)


def test_list(build):
    """The list says the purpose of each policy, and what it uses; no gpuaasd is asked."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-policy-") as folder:
        rows = {row["policy"]: row for row in ctl.Ctl(build, folder).items("policy", "list")}
    expect({"aging", "priority"} <= set(rows["priority"]["uses"].split(", ")), f"{rows}")
    expect("fair share" in rows["tfs"]["summary"], f"{rows}")


def test_wrong(build):
    with node(build, "copy_engines = 1\n") as (_, admin):
        for words, status, says in (
                (["fair"], USAGE, "none, rr, las, las_fcfs, las_fill, fs, tfs, ps, "),
                (["las", "quantum=1ms"], USAGE,
                 "quantum: 1ms is not allowed: it must be longer than slice, which is 10ms"),
                (["rr", "slice=5ms", "slice=6ms"], USAGE, "slice: given twice"),
                (["rr", "policy=tfs"], USAGE, "policy: given twice"),
                (["rr", "slice=5"], USAGE, "ns, us, ms, s, min or h"),
                (["rr", "memory=1GiB"], USAGE, "slice, epoch, quantum"),
                (["rr", "slice"], USAGE, "KEY=VALUE")):
            admin.wrong(status, "policy", "set", "0", *words, says=says)
        admin.wrong(NOT_FOUND, "policy", "set", "7", "rr", says="no GPU 7")
        admin.wrong(NOT_FOUND, "policy", "show", "7", says="no GPU 7")
        admin.wrong(USAGE, "policy", "set", "GPU-0", "rr", says="number")
        expect(policy(admin)["generation"] == 1, "nothing has changed")


def test_the_reload_takes_what_the_file_says(build):
    with node(build, "policy = rr\n") as (server, admin):
        admin.run("policy", "set", "0", "ps")
        with open(server.config, encoding="utf-8") as file:
            text = file.read()
        with open(server.config, "w", encoding="utf-8") as file:
            file.write(text.replace("policy = rr", "policy = fs\nepoch = 40ms"))
        reloaded = admin.json("reload")
        expect(reloaded["restart_needed"] is None, f"{reloaded}")
        now = policy(admin)
        expect((now["policy"], now["epoch_ns"]) == ("fs", 40000000), f"{now}")


def test_changes_while_programs_run(build):
    """Programs lose nothing: `turns` counts what its kernels and copies have done. semantics
    S172"""
    with node(build, "policy = rr\n") as (server, admin), contextlib.ExitStack() as stack:
        players = [TurnTaker(build, server, mode) for mode in ("queue", "calls")]
        for player in players:
            stack.callback(player.end)
            player.goes_on(1)
        for name in ("none", "tfs", "ps", "las", "groups", "priority", "none", "rr"):
            admin.run("policy", "set", "0", name)
            for player in players:
                player.goes_on()
        sessions = admin.items("sessions")
        expect(len(sessions) == 2, f"{sessions}")
        for session in sessions:
            use, = session["use"]
            expect(use["turns"] > 0 and use["turn"] in ("holds", "waits", "idle"), f"{use}")
        expect("TURN" in admin.text("sessions"), "there is a column")
        for player in players:
            player.finish()


def test_sessions_from_before_there_was_a_policy(build):
    """Programs take turns from then on: under one that has never had a turn, too."""
    with node(build, "") as (server, admin), contextlib.ExitStack() as stack:
        players = []
        for mode in ("calls", "queue"):
            players.append(TurnTaker(build, server, mode))
            stack.callback(players[-1].end)
            players[-1].goes_on()
        expect([use["turn"] for session in admin.items("sessions") for use in session["use"]] ==
               [None, None], "they take none")
        process = admin.run("policy", "set", "0", "rr")
        expect("begun" not in process.err.text, process.report())
        after = TurnTaker(build, server, "calls")
        stack.callback(after.end)
        players.append(after)

        def take_turns():
            uses = [use for session in admin.items("sessions") for use in session["use"]]
            return len(uses) == 3 and all(use["turns"] > 2 for use in uses)
        wait_until(take_turns, SECONDS, "each of them has turns")
        for player in players:
            player.goes_on()
            player.finish()


if __name__ == "__main__":
    harness.main(globals())
