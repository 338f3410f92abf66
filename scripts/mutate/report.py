# SPDX-License-Identifier: Apache-2.0
"""The report: the score, and the faults that no test has noticed. Faults that nobody can notice are
listed in equivalent.txt beside this file, in blocks of three lines: "FILE: the line", "becomes: the
line with the fault" and "because: why". An entry holds as long as the line exists."""

import os

import rewrite
from place import line_of

JUDGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "equivalent.txt")


def judged(text):
    """{(file, line, faulty line): why}"""
    found, lines = {}, [line for line in text.splitlines() if line and not line.startswith("#")]
    for at in range(0, len(lines), 3):
        file, _, line = lines[at].partition(": ")
        becomes, why = lines[at + 1], lines[at + 2]
        if not becomes.startswith("becomes:") or not why.startswith("because: "):
            raise ValueError(f"{JUDGED}: a judgement is three lines: {lines[at]}")
        found[file, line.strip(), becomes[8:].strip()] = why[9:]
    return found


def lines(text, site):
    """The line as it is, and with the fault."""
    with_fault = rewrite.broken(text, site)
    return line_of(text, site), line_of(with_fault, site)


def make(state):
    """(text, killed, all that count)"""
    with open(JUDGED, encoding="utf-8") as file:
        known = judged(file.read())
    out = []
    counts = {"killed": 0, "survived": 0, "equivalent": 0, "open": 0}
    chosen = state.chosen()
    for number in chosen:
        site, mutant = state.sites[number], state.mutants[number]
        line, faulty, status = mutant["stands"], mutant["becomes"], mutant["status"]
        why = known.get((site.file, line, faulty))
        if status == "survived" and why is not None:
            status = "equivalent"
        counts[status] += 1
        if status == "survived":
            reaching = state.reaching(number)
            out += [f"{number} {site.file}:{site.line}: {site.kind}: {line}",
                    f"        becomes: {faulty}",
                    f"        passed: {len(mutant['passed'])} of {len(reaching)} tests that reach "
                    f"it: {' '.join(reaching[:4])}"]
    count = counts["killed"] + counts["survived"]
    rest = len(state.sites) - len(chosen)
    score = 100 * counts["killed"] / count if count else 0
    out.append(f"{counts['killed']} of {count} faults noticed: {score:.1f} %; besides "
               f"{counts['equivalent']} that nobody can notice, {counts['open']} not yet tried; "
               f"{rest} more that are reached by no test or not needed")
    return "\n".join(out), counts["killed"], count
