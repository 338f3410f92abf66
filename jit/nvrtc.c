/* SPDX-License-Identifier: Apache-2.0 */
/* libnvrtc for programs on software GPUs: compiles with NVIDIA's own, and returns PTX where the
 * program asks for machine code; every function that loads modules takes PTX as well.
 *
 * Note: nvrtcGetPTX of NVIDIA's library works for every architecture, so only the size and the
 * bytes of the cubin are replaced. */
#include <nvrtc.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "jit/arch.h"
#include "jit/real.h"

#define NVRTC_STEM "nvrtc"

/* `name` of NVIDIA's library, with our declaration's type. */
#define NVRTC_REAL(name) ((__typeof__(&(name)))jit_real_find(NVRTC_STEM, #name))

#define NVRTC_FORWARD(name, parameters, arguments)                                                 \
    JIT_EXPORT nvrtcResult name parameters                                                         \
    {                                                                                              \
        __typeof__(&(name)) real = NVRTC_REAL(name);                                               \
        return real != NULL ? real arguments : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;              \
    }

/* Programs that asked for machine code and have PTX. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept {
    struct kept *next;
    nvrtcProgram program;
} * kept;

static struct kept **nvrtc_kept_find(nvrtcProgram program)
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
    bool found = *nvrtc_kept_find(program) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void nvrtc_kept_forget(nvrtcProgram program)
{
    pthread_mutex_lock(&lock);
    struct kept **at = nvrtc_kept_find(program);
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
    __typeof__(&nvrtcCompileProgram) real = NVRTC_REAL(nvrtcCompileProgram);
    if (real == NULL) {
        return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
    }
    nvrtc_kept_forget(prog);
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
    __typeof__(&nvrtcDestroyProgram) real = NVRTC_REAL(nvrtcDestroyProgram);
    if (prog != NULL) {
        nvrtc_kept_forget(*prog);
    }
    return real != NULL ? real(prog) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t *cubinSizeRet)
{
    __typeof__(&nvrtcGetCUBINSize) real =
        is_kept(prog) ? NVRTC_REAL(nvrtcGetPTXSize) : NVRTC_REAL(nvrtcGetCUBINSize);
    return real != NULL ? real(prog, cubinSizeRet) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char *cubin)
{
    __typeof__(&nvrtcGetCUBIN) real =
        is_kept(prog) ? NVRTC_REAL(nvrtcGetPTX) : NVRTC_REAL(nvrtcGetCUBIN);
    return real != NULL ? real(prog, cubin) : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

JIT_EXPORT const char *nvrtcGetErrorString(nvrtcResult rc)
{
    __typeof__(&nvrtcGetErrorString) real = NVRTC_REAL(nvrtcGetErrorString);
    return real != NULL ? real(rc) : "NVIDIA's libnvrtc is not found";
}

NVRTC_FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor))
NVRTC_FORWARD(nvrtcGetNumSupportedArchs, (int *numArchs), (numArchs))
NVRTC_FORWARD(nvrtcGetSupportedArchs, (int *supportedArchs), (supportedArchs))
NVRTC_FORWARD(nvrtcCreateProgram,
              (nvrtcProgram * prog, const char *src, const char *name, int numHeaders,
               const char *const *headers, const char *const *includeNames),
              (prog, src, name, numHeaders, headers, includeNames))
NVRTC_FORWARD(nvrtcGetPTXSize, (nvrtcProgram prog, size_t *ptxSizeRet), (prog, ptxSizeRet))
NVRTC_FORWARD(nvrtcGetPTX, (nvrtcProgram prog, char *ptx), (prog, ptx))
NVRTC_FORWARD(nvrtcGetLTOIRSize, (nvrtcProgram prog, size_t *LTOIRSizeRet), (prog, LTOIRSizeRet))
NVRTC_FORWARD(nvrtcGetLTOIR, (nvrtcProgram prog, char *LTOIR), (prog, LTOIR))
NVRTC_FORWARD(nvrtcGetOptiXIRSize, (nvrtcProgram prog, size_t *optixirSizeRet),
              (prog, optixirSizeRet))
NVRTC_FORWARD(nvrtcGetOptiXIR, (nvrtcProgram prog, char *optixir), (prog, optixir))
NVRTC_FORWARD(nvrtcGetProgramLogSize, (nvrtcProgram prog, size_t *logSizeRet), (prog, logSizeRet))
NVRTC_FORWARD(nvrtcGetProgramLog, (nvrtcProgram prog, char *log), (prog, log))
NVRTC_FORWARD(nvrtcAddNameExpression, (nvrtcProgram prog, const char *const name_expression),
              (prog, name_expression))
NVRTC_FORWARD(nvrtcGetLoweredName,
              (nvrtcProgram prog, const char *const name_expression, const char **lowered_name),
              (prog, name_expression, lowered_name))
NVRTC_FORWARD(nvrtcGetPCHHeapSize, (size_t * ret), (ret))
NVRTC_FORWARD(nvrtcSetPCHHeapSize, (size_t size), (size))
NVRTC_FORWARD(nvrtcGetPCHCreateStatus, (nvrtcProgram prog), (prog))
NVRTC_FORWARD(nvrtcGetPCHHeapSizeRequired, (nvrtcProgram prog, size_t *size), (prog, size))
NVRTC_FORWARD(nvrtcSetFlowCallback,
              (nvrtcProgram prog, int (*callback)(void *, void *), void *payload),
              (prog, callback, payload))
