/* SPDX-License-Identifier: Apache-2.0 */
/* Any PTX text, up to four modules with a NUL between them: parsed, linked, checked, loaded, and
 * each kernel run for a few milliseconds. A kernel may do anything except touch memory outside
 * its buffer. */
#include "softgpu/engine/engine.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/ptx_run.h"

#define UNITS_MAX 4
#define TEXT_MAX  16384u /* longer ones only take longer */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ptx_run_open();
    return 0;
}

static size_t split(const char *text, size_t size, struct sg_unit *units)
{
    size_t count = 0;
    for (size_t at = 0; count < UNITS_MAX && (at < size || count == 0);) {
        const char *end = at < size ? memchr(text + at, 0, size - at) : NULL;
        size_t bytes =
            end == NULL || count + 1 == UNITS_MAX ? size - at : (size_t)(end - text) - at;
        units[count++] = (struct sg_unit){.text = text + at, .bytes = bytes};
        at += bytes + 1;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[400];
    struct sg_log log = {.text = text, .size = sizeof text};
    struct sg_program *program = NULL;
    if (size > TEXT_MAX) {
        return 0;
    }
    struct sg_unit units[UNITS_MAX];
    size_t count = split((const char *)data, size, units);
    enum sg_load_result result = sg_program_link(units, count, &log, &program);
    FUZZ_CHECK(log.used < sizeof text && text[log.used] == 0);
    if (result == SG_LOAD_OK) {
        ptx_run(program);
        sg_program_destroy(program);
    } else {
        FUZZ_CHECK(program == NULL && (log.used != 0 || result == SG_LOAD_NO_MEMORY));
    }
    return 0;
}
