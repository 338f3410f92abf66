/* SPDX-License-Identifier: Apache-2.0 */
/* See backend.h. */
#include "tests/fuzz/backend.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "api/cuda_driver.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "server/calls/objects_end.h"
#include "server/objects/app_life.h"
#include "softgpu/lifetime/init.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/queue.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/made_from.h"

#define PATIENCE_NS (100 * GA_NS_PER_MS)

static struct cuda_driver driver, softgpu; /* the second is called by the first */
static sem_t ended;
static bool settled; /* nothing runs any more; under softgpu's lock */

/* ---- all work passes by the gate, once in a call (a copy: for each piece), but what is captured
 */

static struct server_conn *gated; /* of the last call that did */
static uint64_t passed;           /* its number */

static enum ga_status pass(struct gate *gate, struct server_app *app, enum api_engine engine,
                           uint64_t what)
{
    struct server_conn *conn = conn_of(app);
    (void)gate, (void)what;
    bool copies = engine == API_ENGINE_H2D || engine == API_ENGINE_D2H;
    FUZZ_CHECK(engine != API_ENGINE_NONE && (copies || passed != conn->calls));
    gated = conn;
    passed = conn->calls;
    return GA_OK;
}

static struct gate gate = {.enter = pass};

static struct gate *every_gate(void *user, struct server_session *session)
{
    (void)user;
    (void)session;
    return &gate;
}

/* Without a context a call gives nobody work; the driver refuses it. */
static void work_check(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUcontext current = NULL;
    (void)softgpu.cuCtxGetCurrent(&current);
    if (current != NULL && (gated == NULL || passed != gated->calls)) {
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

static void tell_end(void *user, const char *why, bool clean)
{
    (void)user;
    (void)why;
    FUZZ_CHECK(clean);
    sem_post(&ended);
}

#define KEPT_BYTES (UINT64_C(2) << 20) /* a size that the grammar has */

/* gpuaasd, which has images of half of all names, of one size; of nothing else it knows. */
static enum ga_status some_images(void *user, struct channel_request *packet, int *fd)
{
    static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry nothing()\n{\n    ret;\n}\n";
    (void)user;
    *fd = -1;
    if (packet->verb != CHANNEL_IMAGE_FIND) {
        return GA_LOST;
    }
    packet->result = CUDA_ERROR_NOT_FOUND;
    if (packet->bytes == KEPT_BYTES && packet->key[0] % 2 == 0) {
        *fd = ga_shared_memory_begin("fuzz", KEPT_BYTES + 1);
        FUZZ_CHECK(*fd >= 0 && pwrite(*fd, text, sizeof text - 1, 0) == sizeof text - 1);
        FUZZ_CHECK(packet->key[1] % 2 == 0 ? ga_shared_memory_freeze(*fd) : true);
        packet->result = CUDA_SUCCESS;
    }
    return GA_OK;
}

static struct figures figures;
static struct ledger ledger;
static bool all_free(struct server_app *app);
static const struct server_host host = {.objects_free = all_free,
                                        .end_ns = 2 * PATIENCE_NS,
                                        .request = some_images,
                                        .keeps_images = true,
                                        .gate = every_gate,
                                        .ledger = &ledger};
static const struct conn_host conn_host = {
    .ticket = every_ticket, .ordinal = same_ordinal, .ended = tell_end};

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

/* The lease of a function that the client has been told of. False: there is none. */
static bool lease_called(struct host_calls *host, uint32_t *id, uint64_t *sequence)
{
    bool found = false;
    pthread_mutex_lock(&host->lock);
    for (uint32_t i = 0; !found && i < host->block_count * HOST_BLOCK; i++) {
        const struct host_lease *lease = &host->blocks[i / HOST_BLOCK]->leases[i % HOST_BLOCK];
        found = lease->state == HOST_CALLED;
        *id = i;
        *sequence = lease->sequence;
    }
    found = found && !host->ended;
    pthread_mutex_unlock(&host->lock);
    return found;
}

/* The client's functions that streams wait for return at once. */
static void functions_return(struct host_calls *host)
{
    uint32_t id;
    uint64_t sequence;
    while (lease_called(host, &id, &sequence)) {
        FUZZ_CHECK(host_lease_done(host, id, sequence) == GA_OK);
    }
}

/* A stream that waits for a value that nobody writes holds up whoever waits for the stream, for
 * ever: as good as a kernel without end, and as little our business. */
static void driver_give_up(void)
{
    sg_lock();
    if (!settled) {
        sg_process_condemn(CUDA_ERROR_LAUNCH_FAILED);
        sg_schedule();
    }
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
    sg_lock();
    settled = true;
    atomic_store(&sg_process.condemned, 0);
    atomic_store(&sg_process.stop, 0);
    sg_unlock();
}

/* Waits until the completion thread has sent all that was handed to it, and its jobs are done. */
static void completer_settle(struct server_conn *conn)
{
    while (!completer_is_idle(&conn->completer)) {
        conn_run_jobs(conn);
        usleep(20);
    }
    conn_run_jobs(conn);
}

/* Nothing is charged but what a connection keeps until its end. */
static void figures_check(const struct server_conn *conn)
{
    const struct staging *staging = &conn->staging;
    uint64_t kept = staging->slots != NULL ? (uint64_t)staging->count * WIRE_CHUNK : 0;
    kept += staging->overflow.used;
    kept += (uint64_t)conn->host_calls.block_count * HOST_BLOCK * sizeof(uint32_t);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_HOST_BYTES]) == kept);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_PINNED_BYTES]) == kept);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_DEVICE_BYTES]) == 0);
    FUZZ_CHECK(atomic_load(&figures.of[FIGURE_CONDITIONS]) == 0);
    for (unsigned i = FIGURE_CONTEXTS; i < FIGURE_COUNT; i++) {
        FUZZ_CHECK(i == FIGURE_PINNED_BYTES || atomic_load(&figures.of[i]) == 0);
    }
}

static bool all_free(struct server_app *app)
{
    driver_settle();
    completer_settle(conn_of(app));
    atomic_store(&app->fault, 0);
    fuzz_made_from_check(app, &softgpu);
    FUZZ_CHECK(objects_end(app));
    FUZZ_CHECK(app->ranges.count == 0 && app->reserved.count == 0);
    figures_check(conn_of(app));
    return true;
}

/* Nothing of the application is left in the driver. */
static void backend_driver_check(void)
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
    const struct channel_setup setup = {.conf = {.session_queue_bytes = 1u << 20,
                                                 .copy_overflow = 8u << 20,
                                                 .copy_overflow_wait_s = 1,
                                                 .shared_memory = 1u << 20}};
    memset(&figures, 0, sizeof figures);
    gated = NULL;
    passed = 0;
    settled = false;
    ledger_init(&ledger, &figures);
    ledger.most[FIGURE_DEVICE_BYTES] = device_bytes_max;
    struct server_app *app = app_make(&driver, &host, false, false);
    FUZZ_CHECK(app != NULL);
    FUZZ_CHECK(conn_start(&conn, app, &conn_host, transport, &reader, &setup, hello, 1) == GA_OK);
    wait_end(conn);
    conn_free(conn);
    app_free(app);
    ledger_check_empty(&ledger);
    backend_driver_check();
}
