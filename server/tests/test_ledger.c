/* SPDX-License-Identifier: Apache-2.0 */
/* Charges come back: when the memory is freed, when the driver has none, and when it is more than
 * the application may have, which the driver is then not asked for. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/wire.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "server/charge/primary.h"
#include "server/pipeline/copy_overflow.h"
#include "server/pipeline/host_calls.h"
#include "server/pipeline/shared_buffers.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"

static unsigned asked; /* how often the driver was asked for pinned memory */
static bool driver_has = true, driver_maps = true;
static void *pinned;

static CUresult fake_alloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    asked++;
    pinned = driver_has ? aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095) : NULL;
    *memory = pinned;
    return driver_has ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_register(void *memory, size_t bytes, unsigned flags)
{
    (void)memory;
    (void)bytes;
    (void)flags;
    asked++;
    return driver_has ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fake_unregister(void *memory)
{
    (void)memory;
    return CUDA_SUCCESS;
}

static CUresult fake_release(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

static CUresult fake_free(void *memory)
{
    free(memory);
    return CUDA_SUCCESS;
}

static CUresult fake_map(CUdeviceptr *device, void *memory, unsigned flags)
{
    return driver_maps ? fake_pointer(device, memory, flags) : CUDA_ERROR_NOT_SUPPORTED;
}

static const struct cuda_driver driver = {FAKE_CONTEXT,
                                          .cuMemFreeHost = fake_free,
                                          .cuDevicePrimaryCtxRelease_v2 = fake_release,
                                          .cuMemHostAlloc = fake_alloc,
                                          .cuMemHostRegister_v2 = fake_register,
                                          .cuMemHostUnregister = fake_unregister,
                                          .cuMemHostGetDevicePointer_v2 = fake_map};

static uint64_t host_bytes(void)
{
    return fake_figure(FIGURE_HOST_BYTES);
}

Test(ledger, no_more_than_is_allowed)
{
    const enum figure kinds[] = {FIGURE_DEVICE_BYTES, FIGURE_HOST_BYTES};
    for (unsigned i = 0; i < 2; i++) {
        fake_ledger.most[kinds[i]] = 100;
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], 60), CUDA_SUCCESS);
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], 41), CUDA_ERROR_OUT_OF_MEMORY);
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], UINT64_MAX), CUDA_ERROR_OUT_OF_MEMORY);
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], 40), CUDA_SUCCESS);
        cr_assert_eq(fake_figure(kinds[i]), 100);
        ledger_note(&fake_ledger, kinds[i], 10); /* is there, whoever allows it */
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], 1), CUDA_ERROR_OUT_OF_MEMORY);
        ledger_return(&fake_ledger, kinds[i], 11);
        cr_assert_eq(ledger_charge(&fake_ledger, kinds[i], 1), CUDA_SUCCESS);
        cr_assert_eq(fake_figure(kinds[i]), 100);
    }
}

Test(ledger, without_a_limit_the_driver_decides)
{
    cr_assert_eq(ledger_charge(&fake_ledger, FIGURE_DEVICE_BYTES, 1), CUDA_SUCCESS);
    cr_assert_eq(ledger_charge(&fake_ledger, FIGURE_DEVICE_BYTES, UINT64_MAX), CUDA_SUCCESS);
    ledger_return(&fake_ledger, FIGURE_DEVICE_BYTES, UINT64_MAX);
    cr_assert_eq(fake_figure(FIGURE_DEVICE_BYTES), 1);
}

