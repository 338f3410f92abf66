#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule against a sample that keeps it and one that breaks it, in a tree made for the test."""

import os
import subprocess
import unittest

import folders
import rule_client_library
import rule_clocks
import rule_cuda_names
import rule_driver_waits
import rule_environment
import rule_folders
import rule_headers
import rule_includes
import rule_licence
import rule_limits
import rule_names
import rule_prefixes
import rule_statics
import run
from rule_test import RuleTest
from tree import Tree


class Includes(RuleTest):
    def test_direction(self):
        self.keeps(rule_includes, "api/wire.c", '#include "base/status.h"\n')
        self.breaks(rule_includes, "base/log.c", '#include "api/wire.h"\n', "may include nothing")
        self.breaks(rule_includes, "server/a.c", '#include "client/client.h"\n', "may include")
        self.breaks(rule_includes, "softgpu/exec/a.c", '# include "server/server.h"\n', "softgpu/")

    def test_door(self):
        self.keeps(rule_includes, "client/a.c", '#include "front/front.h"\n')
        self.keeps(rule_includes, "softgpu/ptx/a.c", '#include "softgpu/exec/b.h"\n')
        self.keeps(rule_includes, "client/a.c", '#include "own.h"\n#include <stdio.h>\n')
        self.breaks(rule_includes, "client/a.c", '#include "front/stack.h"\n', "front/front.h")
        self.keeps(rule_includes, "conf/a.c", '#include "sched/settings.def"\n')
        self.breaks(rule_includes, "client/a.c", '#include "sched/settings.def"\n', "may include")
        self.breaks(rule_includes, "client/a.c", '#include "../base/log.h"\n', "from the root")

    def test_inside_of_a_room(self):
        line = '#include "client/conn/conn_internal.h"\n'
        self.keeps(rule_includes, "client/conn/a.c", line)
        self.keeps(rule_includes, "client/tests/a.c", line)
        self.breaks(rule_includes, "client/session/a.c", line, "of its own folder")

    def test_library(self):
        self.keeps(rule_includes, "conf/a.c", "#include <ini.h>\n")
        self.keeps(rule_includes, "conf/tests/a.c", "#include <criterion/criterion.h>\n")
        self.breaks(rule_includes, "conf/a.c", "#include <criterion/criterion.h>\n", "inih")
        self.breaks(rule_includes, "client/a.c", "#include <zstd.h>\n", "outside libraries")

    def test_unknown_folder(self):
        self.keeps(rule_includes, "tests/gpu/a.c", '#include "client/inner.h"\n')
        self.breaks(rule_includes, "misc/a.c", "\n", "move the file into a folder that is")


class Limits(RuleTest):
    def test_file(self):
        self.keeps(rule_limits, "base/a.c", "int x;\n" * 500)
        self.breaks(rule_limits, "base/a.c", "int x;\n" * 501, "501 lines")
        self.keeps(rule_limits, "softgpu/op.def", "x" * 300 + "\n" * 900)

    def test_function(self):
        def function(body):
            return "static int f(int a,\n             int b)\n{\n" + "    a++;\n" * body + "}\n"
        self.keeps(rule_limits, "base/a.c", function(66))
        self.breaks(rule_limits, "base/a.c", function(67), "f has 71 lines")
        self.keeps(rule_limits, "base/a.h", "struct a {\n" + "    int x;\n" * 100 + "};\n")
        self.breaks(rule_limits, "api/a.py", "def f():\n" + "    pass\n" * 70, "f has 71 lines")

    def test_line(self):
        self.keeps(rule_limits, "base/a.c", "/" * 100 + "\n")
        self.breaks(rule_limits, "base/a.c", "/" * 101 + "\n", "101 columns")
        self.breaks(rule_limits, "base/a.c", "\tint x;\n", "a tab")
        self.breaks(rule_limits, "a.md", "word " * 21 + "\n", "105 columns")
        self.keeps(rule_limits, "a.md", "| " + "word " * 30 + "|\n")

    def test_architecture_is_an_index(self):
        self.keeps(rule_limits, "ARCHITECTURE.md", "word\n" * 250)
        self.breaks(rule_limits, "ARCHITECTURE.md", "word\n" * 251, "to the README of their")
        self.breaks(rule_limits, "ARCHITECTURE.md", "| " + "x" * 20480 + " |\n", "20480 allowed")


