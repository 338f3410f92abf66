/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetErrorName and cuGetErrorString. The names are cuda.h's. The texts are ours, with the
 * words of NVIDIA's driver where programs commonly print them. */
#include "front/core/errors.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "front/core/results.h"
#include "front/front.h"

#define RESULTS_MAX 256
#define TEXT_MAX    64

static const struct front_result texts[] = {
    {CUDA_SUCCESS, "no error"},
    {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "driver shutting down"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"},
    {CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"},
    {CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"},
    {CUDA_ERROR_FILE_NOT_FOUND, "file not found"},
    {CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"},
    {CUDA_ERROR_ASSERT, "device-side assert triggered"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"},
    {CUDA_ERROR_INVALID_PC, "invalid program counter"},
    {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"},
    {CUDA_ERROR_NOT_PERMITTED, "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_UNKNOWN, "unknown error"},
};

/* Texts of the other results: the name in lower case, made once. */
static char plain[RESULTS_MAX][TEXT_MAX];
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void plain_make(void)
{
    static const char prefix[] = "CUDA_ERROR_";
    for (size_t i = 0; i < front_result_count && i < RESULTS_MAX; i++) {
        const char *name = front_results[i].name;
        if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
            name += sizeof prefix - 1;
        }
        size_t used = 0;
        for (; name[used] != 0 && used + 1 < TEXT_MAX; used++) {
            int letter = name[used] == '_' ? ' ' : tolower((unsigned char)name[used]);
            plain[i][used] = (char)letter;
        }
        plain[i][used] = 0;
    }
}

static size_t row_of(CUresult error)
{
    size_t i = 0;
    while (i < front_result_count && front_results[i].value != (int)error) {
        i++;
    }
    return i;
}

CUresult front_result_of(int32_t number)
{
    return number == 0 || row_of((CUresult)number) < front_result_count ? (CUresult)number
                                                                        : CUDA_ERROR_UNKNOWN;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    if (pStr == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t row = row_of(error);
    *pStr = row < front_result_count ? front_results[row].name : NULL;
    return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    if (pStr == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].value == (int)error) {
            *pStr = texts[i].name;
            return CUDA_SUCCESS;
        }
    }
    size_t row = row_of(error);
    if (row >= front_result_count || row >= RESULTS_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_once(&plain_once, plain_make);
    *pStr = plain[row];
    return CUDA_SUCCESS;
}
