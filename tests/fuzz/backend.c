/* SPDX-License-Identifier: Apache-2.0 */
/* See backend.h. */
#include "tests/fuzz/backend.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "api/cuda_driver.h"
#include "base/clock.h"
#include "server/calls/context_end.h"
#include "softgpu/lifetime/init.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/queue.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/made_from.h"

#define PATIENCE_NS (100 * GA_NS_PER_MS)

static struct cuda_driver driver, softgpu; /* the second is called by the first */
static sem_t ended;

/* ---- all work passes by the gate, once in a call, but what is captured */

static struct server_conn *gated; /* of the last call that did */
static uint64_t passed;           /* its number */

static enum ga_status pass(struct gate *gate, struct server_conn *conn, enum api_engine engine)
{
    (void)gate;
    FUZZ_CHECK(engine != API_ENGINE_NONE && passed != conn->calls);
    gated = conn;
    passed = conn->calls;
    return GA_OK;
}

static struct gate gate = {.enter = pass};

static struct gate *every_gate(void *user, const struct server_session *session)
{
    (void)user;
    (void)session;
    return &gate;
}

static void work_check(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (gated == NULL || passed != gated->calls) {
        (void)softgpu.cuStreamIsCapturing(stream, &status);
        FUZZ_CHECK(status != CU_STREAM_CAPTURE_STATUS_NONE);
    }
}

#define WORK(name, parameters, arguments)                                                          \
    static CUresult work_##name parameters                                                         \
    {                                                                                              \
        work_check(stream);                                                                        \
        return softgpu.name arguments;                                                             \
    }

WORK(cuLaunchKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
      unsigned bytes, CUstream stream, void **params, void **extra),
     (f, gx, gy, gz, x, y, z, bytes, stream, params, extra))
