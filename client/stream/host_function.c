/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions and stream callbacks, and the thread that runs them; that of values in pinned
 * memory that streams write or wait for (client/stream/host_value.h); and that of the library's own
 * functions, which none of the program's holds up.
 *
 * What a reader would get wrong: their turn is told on the data connection, not on the side,
 * because it must come after the bytes of the copies before it. That they have returned is told on
 * the side: the data connection may be full of calls that wait for just that. */
#include "client/stream/host_function.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/calls.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/mirror.h"
#include "client/process/process.h"
#include "client/stream/host_value.h"
#include "front/front.h"

#define SIDE_FULL_US   1000
#define VALUE_SLEEP_NS 200000

enum lane_number { FUNCTIONS, VALUES, OWN, LANES };

struct client_host_call {
    struct ga_list at;
    struct client_conn *conn;
    enum lane_number lane;
    struct front_host_call call; /* of FUNCTIONS and OWN */
    struct front_value value;    /* of VALUES */
    uint64_t sequence;
    uint32_t id;
    bool seen;        /* a device has written the value that is waited for */
    bool lost;        /* the server does not wait for it any more */
    uint64_t context; /* handle */
    CUresult status;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list submitted = {&submitted, &submitted}; /* in the order of submission */

/* The functions that one thread runs. */
static struct lane {
    const char *name;
    bool started;
    pthread_cond_t news; /* once it has started */
    struct ga_list due;  /* in the order of their turns */
} lanes[LANES] = {
    [FUNCTIONS] = {.name = "gpuaas-hostfn", .due = {&lanes[FUNCTIONS].due, &lanes[FUNCTIONS].due}},
    [VALUES] = {.name = "gpuaas-values", .due = {&lanes[VALUES].due, &lanes[VALUES].due}},
    [OWN] = {.name = "gpuaas-own", .due = {&lanes[OWN].due, &lanes[OWN].due}},
};

/* ---- turns */

void client_host_call_due(struct client_host_call *call, int status, uint32_t id)
{
    pthread_mutex_lock(&lock);
    call->status = (CUresult)status;
    call->id = id;
    ga_list_remove(&call->at);
    ga_list_append(&lanes[call->lane].due, &call->at);
    pthread_cond_signal(&lanes[call->lane].news);
    pthread_mutex_unlock(&lock);
}

void client_host_call_lost(struct client_host_call *call, int status)
{
    pthread_mutex_lock(&lock);
    call->status = (CUresult)status;
    call->lost = true;
    pthread_cond_signal(&lanes[call->lane].news);
    pthread_mutex_unlock(&lock);
}

/* ---- the thread */

static bool first_of_conn(const struct client_host_call *call)
{
    ga_list_each (at, following, &submitted) {
        const struct client_host_call *other = ga_container(at, struct client_host_call, at);
        if (other->conn == call->conn && other->lane == call->lane) {
            return other == call;
        }
    }
    return false;
}

/* Whether its stream may go on: a value has been written, or what waits for it has ended. */
static bool value_ready(const struct client_host_call *call)
{
    return call->value.write || call->seen || call->status != CUDA_SUCCESS ||
           client_conn_dead(call->conn) != 0 || client_host_value_holds(&call->value);
}

/* The next one to run; NULL: none. The end of a connection loses its calls in any order, but all of
 * them: they run in the order of submission. */
static struct client_host_call *next_call(const struct lane *lane)
{
    ga_list_each (at, following, &lane->due) {
        struct client_host_call *call = ga_container(at, struct client_host_call, at);
        if (call->lane != VALUES || value_ready(call)) {
            return call;
        }
    }
    ga_list_each (at, following, &submitted) {
        struct client_host_call *call = ga_container(at, struct client_host_call, at);
        if (&lanes[call->lane] == lane && call->lost && first_of_conn(call)) {
            return call;
        }
    }
    return NULL;
}

/* The stream may go on. */
static void say_done(struct client_host_call *call)
{
    const uint32_t values[4] = {call->id};
    enum ga_status status;
    while ((status = client_conn_side_send(call->conn, WIRE_HOST_DONE, call->sequence, values,
                                           sizeof values)) == GA_AGAIN &&
           client_conn_dead(call->conn) == 0) {
        usleep(SIDE_FULL_US); /* the service thread sends */
    }
    if (status == GA_LOST) {
        client_conn_lose(call->conn, "its side connection ended");
    }
}

static void run_function(struct client_host_call *call, struct client_context *context,
                         CUresult status)
{
    if (context != NULL) { /* other streams may still work: nothing counts as waited for */
        (void)client_mirrors_after(context, MIRROR_ALL, 0);
    }
    if (!atomic_load(&client_exiting)) {
        front_host_call_run(&call->call, status);
    }
}

/* The program may write its memory at any time, so for a wait nothing of the device's comes; but
 * what the program has written before the value goes, whatever its size. */
static void run_value(const struct client_host_call *call, struct client_context *context,
                      CUresult status)
{
    if (status != CUDA_SUCCESS) {
        return;
    }
    if (context != NULL && call->value.write) {
        (void)client_mirrors_after(context, MIRROR_ALL, 0);
    }
    if (call->value.write) {
        client_host_value_store(&call->value);
    }
    client_mirrors_show();
}

static void run(struct client_host_call *call)
{
    front_output_write();
    CUresult status = call->status;
    if (status == CUDA_SUCCESS) {
        status = (CUresult)client_conn_dead(call->conn);
    }
    struct client_context *context = client_mirrors_some() && status == CUDA_SUCCESS
                                         ? client_object_find(GA_HANDLE_CONTEXT, call->context)
                                         : NULL;
    context = context != NULL && atomic_load(&context->active) ? context : NULL;
    if (call->lane != VALUES) {
        run_function(call, context, status);
    } else {
        run_value(call, context, status);
    }
    if (context != NULL) { /* what comes behind it in the stream sees what it has written */
        (void)client_mirrors_send(context);
    }
    if (!call->lost && client_conn_dead(call->conn) == 0) {
        say_done(call);
    }
    free(call);
}

/* Kernels may write what is waited for: into the device's half, of which the program learns nothing
 * before it waits. Under the lock, which is released meanwhile; only this thread takes calls out.
 */
static void look_at_devices(const struct lane *lane)
{
    if (lane != &lanes[VALUES]) {
        return;
    }
    struct ga_list *at = lane->due.next;
    while (at != &lane->due && client_mirrors_some()) {
        struct client_host_call *call = ga_container(at, struct client_host_call, at);
        uint64_t word;
        pthread_mutex_unlock(&lock);
        struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, call->context);
        call->seen = context != NULL && atomic_load(&context->active) &&
                     client_mirror_peek(context, call->value.address, call->value.bytes, &word) &&
                     client_host_value_meets(&call->value, word);
        pthread_mutex_lock(&lock);
        at = at->next;
    }
}

