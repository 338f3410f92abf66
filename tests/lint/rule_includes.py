# SPDX-License-Identifier: Apache-2.0
"""Include directions of folders and of their rooms, doors of folders and outside libraries, after
the tables in folders.py. Unit tests in <folder>/tests belong to their folder and may use criterion
besides."""

import os
import re

import folders
from tree import Finding

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check(tree):
    yield from check_tables(tree)
    for file in tree.with_suffix(".c", ".h", ".def", ".inc"):
        if file.folder in folders.FREE:
            continue
        if file.folder not in folders.MAY_INCLUDE:
            yield file.finding(0, unknown(file.folder or "/"))
            continue
        for number, line in enumerate(file.lines, 1):
            match = INCLUDE.match(line)
            if match:
                message = problem(file, *match.groups())
                if message:
                    yield file.finding(number, message)


def unknown(folder):
    return (f"folder {folder} is not in tests/lint/folders.py: move the file into a folder that "
            "is, or add a row to MAY_INCLUDE, PREFIXES and MAY_USE there, and to section 7 of "
            "ARCHITECTURE.md")


def check_tables(tree):
    """Every folder and room of the tables is there, and every one there is in its table."""
    tables = "tests/lint/folders.py"
    there = {file.folder for file in tree.files}
    if tables not in {file.path for file in tree.files}:
        return
    for folder in sorted(set(folders.MAY_INCLUDE) - there):
        yield Finding(tables, 0, f"there is no folder {folder}/: take its rows out")
    known = set(folders.MAY_INCLUDE) | folders.FREE | {""}
    for folder in sorted(there - known):
        if not folder.startswith("."):
            yield Finding(folder, 0, f"folder {folder}/ is not in tests/lint/folders.py: move its "
                          "files into a folder that is, or add it to FREE there (MAY_INCLUDE, "
                          "PREFIXES and MAY_USE if it has code of the product), and to section 7 "
                          "of ARCHITECTURE.md")
    for folder, rooms in folders.ROOMS.items():
        found = {room_of(file.path) for file in tree.with_suffix(".c", ".h")
                 if file.folder == folder}
        for room in sorted((found - {"", "tests"}) ^ set(rooms)):
            lacks = ("in the tree: take its row out" if room in rooms else
                     "in ROOMS: add a row with the rooms that it may include")
            yield Finding(tables, 0, f"{folder}/{room}/ is not {lacks}")


def room_of(path):
    """client/copy/copy.c: copy; client/client.h: nothing"""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def internal_problem(file, header):
    """The inside of a room is for its own files, and for unit tests."""
    if not header.endswith("_internal.h") or room_of(file.path) == "tests":
        return None
    if os.path.dirname(header) == os.path.dirname(file.path):
        return None
    return f'"{header}" is for the files of its own folder'


def room_problem(file, header):
    rooms = folders.ROOMS.get(file.folder)
    own, target = room_of(file.path), room_of(header)
    if rooms is None or own in ("", "tests") or target in ("", own) or own not in rooms:
        return None
    if target in rooms[own]:
        return None
    allowed = ", ".join(sorted(rooms[own])) or "no other"
    return f'"{header}": {file.folder}/{own}/ may include these rooms: {allowed}'


def problem(file, bracket, header):
    if bracket == "<":
        return library_problem(file, header)
    if ".." in header.split("/"):
        return f'"{header}": write the path from the root of the repository'
    target = header.split("/")[0] if "/" in header else file.folder
    if target == file.folder:
        return (internal_problem(file, header) or room_problem(file, header) or
                library_problem(file, header))
    if target not in folders.MAY_INCLUDE:
        return library_problem(file, header)
    if target not in folders.MAY_INCLUDE[file.folder]:
        allowed = ", ".join(sorted(folders.MAY_INCLUDE[file.folder])) or "nothing"
        return f'"{header}": {file.folder}/ may include {allowed}'
    if (target not in folders.ALL_DOOR and header not in folders.OPEN_TABLES and
            header != f"{target}/{target}.h"):
        return f'"{header}": from outside only {target}/{target}.h may be included'
    return None


def library_problem(file, header):
    library = folders.library_of(header)
    if library is None or library in folders.MAY_USE[file.folder]:
        return None
    if library == "criterion" and "/tests/" in file.path:
        return None
    allowed = ", ".join(sorted(folders.MAY_USE[file.folder])) or "none"
    return f"{header}: {file.folder}/ may use these outside libraries: {allowed}"
