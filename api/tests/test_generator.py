# SPDX-License-Identifier: Apache-2.0
"""Golden tests of the generator: its output for golden/sample.api, and the error line of each
mistake. After an intended change: test_generator.py --update, then read the difference."""
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
sys.path.insert(0, os.path.join(HERE, "..", "gen"))

import emit_exports  # noqa: E402
import generate  # noqa: E402
import model as model_of  # noqa: E402
import toolkit  # noqa: E402
from parse import ApiError, parse_file  # noqa: E402
from text import write  # noqa: E402

# test_codec.c is long and checks itself by running; unsupported_test.c repeats unsupported_*.c.
COMPARED = ("constants.h", "calls.h", "calls.c", "call_table.c", "cuda_driver.h", "cuda_driver.c",
            "client_stubs.c", "client_calls.h", "server_dispatch.h", "server_dispatch.c",
            "exports.map",
            "capture_client.c", "capture_calls.h", "capture_hooks.h", "unsupported_client.c",
            "unsupported_soft.c", "variants_client.c", "variants_front.c")

CALL = """handle CUstream stream
call cuX
    CUresult (const void *p, size_t n, CUstream hStream)
"""
TRAVELS = CALL + """    client  manual
    soft    yes
    op      100
    reply   wait
    server  auto
    engine  none lasting
    charge  none
    record  none
"""

