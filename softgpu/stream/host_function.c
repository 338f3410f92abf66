/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions as items: they run on a thread of the device. */
#include "softgpu/stream/host_function.h"

#include "front/front.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/streams.h"

struct host_function {
    struct sg_item item; /* first */
    struct front_host_call call;
};

static CUresult host_function_run(struct sg_item *item)
{
    const struct host_function *made = ga_container(item, struct host_function, item);
    sg_lock();
    sg_print_due(item->stream->context->print);
    sg_unlock();
    front_output_write();
    front_host_call_run(&made->call, (CUresult)atomic_load(&sg_process.condemned));
    return CUDA_SUCCESS;
}

struct sg_item *sg_host_function_make(const struct front_host_call *call)
{
    struct host_function *made = sg_item_make(sizeof *made, SG_ENGINE_HOST, host_function_run);
    if (made == NULL) {
        return NULL;
    }
    made->call = *call;
    made->item.note = (struct sg_note){.name = "host function", .unit = "calls", .amount = 1};
    made->item.always = call->callback != NULL; /* a stream callback is told an error */
    return &made->item;
}