/* Memory is 64 KiB for 30 ms, then 16 KiB for 20 ms: to the ms, whenever anybody looks. */
Test(ledger, memory_times_time)
{
    const struct timespec long_pause = {.tv_nsec = 30000000}, pause_time = {.tv_nsec = 20000000};
    uint64_t ms[3];
    ms[0] = ga_clock_ns() / GA_NS_PER_MS;
    cr_assert_eq(ledger_charge_device(&fake_ledger, 1, 65536), CUDA_SUCCESS);
    nanosleep(&long_pause, NULL);
    ms[1] = ga_clock_ns() / GA_NS_PER_MS;
    ledger_return_device(&fake_ledger, 1, 48 << 10);
    nanosleep(&pause_time, NULL);
    ms[2] = ga_clock_ns() / GA_NS_PER_MS;
    uint64_t sum = figures_memory_kib_ms(&fake_memory[1], ms[2]);
    uint64_t due = 64 * (ms[1] - ms[0]) + 16 * (ms[2] - ms[1]);
    cr_assert(sum <= due + 64 && sum + 128 >= due, "%llu, %llu are due", (unsigned long long)sum,
              (unsigned long long)due);
    ledger_return_device(&fake_ledger, 1, 16 << 10);
    uint64_t after = figures_memory_kib_ms(&fake_memory[1], ms[2] + 5000);
    cr_assert_geq(after, sum);
    cr_assert_eq(figures_memory_kib_ms(&fake_memory[1], ms[2] + 9000), after, "nothing is held");
    cr_assert_eq(atomic_load(&fake_memory[1].peak), 65536);
    cr_assert_eq(figures_memory_kib_ms(&fake_memory[0], ms[2]), 0, "of the other GPU nothing");
}

Test(ledger, bytes_that_move_add_up)
{
    ledger_moved(&fake_ledger, FIGURE_BULK_IN, 7);
    ledger_moved(&fake_ledger, FIGURE_BULK_IN, 5);
    cr_assert_eq(fake_figure(FIGURE_BULK_IN), 12);
    cr_assert_eq(fake_figure(FIGURE_FRAMES_IN), 0);
}

/* One after the other: the driver has none; the ledger refuses; it succeeds. */
static void check_ways_to_fail(CUresult (*make)(void), uint64_t bytes)
{
    uint64_t before = host_bytes();
    driver_has = false;
    cr_assert_neq(make(), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), before, "the driver has none");
    driver_has = true;
    fake_ledger.most[FIGURE_HOST_BYTES] = before + bytes - 1;
    unsigned asked_before = asked;
    cr_assert_neq(make(), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), before, "it is not allowed");
    cr_assert_eq(asked, asked_before, "the driver is not asked for what is not allowed");
    fake_ledger.most[FIGURE_HOST_BYTES] = before + bytes;
    cr_assert_eq(make(), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), before + bytes);
}

static struct staging staging;

static CUresult make_slots(void)
{
    return staging_make(&staging, 0);
}

Test(ledger, staging_slots_are_host_memory)
{
    staging_init(&staging, &driver, &fake_ledger, 8 * WIRE_CHUNK, 0);
    check_ways_to_fail(make_slots, 8 * WIRE_CHUNK);
    free(staging.slots);
    free(pinned);
}

Test(ledger, so_are_slots_that_are_not_pinned)
{
    staging_init(&staging, &driver, &fake_ledger, 8 * WIRE_CHUNK, 0);
    fake_ledger.most[FIGURE_HOST_BYTES] = 8 * WIRE_CHUNK - 1;
    cr_assert_eq(staging_make_ordinary(&staging), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(host_bytes(), 0);
    fake_ledger.most[FIGURE_HOST_BYTES]++;
    cr_assert_eq(staging_make_ordinary(&staging), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), 8 * WIRE_CHUNK);
    size_t bytes;
    free(staging_memory(&staging, &bytes));
    free(staging.slots);
}

static struct overflow_room room;

static CUresult make_turn(void)
{
    return overflow_room(&staging, 0, 1, WIRE_CHUNK, true, &room);
}

Test(ledger, so_are_slots_of_the_overflow)
{
    staging_init(&staging, &driver, &fake_ledger, 8 * WIRE_CHUNK, 64u << 20);
    driver_maps = false;
    cr_assert_neq(make_turn(), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), 0, "what cannot be mapped is not kept");
    driver_maps = true;
    check_ways_to_fail(make_turn, OVERFLOW_BYTES + 64);
    staging_give(&staging, room.turn);
    cr_assert_eq(host_bytes(), OVERFLOW_BYTES + 64, "slots are kept");
    free(ga_container(staging.overflow.slots.next, struct overflow_slot, link));
    free(pinned);
}

