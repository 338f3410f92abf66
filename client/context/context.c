/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as calls see them: found by their handles, the current one of a thread, and how far
 * their work is known to be done. */
#include "client/context/context.h"

#include "api/calls.h"
#include "base/log.h"
#include "client/conn/conn.h"
#include "client/context/mark.h"
#include "front/front.h"

static unsigned long long ids;

static void context_begin(void *at)
{
    struct client_context *context = at;
    context->id = ++ids;
    context->legacy_attributes = front_stream_attributes_new;
    ga_list_init(&context->objects);
}

const struct client_object_type client_context_type = {.bytes = sizeof(struct client_context),
                                                       .begin = context_begin};

CUresult client_context_find(CUcontext handle, struct client_context **context)
{
    struct front_green green;
    if (front_green_is(handle)) {
        handle = front_green_context(handle, &green) ? green.primary : NULL;
    }
    struct client_context *found =
        client_object_find(GA_HANDLE_CONTEXT, (uint64_t)(uintptr_t)handle);
    if (found == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = found;
    return CUDA_SUCCESS;
}

/* Counts contexts that were destroyed: what a thread remembers may be one of them. (Green ones are
 * not remembered.) */
static atomic_uint destroyed;

CUresult client_context_current(struct client_context **context)
{
    static _Thread_local struct client_context *last;
    static _Thread_local CUcontext last_handle;
    static _Thread_local unsigned last_destroyed;
    CUcontext handle;
    CU_TRY(front_context_need(&handle));
    struct client_context *found = last;
    unsigned now = atomic_load_explicit(&destroyed, memory_order_acquire);
    if (last_handle != handle || last_destroyed != now) {
        if (client_context_find(handle, &found) != CUDA_SUCCESS) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        last = found;
        last_handle = front_green_is(handle) ? NULL : handle;
        last_destroyed = now;
    }
    if (!atomic_load_explicit(&found->active, memory_order_acquire)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *context = found;
    /* NOLINTNEXTLINE: `found` was kept with the handle */
    return (CUresult)client_conn_dead(client_session_conn(found->session));
}

void client_context_drop(struct client_context *context)
{
    atomic_fetch_add(&destroyed, 1);
    client_object_drop(context);
}

CUresult client_usable(void)
{
    struct client_context *context;
    return client_context_current(&context);
}

void client_context_late(uint64_t handle, int result, uint16_t opcode)
{
    struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, handle);
    int none = 0;
    bool first = context != NULL && atomic_compare_exchange_strong(&context->late, &none, result);
    ga_log(first ? GA_LOG_WARN : GA_LOG_DEBUG, "%s failed with CUDA error %d after it had returned",
           api_op_name(opcode), result);
}

/* ---- whether there is work */

void client_context_quiet(struct client_context *context, uint64_t sequence)
{
    uint64_t before = atomic_load(&context->quiet);
    while (before < sequence && !atomic_compare_exchange_weak(&context->quiet, &before, sequence)) {
    }
}

uint64_t client_context_done(const struct client_context *context)
{
    uint64_t quiet = atomic_load(&context->quiet), unused = atomic_load(&context->unused);
    return quiet > unused ? quiet : unused;
}

bool client_context_passed(const struct client_context *context, uint64_t mark)
{
    return client_context_done(context) >= (mark & CLIENT_MARK_SEQUENCE);
}

bool client_context_idle(const struct client_context *context)
{
    return client_context_done(context) >=
           client_conn_worked(client_session_conn(context->session));
}

CUresult client_context_told(struct client_context *context)
{
    struct client_conn *conn = client_session_conn(context->session);
    client_conn_read(conn); /* errors, and that the server is gone */
    front_output_write();
    int dead = client_conn_dead(conn);
    return (CUresult)(dead != 0 ? dead : atomic_exchange(&context->late, 0));
}

/* ---- primary contexts */

CUresult client_primary_context(CUdevice ordinal, struct client_context **context)
{
    struct client_device *device;
    CU_TRY(client_device_find(ordinal, &device));
    pthread_mutex_lock(&device->open_lock);
    if (device->primary == NULL) {
        struct client_context *made = client_object_make(GA_HANDLE_CONTEXT, NULL);
        if (made != NULL) {
            made->device = device;
            made->primary = true;
            device->primary = made;
        }
    }
    *context = device->primary;
    pthread_mutex_unlock(&device->open_lock);
    return *context != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult client_primary_handle(CUdevice dev, CUcontext *handle)
{
    struct client_context *context;
    CU_TRY(client_primary_context(dev, &context));
    *handle = (CUcontext)(uintptr_t)context->object.handle;
    return CUDA_SUCCESS;
}

CUresult client_session_need(CUdevice device, struct client_session **session)
{
    CUcontext context;
    *session = atomic_load(&client_devices[device]->session);
    if (*session != NULL) {
        return CUDA_SUCCESS;
    }
    CUresult rc = cuDevicePrimaryCtxRetain(&context, device);
    if (rc == CUDA_SUCCESS) {
        rc = cuDevicePrimaryCtxRelease_v2(device);
        *session = atomic_load(&client_devices[device]->session);
    }
    return rc;
}