# (mistake, text, its error line)
MISTAKES = [
    ("unknown stanza", "cal cuX\n", "bad.api:1: unknown stanza 'cal'"),
    ("tab", "call cuX\n\tCUresult (void)\n", "bad.api:2: a tab"),
    ("no name", "call\n    CUresult (void)\n", "bad.api:1: 'call' wants exactly one name"),
    ("no stanza", "    op 100\n", "bad.api:1: an indented line before any stanza"),
    ("no prototype", "call cuX\n    client manual\n    soft yes\n",
     "bad.api:1: call cuX has no prototype"),
    ("open prototype", "call cuX\n    CUresult (int a,\n", "bad.api:1: the prototype is not "
     "closed by ')' at the end of a line"),
    ("unknown key", CALL + "    colour blue\n", "bad.api:4: unknown key 'colour'"),
    ("key without value", CALL + "    client\n", "bad.api:4: 'client' wants a value"),
    ("key twice", CALL + "    client manual\n    client auto\n",
     "bad.api:5: 'client' is said twice"),
    ("unknown choice", CALL + "    client perhaps\n",
     "bad.api:4: 'client' is one of: auto manual front no"),
    ("no soft line", CALL + "    client manual\n", "bad.api:2: cuX has no 'soft' line"),
    ("one-sided front", CALL + "    client front\n    soft yes\n",
     "bad.api:2: cuX: front/ implements a call for both libraries or for none"),
    ("op too small", CALL + "    client manual\n    soft yes\n    op 5\n",
     "bad.api:6: op 5 is outside 64..2047"),
    ("auto without op", CALL + "    client auto\n    soft yes\n",
     "bad.api:2: cuX: 'client auto' wants an op"),
    ("in without op", CALL + "    client manual\n    soft yes\n    in p bytes(n)\n",
     "bad.api:6: 'in' without an op: cuX never travels"),
    ("op without reply", CALL + "    client manual\n    soft yes\n    op 100\n    server auto\n",
     "bad.api:2: cuX has an op and no 'reply' line"),
    ("op without engine", TRAVELS.replace("    engine  none lasting\n", ""),
     "bad.api:2: cuX has an op and no 'engine' line"),
    ("engine without work", TRAVELS.replace("none lasting", "compute"),
     "bad.api:9: engine wants: one of none compute h2d d2h both, then one of nothing short "
     "lasting"),
    ("unknown engine", TRAVELS.replace("none", "d2d"),
     "bad.api:9: engine wants: one of none compute h2d d2h both, then one of nothing short "
     "lasting"),
    ("engine of what stays here", CALL + "    client manual\n    soft yes\n"
     "    engine none lasting\n", "bad.api:6: 'engine' without an op: cuX never travels"),
    ("op without charge", TRAVELS.replace("    charge  none\n", ""),
     "bad.api:2: cuX has an op and no 'charge' line"),
    ("unknown charge", TRAVELS.replace("charge  none", "charge  money"),
     "bad.api:10: charge wants: none, or some of device host object"),
    ("charged twice", TRAVELS.replace("charge  none", "charge  host host"),
     "bad.api:10: charge wants: none, or some of device host object"),
    ("op without record", TRAVELS.replace("    record  none\n", ""),
     "bad.api:2: cuX has an op and no 'record' line"),
    ("unknown record", TRAVELS.replace("record  none", "record  perhaps"),
     "bad.api:11: record wants one of: none makes sets drops memory work"),
    ("record of no object", TRAVELS.replace("record  none", "record  sets"),
     "bad.api:11: record sets wants the object's parameter"),
    ("record of too much", TRAVELS.replace("record  none", "record  work n"),
     "bad.api:11: record work wants nothing else"),
    ("record of no parameter", TRAVELS.replace("record  none", "record  sets m"),
     "bad.api:11: cuX has no parameter 'm'"),
    ("makes, and records something else", TRAVELS + "    make hStream\n",
     "bad.api:11: 'make hStream' wants: record makes hStream"),
    ("makes without a charge", TRAVELS.replace("record  none", "record  makes hStream")
     + "    make hStream\n", "bad.api:11: who makes an object charges one: charge object"),
    ("charges and leaves nothing", TRAVELS.replace("charge  none", "charge  device"),
     "bad.api:11: record none, but what is charged (device) stays"),
    ("engine without a record", TRAVELS.replace("none lasting", "h2d lasting"),
     "bad.api:11: a call with engine h2d is work: record work"),
    ("charge of what stays here", CALL + "    client manual\n    soft yes\n"
     "    charge none\n", "bad.api:6: 'charge' without an op: cuX never travels"),
    ("bulk behind bytes", TRAVELS + "    in p bytes(n)\n    bulk n\n",
     "bad.api:13: bulk stands behind plain values alone"),
    ("bulk with a range", TRAVELS.replace("const void *p, ", "uint64_t p, ")
     .replace("auto", "custom") + "    range p n\n    bulk n\n",
     "bad.api:13: who takes the bulk also checks the range: say server custom, and no range"),
    ("auto bulk", TRAVELS.replace("const void *p, ", "") + "    bulk n\n",
     "bad.api:12: who takes the bulk also checks the range: say server custom, and no range"),
    ("bulk of words", TRAVELS + "    bulk n at most 5\n",
     "bad.api:12: bulk wants: parameter or chunk, then perhaps most=N"),
    ("pointer not described", TRAVELS, "bad.api:2: pointer parameter 'p' of cuX needs an in, out "
     "or make line"),
    ("no such parameter", TRAVELS + "    in q\n", "bad.api:12: cuX has no parameter 'q'"),
    ("described twice", TRAVELS + "    in p bytes(n)\n    in p bytes(n)\n",
     "bad.api:13: 'p' is described twice"),
    ("no pointer", TRAVELS + "    in n\n", "bad.api:12: 'n' is not a pointer"),
    ("unknown word", TRAVELS + "    in p bites(n)\n",
     "bad.api:12: unknown word 'bites(n)' after 'in p'"),
    ("count of nothing", TRAVELS + "    in p bytes(m)\n", "bad.api:12: cuX has no parameter 'm'"),
    ("const output", TRAVELS + "    out p bytes(n)\n",
     "bad.api:12: 'p' is const: it cannot be an output"),
    ("making what is no handle", TRAVELS.replace("none\n    record  none",
                                                 "object\n    record  makes p")
     + "    make p\n",
     "bad.api:2: type 'void' of parameter 'p' is not known: add a type or handle stanza"),
    ("unknown type", TRAVELS.replace("handle CUstream stream", "") + "    in p bytes(n)\n",
     "bad.api:2: type 'CUstream' of parameter 'hStream' is not known: add a type or handle "
     "stanza"),
    ("range of what", TRAVELS + "    in p bytes(n)\n    range n pitched(n, n)\n",
     "bad.api:13: cuX has no parameter 'pitched(n,n)'"),
    ("auto end", TRAVELS.replace("record  none", "record  drops hStream")
     + "    in p bytes(n)\n    drop hStream\n",
     "bad.api:13: what ends on the server is by hand: say server custom"),
    ("bad ptds", TRAVELS + "    in p bytes(n)\n    ptds cuX_ptds by cuY\n",
     "bad.api:13: ptds wants: symbol, or symbol via other_call wait, or symbol via other_call "
     "settle to [from]"),
    ("ptds via nothing", TRAVELS + "    in p bytes(n)\n    ptds cuX_ptds via cuY wait\n",
     "bad.api:13: via cuY: no such call"),
    ("ptsz without stream", "call cuX\n    CUresult (int a)\n    client manual\n    soft yes\n"
     "    ptsz cuX_ptsz\n", "bad.api:5: cuX has no CUstream parameter: that is ptds"),
    ("async with results", "call cuX\n    CUresult (int *a)\n    client manual\n    soft yes\n"
     "    op 100\n    reply async\n    server auto\n"
     "    engine none lasting\n    charge none\n    record none\n    out a\n",
     "bad.api:11: an async call has no results"),
    ("auto array result", "call cuX\n    CUresult (int *a, int n)\n    client manual\n"
     "    soft yes\n    op 100\n    reply wait\n    server auto\n    engine none lasting\n"
     "    charge none\n    record none\n    out a array(n)\n",
     "bad.api:11: 'a': server auto writes plain values only; say server custom"),
    ("described twice", "call cuX\n    CUresult (void)\n    client manual\n    soft yes\n"
     "unsupported cuY cuX\n", "bad.api:5: cuX is already described at bad.api:1"),
    ("unsupported twice", "unsupported cuY cuY\n", "bad.api:1: cuY is named twice"),
    ("op twice", "message a\n    CUresult (void)\n    op 100\n    reply wait\n    server custom\n"
     "    engine none lasting\n    charge none\n    record none\n"
     "message b\n    CUresult (void)\n    op 100\n    reply wait\n    server custom\n"
     "    engine none lasting\n    charge none\n    record none\n",
     "bad.api:11: op 100 is already a"),
    ("message without op", "message a\n    CUresult (void)\n", "bad.api:1: message a has no op"),
    ("bad type", "type CUlimit word\n",
     "bad.api:1: type wants: C_type kind, kind one of u8 u16 u32 i32 u64 i64 f32 f64"),
    ("constant without value", "constant API_X\n",
     "bad.api:1: constant wants: API_NAME number"),
    ("constant of another's name", "constant WIRE_X 1\n",
     "bad.api:1: constant wants: API_NAME number"),
    ("constant twice", "constant API_X 1\nconstant API_X 1\n",
     "bad.api:2: API_X is defined twice"),
    ("no such constant", TRAVELS + "    in p bytes(n) most=API_X\n",
     "bad.api:12: no such constant: API_X"),
    ("no such array size", "message a\n    CUresult (uint32_t x[API_X])\n    op 100\n",
     "bad.api:1: no such constant: API_X"),
    ("bad parameter", "call cuX\n    CUresult (int)\n    client manual\n    soft yes\n",
     "bad.api:1: cannot read parameter 'int'"),
]


