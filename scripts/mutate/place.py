# SPDX-License-Identifier: Apache-2.0
"""A place in a source file where one small fault can be put, and that fault."""

from dataclasses import asdict, dataclass

KINDS = ("comparison", "off by one", "dropped", "swapped", "constant")


@dataclass(frozen=True)
class Site:
    file: str   # relative to the root, with slashes
    start: int  # bytes from the start of the file
    end: int
    line: int
    kind: str   # of KINDS
    fault: str  # what would stand there; "" of a statement that is dropped

    @property
    def key(self):
        return (self.file, self.start, self.end, self.kind)

    def overlaps(self, other):
        return self.file == other.file and self.start < other.end and other.start < self.end

    def to_dict(self):
        return asdict(self)


def line_of(text, site):
    """The whole line as it stands, stripped."""
    begin = text.rfind("\n", 0, site.start) + 1
    end = text.find("\n", site.start)
    return text[begin:end if end >= 0 else len(text)].strip()
