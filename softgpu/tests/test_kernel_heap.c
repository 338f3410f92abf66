/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free of kernels: the allocator by itself, and from kernels. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/exec/kernel_heap.h"
#include "softgpu/tests/engine_fixture.h"

#define BYTES ((uint64_t)1 << 20)

static struct engine engine;
static uint8_t *memory;

static void open_heap(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "heap");
    memory = engine_memory(&engine, BYTES);
    engine.heap = sg_kernel_heap_make(PTR(memory), BYTES);
    cr_assert_not_null(engine.heap);
}

static void shut(void)
{
    sg_kernel_heap_free(engine.heap);
    engine_close(&engine);
}

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s", sg_fault_name(engine.fault.code),
                 engine.fault.text);
}

TestSuite(kernel_heap, .init = open_heap, .fini = shut, .timeout = 60);

/* ---- the allocator ---- */

struct block {
    uint64_t address, bytes;
};

static bool apart(const struct block *blocks, int count, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < count; i++) {
        if (address < blocks[i].address + blocks[i].bytes && blocks[i].address < address + bytes) {
            return false;
        }
    }
    return true;
}

Test(kernel_heap, blocks_lie_apart_and_aligned)
{
    enum { BLOCKS_MAX = 500 };
    static struct block blocks[BLOCKS_MAX];
    int count = 0, refused = 0;
    uint64_t seed = 3;
    for (int step = 0; step < 20000; step++) {
        uint64_t random = engine_random(&seed);
        if (count == BLOCKS_MAX || (count && random % 100 < 48)) {
            int which = (int)((random >> 8) % (uint64_t)count);
            cr_assert_eq(sg_kernel_heap_give(engine.heap, blocks[which].address), SG_HEAP_GIVEN);
            blocks[which] = blocks[--count];
            continue;
        }
        uint64_t bytes = (random >> 16) % (random % 7 == 0 ? 30000 : 900);
        uint64_t align = UINT64_C(1) << (random >> 40) % (random % 5 == 0 ? 14 : 5);
        uint64_t address = sg_kernel_heap_take(engine.heap, bytes, align);
        refused += address == 0;
        if (address) {
            cr_assert(address >= PTR(memory) && address + bytes <= PTR(memory) + BYTES);
            cr_assert_eq(address % (align < 16 ? 16 : align), 0);
            cr_assert(apart(blocks, count, address, bytes ? bytes : 1), "step %d", step);
            blocks[count++] = (struct block){address, bytes ? bytes : 1};
        }
    }
    cr_assert_lt(refused, 2000);
    while (count) {
        cr_assert_eq(sg_kernel_heap_give(engine.heap, blocks[--count].address), SG_HEAP_GIVEN);
    }
    uint64_t all = sg_kernel_heap_take(engine.heap, BYTES, 16); /* nothing was lost */
    cr_assert_eq(all, PTR(memory));
    cr_assert_eq(sg_kernel_heap_take(engine.heap, 1, 16), 0);
    cr_assert_eq(sg_kernel_heap_give(engine.heap, all), SG_HEAP_GIVEN);
}

Test(kernel_heap, what_is_no_block_is_not_given_back)
{
    uint64_t small = sg_kernel_heap_take(engine.heap, 40, 16);
    uint64_t large = sg_kernel_heap_take(engine.heap, 10000, 16);
    const uint64_t wrong[] = {small + 1,  small + 16,          large + 16,         large + 4096,
                              UINT64_MAX, PTR(memory) + BYTES, PTR(memory) - 4096, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(sg_kernel_heap_give(engine.heap, wrong[i]), SG_HEAP_NO_BLOCK, "%zu", i);
    }
    cr_assert_eq(sg_kernel_heap_give(engine.heap, small + 48), SG_HEAP_NOT_TAKEN);
    cr_assert_eq(sg_kernel_heap_give(engine.heap, small), SG_HEAP_GIVEN);
    cr_assert_eq(sg_kernel_heap_give(engine.heap, small), SG_HEAP_NOT_TAKEN);
    cr_assert_eq(sg_kernel_heap_give(engine.heap, large), SG_HEAP_GIVEN);
    cr_assert_eq(sg_kernel_heap_give(engine.heap, large), SG_HEAP_NOT_TAKEN);
    cr_assert_eq(sg_kernel_heap_take(engine.heap, UINT64_MAX, 16), 0);
    cr_assert_eq(sg_kernel_heap_take(engine.heap, 8, UINT64_C(1) << 62), 0);
    cr_assert_neq(sg_kernel_heap_take(engine.heap, 0, 16), 0);
}

