/* Functions of the program that a stream calls, on a thread of the device. */
#include "front/front.h"
#include "softgpu/calls/call.h"

struct host_function {
    struct sg_item item; /* first */
    struct front_host_call call;
};

static CUresult host_function_run(struct sg_item *item)
{
    const struct host_function *made = ga_container(item, struct host_function, item);
    front_host_call_run(&made->call, (CUresult)atomic_load(&sg_process.condemned));
    return CUDA_SUCCESS;
}

static CUresult submit(CUstream handle, const struct front_host_call *call)
{
    struct sg_stream *stream;
    CUresult result = sg_enter_stream(handle, &stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (call->function == NULL && call->callback == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
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

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    const struct front_host_call call = {.function = fn, .data = userData};
    return submit(hStream, &call);
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                     unsigned int flags)
{
    const struct front_host_call call = {.callback = callback, .stream = hStream, .data = userData};
    CUresult result = front_ready();
    if (result == CUDA_SUCCESS && flags != 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return result == CUDA_SUCCESS ? submit(hStream, &call) : result;
}
