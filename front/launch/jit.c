/* SPDX-License-Identifier: Apache-2.0 */
/* JIT options, read from and written to the program. */
#include "front/launch/jit.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "front/core/unsupported.h"

#define OPTIMIZATION_MAX 4u

static uint32_t number(void *value)
{
    return (uint32_t)(uintptr_t)value;
}

static CUresult jit_option_read(CUjit_option option, void **value, struct front_jit *jit)
{
    switch ((int)option) {
    case CU_JIT_MAX_REGISTERS:
        jit->max_registers = number(*value);
        return CUDA_SUCCESS;
    case CU_JIT_OPTIMIZATION_LEVEL:
        jit->optimization = number(*value);
        return jit->optimization <= OPTIMIZATION_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_JIT_INFO_LOG_BUFFER:
        jit->info.text = *value;
        return CUDA_SUCCESS;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        jit->info.size = number(*value);
        jit->info.told = value;
        return CUDA_SUCCESS;
    case CU_JIT_ERROR_LOG_BUFFER:
        jit->error.text = *value;
        return CUDA_SUCCESS;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        jit->error.size = number(*value);
        jit->error.told = value;
        return CUDA_SUCCESS;
    case CU_JIT_WALL_TIME:
        jit->wall_time = value;
        return CUDA_SUCCESS;
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
        return front_unsupported("CU_JIT_GLOBAL_SYMBOL_*");
    default:
        return (int)option >= 0 && option < CU_JIT_NUM_OPTIONS ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
    }
}

static void log_begin(struct front_jit_log *log)
{
    log->size = log->text != NULL ? log->size : 0;
    if (log->size != 0) {
        log->text[0] = 0;
    }
}

CUresult front_jit_read(unsigned count, const CUjit_option *options, void **values,
                        struct front_jit *jit)
{
    bool threads = false, target = false;
    *jit = (struct front_jit){.begun_ns = ga_clock_ns()};
    if (count != 0 && (options == NULL || values == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        CUresult rc = jit_option_read(options[i], &values[i], jit);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        threads |= options[i] == CU_JIT_THREADS_PER_BLOCK;
        target |= options[i] == CU_JIT_TARGET;
    }
    if (threads && target) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    log_begin(&jit->info);
    log_begin(&jit->error);
    return CUDA_SUCCESS;
}

void front_jit_write(struct front_jit_log *log, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    if (log->size != 0) {
        log->used = length < log->size ? length : log->size - 1;
        memcpy(log->text, text != NULL ? text : "", log->used);
        log->text[log->used] = 0;
    }
}

static void told(const struct front_jit_log *log)
{
    if (log->told != NULL) {
        *log->told = (void *)(uintptr_t)log->used;
    }
}

void front_jit_end(const struct front_jit *jit)
{
    told(&jit->info);
    told(&jit->error);
    if (jit->wall_time != NULL) { /* the bits of a float, in milliseconds */
        float ms = (float)(ga_clock_ns() - jit->begun_ns) / (float)GA_NS_PER_MS;
        memcpy(jit->wall_time, &ms, sizeof ms);
    }
}
