"""Include directions, doors of folders and outside libraries, after the table in folders.py. Unit
tests in <folder>/tests belong to their folder and may use criterion besides."""

import re

import folders

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check(tree):
    for file in tree.with_suffix(".c", ".h", ".def", ".inc"):
        if file.folder in folders.FREE:
            continue
        if file.folder not in folders.MAY_INCLUDE:
            yield file.finding(0, f"folder {file.folder or '/'} is not in tests/lint/folders.py")
            continue
        for number, line in enumerate(file.lines, 1):
            match = INCLUDE.match(line)
            if match:
                message = problem(file, *match.groups())
                if message:
                    yield file.finding(number, message)


def problem(file, bracket, header):
    if bracket == "<":
        return library_problem(file, header)
    if ".." in header.split("/"):
        return f'"{header}": write the path from the root of the repository'
    target = header.split("/")[0] if "/" in header else file.folder
    if target == file.folder or target not in folders.MAY_INCLUDE:
        return library_problem(file, header)
    if target not in folders.MAY_INCLUDE[file.folder]:
        allowed = ", ".join(sorted(folders.MAY_INCLUDE[file.folder])) or "nothing"
        return f'"{header}": {file.folder}/ may include {allowed}'
    if target not in folders.ALL_DOOR and header != f"{target}/{target}.h":
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
