/* SPDX-License-Identifier: Apache-2.0 */
/* References to contexts, and their handles. */
#include "softgpu/process/context.h"

#include <assert.h>
#include <stdlib.h>

#include "front/front.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"

struct sg_context *sg_context_find(CUcontext handle)
{
    struct front_green green;
    if (front_green_is(handle)) {
        handle = front_green_context(handle, &green) ? green.primary : NULL;
    }
    return ga_handle_table_find(&sg_process.contexts, (uint64_t)(uintptr_t)handle);
}

void sg_context_hold(struct sg_context *context)
{
    context->references++;
}

void sg_context_drop(struct sg_context *context)
{
    assert(context->references > 0);
    if (--context->references == 0) {
        sg_print_drop(context->print);
        free(context);
    }
}
