# SPDX-License-Identifier: Apache-2.0
"""./dev test --changed [REV]: says which tests can see what has been touched since REV, and why;
their names go to stdout, all else to stderr. REV is by default where this branch left the one that
it goes to; files that are not committed count, too. The build has to be up to date: ninja says
there what is made of what. tests/changed.txt says the rest.

With --needs NAME: what has to be built for the tests whose names match, for ninja."""

import argparse
import os
import re
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import choose  # noqa: E402
import graph  # noqa: E402
import needs  # noqa: E402
import suite  # noqa: E402
import table  # noqa: E402
import touched  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 8  # names in one line


def parse():
    parser = argparse.ArgumentParser(prog="./dev test --changed", description=__doc__)
    parser.add_argument("--build", required=True, help="the build folder")
    parser.add_argument("--needs", metavar="NAME", help="a regular expression on names of tests")
    parser.add_argument("revision", nargs="?", metavar="REV")
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr)


def some(names):
    names = sorted(names)
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " ".join(names[:SHOWN]) + rest


def merged(reasons):
    """Many files with one reason are one line; so are many reasons for the same tests."""
    found = {}
    for why, names in reasons:
        if names:
            found.setdefault(frozenset(names), []).append(why)
    for names, whys in found.items():
        more = f" (and {len(whys) - 1} reasons more)" if len(whys) > 1 else ""
        yield whys[0] + more, names


def kind(name):
    return name.partition(".")[0] if "." in name else "unit"


def report(choice, tests, seconds):
    for why, names in merged(choice.reasons):
        say(f"  {why}: {some(names)}")
    for note in choice.notes:
        say(f"  {note}")
    if choice.products:
        say(f"  new in the product: {' '.join(sorted(choice.products))}; what end-to-end tests of "
            "it run is a choice (tests/changed.txt)")
    names = choice.names()
    known = sum(seconds.get(name, 0) for name in names)
    unknown = sum(name not in seconds for name in names)
    say(f"{len(names)} of {len(tests)} tests; one after the other {known:.0f} s when they ran "
        f"last{f' ({unknown} have not)' if unknown else ''}")
    left = Counter(kind(test.name) for test in tests if test.name not in names)
    if left:
        say("not run: " + ", ".join(f"{number} {what}" for what, number in sorted(left.items())) +
            "; ./dev test runs all")


def main():
    options = parse()
    build = os.path.abspath(options.build)
    if options.needs is not None:
        tests = [test for test in suite.of(build) if re.search(options.needs, test.name)]
        print(*sorted(needs.Needs(graph.Graph.of(build), suite.Scripts(ROOT)).targets(tests)))
        return
    try:
        revision, how = (options.revision, "") if options.revision else touched.base(ROOT)
        paths = touched.files(ROOT, revision)
        rows = table.read(os.path.join(ROOT, "tests", "changed.txt"))
    except (touched.Unknown, table.Wrong) as error:
        sys.exit(f"dev: {error}")
    say(f"touched since {revision[:12]}{f' ({how})' if how else ''}: {len(paths)} files")
    tests = suite.of(build)
    chooser = choose.Chooser(ROOT, graph.Graph.of(build), tests, suite.Scripts(ROOT), rows)
    choice = chooser.choose(paths)
    report(choice, tests, suite.seconds(build))
    print("\n".join(sorted(choice.names())))


if __name__ == "__main__":
    main()
