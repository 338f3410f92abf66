/* Host functions and stream callbacks, and the thread that runs them.
 *
 * What a reader would get wrong: their turn is told on the data connection, not on the side,
 * because it must come after the bytes of the copies before it. That they have returned is told on
 * the side: the data connection may be full of calls that wait for just that. */
#include "client/host_function.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/calls.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/call.h"
#include "client/state.h"
#include "client/twin.h"
#include "front/front.h"

#define SIDE_FULL_US 1000

struct client_host_call {
    struct ga_list at;
    struct client_link *link;
    struct front_host_call call;
    uint64_t sequence;
    uint32_t ticket;
    bool lost;        /* the server does not wait for it any more */
    uint64_t context; /* handle */
    CUresult status;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static struct ga_list submitted = {&submitted, &submitted}; /* in the order of submission */
static struct ga_list due = {&due, &due};                   /* in the order of their turns */

/* ---- turns */

void client_host_call_due(struct client_host_call *call, int status, uint32_t ticket)
{
    pthread_mutex_lock(&lock);
    call->status = (CUresult)status;
    call->ticket = ticket;
    ga_list_remove(&call->at);
    ga_list_append(&due, &call->at);
    atomic_fetch_sub(&call->link->host_calls, 1);
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
}

void client_host_call_lost(struct client_host_call *call, int status)
{
    pthread_mutex_lock(&lock);
    call->status = (CUresult)status;
    call->lost = true;
    atomic_fetch_sub(&call->link->host_calls, 1);
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
}

/* ---- the thread */

static bool first_of_link(const struct client_host_call *call)
{
    ga_list_each (at, following, &submitted) {
        const struct client_host_call *other = ga_container(at, struct client_host_call, at);
        if (other->link == call->link) {
            return other == call;
        }
    }
    return false;
}

/* The next one to run; NULL: none. The end of a link loses its calls in any order, but all of them:
 * they run in the order of submission. */
static struct client_host_call *next_call(void)
{
    if (!ga_list_empty(&due)) {
        return ga_container(due.next, struct client_host_call, at);
    }
    ga_list_each (at, following, &submitted) {
        struct client_host_call *call = ga_container(at, struct client_host_call, at);
        if (call->lost && first_of_link(call)) {
            return call;
        }
    }
    return NULL;
}

/* The stream may go on. */
static void say_done(struct client_host_call *call)
{
    const uint32_t values[4] = {call->ticket};
    enum ga_status status;
    while ((status = transport_side_send(&call->link->side, WIRE_HOST_DONE, call->sequence, values,
                                         sizeof values)) == GA_AGAIN &&
           atomic_load(&call->link->dead) == 0) {
        usleep(SIDE_FULL_US); /* the service thread sends */
    }
    if (status == GA_LOST) {
        client_link_lose(call->link, "its side connection ended");
    }
}

static void run(struct client_host_call *call)
{
    front_output_write();
    CUresult status = call->status;
    if (status == CUDA_SUCCESS) {
        status = (CUresult)atomic_load(&call->link->dead);
    }
    struct client_context *context = client_twins_some() && status == CUDA_SUCCESS
                                         ? client_object_find(GA_HANDLE_CONTEXT, call->context)
                                         : NULL;
    context = context != NULL && atomic_load(&context->active) ? context : NULL;
    if (context != NULL) { /* other streams may still work: nothing counts as waited for */
        (void)client_twins_after(context, TWIN_ALL, 0);
    }
    if (!atomic_load(&client_exiting)) {
        front_host_call_run(&call->call, status);
    }
    if (context != NULL) { /* what comes behind it in the stream sees what it has written */
        (void)client_twins_send(context);
    }
    if (!call->lost && atomic_load(&call->link->dead) == 0) {
        say_done(call);
    }
    free(call);
}

static void *thread_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "gpuaas-hostfn");
    pthread_mutex_lock(&lock);
    for (;;) {
        struct client_host_call *call = next_call();
        if (call == NULL) {
            pthread_cond_wait(&news, &lock);
            continue;
        }
        ga_list_remove(&call->at);
        pthread_mutex_unlock(&lock);
        run(call);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static CUresult thread_need(void)
{
    static bool started;
    pthread_mutex_lock(&lock);
    if (!started) {
        started = ga_thread_start(NULL, thread_main, NULL) == GA_OK;
        if (!started) {
            ga_error("no thread can be started for host functions");
        }
    }
    CUresult rc = started ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- submission */

/* Between begin and post, where the sender's lock keeps the order. */
static void enlist(struct client_host_call *made, struct client_link *link)
{
    made->link = link;
    made->sequence = link->sequence + 1;
    pthread_mutex_lock(&lock);
    ga_list_append(&submitted, &made->at);
    atomic_fetch_add(&link->host_calls, 1);
    pthread_mutex_unlock(&lock);
}

static void strike(struct client_host_call *made)
{
    pthread_mutex_lock(&lock);
    ga_list_remove(&made->at);
    atomic_fetch_sub(&made->link->host_calls, 1);
    pthread_mutex_unlock(&lock);
}

CUresult client_host_submit(CUstream handle, const struct front_host_call *what)
{
    struct client_call call;
    struct ga_host_function_args args;
    CUresult rc = client_call_enter_handle(&call, API_OP_ga_host_function);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, handle, &args.stream);
    }
    if (rc == CUDA_SUCCESS) {
        rc = thread_need();
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct client_host_call *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->call = *what;
    made->context = call.context->object.handle;
    rc = client_call_begin(&call, ga_host_function_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    enlist(made, call.link);
    ga_host_function_args_write(&call.writer, &args);
    const struct link_want want = {.context = call.context->object.handle, .host = made};
    rc = client_call_post_expect(&call, &want);
    if (rc != CUDA_SUCCESS) {
        strike(made);
        free(made);
    }
    return rc;
}
