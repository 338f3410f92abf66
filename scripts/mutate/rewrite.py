# SPDX-License-Identifier: Apache-2.0
"""Mutant schemata: a source with many faults in it, each behind a test of its number. One build
therefore has all of them, and the number of the active one is given when a program starts. Bytes of
sources are read as latin-1: offsets of characters are those of bytes.

Bytes of sources are taken as latin-1: offsets of characters are those of bytes."""

VARIABLE = "MUTANT_NUMBER"   # none of our prefixes: tests take those out of environments
REACHED = "MUTANT_REACHED"   # a file with a byte for each number, in recording runs

HEADER = r"""
#ifndef MUTANT_H
#define MUTANT_H
/* No header, and names of its own: sources include what they like, and name functions so. */
extern char *mutant_getenv(const char *) __asm__("getenv");
extern int mutant_atoi(const char *) __asm__("atoi");
extern int mutant_open(const char *, int, ...) __asm__("open");
extern void *mutant_mmap(void *, unsigned long, int, int, int, long) __asm__("mmap");
extern int mutant_close(int) __asm__("close");
#define MUTANT_OPEN_READ_WRITE_CLOEXEC 02000002
#define MUTANT_MAP_READ_WRITE_SHARED   3, 1

/* Weak: one of each in every program and library, whichever files it is made of. */
#define MUTANT_ONE __attribute__((weak, visibility("hidden")))
MUTANT_ONE unsigned mutant_number;
MUTANT_ONE unsigned char *mutant_reached;
__attribute__((constructor)) MUTANT_ONE void mutant_begin(void)
{
    const char *number = mutant_getenv("@VARIABLE@"), *file = mutant_getenv("@REACHED@");
    mutant_number = number ? (unsigned)mutant_atoi(number) : 0;
    if (!file || mutant_reached) {
        return;
    }
    int fd = mutant_open(file, MUTANT_OPEN_READ_WRITE_CLOEXEC);
    if (fd >= 0) {
        void *at = mutant_mmap(0, @BYTES@, MUTANT_MAP_READ_WRITE_SHARED, fd, 0);
        mutant_reached = at != (void *)-1 ? (unsigned char *)at : 0;
        mutant_close(fd);
    }
}

/* Numbers begin with 1. */
static inline __attribute__((always_inline)) int mutant_on(unsigned number)
{
    if (__builtin_expect(mutant_reached != 0, 0)) {
        mutant_reached[number] = 1;
    }
    return __builtin_expect(mutant_number == number, 0);
}
#endif
"""


def header(most):
    """The text of mutant.h for numbers up to `most`."""
    text = HEADER.replace("@VARIABLE@", VARIABLE).replace("@REACHED@", REACHED)
    return text.replace("@BYTES@", str(reached_bytes(most)))


def reached_bytes(most):
    return (most + 1 + 4095) // 4096 * 4096


def guarded(number, site, original):
    if site.kind == "dropped":
        return f"{{ if (!mutant_on({number})) {{ {original} }} }}"
    return f"(mutant_on({number}) ? ({site.fault}) : ({original}))"


def rewritten(text, numbered):
    """The text with the faults of `numbered`, pairs of number and site that do not overlap. Lines
    keep their numbers."""
    parts, at = [], 0
    for number, site in sorted(numbered, key=lambda pair: pair[1].start):
        assert at <= site.start, "sites overlap"
        parts += [text[at:site.start], guarded(number, site, text[site.start:site.end])]
        at = site.end
    return "".join([*parts, text[at:]])


def broken(text, site):
    """The text with this fault alone, for people."""
    return text[:site.start] + site.fault + text[site.end:]
