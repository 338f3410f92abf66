/* SPDX-License-Identifier: Apache-2.0 */
/* Per-thread state of CUDA: the stack of current contexts, and whether the thread runs a host
 * function. A context on the stack may be destroyed: only the top is used, and its user checks
 * it. */
#include "front/core/thread.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "front/core/attach.h"
#include "front/core/storage.h"
#include "front/front.h"

#define INLINE_DEPTH 8

struct stack {
    size_t depth;
    size_t capacity;    /* 0: `few` is used */
    bool host_function; /* the thread runs a host function: no CUDA call is permitted */
    CUcontext *many;    /* freed when the thread ends */
    CUcontext few[INLINE_DEPTH];
};

static _Thread_local struct stack stack;
static pthread_key_t stack_key;
static pthread_once_t stack_key_once = PTHREAD_ONCE_INIT;

static void stack_free(void *at)
{
    struct stack *mine = at;
    free(mine->many);
    memset(mine, 0, sizeof *mine);
}

static void stack_key_make(void)
{
    (void)pthread_key_create(&stack_key, stack_free);
}

static CUcontext *items(void)
{
    return stack.capacity != 0 ? stack.many : stack.few;
}

static bool thread_stack_grow(void)
{
    size_t capacity = stack.capacity != 0 ? stack.capacity * 2 : (size_t)INLINE_DEPTH * 2;
    CUcontext *many = realloc(stack.many, capacity * sizeof *many);
    if (many == NULL) {
        return false;
    }
    if (stack.capacity == 0) {
        memcpy(many, stack.few, sizeof stack.few);
        pthread_once(&stack_key_once, stack_key_make);
        (void)pthread_setspecific(stack_key, &stack);
    }
    stack.many = many;
    stack.capacity = capacity;
    return true;
}

/* Defined here because a call that needs the stack as well then looks up its thread once. */
CUresult front_ready(void)
{
    if (!front_initialised()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return stack.host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

void front_host_call_run(const struct front_host_call *call, CUresult status)
{
    bool before = stack.host_function;
    stack.host_function = true;
    if (call->callback != NULL) {
        call->callback(call->stream, status, call->data);
    } else if (status == CUDA_SUCCESS) {
        call->function(call->data);
    }
    stack.host_function = before;
}

CUcontext front_context_current(void)
{
    return stack.depth != 0 ? items()[stack.depth - 1] : NULL;
}

CUresult front_context_need(CUcontext *context)
{
    CUresult rc = front_ready();
    CUcontext current = front_context_current();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = current;
    return CUDA_SUCCESS;
}

CUresult front_context_push(CUcontext context)
{
    size_t room = stack.capacity != 0 ? stack.capacity : INLINE_DEPTH;
    if (stack.depth == room && !thread_stack_grow()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    items()[stack.depth++] = context;
    return CUDA_SUCCESS;
}

void front_context_reset(CUcontext context)
{
    front_storage_drop(context);
}

void front_context_gone(CUcontext context)
{
    front_storage_drop(context);
    front_attach_forget(context);
    if (context != NULL && front_context_current() == context) {
        stack.depth--;
    }
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && pctx == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pctx = front_context_current();
    }
    return rc;
}

/* NULL pops the top; a context replaces it, or is pushed onto an empty stack. */
CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (ctx == NULL) {
        stack.depth -= stack.depth != 0;
        return CUDA_SUCCESS;
    }
    rc = front_host.context_check(ctx);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (stack.depth == 0) {
        return front_context_push(ctx);
    }
    items()[stack.depth - 1] = ctx;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = ctx == NULL ? CUDA_ERROR_INVALID_CONTEXT : front_host.context_check(ctx);
    }
    return rc == CUDA_SUCCESS ? front_context_push(ctx) : rc;
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUcontext current;
    CUresult rc = front_context_need(&current);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    stack.depth--;
    if (pctx != NULL) {
        *pctx = current;
    }
    return CUDA_SUCCESS;
}
