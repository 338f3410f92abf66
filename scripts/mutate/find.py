# SPDX-License-Identifier: Apache-2.0
"""The places for faults: finds sites in C sources as clang parses them. A site's bytes are a whole
expression or statement of the file itself: the body of a macro is not searched, its arguments are
(so the rows of *.def are). Constant expressions, logging, asserts and failpoints are left alone.

A site's bytes are a whole expression or statement of the file itself: what comes out of a macro's
definition is not looked at, what is handed to a macro is (so the rows of *.def are). Constant
expressions, logging, asserts and failpoints are left alone."""

import ctypes
import glob
import re

from clang import cindex

from place import Site

K = cindex.CursorKind
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||",
               "||": "&&"}
STEPS = {"+", "-", "*"}
UNEVEN = {"-", "/", "%", "<<", ">>"}  # operands of which the order matters
# strcmp() and the like: most ask whether it is 0. calloc() takes the product of both.
SYMMETRIC = r"cmp$|^calloc$"
QUIET = re.compile(r"\b(assert|static_assert|GA_FAILPOINT|ga_(error|warn|info|debug|log)\w*)\s*\(")
INTEGERS = {cindex.TypeKind.INT, cindex.TypeKind.UINT, cindex.TypeKind.LONG, cindex.TypeKind.ULONG,
            cindex.TypeKind.LONGLONG, cindex.TypeKind.ULONGLONG}
BREAKS = {K.BREAK_STMT, K.CONTINUE_STMT}
ASSIGNS = {K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR}


def written(location, names):
    """(path, offset) of the file where it is written, also inside a macro's arguments."""
    file, offset = cindex.c_object_p(), ctypes.c_uint()
    line, column = ctypes.c_uint(), ctypes.c_uint()
    cindex.conf.lib.clang_getFileLocation(location, ctypes.byref(file), ctypes.byref(line),
                                          ctypes.byref(column), ctypes.byref(offset))
    if not file:
        return None, 0
    address = ctypes.addressof(file.contents)
    if address not in names:
        names[address] = cindex.File(file).name
    return names[address], offset.value


