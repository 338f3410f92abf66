/* SPDX-License-Identifier: Apache-2.0 */
/* Two applications of one gpuaasd that share memory and events, and what a client gets that asks
 * for what it may not have. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/channel.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

static struct script_server server;
static struct script_app one, other;

static void start(void)
{
    script_server_start(&server, "");
    script_app_start(&one, server.url, 0);
    script_app_start(&other, server.url, 0);
    cr_assert_eq(script_map(&one, one.window, 4 * MIB), 0);
}

static void stop(void)
{
    script_app_close(&other);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(ipc, .init = start, .fini = stop, .timeout = 60);

static void make_event(struct script_app *app, uint64_t event, uint32_t flags)
{
    const struct cuEventCreate_args args = {.phEvent = event, .Flags = flags};
    cuEventCreate_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_cuEventCreate, 1, app->sequence++);
}

static int32_t share_event(struct script_app *app, uint64_t event, uint64_t key[API_KEY_WORDS])
{
    const struct ga_ipc_share_event_args args = {.event = event};
    struct ga_ipc_share_event_results results;
    ga_ipc_share_event_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_ipc_share_event, 1, app->sequence);
    int32_t rc = script_wait(app, app->sequence++);
    if (rc == 0) {
        ga_ipc_share_event_results_read(&app->data.values, &results);
        memcpy(key, results.key, sizeof results.key);
    }
    return rc;
}

static int32_t open_event(struct script_app *app, uint64_t event, const uint64_t key[API_KEY_WORDS])
{
    struct ga_ipc_open_event_args args = {.event = event};
    memcpy(args.key, key, sizeof args.key);
    ga_ipc_open_event_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_ipc_open_event, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

Test(ipc, what_one_writes_the_other_reads_and_keeps)
{
    const uint32_t written = 0x1234567;
    uint32_t read = 0;
    struct script_shared shared;
    const uint64_t at = other.window + 64 * MIB;
    unsigned descriptors = script_server_descriptors(&server);
    cr_assert_eq(script_share(&one, one.window + 512, 1024, &shared), 0);
    cr_assert_eq(shared.offset, 512);
    cr_assert_eq(shared.mapping_bytes, 4 * MIB);
    script_copy_in(&one, one.window + 512, &written, 4, 0);
    cr_assert_eq(script_stream_synchronize(&one, 0), 0);
    cr_assert_eq(script_open_shared(&one, &shared, one.window + 64 * MIB),
                 CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(script_open_shared(&other, &shared, at), 0);
    cr_assert_eq(script_copy_out(&other, at + 512, &read, 4, 0), 0);
    cr_assert_eq(read, written);
    script_app_close(&one);
    script_server_wait_backends(&server, 1);
    read = 0;
    cr_assert_eq(script_copy_out(&other, at + 512, &read, 4, 0), 0);
    cr_assert_eq(read, written, "its owner is gone");
    cr_assert_eq(script_unmap(&other, at, 4 * MIB, true), 0);
    cr_assert_eq(script_copy_out(&other, at + 512, &read, 4, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(script_open_shared(&other, &shared, at), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_leq(script_server_descriptors(&server), descriptors);
}

static int32_t pool_open(struct script_app *app, const struct script_shared *shared, uint64_t at,
                         uint64_t bytes)
{
    struct ga_pool_open_args args = {.address = at, .bytes = bytes};
    memcpy(args.key, shared->key, sizeof args.key);
    ga_pool_open_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_pool_open, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

static int32_t physical_open(struct script_app *app, const struct script_shared *shared,
                             uint64_t bytes)
{
    struct ga_physical_open_args args = {.physical = ga_handle_make(GA_HANDLE_PHYSICAL, 1, 1),
                                         .bytes = bytes};
    memcpy(args.key, shared->key, sizeof args.key);
    ga_physical_open_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_physical_open, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

Test(ipc, only_an_allocation_is_shared)
{
    struct script_shared shared;
    const struct {
        uint64_t address, bytes;
    } wrong[] = {
        {one.window, 0},           {one.window, 4 * MIB + 1}, {one.window + 4 * MIB - 1, 2},
        {one.window + 4 * MIB, 1}, {one.window, UINT64_MAX},  {0, 1},
        {UINT64_MAX, 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(script_share(&one, wrong[i].address, wrong[i].bytes, &shared),
                     CUDA_ERROR_INVALID_VALUE, "%zu", i);
    }
    cr_assert_eq(script_share(&one, one.window, 4 * MIB, &shared), 0);
    cr_assert_eq(script_open_shared(&other, &shared, other.window + 64 * MIB), 0);
    cr_expect_eq(script_share(&other, other.window + 64 * MIB, 512, &shared),
                 CUDA_ERROR_INVALID_VALUE, "it is another application's");
    const struct ga_space_map_args pool = {.address = one.window + 32 * MIB, .bytes = 2 * MIB};
    ga_space_map_args_write(script_begin(&one.data), &pool);
    script_send(&one.data, API_OP_ga_space_map, 1, one.sequence);
    cr_assert_eq(script_wait(&one, one.sequence++), 0);
    cr_expect_eq(script_share(&one, one.window + 32 * MIB, 2 * MIB, &shared), 0, "it is a pool's");
    const uint64_t at = other.window + 96 * MIB;
    cr_expect_eq(pool_open(&other, &shared, at, 4 * MIB), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(pool_open(&other, &shared, at + 1, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(pool_open(&other, &shared, 0, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(pool_open(&one, &shared, one.window + 96 * MIB, 2 * MIB),
                 CUDA_ERROR_INVALID_CONTEXT, "it is its own");
    cr_expect_eq(physical_open(&other, &shared, 2 * MIB), CUDA_ERROR_INVALID_HANDLE,
                 "it has an address");
    cr_expect_eq(pool_open(&other, &shared, at, 2 * MIB), 0);
    cr_expect_eq(pool_open(&other, &shared, at, 2 * MIB), CUDA_ERROR_INVALID_VALUE, "it is taken");
    shared.key[1] ^= 1;
    cr_expect_eq(pool_open(&other, &shared, at + 4 * MIB, 2 * MIB), CUDA_ERROR_INVALID_HANDLE);
    script_app_close(&one);
}

Test(ipc, a_handle_that_says_otherwise_opens_nothing)
{
    struct script_shared shared, wrong;
    const uint64_t at = other.window + 64 * MIB;
    cr_assert_eq(script_share(&one, one.window + 512, 1024, &shared), 0);
    for (unsigned i = 0; i < 4; i++) {
        wrong = shared;
        wrong.key[i] ^= UINT64_C(1) << (17 * i);
        cr_expect_eq(script_open_shared(&other, &wrong, at), CUDA_ERROR_INVALID_HANDLE);
    }
    wrong = shared;
    wrong.bytes = 2 * MIB;
    cr_expect_eq(script_open_shared(&other, &wrong, at), CUDA_ERROR_INVALID_HANDLE);
    wrong = shared;
    wrong.offset = 0;
    cr_expect_eq(script_open_shared(&other, &wrong, at), CUDA_ERROR_INVALID_HANDLE);
    wrong = shared;
    wrong.mapping_bytes = 2 * MIB;
    cr_expect_eq(script_open_shared(&other, &wrong, at), CUDA_ERROR_INVALID_HANDLE);
    memset(&wrong, 0, sizeof wrong);
    cr_expect_eq(script_open_shared(&other, &wrong, at), CUDA_ERROR_INVALID_HANDLE);

    const uint64_t places[] = {other.window - 4 * MIB,
                               other.window + SCRIPT_WINDOW_BYTES,
                               other.window + SCRIPT_WINDOW_BYTES - 2 * MIB,
                               at + 1,
                               0,
                               UINT64_MAX - 2 * MIB + 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        cr_expect_eq(script_open_shared(&other, &shared, places[i]), CUDA_ERROR_INVALID_VALUE,
                     "%zu", i);
    }
    cr_assert_eq(script_open_shared(&other, &shared, at), 0);
    cr_expect_eq(script_open_shared(&other, &shared, at + 2 * MIB), CUDA_ERROR_INVALID_VALUE,
                 "it overlaps");
    cr_expect_eq(script_open_shared(&other, &shared, at + 4 * MIB), 0, "once more, elsewhere");
    script_context(&other, 0);
    cr_expect_eq(script_open_shared(&other, &shared, at + 8 * MIB), CUDA_ERROR_INVALID_CONTEXT);
    script_context(&other, other.context);
    script_app_close(&one);
}

Test(ipc, what_is_freed_or_withdrawn_cannot_be_opened)
{
    struct script_shared first, second;
    const uint64_t at = other.window + 64 * MIB;
    cr_assert_eq(script_share(&one, one.window, 1024, &first), 0);
    cr_assert_eq(script_share(&one, one.window + 1024, 1024, &second), 0);
    const struct ga_ipc_withdraw_args args = {.address = one.window};
    ga_ipc_withdraw_args_write(script_begin(&one.data), &args);
    script_send(&one.data, API_OP_ga_ipc_withdraw, 1, one.sequence);
    cr_assert_eq(script_wait(&one, one.sequence++), 0);
    cr_expect_eq(script_open_shared(&other, &first, at), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(script_open_shared(&other, &second, at), 0);
    cr_assert_eq(script_unmap(&one, one.window, 4 * MIB, false), 0);
    cr_expect_eq(script_open_shared(&other, &second, at + 4 * MIB), CUDA_ERROR_INVALID_HANDLE);
    script_app_close(&one);
}

Test(ipc, events_made_for_it_are_shared_and_no_others)
{
    const uint64_t local = ga_handle_make(GA_HANDLE_EVENT, 1, 1),
                   between = ga_handle_make(GA_HANDLE_EVENT, 1, 2),
                   opened = ga_handle_make(GA_HANDLE_EVENT, 1, 3);
    uint64_t key[API_KEY_WORDS], wrong[4];
    struct script_shared shared, mixed = {.bytes = 1024, .mapping_bytes = 4 * MIB};
    make_event(&one, local, CU_EVENT_DISABLE_TIMING);
    make_event(&one, between, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    cr_expect_eq(share_event(&one, local, key), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(share_event(&one, opened, key), CUDA_ERROR_INVALID_HANDLE, "there is none");
    cr_expect_eq(share_event(&one, one.context, key), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(share_event(&one, between, key), 0);
    cr_expect_eq(open_event(&one, opened, key), CUDA_ERROR_INVALID_CONTEXT);
    memcpy(wrong, key, sizeof wrong);
    wrong[2] ^= 1;
    cr_expect_eq(open_event(&other, opened, wrong), CUDA_ERROR_INVALID_HANDLE);
    memcpy(mixed.key, key, sizeof mixed.key);
    cr_expect_eq(script_open_shared(&other, &mixed, other.window + 64 * MIB),
                 CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(script_share(&one, one.window, 1024, &shared), 0);
    cr_expect_eq(open_event(&other, opened, shared.key), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(open_event(&other, other.context, key), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(open_event(&other, opened, key), 0);
    cr_expect_eq(open_event(&other, opened, key), CUDA_ERROR_INVALID_HANDLE, "it is taken");
    script_app_close(&one);
    script_server_wait_backends(&server, 1);
    cr_expect_eq(open_event(&other, ga_handle_make(GA_HANDLE_EVENT, 1, 4), key),
                 CUDA_ERROR_INVALID_HANDLE);
}

static void destroy_event(struct script_app *app, uint64_t event)
{
    const struct cuEventDestroy_v2_args args = {.hEvent = event};
    cuEventDestroy_v2_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_cuEventDestroy_v2, 1, app->sequence++);
}

/* Neither are entries left over of them, nor descriptors. */
Test(ipc, a_destroyed_event_is_opened_no_more)
{
    const uint64_t opened = ga_handle_make(GA_HANDLE_EVENT, 1, 1);
    uint64_t key[API_KEY_WORDS];
    for (uint32_t i = 0; i <= CHANNEL_SHARES_MAX; i++) {
        const uint64_t event = ga_handle_make(GA_HANDLE_EVENT, 1, i + 1);
        make_event(&one, event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
        cr_assert_eq(share_event(&one, event, key), 0, "%u", i);
        destroy_event(&one, event);
    }
    cr_assert_eq(script_stream_synchronize(&one, 0), 0);
    cr_assert_eq(open_event(&other, opened, key), CUDA_ERROR_INVALID_HANDLE);
    script_app_close(&one);
}