class Folders(RuleTest):
    def test_number_of_files(self):
        for number in range(rule_folders.FILES - 1):
            self.write(f"sched/next/p{number}.c", "int x;\n")
            self.write(f"sched/tests/test_p{number}.c", "int x;\n")
        self.write("sched/tests/more.c", "int x;\n")
        self.write("sched/tests/most.h", "int x;\n")
        self.keeps(rule_folders, "sched/next/last.h", "int x;\n")
        self.write("sched/next/p.h", "int x;\n")
        self.write("sched/next/q.h", "int x;\n")
        self.assertIn("26 source files, 25 allowed", "\n".join(self.findings(rule_folders)))

    def test_larger_ones_have_a_reason_and_are_no_larger(self):
        tree = Tree(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        for folder, (most, why) in rule_folders.LARGER.items():
            files = sum(file.path.rpartition("/")[0] == folder
                        for file in tree.with_suffix(".c", ".h"))
            self.assertTrue(why and most > rule_folders.FILES, folder)
            self.assertEqual(files, most, f"{folder} has shrunk: write its number down")


class CudaNames(RuleTest):
    def test_result(self):
        self.keeps(rule_cuda_names, "client/a.c", "CUresult f(void);\n")
        self.keeps(rule_cuda_names, "api/cuda_names.h", "CUresult f(void);\n")
        self.keeps(rule_cuda_names, "base/a.c", "/* not a\n * CUresult */ int CUresultant;\n")
        self.breaks(rule_cuda_names, "transport/a.h", "/* \n */\nCUresult f(void);\n", "a.h:3")
        self.breaks(rule_cuda_names, "api/a.c", "int x = CUDA_ERROR_INVALID_VALUE;\n", "ga_status")


class Clocks(RuleTest):
    def test_waits(self):
        wait = "    pthread_cond_timedwait(&changed, &lock, &until);\n"
        self.keeps(rule_clocks, "base/wait.h", wait)
        self.keeps(rule_clocks, "server/a.c", "    ga_cond_wait_until(&changed, &lock, at);\n")
        self.breaks(rule_clocks, "server/a.c", wait, "pthread_cond_timedwait")
        self.breaks(rule_clocks, "base/wait.h", "    clock_gettime(CLOCK_REALTIME, &at);\n",
                    "by the wall clock")
        self.keeps(rule_clocks, "server/gpuaasd/a.c", "#include <uv.h>\n")
        self.breaks(rule_clocks, "server/seats/a.c", "#include <uv.h>\n", "no loop")
        self.keeps(rule_clocks, "server/clients/a.c", "#include <uv.h>\n")
        self.breaks(rule_clocks, "server/clients/a.h", "    uv_timer_t timer;\n",
                    "server/timers.h")
        self.breaks(rule_clocks, "server/usage/a.c", "    now = time(NULL);\n", "server/timers.h")


class Environment(RuleTest):
    def test_table_and_code(self):
        row = 'ENVIRONMENT(GPUAAS_CA, CLIENT, TEXT, "", 0, 0, "", "a path", "file", "It.")\n'
        self.write("base/a.c", 'getenv("GPUAAS_CA"); getenv("SOFTGPU_ISA"); getenv("HOME");\n')
        self.keeps(rule_environment, "api/environment.def", row)
        self.breaks(rule_environment, "api/environment.def",
                    row + row.replace("_CA", "_CERT"), "no code reads GPUAAS_CERT")
        self.write("api/environment.def", row)
        self.keeps(rule_environment, "base/tests/b.c", 'setenv("GPUAAS_TEST_X", "1", 1);\n')
        self.keeps(rule_environment, "client/b.h", "#ifndef GPUAAS_OTHER\n")
        self.breaks(rule_environment, "client/b.c", 'say("set GPUAAS_OTHER");\n',
                    "GPUAAS_OTHER is not in api/environment.def")


class Headers(RuleTest):
    def test_what_a_header_declares(self):
        header = "client/call/call.h"
        self.write("client/call/call.c", "int call_one(int a,\n             int b)\n{\n}\n")
        self.write("client/call/call_more.c", "struct x *call_two(void)\n{\n    three();\n}\n")
        both = "int call_one(int a, int b);\nstruct x *call_two(int a,\n  int b) GA_PRINTF(1, 2);\n"
        self.keeps(rule_headers, header, both + "static inline int f(void)\n{\n}\n")
        self.breaks(rule_headers, header, both + "extern int a, call_one;\n", "a is not")
        self.breaks(rule_headers, header, both + "int three(void);\n", "three is not")

    def test_what_a_file_shares(self):
        source = "client/call/call.c"
        one = "int call_one(void)\n{\n}\nconst int call_rows[] = {1};\nstatic int two;\n"
        self.write("client/call/call_internal.h",
                   "int call_one(void);\nextern const int call_rows[];\n")
        self.keeps(rule_headers, source, one)
        self.breaks(rule_headers, source, one + "int two(void)\n{\n}\n", "two is declared")
        self.breaks(rule_headers, source, one + "int two;\n", "two is declared")
        self.write(source, one)
        self.keeps(rule_headers, "client/call/cu.c", "CUresult CUDAAPI cuInit(int f)\n{\n}\n")


class Licence(RuleTest):
    def test_first_line(self):
        line = "SPDX-License-Identifier: Apache-2.0"
        self.keeps(rule_licence, "base/a.c", f"/* {line} */\n/* What it is. */\n")
        self.keeps(rule_licence, "scripts/a", f"#!/bin/sh\n# {line}\n")
        self.keeps(rule_licence, "docs/a.md", "# Title\n")
        self.breaks(rule_licence, "base/a.c", f"/* What it is. */\n/* {line} */\n", line)
        self.breaks(rule_licence, "scripts/a", "#!/bin/sh\necho\n", line)


class Rooms(RuleTest):
    def test_directions(self):
        keeps, breaks = '#include "server/conn/conn.h"\n', '#include "server/calls/copy.h"\n'
        self.keeps(rule_includes, "server/calls/a.c", keeps)
        self.breaks(rule_includes, "server/pipeline/a.c", keeps,
                    "may include these rooms: charge, driver")
        self.breaks(rule_includes, "server/conn/a.c", breaks, "server/conn/ may include")
        self.keeps(rule_includes, "server/tests/a.c", breaks)
        self.keeps(rule_includes, "server/main.c", '#include "server/backend/backend.h"\n')

    def test_no_circle(self):
        for folder, rooms in folders.ROOMS.items():
            left = dict(rooms)
            while left:
                lowest = [room for room, below in left.items() if not below & set(left)]
                self.assertTrue(lowest, f"{folder}: a circle among {sorted(left)}")
                for room in lowest:
                    del left[room]

    def test_tables_are_true(self):
        for path in ("tests/lint/folders.py", *(f"{name}/a.c" for name in folders.MAY_INCLUDE),
                     *(f"{name}/{room}/a.c" for name in folders.ROOMS
                       for room in folders.ROOMS[name])):
            self.write(path, "\n")
        self.assertEqual(self.findings(rule_includes), [])
        self.write("server/attic/a.c", "\n")
        os.remove(os.path.join(self.root, "front/core/a.c"))
        self.assertEqual(self.findings(rule_includes), [
            "tests/lint/folders.py:0: server/attic/ is not in ROOMS: add a row with the rooms that "
            "it may include",
            "tests/lint/folders.py:0: front/core/ is not in the tree: take its row out"])

    def test_a_folder_that_no_table_knows(self):
        for path in ("tests/lint/folders.py", *(f"{name}/a.c" for name in folders.MAY_INCLUDE),
                     *(f"{name}/{room}/a.c" for name in folders.ROOMS
                       for room in folders.ROOMS[name])):
            self.write(path, "\n")
        self.write("attic/a.py", "\n")
        self.assertIn("or add it to FREE there", "".join(self.findings(rule_includes)))


class Names(RuleTest):
    def test_limits(self):
        self.keeps(rule_names, "conf/a.c", "#define LINES_MAX 3\n")
        self.keeps(rule_names, "conf/a.c", "int x = CU_READ_MOSTLY, at_most;\n")
        self.breaks(rule_names, "conf/a.c", "#define LINES_MOST 3\n", "_MAX")
        self.breaks(rule_names, "conf/a.c", "#define NAP_LEAST_NS 3\n", "_MIN")
        self.breaks(rule_names, "conf/tests/a.c", "enum { MOST = 3 };\n", "_MAX")

    def test_guards(self):
        text = "#ifndef {0}\n#define {0}\n#endif\n"
        self.keeps(rule_names, "client/copy/copy.h", text.format("CLIENT_COPY_COPY_H"))
        self.breaks(rule_names, "client/copy/copy.h", text.format("COPY_H"), "CLIENT_COPY_COPY_H")

    def test_files(self):
        self.keeps(rule_names, "client/copy/out_of_band.c", "\n")
        self.keeps(rule_names, "client/tests/over.c", "\n")
        self.breaks(rule_names, "client/copy/copy_over.c", "\n", "a noun")
        self.breaks(rule_names, "server/out.c", "\n", "a noun")


class Prefixes(RuleTest):
    def test_public_functions(self):
        text = "int {0}(int a)\n{{\n    return a;\n}}\n"
        self.keeps(rule_prefixes, "base/a.c", text.format("ga_find") + "static "
                   + text.format("find"))
        self.keeps(rule_prefixes, "client/memory/a.c", text.format("cuMemFree_v2"))
        self.keeps(rule_prefixes, "server/pipeline/send_queue.c", text.format("queue_end"))
        self.keeps(rule_prefixes, "server/tests/a.c", text.format("find"))
        self.keeps(rule_prefixes, "front/capture/a.c", "static inline int *\n"
                   + text.format("find")[4:])
        self.breaks(rule_prefixes, "base/a.c", text.format("find"), "ga_")
        self.breaks(rule_prefixes, "client/conn/send.c", text.format("send_all"), "client_, conn_")
        self.breaks(rule_prefixes, "server/pipeline/a.c", text.format("queue_end"),
                    "a word of a file's name")


class Statics(RuleTest):
    def test_nouns(self):
        text = "static int {0}(int a,\n               int b)\n{{\n    return a;\n}}\n"
        self.write("softgpu/find_ticket.c", text.format("find") + text.format("ticket_find"))
        self.keeps(rule_statics, "server/sharing/sharing_registry.c", text.format("sharing_find"))
        self.keeps(rule_statics, "server/backend/tickets.c", text.format("ticket_find"))
        self.keeps(rule_statics, "server/sharing/sharing_registry.c", text.format("find")[7:])
        self.keeps(rule_statics, "server/tests/test_sharing.c", text.format("find"))
        self.breaks(rule_statics, "server/sharing/sharing_registry.c", text.format("find"),
                    "softgpu/find_ticket.c")
        self.breaks(rule_statics, "base/log_line.c", "static int find(int a) { return a; }\n",
                    "base/log_line.c:1: find")
        self.breaks(rule_statics, "conf/conf.c", "__attribute__((format(printf, 1, 2))) "
                    + text.format("find"), "find")


class Tests(unittest.TestCase):
    def test_every_rule_is_a_test(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "CMakeLists.txt")
        with open(path, encoding="utf-8") as file:
            rules = file.read().split("foreach(rule", 1)[1].split(")", 1)[0].split()
        self.assertEqual(sorted(rules), sorted(run.SOURCE_RULES))


class DriverWaits(RuleTest):
    TABLE = 'DRIVER_WAITS(cuB, "server/b.c: LATER, NONE; "\n    "server/c.c: NONE")\n' \
            'DRIVER_RETURNS(cuA)\nDRIVER_RETURNS(cuD)\n'

    def test_table_and_calls(self):
        self.write("server/b.c", "(void)conn->driver->cuB(1); driver->cuA();\n")
        self.write("server/c.c", "return driver.cuB(2);\n")
        self.write("server/tests/a.c", "driver->cuX();\n")
        self.write("api/cuda/a.api", "call cuD\n    server  auto\ncall cuE\n    server  custom\n")
        self.keeps(rule_driver_waits, "server/driver/waits.def", self.TABLE)
        self.write("server/driver/waits.def", self.TABLE)
        self.breaks(rule_driver_waits, "server/d.c", "driver->cuB();\n", "may wait for work")
        self.breaks(rule_driver_waits, "server/d.c", "driver->cuC();\n", "does not say whether")
        self.breaks(rule_driver_waits, "api/cuda/b.api", "call cuB\n    server  auto\n", "may wait")
        for row, words in (("DRIVER_RETURNS(cuE)\n", "nobody calls"),
                           ("DRIVER_RETURNS(cuB)\n", "twice")):
            self.breaks(rule_driver_waits, "server/driver/waits.def", self.TABLE + row, words)
        more = self.TABLE.replace("server/c.c", "server/c.c: NONE; server/e.c")
        self.breaks(rule_driver_waits, "server/driver/waits.def", more, "does not call")


class Compiled(RuleTest):
    def compile(self, text, *flags):
        source = self.write("sample.c", text)
        output = os.path.join(self.root, "sample.so" if "-shared" in flags else "sample.o")
        subprocess.run(["gcc", "-fPIC", source, "-o", output, *flags], check=True)
        return output

    def library(self, text, *flags):
        path = self.compile(text, "-shared", "-Wl,-soname,libcuda.so.1", *flags)
        return list(rule_client_library.check_library(path, "libcuda.so.1"))

    def test_library(self):
        good = "int cuInit(int x) { return x; }\n"
        self.assertEqual(self.library(good, "-Wl,-z,nodelete"), [])
        self.assertIn("nodelete", self.library(good)[0])
        self.assertIn("exports helper", self.library(
            good + "int helper(void) { return 1; }\n", "-Wl,-z,nodelete")[0])
        self.assertIn("executable stack", self.library(
            good, "-Wl,-z,nodelete", "-Wl,-z,execstack")[0])
        self.assertIn("needs libm.so.6", self.library(
            good, "-Wl,-z,nodelete", "-Wl,--no-as-needed", "-lm")[0])
        self.assertIn("breaks connections", self.library(
            good + 'const char *hidden(void) { return "GPUAAS_TEST_FAULT"; }\n'.replace(
                "const", "__attribute__((visibility(\"hidden\"))) const"),
            "-Wl,-z,nodelete")[0])
        self.assertIn("RUNPATH", self.library(good, "-Wl,-z,nodelete", "-Wl,-rpath,/opt")[0])

    def test_glibc_floor(self):
        line = "  7: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND {}@GLIBC_{} (4)\n"
        check = rule_client_library.check_symbols
        self.assertEqual(list(check(line.format("memcpy", "2.14"))), [])
        self.assertIn("binds pthread_create", list(check(line.format("pthread_create", "2.34")))[0])

    def test_cancellation_points(self):
        line = "  7: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND {}@GLIBC_2.2.5 (4)\n"
        check = rule_client_library.check_symbols
        self.assertEqual(list(check(line.format("poll"))), [])
        self.assertIn("calls waitpid", list(check(line.format("waitpid")))[0])

    def test_missing_library(self):
        self.assertIn("not there", list(rule_client_library.check(self.root))[0])


if __name__ == "__main__":
    unittest.main()
