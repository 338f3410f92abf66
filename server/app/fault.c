/* SPDX-License-Identifier: Apache-2.0 */
#include "server/app/fault.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/app/kernel_output.h"

/* Newer than the oldest cuda.h that we build with. */
enum { CONTAINED = 226, TENSOR_MEMORY_LEAK = 721, EXTERNAL_DEVICE = 911 };

/* The errors of which cuda.h says that they leave the process in an inconsistent state. */
bool server_is_fault(CUresult rc)
{
    switch ((int)rc) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

static void kernel_time_note(struct quota *quota)
{
    char allowed[LIMITS_TEXT_MAX], text[120];
    uint64_t most = quota_limit_of(quota, LIMIT_KERNEL_TIME);
    if (most != LIMIT_NONE) {
        limits_value_write(LIMIT_KERNEL_TIME, most, allowed);
        snprintf(text, sizeof text, "%s allowed, a kernel has run longer and was stopped", allowed);
        quota_note(quota, LIMIT_KERNEL_TIME, text);
    }
}

void server_kernel_over(struct server_app *app)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&app->fault, &none, (int)CUDA_ERROR_LAUNCH_FAILED)) {
        app->carrier->fail(app, "a kernel cannot be stopped: this backend process ends");
        return;
    }
    app->meter.grace_ns += GA_NS_PER_S; /* until then its client has gone, or has to */
    kernel_time_note(app->ledger->quota);
    app->carrier->fault(app, CUDA_ERROR_LAUNCH_FAILED,
                        "a kernel has run for longer than the limit kernel-time");
    app->carrier->flush(app);
}

/* A new program gets this result on a device that has failed or gone; or it has another cause. */
static bool fault_is_of_device(CUresult rc)
{
    return rc == CUDA_ERROR_DEVICE_UNAVAILABLE || rc == CUDA_ERROR_NO_DEVICE ||
           rc == CUDA_ERROR_SYSTEM_NOT_READY || rc == CUDA_ERROR_UNKNOWN;
}

void server_check_fault(struct server_app *app, CUresult rc)
{
    int none = 0;
    if (fault_is_of_device(rc) ||
        server_is_fault(rc)) { /* gpuaasd may ask whether it is the device's */
        atomic_store(&app->ledger->figures->fault, (uint32_t)rc);
    }
    if (!server_is_fault(rc) || atomic_load(&app->fault) != 0) {
        return;
    }
    output_of_context(app); /* before anybody is told, with the fault or by another answer */
    if (!atomic_compare_exchange_strong(&app->fault, &none, (int)rc)) {
        return;
    }
    if (rc == CUDA_ERROR_LAUNCH_TIMEOUT && app->ledger->quota != NULL) {
        kernel_time_note(app->ledger->quota);
    }
    char room[16], text[160];
    snprintf(text, sizeof text, "execution fault on the GPU: %s",
             driver_result_name(app->driver, rc, room));
    ga_warn("%s; this backend process serves nothing more", text);
    app->carrier->fault(app, rc, text);
}
