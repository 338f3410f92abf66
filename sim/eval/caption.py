# SPDX-License-Identifier: Apache-2.0
"""The caption of a table: every parameter of the runs behind it, as they had it."""

import re

KINDS = ("run", "policy", "node", "gpu", "app", "stream")
# Keys of GPUs and applications that are always shown; other values are those of their model or
# table.
ALWAYS = {"gpu": ("model", "context_time", "switch_time", "context_slice"),
          "app": ("h2d_part", "rounds"), "stream": ()}
UNITS = {"": 1, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
SHOWN = 6  # values of a key; of more only the ends


def standards(text):
    """Kind -> key -> default, from `gpuaas-sim keys`."""
    found, kind = {}, None
    for line in text.splitlines():
        if line.startswith("["):
            kind = line.strip("[]").partition(".")[0]
            found[kind] = {}
        elif line.startswith("  ") and not line.startswith("    "):
            words = line.split()
            # A key without a default has what is allowed behind two blanks or more.
            blank = re.match(r"  \S+ {13,}", line) is not None and len(line) > 25 and \
                line[25] == " "
            found[kind][words[0]] = "" if blank or len(words) < 2 else words[1]
    return found


def parameters(run):
    """Section -> key -> value of a run: the scenario's, and what is set over it."""
    text, settings, _, against = run
    found, section = {}, None
    for line in text.splitlines():
        line = line.partition(";")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
            found.setdefault(section, {})
        elif line:
            key, _, value = line.partition("=")
            found[section][key.strip()] = value.strip()
    for given in (settings, against or {}):
        for name, value in given.items():
            section, _, key = name.rpartition(".")
            before = found.setdefault(section, {}).get(key)
            both = given is not settings and before is not None and before != str(value)
            found[section][key] = f"{before} against {value}" if both else str(value)
    return found


def values_of(runs, defaults):
    """"kind.key" -> the values that runs had, without doubles, by size or by name."""
    found = {}
    for run in runs:
        sections = parameters(run)
        for kind in ("run", "policy", "node"):
            sections.setdefault(kind if kind != "node" else "node.0", {})
        for section, given in sections.items():
            kind = section.partition(".")[0]
            keys = {key: defaults[kind][key] for key in ALWAYS.get(kind, defaults[kind])}
            for key, value in {**keys, **given}.items():
                found.setdefault(f"{kind}.{key}", {})[value] = True
    return {name: ordered(list(values)) for name, values in found.items()}


def ordered(values):
    by_size = numbers(values)
    return [value for _, value in by_size] if by_size else sorted(values)


def numbers(values):
    """(number, value) of each, by size; None: they are not all numbers."""
    read = [(re.fullmatch(r"([0-9.]+)([a-z]*)", value), value) for value in values]
    if not all(match and match.group(2) in UNITS for match, _ in read):
        return None
    return sorted((float(match.group(1)) * UNITS[match.group(2)], value) for match, value in read)


def shown(values):
    if len(values) <= SHOWN:
        return ", ".join(value if value != "" else "none" for value in values)
    return (f"{len(values)} from {values[0]} to {values[-1]}" if numbers(values)
            else f"{len(values)} different")


def caption(runs, keys_text):
    """`runs` as Bed takes them, at least one; what they had of every key."""
    found = values_of(runs, standards(keys_text))
    seeds = sorted({run[2] for run in runs})
    parts = [f"{len(runs)} runs, {len(seeds)} seeds from {seeds[0]} to {seeds[-1]}"]
    for kind in KINDS:
        names = sorted(name for name in found if name.partition(".")[0] == kind)
        parts.append(f"[{kind}] " + "; ".join(
            f"{name.partition('.')[2]} {shown(found[name])}" for name in names))
    return ". ".join(part for part in parts if not part.endswith("] ")) + "."