Test(kernel_heap, of_any_place_and_size)
{
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 8191, 12288};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint64_t shift = 0; shift < 4096; shift += 1000) {
            struct sg_kernel_heap *heap = sg_kernel_heap_make(PTR(memory) + shift, sizes[i]);
            uint64_t at = sg_kernel_heap_take(heap, 4096, 4096);
            cr_assert(at == 0 ||
                      (at >= PTR(memory) + shift && at + 4096 <= PTR(memory) + shift + sizes[i]));
            cr_assert_eq(at != 0, sizes[i] >= 4096 + (4096 - shift) % 4096, "%zu %zu", i,
                         (size_t)shift);
            sg_kernel_heap_free(heap);
        }
    }
}

/* ---- from kernels ---- */

Test(kernel_heap, many_threads_and_launches)
{
    enum { THREADS = 256 };
    int **slots = engine_memory(&engine, 8 * THREADS), *bad = engine_memory(&engine, 12);
    for (int launch = 0; launch < 3; launch++) {
        ENGINE_LAUNCH(&engine, "give_and_take", 4, THREADS / 4, 0, PTR(slots), 20, PTR(bad));
        no_fault();
        cr_assert(bad[0] == 0 && bad[1] == 0 && bad[2] == 0, "%d %d %d", bad[0], bad[1], bad[2]);
    }
    ENGINE_LAUNCH(&engine, "free_all", 1, 96, 0, PTR(slots), THREADS);
    no_fault();
    cr_assert_neq(sg_kernel_heap_take(engine.heap, BYTES, 16), 0);
}

Test(kernel_heap, too_much_is_null)
{
    uint64_t *out = engine_memory(&engine, 8 * 64);
    ENGINE_LAUNCH(&engine, "take", 2, 32, 0, PTR(out), BYTES / 40);
    no_fault();
    int had = 0;
    for (int i = 0; i < 64; i++) {
        had += out[i] != 0;
    }
    cr_assert_geq(had, 30);
    cr_assert_leq(had, 40);
    ENGINE_LAUNCH(&engine, "take", 1, 1, 0, PTR(out), UINT64_MAX);
    no_fault();
    cr_assert_eq(out[0], 0);
    ENGINE_LAUNCH(&engine, "take_aligned", 1, 8, 0, PTR(out), 100, 1024);
    no_fault();
    cr_assert(out[0] && out[7] && out[0] != out[7] && out[0] % 1024 == 0 && out[7] % 1024 == 0);
    ENGINE_LAUNCH(&engine, "take_aligned", 1, 1, 0, PTR(out), 100, 24);
    no_fault();
    cr_assert_eq(out[0], 0);
}

Test(kernel_heap, wrong_frees_are_faults)
{
    uint64_t *out = engine_memory(&engine, 8);
    ENGINE_LAUNCH(&engine, "give", 1, 1, 0, 0);
    no_fault();
    ENGINE_LAUNCH(&engine, "take", 1, 1, 0, PTR(out), 100);
    for (int i = 0; i < 2; i++) {
        ENGINE_LAUNCH(&engine, "give", 1, 1, 0, *out);
        cr_assert_eq(engine.fault.code, i == 0 ? SG_FAULT_NONE : SG_FAULT_HEAP);
    }
    cr_assert_eq(engine.fault.address, *out);
    ENGINE_LAUNCH(&engine, "give", 1, 1, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_HEAP);
    ENGINE_LAUNCH(&engine, "give", 1, 1, 0, 0x1234567890);
    cr_assert_eq(engine.fault.code, SG_FAULT_HEAP);
}

Test(kernel_heap, without_a_heap_there_is_no_memory)
{
    struct sg_kernel_heap *heap = engine.heap;
    uint64_t *out = engine_memory(&engine, 8);
    *out = 1;
    engine.heap = NULL;
    ENGINE_LAUNCH(&engine, "take", 1, 1, 0, PTR(out), 8);
    no_fault();
    cr_assert_eq(*out, 0);
    ENGINE_LAUNCH(&engine, "give", 1, 1, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_HEAP);
    engine.heap = heap;
}

Test(kernel_heap, objects_with_virtual_destructors)
{
    int *out = engine_memory(&engine, 4 * 64);
    ENGINE_LAUNCH(&engine, "objects", 1, 64, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 64; t++) {
        cr_assert_eq(out[t], t + t * t + t);
    }
    cr_assert_neq(sg_kernel_heap_take(engine.heap, BYTES, 16), 0, "all was given back");
}
