# SPDX-License-Identifier: Apache-2.0
"""Results as a table on stdout, as JSON, and as a picture."""

import json
import re
import statistics
from xml.sax.saxutils import escape


def conditions(run):
    before, after = run["load"]
    return (f"{run['when']}, {run['preset']}, {run['mode']}, {run['machine']['processor']}, "
            f"{run['machine']['cores']} cores, {run['priority']} priority, load {before:.1f} to "
            f"{after:.1f}")


def remark(run):
    """A remark for readers of this run, or nothing."""
    busy = max(run["load"]) > run["machine"]["cores"]
    return ("the machine was busy: with normal priority these ratios say little, take --real-time"
            if busy and run["priority"] == "normal" else "")


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def target_text(figure):
    if figure.target is None:
        return ""
    sign = "<=" if figure.lower else ">="
    what = f" {figure.unit}" if figure.absolute else "x"
    return f"{sign} {figure.target:g}{what}"


def verdict(reached):
    return {None: "", True: "ok", False: "MISSED"}[reached]


def print_rows(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:])]
        print("  ".join([*cells, row[-1]]).rstrip())


def print_figures(figures):
    if not figures:
        return
    rows = [["", "ours", "floor", "unit", "ratio", "spread", "target", "", "besides"]]
    for figure in figures:
        ratios = figure.ratios()
        besides = [f"{name} {number(figure.median(name))}" for name in figure.turns[0]
                   if name not in ("ours", "floor")]
        rows.append([figure.title, number(figure.median("ours")), number(figure.median("floor")),
                     figure.unit, f"{statistics.median(ratios):.2f}",
                     f"{min(ratios):.2f}..{max(ratios):.2f}", target_text(figure),
                     verdict(figure.reached()), ", ".join(besides)])
    print_rows(rows)


def print_facts(facts):
    if facts:
        print()
        print_rows([[fact.title, "-" if fact.value is None else number(fact.value), fact.unit,
                     fact.target_text(), verdict(fact.reached()), fact.note] for fact in facts])


def rounded(value):
    """Four digits are more than any of this is worth."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def as_json(run, figures, facts):
    run = dict(run)
    run["figures"] = [
        {"key": figure.key, "title": figure.title, "unit": figure.unit,
         "better": "less" if figure.lower else "more", "target": target_text(figure),
         "reached": figure.reached(), "ratio": statistics.median(figure.ratios()),
         "ratios": figure.ratios(),
         "columns": {name: {"median": figure.median(name), "turns": figure.values(name)}
                     for name in figure.turns[0]}}
        for figure in figures]
    run["facts"] = [
        {"key": fact.key, "title": fact.title, "unit": fact.unit, "value": fact.value,
         "target": fact.target_text(), "reached": fact.reached(), "note": fact.note}
        for fact in facts]
    text = json.dumps(rounded(run), indent=1)
    return re.sub(r"\[\s+([^][{}]*?)\s+\]",  # numbers of one list on one line
                  lambda match: "[" + re.sub(r"\s+", " ", match.group(1)) + "]", text) + "\n"


# ---- the picture: a pair of bars for each figure, the floor's and ours, the floor's always as long

LEFT, UNIT, ROW, TOP = 210, 320, 34, 64
GREY, BLUE, DARK = "#b8bcc4", "#2f6fb2", "#222222"


def text(x, y, words, anchor="start", size=12):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{DARK}" '
            f'text-anchor="{anchor}">{escape(words)}</text>')


def bar(x, y, width, color):
    return f'<rect x="{x}" y="{y}" width="{max(width, 1):.1f}" height="11" fill="{color}"/>'


def figure_rows(figures):
    for place, figure in enumerate(figures):
        y = TOP + place * ROW
        ratio = statistics.median(figure.ratios())
        share = 1 / ratio if figure.lower else ratio
        yield text(LEFT - 10, y + 16, figure.title, "end")
        yield bar(LEFT, y, UNIT, GREY)
        yield text(LEFT + UNIT + 6, y + 10, f"{number(figure.median('floor'))} {figure.unit}",
                   size=11)
        yield bar(LEFT, y + 13, UNIT * share, BLUE)
        yield text(LEFT + UNIT * max(share, 0.0) + 6, y + 23,
                   f"{number(figure.median('ours'))} {figure.unit} ({ratio:.2f}x)", size=11)


def as_svg(run, figures):
    longest = max([1.0] + [(1 / r if f.lower else r) for f in figures
                           for r in [statistics.median(f.ratios())]])
    width = LEFT + UNIT * longest + 170
    height = TOP + ROW * len(figures) + 10
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>')
    title = [text(10, 22, "How near to the floor (grey: the floor; blue: gpuaas; longer is "
                  "better)", size=15),
             text(10, 42, conditions(run), size=11)]
    return "\n".join([head, *title, *figure_rows(figures), "</svg>"]) + "\n"
