/* SPDX-License-Identifier: Apache-2.0 */
/* PTX that is right, with all kinds of control flow, written by a grammar: it is loaded, or
 * something in it is not supported, and a block of threads comes to what its threads come to alone.
 */
#include "softgpu/engine/engine.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/ptx_grammar.h"
#include "tests/fuzz/ptx_run.h"

#define TEXT_MAX 65536u

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ptx_run_open();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX];
    char said[400];
    struct fuzz_input input = {data, size};
    struct sg_log log = {.text = said, .size = sizeof said};
    struct sg_program *program = NULL;
    const uint8_t head = fuzz_u8(&input);
    const bool wild = head % 4 == 3;
    size_t bytes = ptx_grammar_write(&input, wild, text, sizeof text);
    if (getenv("FUZZ_VERBOSE") != NULL) {
        fputs(text, stderr);
    }
    enum sg_load_result result = sg_program_load(text, bytes, &log, &program);
    if (result != SG_LOAD_OK) {
        fputs(said, stderr);
        abort();
    }
    if (wild) {
        ptx_run(program);
    } else {
        static const uint32_t threads[] = {1, 33, 48, 64};
        ptx_compare(program, threads[head / 4 % 4]);
    }
    sg_program_destroy(program);
    return 0;
}
