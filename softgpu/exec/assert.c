/* SPDX-License-Identifier: Apache-2.0 */
/* __assertfail(message, file, line, function, size of a char): writes a line to the program's
 * stderr for each failing lane, in CUDA's format, then faults. */
#include <stdio.h>

#include "base/text.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/builtin.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"
#include "softgpu/exec/grid.h"

#define STRING_MAX 400

static void read_string(const struct sg_warp *warp, unsigned lane, uint64_t address, char *text)
{
    size_t used = 0;
    for (; used + 1 < STRING_MAX; used++) {
        const uint8_t *at = sg_generic_at(warp, lane, address + used, 1, SG_MAP_READ);
        if (at == NULL || !*at) {
            break;
        }
        text[used] = (char)*at;
    }
    text[used] = '\0';
    ga_text_clean(text);
}

struct failure {
    char message[STRING_MAX], file[STRING_MAX], function[STRING_MAX];
    uint32_t line;
};

static void print_failure(const struct sg_warp *warp, unsigned lane, const struct failure *failure)
{
    struct sg_printer *printer = warp->block->grid->launch->printer;
    const uint32_t *block = warp->block->id;
    char text[4 * STRING_MAX];
    uint32_t thread[3];
    sg_warp_thread(warp, lane, thread);
    int length =
        snprintf(text, sizeof text,
                 "%s:%u: %s%sblock: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
                 "failed.\n",
                 failure->file, failure->line, failure->function, failure->function[0] ? ": " : "",
                 block[0], block[1], block[2], thread[0], thread[1], thread[2], failure->message);
    if (printer != NULL) {
        printer->write(printer, SG_OUTPUT_STDERR, text, (size_t)length, (uint32_t)length);
    }
}

void sg_builtin_assertfail(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const struct sg_call *call = sg_builtin_call(warp, in);
    struct failure failure = {.line = 0};
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        read_string(warp, lane, sg_builtin_argument(warp, call, 0, lane), failure.message);
        read_string(warp, lane, sg_builtin_argument(warp, call, 1, lane), failure.file);
        failure.line = (uint32_t)sg_builtin_argument(warp, call, 2, lane);
        read_string(warp, lane, sg_builtin_argument(warp, call, 3, lane), failure.function);
        print_failure(warp, lane, &failure);
    }
    char text[sizeof((struct sg_fault *)0)->text];
    snprintf(text, sizeof text, "assertion `%.80s` failed, %.40s:%u", failure.message, failure.file,
             failure.line);
    sg_warp_fault(warp, in, 31 - (unsigned)__builtin_clz(mask), SG_FAULT_ASSERT, 0, text);
}