WORK(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
WORK(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
WORK(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
WORK(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
WORK(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream))
WORK(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
     (to, value, count, stream))
WORK(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
     (to, value, count, stream))
WORK(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, stream))

static void work_watch(void)
{
    softgpu = driver;
    driver.cuLaunchKernel = work_cuLaunchKernel;
    driver.cuMemcpyHtoDAsync_v2 = work_cuMemcpyHtoDAsync_v2;
    driver.cuMemcpyDtoHAsync_v2 = work_cuMemcpyDtoHAsync_v2;
    driver.cuMemcpyDtoDAsync_v2 = work_cuMemcpyDtoDAsync_v2;
    driver.cuMemcpy2DAsync_v2 = work_cuMemcpy2DAsync_v2;
    driver.cuMemcpy3DAsync_v2 = work_cuMemcpy3DAsync_v2;
    driver.cuMemsetD8Async = work_cuMemsetD8Async;
    driver.cuMemsetD32Async = work_cuMemsetD32Async;
    driver.cuGraphLaunch = work_cuGraphLaunch;
}

/* ---- the process */

static enum ga_status every_ticket(void *user, const struct handshake_data_hello *hello,
                                   const char **why)
{
    (void)user;
    *why = "no such device";
    return hello->device < FUZZ_BACKEND_DEVICES ? GA_OK : GA_DENIED;
}

static int same_ordinal(void *user, const struct handshake_data_hello *hello)
{
    (void)user;
    return hello->device < FUZZ_BACKEND_DEVICES ? (int)hello->device : -1;
}

static void tell_end(void *user, const char *why)
{
    (void)user;
    (void)why;
    sem_post(&ended);
}

static struct figures figures;
static struct ledger ledger;
static const struct server_host host = {.ticket = every_ticket,
                                        .ordinal = same_ordinal,
                                        .ended = tell_end,
                                        .gate = every_gate,
                                        .ledger = &ledger};

/* softgpu is linked into this program, under the names that a driver exports. */
void fuzz_backend_init(void)
{
    for (size_t i = 0; i < cuda_driver_symbol_count; i++) {
        const struct cuda_driver_symbol *symbol = &cuda_driver_symbols[i];
        void *function = dlsym(RTLD_DEFAULT, symbol->name);
        function = function != NULL ? function : (void *)cuda_driver_missing;
        memcpy((char *)&driver + symbol->offset, &function, sizeof function);
    }
    work_watch();
    sem_init(&ended, 0, 0);
    FUZZ_CHECK(sg_process_init_with("memory=64MiB,sms=2;memory=32MiB,sms=1") == CUDA_SUCCESS);
    FUZZ_CHECK(driver.cuInit(0) == CUDA_SUCCESS);
}

/* The client's functions that streams wait for return at once. */
static void functions_return(struct host_calls *host)
{
    pthread_mutex_lock(&host->lock);
    uint32_t count = host->block_count * HOST_BLOCK;
    pthread_mutex_unlock(&host->lock);
    for (uint32_t ticket = 0; ticket < count; ticket++) {
        const struct host_lease *lease =
            &host->blocks[ticket / HOST_BLOCK]->leases[ticket % HOST_BLOCK];
        pthread_mutex_lock(&host->lock);
        bool called = lease->state == HOST_CALLED;
        uint64_t sequence = lease->sequence;
        pthread_mutex_unlock(&host->lock);
        if (called) {
            FUZZ_CHECK(host_lease_done(host, ticket, sequence) == GA_OK);
        }
    }
}

/* A stream that waits for a value that nobody writes holds up whoever waits for the stream, for
 * ever: as good as a kernel without end, and as little our business. */
static void driver_give_up(void)
{
    sg_lock();
    sg_process_condemn(CUDA_ERROR_LAUNCH_FAILED);
    sg_schedule();
    sg_unlock();
}

static void wait_end(struct server_conn *conn)
{
    struct timespec until;
    uint64_t deadline_ns = ga_clock_ns() + PATIENCE_NS;
    do {
        functions_return(&conn->host_calls);
        if (ga_clock_ns() > deadline_ns) {
            driver_give_up();
        }
        until = ga_clock_time(ga_clock_ns() + GA_NS_PER_MS / 5);
    } while (sem_clockwait(&ended, CLOCK_MONOTONIC, &until) != 0);
}

/* ---- the end */

/* Nothing runs or waits to run any more. */
static void driver_settle(void)
{
    bool quiet = false;
    uint64_t deadline_ns = ga_clock_ns() + PATIENCE_NS;
    while (!quiet) {
        if (ga_clock_ns() > deadline_ns) {
            driver_give_up();
        }
        sg_lock();
        quiet = ga_list_empty(&sg_process.active);
        sg_unlock();
        if (!quiet) {
            usleep(50);
        }
    }
    /* A fault condemns a process for ever; this one goes on. */
    atomic_store(&sg_process.condemned, 0);
    atomic_store(&sg_process.stop, 0);
}

/* What was handed to the completion thread has been told, and its jobs are done. */
static void completer_settle(struct server_conn *conn)
{
    while (!completer_is_idle(&conn->completer)) {
        conn_run_jobs(conn);
        usleep(20);
    }
    conn_run_jobs(conn);
}

/* The connection has ended, perhaps by its own account; for who waits below it has not. The
 * completion thread may just have found it lost, and be about to end it once more. */
static void conn_revive(struct server_conn *conn)
{
    pthread_mutex_lock(&conn->out.lock);
    bool lost = conn->out.lost;
    conn->out.lost = false;
    pthread_mutex_unlock(&conn->out.lock);
    if (lost) {
        usleep(2000);
    }
    atomic_store(&conn->ended, false);
}

static void contexts_end(struct server_conn *conn)
{
    conn_revive(conn);
    while (!ga_list_empty(&conn->objects.context_list)) {
        struct server_context *context =
            ga_container(conn->objects.context_list.next, struct server_context, link);
        FUZZ_CHECK(context_clear(conn, context, false) == CUDA_SUCCESS);
    }
    FUZZ_CHECK(conn->objects.streams.live == 0 && conn->objects.events.live == 0);
    FUZZ_CHECK(conn->objects.modules.live == 0 && conn->objects.functions.live == 0);
    FUZZ_CHECK(conn->objects.arrays.live == 0 && conn->objects.mipmaps.live == 0);
    FUZZ_CHECK(conn->objects.textures.live == 0);
    FUZZ_CHECK(conn->ranges.count == 0);
}

/* Nothing is charged but what a connection keeps until its end. */
static void figures_check(const struct server_conn *conn)
{
    const struct staging *staging = &conn->staging;
    uint64_t kept = staging->slots != NULL ? (uint64_t)staging->count * WIRE_CHUNK : 0;
    kept += staging->overflow.used;
    kept += (uint64_t)conn->host_calls.block_count * HOST_BLOCK * sizeof(uint32_t);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_HOST_BYTES]) == kept);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_DEVICE_BYTES]) == 0);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_CONDITIONS]) == 0);
    for (unsigned i = FIGURE_CONTEXTS; i < FIGURE_COUNT; i++) {
        FUZZ_CHECK(atomic_load(&figures.of[i]) == 0);
    }
}

