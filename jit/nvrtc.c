/* SPDX-License-Identifier: Apache-2.0 */
/* libnvrtc for programs on software GPUs: compiles with NVIDIA's own, and where the program asks
 * for machine code gives it PTX, which every function that loads modules takes as well.
 *
 * What a reader would get wrong: nvrtcGetPTX works in NVIDIA's for every architecture, so only the
 * size and the bytes of the cubin are answered otherwise. */
#include <nvrtc.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "jit/arch.h"
#include "jit/real.h"

#define STEM       "nvrtc"
#define JIT_EXPORT __attribute__((visibility("default")))

/* `name` of NVIDIA's library, with our declaration's type. */
#define REAL(name) ((__typeof__(&(name)))jit_real_find(STEM, #name))

#define FORWARD(name, parameters, arguments)                                                       \
    JIT_EXPORT nvrtcResult name parameters                                                         \
    {                                                                                              \
        __typeof__(&(name)) real = REAL(name);                                                     \
        return real != NULL ? real arguments : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;              \
    }

/* Programs that were asked to become machine code and became PTX. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept {
    struct kept *next;
    nvrtcProgram program;
} * kept;

static struct kept **nvrtc_find(nvrtcProgram program)
{
    struct kept **at = &kept;
    while (*at != NULL && (*at)->program != program) {
        at = &(*at)->next;
    }
    return at;
}

static bool is_kept(nvrtcProgram program)
{
    pthread_mutex_lock(&lock);
    bool found = *nvrtc_find(program) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void nvrtc_forget(nvrtcProgram program)
{
    pthread_mutex_lock(&lock);
    struct kept **at = nvrtc_find(program);
    struct kept *old = *at;
    if (old != NULL) {
        *at = old->next;
    }
    pthread_mutex_unlock(&lock);
    free(old);
}

static bool nvrtc_keep(nvrtcProgram program)
{
    struct kept *made = malloc(sizeof *made);
    if (made == NULL) {
        return false;
    }
    made->program = program;
    pthread_mutex_lock(&lock);
    made->next = kept;
    kept = made;
    pthread_mutex_unlock(&lock);
    return true;
}

JIT_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions,
                                           const char *const *options)
{
    __typeof__(&nvrtcCompileProgram) real = REAL(nvrtcCompileProgram);
    if (real == NULL) {
        return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    nvrtc_forget(prog);
    if (numOptions <= 0 || options == NULL) {
        return real(prog, numOptions, options);
    }
    bool machine;
    const char **changed = jit_arch_for_ptx(options, (size_t)numOptions, &machine);
    if (changed == NULL || (machine && !nvrtc_keep(prog))) {
        free(changed);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    nvrtcResult rc = real(prog, numOptions, changed);
    free(changed);
    return rc;
}

JIT_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *prog)
{
    __typeof__(&nvrtcDestroyProgram) real = REAL(nvrtcDestroyProgram);
    if (prog != NULL) {
        nvrtc_forget(*prog);
    }
    return real != NULL ? real(prog) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t *cubinSizeRet)
{
    __typeof__(&nvrtcGetCUBINSize) real =
        is_kept(prog) ? REAL(nvrtcGetPTXSize) : REAL(nvrtcGetCUBINSize);
    return real != NULL ? real(prog, cubinSizeRet) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char *cubin)
{
    __typeof__(&nvrtcGetCUBIN) real = is_kept(prog) ? REAL(nvrtcGetPTX) : REAL(nvrtcGetCUBIN);
    return real != NULL ? real(prog, cubin) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT const char *nvrtcGetErrorString(nvrtcResult rc)
{
    __typeof__(&nvrtcGetErrorString) real = REAL(nvrtcGetErrorString);
    return real != NULL ? real(rc) : "NVIDIA's libnvrtc is not found";
}

FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor))
FORWARD(nvrtcGetNumSupportedArchs, (int *numArchs), (numArchs))
FORWARD(nvrtcGetSupportedArchs, (int *supportedArchs), (supportedArchs))
FORWARD(nvrtcCreateProgram,
        (nvrtcProgram * prog, const char *src, const char *name, int numHeaders,
         const char *const *headers, const char *const *includeNames),
        (prog, src, name, numHeaders, headers, includeNames))
FORWARD(nvrtcGetPTXSize, (nvrtcProgram prog, size_t *ptxSizeRet), (prog, ptxSizeRet))
FORWARD(nvrtcGetPTX, (nvrtcProgram prog, char *ptx), (prog, ptx))
FORWARD(nvrtcGetLTOIRSize, (nvrtcProgram prog, size_t *LTOIRSizeRet), (prog, LTOIRSizeRet))
FORWARD(nvrtcGetLTOIR, (nvrtcProgram prog, char *LTOIR), (prog, LTOIR))
FORWARD(nvrtcGetOptiXIRSize, (nvrtcProgram prog, size_t *optixirSizeRet), (prog, optixirSizeRet))
FORWARD(nvrtcGetOptiXIR, (nvrtcProgram prog, char *optixir), (prog, optixir))
FORWARD(nvrtcGetProgramLogSize, (nvrtcProgram prog, size_t *logSizeRet), (prog, logSizeRet))
FORWARD(nvrtcGetProgramLog, (nvrtcProgram prog, char *log), (prog, log))
FORWARD(nvrtcAddNameExpression, (nvrtcProgram prog, const char *const name_expression),
        (prog, name_expression))
FORWARD(nvrtcGetLoweredName,
        (nvrtcProgram prog, const char *const name_expression, const char **lowered_name),
        (prog, name_expression, lowered_name))
FORWARD(nvrtcGetPCHHeapSize, (size_t * ret), (ret))
FORWARD(nvrtcSetPCHHeapSize, (size_t size), (size))
FORWARD(nvrtcGetPCHCreateStatus, (nvrtcProgram prog), (prog))
FORWARD(nvrtcGetPCHHeapSizeRequired, (nvrtcProgram prog, size_t *size), (prog, size))
FORWARD(nvrtcSetFlowCallback, (nvrtcProgram prog, int (*callback)(void *, void *), void *payload),
        (prog, callback, payload))
