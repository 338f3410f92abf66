# SPDX-License-Identifier: Apache-2.0
"""./dev compat: builds a checkout of cuda-samples, Rodinia or SHOC beside the project, runs its
programs on the software GPU, in the program's own process and through a server, and says which of
them pass their own checks."""

import argparse
import glob
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import run  # noqa: E402
import suites  # noqa: E402

CONFIG = """[server]
listen = tcp://127.0.0.1:%d
[gpu.0]
driver = soft
memory = 4GiB
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def options():
    parser = argparse.ArgumentParser(prog="./dev compat", description=__doc__)
    parser.add_argument("checkout", metavar="DIR", help="a checkout of the suite; not changed")
    parser.add_argument("programs", nargs="?", default="", metavar="NAME",
                        help="only programs whose names match this regular expression")
    parser.add_argument("--direct", action="store_true", help="on the software GPU alone")
    parser.add_argument("--arch", default="75", help="compile for this; default 75")
    parser.add_argument("--devices", default="memory=4GiB,name=software GPU",
                        help="SOFTGPU_DEVICES of the direct runs")
    parser.add_argument("--include", metavar="DIR", default="",
                        help="where else headers are: Rodinia's cfd needs Common of cuda-samples")
    parser.add_argument("--limit", type=int, default=120, metavar="S", help="for one run")
    parser.add_argument("--out", metavar="FILE", help="the table as Markdown, results as .json")
    parser.add_argument("--record", action="store_true",
                        help="for docs/compatibility.md; results of programs not run stay")
    return parser.parse_args()


class Server:
    """A gpuaasd of the release build on a free port."""

    def __init__(self):
        self.read = 0
        self.folder = tempfile.TemporaryDirectory(prefix="gpuaas-compat-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = os.path.join(self.folder.name, "gpuaasd.conf")
        with open(config, "w") as file:
            file.write(CONFIG % self.port)
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.process = subprocess.Popen(
            [os.path.join(ROOT, "build/release/bin/gpuaasd"), "--config", config],
            stdout=self.log, stderr=self.log)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("compat: gpuaasd does not start: " + open(self.log.name).read())

    def complaints(self):
        """Warnings of the server since the last call: many programs ignore error codes."""
        with open(self.log.name, errors="replace") as file:
            file.seek(self.read)
            lines = file.read().splitlines()
            self.read = file.tell()
        return [line for line in lines if " warning: " in line or " error: " in line]

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.folder.cleanup()


def environment(path, **more):
    """Programs that compile at run time shall keep PTX, as `gpuaas run` has it."""
    inherited = {key: value for key, value in os.environ.items()
                 if not key.startswith(("GPUAAS_", "SOFTGPU_", "CUDA_"))}
    jit = glob.glob(os.path.join(ROOT, "build/release/lib/gpuaas/jit/*.so.*"))
    return {**inherited, "LD_LIBRARY_PATH": path, "LD_PRELOAD": ":".join(jit), **more}


def remote_run(program, server, limit_s):
    outcome = run.run(program, environment(
        os.path.join(ROOT, "build/release/lib/gpuaas"), GPUAAS_TRACE="summary",
        GPUAAS_SERVERS=f"127.0.0.1:{server.port}"), limit_s)
    complaints = server.complaints()
    launches = re.findall(r"trace: +(\d+) ga_launch", outcome.output)
    outcome.launches = sum(map(int, launches))
    if complaints and not program.complains and outcome.state == run.PASSED:
        outcome.state, outcome.reason = run.FAILED, complaints[0][-160:]
    return outcome


def table(results):
    lines = ["| program | softgpu | through a server | launches | s | why not |",
             "|---|---|---|---|---|---|"]
    for name, direct, remote in results:
        other = remote.state if remote else "-"
        why = why_of(direct, remote)
        launches = remote.launches if remote else "-"
        lines.append(f"| {name} | {direct.state} | {other} | {launches} | {direct.seconds:.1f} | "
                     f"{why} |")
    return lines


def why_of(direct, remote):
    why = direct.reason or (remote.reason if remote else "")
    why = re.sub(r"\S*/build/compat/", "", why)
    return re.sub(r"[^\x20-\x7e]+", "", why).replace("|", "\\|")


def record(name, commit, results):
    """Leaves them where scripts/compatibility.py finds them, and lets it write its page."""
    path = os.path.join(ROOT, "docs", "compat", name + ".json")
    rows = {}
    if os.path.exists(path):
        with open(path) as file:
            rows = {row["name"]: row for row in json.load(file)["programs"]}
    for label, direct, remote in results:
        rows[label] = {"name": label, "direct": direct.state,
                       "server": remote.state if remote else direct.state,
                       "why": why_of(direct, remote)}
    counts = {}
    for row in rows.values():
        key = row["direct"] if row["server"] == row["direct"] else \
            f"{row['direct']}, through a server {row['server']}"
        counts[key] = counts.get(key, 0) + 1
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({"name": name, "commit": commit,
                   "summary": ", ".join(f"{n} {key}" for key, n in sorted(counts.items())),
                   "programs": sorted(rows.values(), key=lambda row: row["name"].lower())},
                  file, indent=1)
        file.write("\n")
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "compatibility.py"),
                    os.environ.get("CUDA_PATH", "/usr/local/cuda")], check=True)


def summary(results):
    counts = {}
    for _, direct, remote in results:
        key = direct.state if not remote or remote.state == direct.state else \
            f"{direct.state}, through a server {remote.state}"
        counts[key] = counts.get(key, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))


def main():
    opt = options()
    checkout = os.path.realpath(opt.checkout)
    pattern = re.compile(opt.programs)
    work = os.path.join(ROOT, "build/compat", os.path.basename(checkout) + "-" + opt.arch)
    toolkit = os.environ.get("CUDA_PATH", "/usr/local/cuda")
    nvcc = suites.make_compiler(work, toolkit, opt.arch, opt.include)
    say = lambda text: print("  " + text, flush=True)  # noqa: E731
    name, programs = suites.programs_of(checkout, work, nvcc, pattern.search, say)
    direct = environment(os.path.join(ROOT, "build/release/lib/softgpu"),
                         SOFTGPU_DEVICES=opt.devices)
    server = None if opt.direct else Server()
    results = []
    try:
        for program in programs:
            one = run.run(program, direct, opt.limit)
            two = None
            if server and program.command:
                two = remote_run(program, server, opt.limit)
            results.append((program.name, one, two))
            say(f"{program.name}: {one.state}" + (f" / {two.state}" if two else "") +
                (f" ({one.reason or two.reason})" if one.reason or (two and two.reason) else ""))
    finally:
        if server:
            server.close()
    lines = table(results)
    head = f"{name}, commit {suites.commit_of(checkout)}: {summary(results)}"
    print("\n".join(lines + ["", head]))
    if opt.out:
        with open(opt.out + ".md", "w") as file:
            file.write("\n".join([head, ""] + lines) + "\n")
        with open(opt.out + ".json", "w") as file:
            json.dump([{"name": n, "direct": vars(a), "server": vars(b) if b else None}
                       for n, a, b in results], file, indent=1)
    if opt.record:
        record(name, suites.commit_of(checkout), results)
    bad = (run.FAILED, run.TIMEOUT)
    return 1 if any(a.state in bad or (b and b.state in bad) for _, a, b in results) else 0


if __name__ == "__main__":
    sys.exit(main())
