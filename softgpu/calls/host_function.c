/* Functions of the program that a stream calls, on a thread of the device. */
#include "softgpu/calls/call.h"

struct host_function {
    struct sg_item item; /* first */
    struct front_host_call call;
};

static CUresult host_function_run(struct sg_item *item)
{
    const struct host_function *made = ga_container(item, struct host_function, item);
    sg_lock();
    sg_print_due(item->stream->context->print);
    (void)sg_leave(CUDA_SUCCESS);
    front_host_call_run(&made->call, (CUresult)atomic_load(&sg_process.condemned));
    return CUDA_SUCCESS;
}

CUresult sg_call_host_function(CUstream handle, const struct front_host_call *call)
{
    struct sg_stream *stream;
    CUresult result = sg_enter_stream(handle, &stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct host_function *made = sg_item_make(sizeof *made, SG_ENGINE_HOST, host_function_run);
    if (made == NULL) {
        return sg_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->call = *call;
    made->item.always = call->callback != NULL; /* an error is told to it */
    sg_submit(stream, &made->item);
    return sg_leave(CUDA_SUCCESS);
}
