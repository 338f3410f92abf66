/* SPDX-License-Identifier: Apache-2.0 */
#include "server/charge/primary.h"

/* NULL: it is not known, and costs nothing. */
static struct ledger_primary *primary_of(struct ledger *ledger, CUdevice device)
{
    struct ledger_primary *found = NULL;
    for (uint32_t i = 0; i < ledger->primary_count && found == NULL; i++) {
        found = ledger->primaries[i].device == device ? &ledger->primaries[i] : NULL;
    }
    return found;
}

void primary_know(struct ledger *ledger, CUdevice device, uint32_t gpu, uint64_t context_bytes)
{
    if (primary_of(ledger, device) == NULL && ledger->primary_count < CONF_GPUS_MAX) {
        ledger->primaries[ledger->primary_count++] =
            (struct ledger_primary){.device = device, .gpu = gpu, .context_bytes = context_bytes};
    }
}

bool primary_is_held(struct ledger *ledger, CUdevice device)
{
    const struct ledger_primary *primary = primary_of(ledger, device);
    return primary != NULL && primary->holds != 0;
}

void primary_hold_charged(struct ledger *ledger, CUdevice device)
{
    struct ledger_primary *primary = primary_of(ledger, device);
    if (primary != NULL) {
        primary->holds++;
    }
}

CUresult primary_hold(struct ledger *ledger, CUdevice device)
{
    const struct ledger_primary *primary = primary_of(ledger, device);
    if (primary != NULL && primary->holds == 0) {
        CU_TRY(ledger_charge_device(ledger, primary->gpu, primary->context_bytes));
    }
    primary_hold_charged(ledger, device);
    return CUDA_SUCCESS;
}

void primary_drop(struct ledger *ledger, CUdevice device)
{
    struct ledger_primary *primary = primary_of(ledger, device);
    if (primary != NULL && --primary->holds == 0) {
        ledger_return_device(ledger, primary->gpu, primary->context_bytes + primary->kernel_bytes);
        primary->kernel_bytes = 0;
    }
}

bool primary_keep(struct ledger *ledger, CUdevice device, uint64_t kernel_bytes)
{
    struct ledger_primary *primary = primary_of(ledger, device);
    if (primary == NULL || primary->holds == 0) {
        return false;
    }
    primary->kernel_bytes += kernel_bytes;
    return true;
}

uint64_t primary_take_over(struct ledger *ledger, CUdevice device)
{
    struct ledger_primary *primary = primary_of(ledger, device);
    uint64_t bytes = primary != NULL ? primary->kernel_bytes : 0;
    if (primary != NULL) {
        primary->kernel_bytes = 0;
    }
    return bytes;
}
