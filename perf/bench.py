# SPDX-License-Identifier: Apache-2.0
"""The figures of gpuaas against their physical floors; perf/README.md says how to read them."""

import argparse
import datetime
import os
import platform
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import facts as fact_table  # noqa: E402  (found by the line above)
import far_facts  # noqa: E402
import figures as figure_table  # noqa: E402
import image_figures  # noqa: E402
import list_figures  # noqa: E402
import mix  # noqa: E402
import rdma_figures  # noqa: E402
import sched_facts  # noqa: E402
import service_figures  # noqa: E402
import soft_figures  # noqa: E402
import tenant_figures  # noqa: E402
import tls_figures  # noqa: E402
import report  # noqa: E402
import rig  # noqa: E402

# mode -> (turns, how much in each turn)
MODES = {"full": (15, 1.0), "quick": (3, 0.4), "check": (1, 0.002)}


FIGURES = (figure_table.all_figures() + tls_figures.all_figures() + mix.all_figures() +
           tenant_figures.all_figures() + service_figures.all_figures() +
           image_figures.all_figures() + list_figures.all_figures() +
           soft_figures.all_figures())
BY_NAME = rdma_figures.all_figures()  # only for who says "rdma"
FACTS = {**fact_table.ALL, **sched_facts.FACTS, **far_facts.ALL, **tls_figures.FACTS,
         **tenant_figures.FACTS, **list_figures.FACTS, **soft_figures.FACTS}


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        match = re.search(r"^model name\s*:\s*(.*)$", f.read(), re.MULTILINE)
    return match.group(1) if match else platform.machine()


def choose(build, name):
    """The figures of that name."""
    chosen = [figure for figure in FIGURES if re.search(name, figure.key)]
    if "rdma" in name:
        why = rdma_figures.lacks(build)
        if why is not None and not chosen:
            sys.exit(f"bench: rdma cannot be measured: {why}")
        if why is None:
            chosen += [figure for figure in BY_NAME if re.search(name, figure.key)]
    return chosen


def describe(build, arguments, load):
    return {"when": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
            "preset": os.path.basename(build.folder), "mode": arguments.mode,
            "priority": "real time" if arguments.real_time else "normal",
            "machine": {"processor": processor(), "cores": os.cpu_count(),
                        "kernel": platform.release().split("-")[0]},
            "load": load}


def measure_figures(bench_rig, floor, chosen, mode):
    turns, scale = MODES[mode]
    bench = figure_table.Bench(bench_rig, floor, turns, scale)
    for number in range(turns):
        for figure in chosen:
            progress(f"turn {number + 1} of {turns}: {figure.title}")
            figure.turn(bench)


def measure_facts(bench_rig, floor, chosen, mode):
    found = []
    for name in chosen:
        progress(name)
        with rig.Rig(bench_rig.build, bench_rig.real_time) as own_rig:
            found += FACTS[name](own_rig, floor, MODES[mode][1])
    return found


def progress(words):
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="regular expression on the names of "
                        "what is measured; everything but rdma when left out")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", dest="mode", action="store_const", const="quick", default="full",
                      help="less of everything: two to three minutes")
    mode.add_argument("--check", dest="mode", action="store_const", const="check",
                      help="as little as possible: only whether everything arrives and is counted "
                      "rightly")
    parser.add_argument("--real-time", action="store_true", help="run everything with real-time "
                        "priority: steadier on a busy machine, whose other programs then wait "
                        "(needs root)")
    parser.add_argument("--out", metavar="NAME",
                        help="write NAME.json and NAME.svg, as in perf/results")
    return rig.harness.parse_arguments(parser)


def main():
    build, arguments = parse()
    try:
        re.compile(arguments.name)
    except re.error as error:
        sys.exit(f"bench: {arguments.name!r} is not a regular expression: {error}")
    chosen = choose(build, arguments.name)
    chosen_facts = [name for name in FACTS if re.search(arguments.name, name)]
    if not chosen and not chosen_facts:
        names = [figure.key for figure in FIGURES + BY_NAME] + list(FACTS)
        sys.exit(f"bench: nothing matches {arguments.name!r}; there are: {' '.join(names)}")
    before = os.getloadavg()[0]
    with rig.Rig(build, arguments.real_time) as bench_rig:
        if bench_rig.client_core == bench_rig.server_core:
            print("one core only: client and server share it, and no ratio means much")
        floor = bench_rig.floor()
        if chosen:
            measure_figures(bench_rig, floor, chosen, arguments.mode)
        found = measure_facts(bench_rig, floor, chosen_facts, arguments.mode)
    progress("")
    run = describe(build, arguments, [before, os.getloadavg()[0]])
    show(arguments, run, chosen, found)


def show(arguments, run, chosen, facts):
    if arguments.mode == "check":
        for fact in facts:
            if fact.held and not fact.reached():
                raise rig.Failure(f"{fact.title}: {fact.value}, {fact.target_text()} is promised")
        print(f"{len(chosen)} figures, {len(facts)} facts: everything arrived and was counted")
    else:
        print(report.conditions(run))
        report.print_figures(chosen)
        report.print_facts(facts)
        if report.remark(run):
            print(f"\n{report.remark(run)}")
    if arguments.out:
        os.makedirs(os.path.dirname(os.path.abspath(arguments.out)), exist_ok=True)
        for suffix, content in ((".json", report.as_json(run, chosen, facts)),
                                (".svg", report.as_svg(run, chosen))):
            with open(arguments.out + suffix, "w", encoding="utf-8") as f:
                f.write(content)


if __name__ == "__main__":
    try:
        main()
    except (rig.Failure, rig.harness.Failure) as failure:
        sys.exit(f"bench: {failure}")
