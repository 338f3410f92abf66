/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that the module declares and the driver provides. */
#include "softgpu/ptx/decode_builtin.h"

#include <string.h>

#include "softgpu/exec/runtime.h"
#include "softgpu/ptx/decode.h"

struct builtin {
    const char *name;
    sg_handler *handler;
    uint8_t result, arguments[SG_BUILTIN_ARGUMENTS]; /* bytes; 0: there is none */
    bool prints, mallocs, launches;
};

static const struct builtin builtins[] = {
    {"vprintf", sg_builtin_vprintf, 4, {8, 8}, true, false, false},
    {"__assertfail", sg_builtin_assertfail, 0, {8, 8, 4, 8, 8}, false, false, false},
    {"malloc", sg_builtin_malloc, 8, {8}, false, true, false},
    {"__cuda_syscall_aligned_malloc", sg_builtin_aligned_malloc, 8, {8, 8}, false, true, false},
    {"free", sg_builtin_free, 0, {8}, false, true, false},
    {"cudaGraphSetConditional", sg_builtin_set_conditional, 0, {8, 4}, false, false, false},
};

/* A function of the device run time; false: it is none. */
static bool find_runtime(struct sg_text name, struct builtin *found)
{
    static const char *const prefixes[] = {"__cudaCDP2", "cuda"};
    static const char ending[] = "_ptsz";
    size_t prefix = sg_text_starts(name, prefixes[0]) ? strlen(prefixes[0]) : strlen(prefixes[1]);
    if (!sg_text_starts(name, prefixes[0]) && !sg_text_starts(name, prefixes[1])) {
        return false;
    }
    struct sg_text rest = {name.at + prefix, name.len - (uint32_t)prefix};
    uint32_t tail = sizeof ending - 1;
    if (rest.len > tail && memcmp(rest.at + rest.len - tail, ending, tail) == 0) {
        rest.len -= tail;
    }
    for (size_t i = 0; i < sg_runtime_function_count; i++) {
        const struct sg_runtime_function *function = &sg_runtime_functions[i];
        if (sg_text_is(rest, function->name)) {
            *found =
                (struct builtin){.name = function->name,
                                 .handler = function->handler,
                                 .result = function->result,
                                 .mallocs = sg_text_is(rest, "Malloc") || sg_text_is(rest, "Free"),
                                 .launches = true};
            memcpy(found->arguments, function->arguments, sizeof found->arguments);
            return true;
        }
    }
    return false;
}

static bool decode_builtin_find(const struct sg_ptx_func *func, struct builtin *found)
{
    if (func->defined) {
        return false;
    }
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (sg_text_is(func->name, builtins[i].name)) {
            *found = builtins[i];
            return true;
        }
    }
    return find_runtime(func->name, found);
}

static bool decode_builtin_fits(const struct builtin *builtin, const struct sg_ptx_func *func)
{
    uint32_t results = builtin->result != 0 ? 1 : 0, count = 0;
    for (uint32_t i = 0; i < SG_BUILTIN_ARGUMENTS && builtin->arguments[i] != 0; i++) {
        count++;
    }
    if (func->returns.count != results || func->params.count != count ||
        (results != 0 && func->returns.items[0]->bytes != builtin->result)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (func->params.items[i]->bytes != builtin->arguments[i]) {
            return false;
        }
    }
    return true;
}

sg_handler *sg_decode_builtin(struct sg_decoder *decoder, const struct sg_ptx_func *func)
{
    struct builtin builtin;
    if (!decode_builtin_find(func, &builtin)) {
        return NULL;
    }
    if (!decode_builtin_fits(&builtin, func)) {
        sg_load_fail(decoder->load, SG_LOAD_SYNTAX, decoder->at->place,
                     "function '%s' of the driver is declared in another way", builtin.name);
    }
    decoder->code->kernel.prints |= builtin.prints;
    decoder->code->kernel.mallocs |= builtin.mallocs;
    decoder->code->kernel.launches |= builtin.launches;
    return builtin.handler;
}