/* Pinned memory goes with the context in which it was made: each piece has retained it once. */
/* With the turns of copies that were never done. */
static void overflow_free(struct overflow *overflow)
{
    ga_list_each (at, next, &overflow->slots) {
        struct overflow_slot *slot = ga_container(at, struct overflow_slot, link);
        ga_list_each (turn_at, turn_next, &slot->turns) {
            struct overflow_turn *turn = ga_container(turn_at, struct overflow_turn, link);
            ga_list_each (bytes_at, bytes_next, &turn->bytes) {
                free(ga_container(bytes_at, struct overflow_bytes, link));
            }
            free(turn);
        }
        free(slot);
    }
}

static void pinned_free(struct server_conn *conn)
{
    free(conn->staging.slots);
    free(conn->scratch);
    overflow_free(&conn->staging.overflow);
    for (unsigned i = 0; i < conn->host_calls.block_count; i++) {
        free(conn->host_calls.blocks[i]);
    }
    for (CUdevice device = 0; device < (CUdevice)FUZZ_BACKEND_DEVICES; device++) {
        while (sg_process.devices[device].primary_retains != 0) {
            FUZZ_CHECK(driver.cuDevicePrimaryCtxRelease_v2(device) == CUDA_SUCCESS);
        }
    }
}

/* Nothing of the application is left in the driver. */
static void driver_check(void)
{
    sg_lock();
    FUZZ_CHECK(sg_process.contexts.live == FUZZ_BACKEND_DEVICES); /* the primary ones */
    FUZZ_CHECK(sg_process.streams.live == 0 && sg_process.events.live == 0);
    FUZZ_CHECK(sg_process.arrays.live == 0 && sg_process.mipmaps.live == 0);
    FUZZ_CHECK(sg_process.modules.live == 0 && sg_process.functions.live == 0);
    FUZZ_CHECK(sg_memory.allocations.live == 0);
    FUZZ_CHECK(sg_memory.ranges.count == 0 && sg_memory.reservations.count == 0);
    sg_unlock();
}

static void conn_free(struct server_conn *conn)
{
    for (unsigned i = 1; i <= CONF_GPUS_MAX && conn->sessions[i] != NULL; i++) {
        const struct handshake_window *window = &conn->sessions[i]->window;
        if (window->bytes != 0) {
            FUZZ_CHECK(driver.cuMemAddressFree(window->base, window->bytes) == CUDA_SUCCESS);
        }
        free(conn->sessions[i]);
    }
    completer_stop(&conn->completer);
    send_queue_end(&conn->out);
    ga_pool_fini(&conn->completer.unused);
    ga_pool_fini(&conn->completer.frames);
    ga_pool_fini(&conn->frames);
    pinned_free(conn);
    struct ga_handle_table *tables[] = {&conn->objects.contexts,  &conn->objects.streams,
                                        &conn->objects.events,    &conn->objects.modules,
                                        &conn->objects.functions, &conn->objects.arrays,
                                        &conn->objects.mipmaps,   &conn->objects.textures};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        ga_handle_table_fini(tables[i]);
    }
    range_table_fini(&conn->ranges);
    frame_reader_fini(&conn->reader);
    close(conn->wake_fd);
    free(conn);
}

void fuzz_backend_run(const struct transport_conn *transport,
                      const struct handshake_data_hello *hello, uint64_t device_bytes_max)
{
    struct server_conn *conn;
    struct frame_reader reader;
    /* The hello has been read, and conn_start drops it. */
    struct wire_header header = {.opcode = WIRE_DATA_HELLO, .sequence = 1};
    FUZZ_CHECK(frame_reader_init(&reader, CONN_BUFFER_BYTES) == GA_OK);
    memcpy(reader.buffer, &header, sizeof header);
    reader.end = sizeof header;
    const struct channel_setup setup = {.session_queue_bytes = 1u << 20,
                                        .copy_overflow = 8u << 20,
                                        .copy_overflow_wait_s = 1,
                                        .shared_memory_bytes = 1u << 20};
    memset(&figures, 0, sizeof figures);
    gated = NULL;
    passed = 0;
    ledger_init(&ledger, &figures);
    ledger.most[FIGURE_DEVICE_BYTES] = device_bytes_max;
    FUZZ_CHECK(conn_start(&conn, &driver, &host, transport, &reader, &setup, hello, 1) == GA_OK);
    wait_end(conn);
    driver_settle();
    completer_settle(conn);
    fuzz_made_from_check(conn, &softgpu);
    contexts_end(conn);
    figures_check(conn);
    conn_free(conn);
    driver_check();
}
