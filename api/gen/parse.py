# SPDX-License-Identifier: Apache-2.0
"""Reads *.api files into stanzas: words and line numbers, no meaning yet.

The grammar is in api/README.md. An error is always `file:line: message`, because that is what an
editor jumps to.
"""
import re

CALL_KEYS = {"op", "client", "reply", "server", "soft", "in", "out", "make", "drop", "range",
             "ptsz", "ptds", "alias", "mask", "last", "bulk", "since", "capture",
             "engine", "charge", "record"}
SINGLE_KEYS = {"op", "client", "reply", "server", "soft", "bulk", "since", "capture",
               "engine", "charge", "record"}
HEADS = {"call", "message", "unsupported", "absent", "type", "handle", "constant"}


class ApiError(Exception):
    def __init__(self, path, line, message):
        super().__init__(f"{path}:{line}: {message}")


class Line:
    """One `key words...` line of a stanza."""

    def __init__(self, path, number, key, words):
        self.path, self.number, self.key, self.words = path, number, key, words

    def fail(self, message):
        raise ApiError(self.path, self.number, message)


class Stanza:
    def __init__(self, path, number, head, words):
        self.path, self.number, self.head, self.words = path, number, head, words
        self.prototype = None  # text between the parentheses, one line
        self.lines = []

    def fail(self, message):
        raise ApiError(self.path, self.number, message)

    def all(self, key):
        return [line for line in self.lines if line.key == key]

    def one(self, key):
        found = self.all(key)
        return found[0] if found else None


def _body_line(stanza, path, number, text, state):
    """A line of a call or message: part of the prototype, or a key line."""
    if state["open"]:
        state["text"] += " " + text
    elif text.startswith("CUresult"):
        if stanza.prototype is not None or state["text"]:
            raise ApiError(path, number, "a second prototype")
        state["text"], state["open"] = text, True
    if state["open"]:
        if not text.endswith(")"):
            return
        match = re.fullmatch(r"CUresult\s*\((.*)\)", state["text"])
        if not match:
            raise ApiError(path, number, "a prototype reads: CUresult (type name, ...)")
        stanza.prototype = " ".join(match.group(1).split())
        state["open"] = False
        return
    words = text.split()
    if words[0] not in CALL_KEYS:
        raise ApiError(path, number, f"unknown key '{words[0]}'")
    if words[0] in SINGLE_KEYS and stanza.one(words[0]):
        raise ApiError(path, number, f"'{words[0]}' is said twice")
    if len(words) < 2:
        raise ApiError(path, number, f"'{words[0]}' wants a value")
    stanza.lines.append(Line(path, number, words[0], words[1:]))


def _finish(stanza, state):
    if stanza is None or stanza.head not in ("call", "message"):
        return
    if state["open"]:
        stanza.fail("the prototype is not closed by ')' at the end of a line")
    if stanza.prototype is None:
        stanza.fail(f"{stanza.head} {stanza.words[0]} has no prototype")


def parse_file(path, text, shown=None):
    """The stanzas of one file; `shown` is the path that errors name."""
    shown = shown or path
    stanzas, stanza, state = [], None, {"open": False, "text": ""}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#", 1)[0].rstrip()
        if not line.strip():
            continue
        if "\t" in line:
            raise ApiError(shown, number, "a tab")
        if line[0] != " ":
            _finish(stanza, state)
            words = line.split()
            if words[0] not in HEADS:
                raise ApiError(shown, number, f"unknown stanza '{words[0]}'")
            stanza = Stanza(shown, number, words[0], words[1:])
            state = {"open": False, "text": ""}
            stanzas.append(stanza)
            if words[0] in ("call", "message") and len(words) != 2:
                raise ApiError(shown, number, f"'{words[0]}' wants exactly one name")
            continue
        if stanza is None:
            raise ApiError(shown, number, "an indented line before any stanza")
        if stanza.head in ("unsupported", "absent"):
            stanza.words += line.split()
        elif stanza.head in ("type", "handle", "constant"):
            raise ApiError(shown, number, f"'{stanza.head}' is one line")
        else:
            _body_line(stanza, shown, number, line.strip(), state)
    _finish(stanza, state)
    return stanzas