/* Looks again soon while streams wait for values. */
static void wait_for_news(struct lane *lane)
{
    if (ga_list_empty(&lane->due)) {
        pthread_cond_wait(&lane->news, &lock);
        return;
    }
    (void)ga_cond_wait_until(&lane->news, &lock, ga_clock_ns() + VALUE_SLEEP_NS);
}

static void *thread_main(void *argument)
{
    struct lane *lane = argument;
    prctl(PR_SET_NAME, lane->name);
    pthread_mutex_lock(&lock);
    for (;;) {
        struct client_host_call *call = next_call(lane);
        if (call == NULL) {
            wait_for_news(lane);
            look_at_devices(lane);
            continue;
        }
        ga_list_remove(&call->at);
        pthread_mutex_unlock(&lock);
        run(call);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static CUresult thread_need(struct lane *lane)
{
    pthread_mutex_lock(&lock);
    if (!lane->started) {
        ga_cond_init(&lane->news);
        lane->started = ga_thread_start(NULL, thread_main, lane) == GA_OK;
        if (!lane->started) {
            ga_error("no thread can be started for host functions");
        }
    }
    CUresult rc = lane->started ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- submission */

/* Between begin and post, where the sender's lock keeps the order. */
static void enlist(struct client_host_call *made, struct client_conn *conn)
{
    made->conn = conn;
    made->sequence = client_conn_next(conn);
    pthread_mutex_lock(&lock);
    ga_list_append(&submitted, &made->at);
    pthread_mutex_unlock(&lock);
}

static void strike(struct client_host_call *made)
{
    pthread_mutex_lock(&lock);
    ga_list_remove(&made->at);
    pthread_mutex_unlock(&lock);
}

/* `made` is taken: its lane and what it is for are said. */
static CUresult submit(CUstream handle, struct client_host_call *made)
{
    struct client_call call;
    struct ga_host_function_args args;
    CUresult rc = client_call_enter_handle(&call, API_OP_ga_host_function);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, handle, &args.stream);
    }
    if (rc == CUDA_SUCCESS) {
        rc = thread_need(&lanes[made->lane]);
    }
    if (rc == CUDA_SUCCESS) {
        made->context = call.context->object.handle;
        rc = client_call_begin(&call, ga_host_function_args_bound(&args));
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    enlist(made, call.conn);
    ga_host_function_args_write(&call.writer, &args);
    const struct reply_action want = {.context = call.context->object.handle, .host = made};
    rc = client_call_post_expect(&call, &want);
    if (rc != CUDA_SUCCESS) {
        strike(made);
        free(made);
    }
    return rc;
}

static CUresult submit_function(CUstream handle, const struct front_host_call *what,
                                enum lane_number lane)
{
    struct client_host_call *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->lane = lane;
    made->call = *what;
    return submit(handle, made);
}

CUresult client_host_submit(CUstream handle, const struct front_host_call *what)
{
    return submit_function(handle, what, FUNCTIONS);
}

CUresult client_host_submit_own(CUstream handle, const struct front_host_call *what)
{
    return submit_function(handle, what, OWN);
}

CUresult client_host_submit_value(CUstream handle, const struct front_value *value)
{
    struct client_host_call *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->lane = VALUES;
    made->value = *value;
    return submit(handle, made);
}