def sample():
    path = os.path.join(GOLDEN, "sample.api")
    with open(path, encoding="utf-8") as file:
        return model_of.build(parse_file(path, file.read(), "sample.api"), 13000)


def produced():
    out = {name: text for name, text in generate.small_outputs(sample()).items()
           if name in COMPARED}
    symbols = ["cuInit", "cuEventCreate", "cuEventDestroy", "cuEventDestroy_v2",
               "cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoDAsync_v2_ptsz"]
    out["proc_table.c"] = emit_exports.proc_table(sample(), toolkit_versions(symbols))
    return out


def toolkit_versions(symbols):
    with tempfile.TemporaryDirectory() as root:
        os.symlink(os.path.join(GOLDEN, "include"), os.path.join(root, "include"))
        saved, toolkit.TYPEDEFS = toolkit.TYPEDEFS, ("cudaTypedefs.h",)
        try:
            return toolkit.versions(root, symbols)
        finally:
            toolkit.TYPEDEFS = saved


class Golden(unittest.TestCase):
    def test_what_is_written(self):
        for name, text in produced().items():
            with self.subTest(name):
                with open(os.path.join(GOLDEN, name + ".expected"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)

    def test_mistakes(self):
        for what, text, line in MISTAKES:
            with self.subTest(what):
                with self.assertRaises(ApiError) as caught:
                    model_of.build(parse_file("bad.api", text))
                self.assertEqual(str(caught.exception), line)

    def test_newer_calls_are_left_out(self):
        names = [c.name for c in sample().calls]
        self.assertIn("cuInit", names)
        self.assertNotIn("cuNewerThing", names)

    def test_versions_that_do_not_fit_the_symbols(self):
        with self.assertRaises(SystemExit) as caught:
            toolkit_versions(["cuInit", "cuEventDestroy"])
        self.assertIn("do not stand one to one", str(caught.exception))

    def test_a_missing_symbol_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("cuInit cuForgotten\n")
            file.flush()
            with open(os.devnull, "w", encoding="utf-8") as quiet:
                saved = sys.stderr, sys.stdout
                sys.stderr = sys.stdout = quiet
                try:
                    self.assertEqual(generate.check_symbols(sample(), file.name), 1)
                finally:
                    sys.stderr, sys.stdout = saved

    def test_the_signature_depends_on_the_shape(self):
        import codec
        text = "message a\n    CUresult (uint32_t x, uint32_t y)\n    op 100\n    reply wait\n" \
               "    server custom\n    engine none lasting\n    charge none\n" \
               "    record none\n"
        hashes = set()
        for variant in (text, text.replace("uint32_t y", "uint64_t y"),
                        text.replace("wait", "async"), text.replace("message a", "message b")):
            model = model_of.build(parse_file("x.api", variant))
            hashes.add(codec.fnv1a(codec.shape(model.messages[0])))
        self.assertEqual(len(hashes), 4)
        self.assertEqual(codec.fnv1a("a"), 0xAF63DC4C8601EC8C)  # the algorithm's own vector


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for file_name, content in produced().items():
            write(os.path.join(GOLDEN, file_name + ".expected"), content)
    else:
        unittest.main()