static struct host_calls host_calls;

static CUresult make_words(void)
{
    struct host_wait wait;
    return host_lease_try(&host_calls, 0, 1, &wait);
}

Test(ledger, so_are_words_of_host_calls)
{
    host_calls_init(&host_calls, &driver, &fake_ledger);
    driver_maps = false;
    cr_assert_neq(make_words(), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), 0, "what cannot be mapped is not kept");
    driver_maps = true;
    check_ways_to_fail(make_words, HOST_BLOCK * sizeof(uint32_t));
    free(host_calls.blocks[0]);
    free(pinned);
}

static struct shared_buffers shared_buffers = {.most = 1u << 20, .ledger = &fake_ledger};
static int memory;

static CUresult make_shared(void)
{
    return shared_buffer_open(&shared_buffers, &driver, 0, 3, memory, 65536,
                              ga_shared_memory_inode(memory));
}

static void close_shared(uint32_t number)
{
    struct shared_buffer closed;
    cr_assert_eq(shared_buffer_close(&shared_buffers, number, &closed), CUDA_SUCCESS);
    CUresult rc = shared_buffer_unpin(&driver, &closed);
    cr_assert_eq(rc, CUDA_SUCCESS);
    shared_buffer_unpinned(&shared_buffers, &driver, &closed, rc);
}

Test(ledger, shared_buffers_are_counted_apart_and_take_nothing_from_the_limit)
{
    memory = ga_shared_memory_make("test", 65536);
    cr_assert_geq(memory, 0);
    fake_ledger.most[FIGURE_HOST_BYTES] = 0;
    cr_assert_eq(make_shared(), CUDA_SUCCESS);
    cr_assert_eq(fake_figure(FIGURE_SHARED_BYTES), 65536);
    cr_assert(ledger_is_held(FIGURE_SHARED_BYTES));
    cr_assert_eq(host_bytes(), 0);
    close_shared(3);
    cr_assert_eq(fake_figure(FIGURE_SHARED_BYTES), 0);
    cr_assert_eq(shared_buffer_reach(&shared_buffers, 4, 65536, 0x10000, 1), CUDA_SUCCESS);
    cr_assert_eq(host_bytes(), 0, "memory of another machine is none of this one");
    close_shared(4);
    free(shared_buffers.buffers);
    close(memory);
}

/* The context is there as long as any memory is pinned in it. */
Test(ledger, the_servers_own_context_is_charged_once)
{
    memory = ga_shared_memory_make("test", 65536);
    cr_assert_geq(memory, 0);
    staging_init(&staging, &driver, &fake_ledger, 8 * WIRE_CHUNK, 0);
    primary_know(&fake_ledger, 0, 1, 500);
    primary_know(&fake_ledger, 0, 1, 500);
    driver_has = false;
    cr_assert_neq(make_slots(), CUDA_SUCCESS);
    cr_assert_neq(make_shared(), CUDA_SUCCESS);
    cr_assert_eq(fake_figure(FIGURE_DEVICE_BYTES), 0, "the driver pins nothing");
    driver_has = true;
    fake_ledger.most[FIGURE_DEVICE_BYTES] = 499;
    cr_assert_eq(make_shared(), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(make_slots(), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(host_bytes(), 0);
    fake_ledger.most[FIGURE_DEVICE_BYTES] = 500;
    cr_assert_eq(make_shared(), CUDA_SUCCESS);
    cr_assert_eq(make_slots(), CUDA_SUCCESS);
    cr_assert_eq(atomic_load(&fake_memory[1].bytes), 500);
    close_shared(3);
    cr_assert_eq(fake_figure(FIGURE_DEVICE_BYTES), 500);
    staging_clear(&staging);
    cr_assert_eq(fake_figure(FIGURE_DEVICE_BYTES), 0);
    cr_assert_eq(atomic_load(&fake_memory[1].bytes), 0);
    free(shared_buffers.buffers);
    close(memory);
}
