/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that an application has let others use and frees: whether it may take as much again is for
 * gpuaasd to say, which may be silent for a while. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/memory.h"
#include "server/calls/physical.h"
#include "server/conn/conn.h"
#include "server/objects/mapped_memory.h"
#include "server/tests/fake_ledger.h"

#define BYTES  (UINT64_C(4) << 20)
#define BASE   (UINT64_C(1) << 32)
#define HANDLE ga_handle_make(GA_HANDLE_PHYSICAL, 1, 1)

/* ---- a driver that can do all */

static CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                            const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)bytes;
    (void)prop;
    (void)flags;
    *handle = 1;
    return CUDA_SUCCESS;
}

static CUresult fake_release(CUmemGenericAllocationHandle handle)
{
    (void)handle;
    return CUDA_SUCCESS;
}

static CUresult fake_map(CUdeviceptr address, size_t bytes, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)address;
    (void)bytes;
    (void)offset;
    (void)handle;
    (void)flags;
    return CUDA_SUCCESS;
}

static CUresult fake_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                            size_t count)
{
    (void)address;
    (void)bytes;
    (void)access;
    (void)count;
    return CUDA_SUCCESS;
}

static CUresult fake_unmap(CUdeviceptr address, size_t bytes)
{
    (void)address;
    (void)bytes;
    return CUDA_SUCCESS;
}

static CUresult fake_export(void *shareable, CUmemGenericAllocationHandle handle,
                            CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)handle;
    (void)type;
    (void)flags;
    *(int *)shareable = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {.cuMemCreate = fake_create,
                                          .cuMemRelease = fake_release,
                                          .cuMemMap = fake_map,
                                          .cuMemSetAccess = fake_access,
                                          .cuMemUnmap = fake_unmap,
                                          .cuMemExportToShareableHandle = fake_export};

/* ---- gpuaasd */

static enum ga_status answers = GA_OK;
static uint64_t passed_on;
static unsigned withdrawn;

static enum ga_status fake_request(void *user, struct channel_request *packet, int *fd)
{
    (void)user;
    *fd = -1;
    withdrawn += packet->verb == CHANNEL_WITHDRAW;
    if (answers == GA_OK && packet->verb == CHANNEL_WITHDRAW) {
        packet->mapping_bytes = passed_on;
    }
    return answers;
}

/* ---- the application */

static const struct server_host host = {.request = fake_request};
static struct quota quota;
static struct server_app *app;
static struct server_session session;
static struct server_context context;

static void start(void)
{
    const struct channel_application told = {
        .gpu_count = 1, .boundless = 1u << CHANNEL_LENT_DEVICE | 1u << CHANNEL_LENT_OBJECTS};
    const struct quota_host nobody = {.user = NULL};
    quota_init(&quota, &told, &nobody);
    fake_ledger.quota = &quota;
    app = calloc(1, sizeof *app);
    struct server_conn *conn = calloc(1, sizeof *conn);
    app->carrier = &conn_carrier;
    app->carried_by = conn;
    conn_of(app)->app = app;
    app->driver = &driver;
    app->host = &host;
    app->ledger = &fake_ledger;
    objects_init(&app->objects, &fake_ledger);
    session = (struct server_session){.number = 1,
                                      .agreed = true,
                                      .mappable = true,
                                      .granularity_bytes = 1u << 21,
                                      .handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .window = {.base = BASE, .bytes = 16 * BYTES}};
    context = (struct server_context){.session = &session};
    app->sessions[1] = app->call.session = &session;
    app->current = &context;
}

static void stop(void)
{
    ga_handle_table_fini(&app->objects.physicals);
    range_table_fini(&app->ranges);
    free(conn_of(app));
    free(app);
}

TestSuite(ipc_memory, .init = start, .fini = stop);

static CUresult share_block(void)
{
    const struct ga_ipc_share_args args = {.address = BASE, .bytes = BYTES};
    struct ga_ipc_share_results results;
    cr_assert_eq(memory_make(app, &session, &context, BASE, BYTES), CUDA_SUCCESS);
    return server_do_ga_ipc_share(app, &args, &results);
}

static CUresult share_physical(void)
{
    const struct ga_physical_create_args made = {.physical = HANDLE, .bytes = BYTES};
    const struct ga_physical_share_args args = {.physical = HANDLE};
    struct ga_physical_share_results results;
    cr_assert_eq(server_do_ga_physical_create(app, &made), CUDA_SUCCESS);
    return server_do_ga_physical_share(app, &args, &results);
}

static CUresult free_block(void)
{
    return memory_free(app, BASE);
}

static CUresult free_physical(void)
{
    const struct ga_physical_release_args args = {.physical = HANDLE};
    return server_do_ga_physical_release(app, &args);
}

static void expect_charged(uint64_t figure, uint64_t lent)
{
    cr_assert_eq(fake_figure(FIGURE_DEVICE_BYTES), figure);
    cr_assert_eq(CHANNEL_BOUNDLESS - atomic_load(&quota.spare_on[0]), lent);
}

static void check(CUresult (*share)(void), CUresult (*end)(void))
{
    cr_assert_eq(share(), CUDA_SUCCESS);
    expect_charged(BYTES, BYTES);
    cr_assert_eq(end(), CUDA_SUCCESS);
    expect_charged(0, 0);
    cr_assert_eq(withdrawn, 1);
    cr_assert_eq(share(), CUDA_SUCCESS);
    passed_on = BYTES;
    cr_assert_eq(end(), CUDA_SUCCESS);
    expect_charged(0, BYTES); /* gpuaasd has taken that back */
    cr_assert_eq(share(), CUDA_SUCCESS);
    answers = GA_TIMEOUT;
    cr_assert_eq(end(), CUDA_SUCCESS);
    expect_charged(0, 2 * BYTES); /* it may be doing so */
    cr_assert_eq(withdrawn, 3);
}

Test(ipc_memory, what_may_be_another_ones_is_not_taken_again)
{
    check(share_block, free_block);
}

Test(ipc_memory, nor_is_what_has_no_address)
{
    check(share_physical, free_physical);
}

static void check_late(CUresult (*share)(void), CUresult (*end)(void))
{
    answers = GA_TIMEOUT;
    cr_assert_eq(share(), CUDA_ERROR_OPERATING_SYSTEM);
    answers = GA_OK;
    cr_assert_eq(end(), CUDA_SUCCESS);
    cr_assert_eq(withdrawn, 1, "gpuaasd may have entered it");
    expect_charged(0, 0);
}

Test(ipc_memory, what_gpuaasd_may_have_heard_of_is_withdrawn)
{
    check_late(share_block, free_block);
}

Test(ipc_memory, and_so_is_what_has_no_address)
{
    check_late(share_physical, free_physical);
}