class Finder:
    def __init__(self, files):
        """`files`: real path -> (path relative to the root, text)."""
        self.files = files
        self.sites = {}
        self.names = {}  # of clang's files: asking takes longest

    def at(self, location):
        return written(location, self.names)

    def span(self, cursor):
        """(path, start, end) of a cursor that lies in one of the files; None: it does not."""
        path, start = self.at(cursor.extent.start)
        also, end = self.at(cursor.extent.end)
        return (path, start, end) if path == also and path in self.files and start < end else None

    def text(self, path, start, end):
        return self.files[path][1][start:end]

    def add(self, span, kind, fault):
        path, start, end = span
        file, text = self.files[path]
        line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        whole = text[begin:text.find("\n", start)]
        if QUIET.search(whole) or whole.lstrip().startswith("#"):
            return
        site = Site(file, start, end, line, kind, fault)
        self.sites.setdefault(site.key, site)

    # ---- kinds

    def binary(self, cursor):
        sides = list(cursor.get_children())
        if len(sides) != 2:
            return
        whole, left, right = (self.span(at) for at in (cursor, *sides))
        if None in (whole, left, right) or len({whole[0], left[0], right[0]}) != 1:
            return
        operator = self.text(whole[0], left[2], right[1]).strip()
        if left[1] != whole[1] or right[2] != whole[2]:
            return
        a, b = self.text(*left), self.text(*right)
        if operator in COMPARISONS:
            self.add(whole, "comparison", f"{a} {COMPARISONS[operator]} {b}")
        if operator in STEPS and cursor.type.get_canonical().kind in INTEGERS:
            self.add(whole, "off by one", f"({a} {operator} {b}) + 1")
        if operator in UNEVEN and a != b:
            self.add(whole, "swapped", f"({b}) {operator} ({a})")

    def subscript(self, cursor):
        sides = list(cursor.get_children())
        index = self.span(sides[1]) if len(sides) == 2 else None
        if index is not None and self.files[index[0]][1][index[2]:index[2] + 1] == "]":
            self.add(index, "off by one", f"({self.text(*index)}) + 1")

    def literal(self, cursor):
        span = self.span(cursor)
        text = self.text(*span) if span is not None else ""
        if text in ("true", "false"):
            self.add(span, "constant", "false" if text == "true" else "true")
            return
        number = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)([uUlL]*)", text)
        if number:
            digits = number.group(1)
            base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
            more = int(digits, base) + 1
            self.add(span, "constant", (hex(more) if base == 16 else str(more)) + number.group(2))

    def call(self, cursor):
        if re.search(SYMMETRIC, cursor.spelling):
            return
        arguments = list(cursor.get_arguments())
        for one, other in zip(arguments, arguments[1:]):
            first, second = self.span(one), self.span(other)
            if None in (first, second) or first[0] != second[0] or \
                    one.type.get_canonical().spelling != other.type.get_canonical().spelling:
                continue
            a, b = self.text(*first), self.text(*second)
            whole = self.span(cursor)
            if a == b or whole is None or whole[0] != first[0] or \
                    not whole[1] < first[1] < second[2] < whole[2]:
                continue
            before, between, after = (self.text(whole[0], *ends) for ends in (
                (whole[1], first[1]), (first[2], second[1]), (second[2], whole[2])))
            if between.strip() == ",":
                self.add(whole, "swapped", f"{before}{b}{between}{a}{after}")
            return

    def statement(self, cursor):
        """A child of a block: one that can be left out."""
        span = self.span(cursor)
        if span is None:
            return
        path, start, end = span
        after = re.match(r"\s*;", self.files[path][1][end:end + 80])
        text = self.text(*span)
        assigns = cursor.kind == K.BINARY_OPERATOR or (
            cursor.kind in ASSIGNS and ("=" in text or "++" in text or "--" in text))
        called = cursor.kind == K.CALL_EXPR and re.match(r"\w+\s*\(", text)
        ends = cursor.kind in BREAKS or (cursor.kind == K.RETURN_STMT and text == "return")
        if after and (called or assigns or ends):
            self.add((path, start, end + after.end()), "dropped", "")

    # ---- walking

    def walk(self, cursor, in_block=False):
        kind = cursor.kind
        if in_block:
            self.statement(cursor)
        if kind == K.BINARY_OPERATOR:
            self.binary(cursor)
        elif kind == K.ARRAY_SUBSCRIPT_EXPR:
            self.subscript(cursor)
        elif kind == K.INTEGER_LITERAL:
            self.literal(cursor)
        elif kind == K.CALL_EXPR:
            self.call(cursor)
        for child in self.children(cursor):
            self.walk(child, kind == K.COMPOUND_STMT)

    def children(self, cursor):
        """Those in which nothing has to be constant."""
        found = list(cursor.get_children())
        if cursor.kind == K.CASE_STMT:
            return found[1:]
        if cursor.kind == K.VAR_DECL:
            return [] if cursor.storage_class == cindex.StorageClass.STATIC else self.value(
                cursor, found)
        if cursor.kind in (K.STATIC_ASSERT, K.ENUM_DECL, K.STRUCT_DECL, K.UNION_DECL,
                           K.TYPEDEF_DECL, K.CXX_UNARY_EXPR):
            return []
        return found

    def value(self, cursor, found):
        """The initial value of a variable; sizes stand in front of the '='."""
        path, start = self.at(cursor.location)
        if path not in self.files:
            return []
        return [child for child in found
                if "=" in self.files[path][1][start:self.at(child.extent.start)[1]]]

    def unit(self, unit):
        """All functions of a translation unit that lie in our files."""
        for cursor in unit.cursor.get_children():
            if cursor.kind == K.FUNCTION_DECL and cursor.is_definition() and \
                    self.at(cursor.extent.start)[0] in self.files:
                for child in cursor.get_children():
                    if child.kind == K.COMPOUND_STMT:
                        self.walk(child)


def sites_of(jobs, files):
    """Sites of all files; `jobs`: (path, arguments of the compiler)."""
    finder = Finder(files)
    index = cindex.Index.create()
    own = glob.glob("/usr/lib/llvm-14/lib/clang/14*")  # stddef.h and the like
    own = ["-resource-dir", own[0]] if own else []
    as_they_are = [(path, text.encode("latin-1")) for path, (_, text) in files.items()]
    for path, arguments in jobs:
        unit = index.parse(path, args=[*arguments, *own], unsaved_files=as_they_are)
        wrong = [str(at) for at in unit.diagnostics if at.severity >= cindex.Diagnostic.Error]
        if wrong:
            raise RuntimeError(f"clang cannot read {path}: {wrong[0]}")
        finder.names.clear()
        finder.unit(unit)
    return sorted(finder.sites.values(), key=lambda site: site.key)
