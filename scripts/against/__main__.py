# SPDX-License-Identifier: Apache-2.0
"""./dev bench --against REV [OPTIONS] FIGURE...: is this tree slower than REV? REV is built beside
it (build/against), and pairs of runs of the figures alternate: A B, B A, A B. Each side is measured
by its own perf/. Printed are, for each figure, the median of the pairs' ratios and its 95 %
interval, that of the sign test. A ratio is time-like: over 1 is slower now; rates are inverted.

The exit status is 1 unless the upper end of every interval is below the bound: "costs nothing" is
a claim, and a figure too noisy to show it has not shown it (NOT SHOWN: more pairs, a quieter
machine, --real-time). A figure that one side lacks is named and not judged. Interrupt it when you
like: what is known by then is printed, and the exit status is 130."""

import argparse
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pairs  # noqa: E402
import ratio  # noqa: E402
import tree  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST = 20  # pairs


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--against", required=True, metavar="REV", help="what to compare this tree with")
    add("figures", nargs="+", metavar="FIGURE", help="regular expression on figures, as of "
        "./dev bench; every run measures all of them")
    add("--bound", type=float, default=1.03, help="slower by this factor fails (1.03)")
    add("--pairs", type=int, default=LEAST, help=f"so many, {LEAST} at least ({LEAST})")
    add("--full", action="store_true", help="runs of full length; else as ./dev bench --quick")
    add("--quick", action="store_true", help="what it does anyhow")
    add("--real-time", action="store_true", help="as of ./dev bench")
    add("--cuda", required=True, help=argparse.SUPPRESS)
    add("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pairs < LEAST:
        parser.error(f"fewer than {LEAST} pairs show nothing")
    return options


def command(root, build, options):
    words = [sys.executable, os.path.join(root, "perf", "bench.py"), "--build", build, "--kernels",
             os.path.join(ROOT, "build", "kernels"), "--sanitize", "none", "--cuda", options.cuda]
    words += [] if options.full else ["--quick"]
    words += ["--real-time"] if options.real_time else []
    return [*words, "|".join(options.figures)]


def say(text):
    print(text, file=sys.stderr, flush=True)


def lacking(new, old, revision):
    """Names what cannot be compared; whether anything can."""
    for key in sorted(new.keys() ^ old.keys()):
        say(f"{key}: {revision if key in new else 'this tree'} has no such figure: not compared")
    for key in sorted(new.keys() & old.keys()):
        if new[key][0] is None or old[key][0] is None:
            say(f"{key}: cannot be measured here: not compared")
    return any(new[key][0] is not None and old[key][0] is not None
               for key in new.keys() & old.keys())


def compare(new, old, options, folder):
    """The exit status."""
    found = []
    say("one run of each that does not count")
    if not lacking(pairs.run(new, os.path.join(folder, "new")),
                   pairs.run(old, os.path.join(folder, "old")), options.against):
        raise pairs.Failed("nothing can be compared")
    begun = time.monotonic()

    def progress(number):
        left = ""
        if found:
            seconds = (time.monotonic() - begun) / len(found) * (options.pairs - len(found))
            left = f", about {seconds / 60:.0f} minutes more"
        if sys.stderr.isatty():
            print(f"\r\033[Kpair {number + 1} of {options.pairs}{left}", end="", file=sys.stderr,
                  flush=True)
    status = 0
    try:
        pairs.alternate(new, old, options.pairs, folder, progress, found)
    except KeyboardInterrupt:
        say(f"\ninterrupted after {len(found)} of {options.pairs} pairs")
        status = 130
    if sys.stderr.isatty():
        say("")
    results = ratio.results(found)
    print(ratio.report(results, options.bound, len(found)))
    return status or int(not results or not all(result.holds(options.bound) for result in results))


def main():
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commit = tree.commit_of(ROOT, options.against)
        folder = tree.checked_out(ROOT, commit)
        say(f"{options.against} is {commit[:12]}; building it in {os.path.relpath(folder, ROOT)}")
        old_build = tree.built(folder, options.jobs)
        new = command(ROOT, os.path.join(ROOT, "build", "release"), options)
        sys.exit(compare(new, command(folder, old_build, options), options, os.path.join(
            ROOT, "build", "against")))
    except (tree.Failed, pairs.Failed) as failure:
        sys.exit(f"bench: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
