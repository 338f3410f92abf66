/* Calls of functions that are declared in the module and provided by the driver. */
#include "softgpu/exec/builtin.h"
#include "softgpu/ptx/decode.h"

struct builtin {
    const char *name;
    sg_handler *handler;
    uint8_t result, arguments[2]; /* bytes; 0: there is none */
    bool prints, mallocs;
};

static const struct builtin builtins[] = {
    {"vprintf", sg_builtin_vprintf, 4, {8, 8}, true, false},
    {"malloc", sg_builtin_malloc, 8, {8}, false, true},
    {"__cuda_syscall_aligned_malloc", sg_builtin_aligned_malloc, 8, {8, 8}, false, true},
    {"free", sg_builtin_free, 0, {8}, false, true},
};

static const struct builtin *find(const struct sg_ptx_func *func)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0] && !func->defined; i++) {
        if (sg_text_is(func->name, builtins[i].name)) {
            return &builtins[i];
        }
    }
    return NULL;
}

static bool fits(const struct builtin *builtin, const struct sg_ptx_func *func)
{
    uint32_t results = builtin->result != 0 ? 1 : 0, count = 0;
    for (uint32_t i = 0; i < 2 && builtin->arguments[i] != 0; i++) {
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
    const struct builtin *builtin = find(func);
    if (builtin == NULL) {
        return NULL;
    }
    if (!fits(builtin, func)) {
        sg_load_fail(decoder->load, SG_LOAD_SYNTAX, decoder->at->place,
                     "function '%s' of the driver is declared in another way", builtin->name);
    }
    decoder->code->kernel.prints |= builtin->prints;
    decoder->code->kernel.mallocs |= builtin->mallocs;
    return builtin->handler;
}
