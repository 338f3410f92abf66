/* SPDX-License-Identifier: Apache-2.0 */
/* Waits and faults: kernels that must end, how they end, and what they report. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <time.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_torture(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "torture");
}

static void shut(void)
{
    engine_close(&engine);
}

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

TestSuite(scheduler, .init = open_torture, .fini = shut, .timeout = 60);
TestSuite(faults, .init = open_torture, .fini = shut, .timeout = 60);

Test(scheduler, locks_inside_a_warp)
{
    static const char *const kernels[] = {"spin_lock", "direct_spin_lock"};
    for (int k = 0; k < 2; k++) {
        int *lock = engine_memory(&engine, 4), *count = engine_memory(&engine, 4);
        ENGINE_LAUNCH(&engine, kernels[k], 4, 96, 0, PTR(lock), PTR(count));
        no_fault();
        cr_assert_eq(*count, 4 * 96, "%s: %d", kernels[k], *count);
        cr_assert_eq(*lock, 0);
    }
}

Test(scheduler, waits_between_warps)
{
    int *flag = engine_memory(&engine, 4), *out = engine_memory(&engine, 128);
    ENGINE_LAUNCH(&engine, "warp_flag", 1, 256, 0, PTR(flag), PTR(out));
    no_fault();
    cr_assert_eq(out[31], 77);
}

Test(scheduler, waits_between_lanes)
{
    int *flag = engine_memory(&engine, 4), *out = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "lane_flag", 1, 32, 0, PTR(flag), PTR(out));
    no_fault();
    cr_assert_eq(*out, 78);
}

Test(scheduler, a_shuffle_from_a_lane_that_is_not_there_adds_nothing)
{
    int *out = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "few_lanes", 1, 32, 0, PTR(out));
    no_fault();
    cr_assert_eq(*out, 8 * 1000 + 28);
}

Test(scheduler, barrier_in_divergent_code)
{
    int *out = engine_memory(&engine, 256);
    ENGINE_LAUNCH(&engine, "divergent_barrier", 1, 64, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 64; t++) {
        cr_assert_eq(out[t], (63 - t) & 1 ? 1 : 2, "thread %d", t);
    }
}

Test(scheduler, threads_that_left_are_not_waited_for)
{
    int *out = engine_memory(&engine, 400);
    ENGINE_LAUNCH(&engine, "early_exit", 1, 100, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 100; t++) {
        cr_assert_eq(out[t], t % 3 == 0 ? 0 : t > 40 ? 5 : 6, "thread %d", t);
    }
}

Test(scheduler, named_barriers)
{
    int *out = engine_memory(&engine, 256);
    ENGINE_LAUNCH(&engine, "named_barriers", 5, 128, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 64; t++) {
        cr_assert_eq(out[t], t + 1);
    }
}

/* Registers that are known before the kernel begins, but differ from lane to lane */
Test(scheduler, each_lane_names_its_barrier_or_its_members)
{
    engine_load_text(
        &engine,
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .pred p;\n.reg .b32 r<9>;\n.reg .b64 at, offset;\n"
        "mov.u32 r0, %tid.y;\nmov.u32 r1, %tid.x;\nmov.u32 r2, %lanemask_eq;\n"
        "mov.u32 r6, %tid.z; shl.b32 r6, r6, 5; mov.u32 r7, %laneid; add.u32 r6, r6, r7;\n"
        "add.u32 r7, r0, 3; setp.lt.u32 p, r1, r7;\n"
        "barrier.cta.red.popc.u32 r3, r0, 32, p;\n"
        "vote.sync.ballot.b32 r4, p, r2;\n" /* each alone */
        "redux.sync.add.u32 r5, r7, r2;\nbar.warp.sync r2;\n"
        "ld.param.u64 at, [out]; mul.wide.u32 offset, r6, 12; add.u64 at, at, offset;\n"
        "st.global.u32 [at], r3; st.global.u32 [at+4], r4; st.global.u32 [at+8], r5;\nret;\n}\n");
    struct {
        uint32_t passed, ballot, sum;
    } *out = engine_memory(&engine, 64 * sizeof *out);
    const uint64_t params[] = {PTR(out)};
    engine_launch_3d(&engine, "k", (const uint32_t[]){1, 1, 1}, (const uint32_t[]){16, 2, 2}, 0,
                     params, 1);
    no_fault();
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t y = t / 16 % 2, x = t % 16, mine = x < y + 3 ? 1u << t % 32 : 0;
        cr_assert_eq(out[t].passed, 2 * (y + 3), "thread %u: %u", t, out[t].passed);
        cr_assert_eq(out[t].ballot, mine, "thread %u: 0x%x", t, out[t].ballot);
        cr_assert_eq(out[t].sum, y + 3, "thread %u: %u", t, out[t].sum);
    }
}

Test(scheduler, blocks_that_wait_for_later_blocks)
{
    int *arrived = engine_memory(&engine, 4), *out = engine_memory(&engine, 4 * 10 * 40);
    ENGINE_LAUNCH(&engine, "grid_barrier", 10, 40, 0, PTR(arrived), PTR(out));
    no_fault();
    for (int t = 0; t < 400; t++) {
        cr_assert_eq(out[t], 10);
    }
}

/* The fixture's GPU has four multiprocessors: a program may count on so many blocks at once. */
Test(scheduler, as_many_blocks_wait_for_each_other_as_the_gpu_holds)
{
    enum { BLOCKS = 128, N = 33 };
    engine_close(&engine);
    engine_open(&engine, 0);
    engine_load_file(&engine, "torture");
    int *arrived = engine_memory(&engine, 4), *out = engine_memory(&engine, 4 * BLOCKS * N);
    ENGINE_LAUNCH(&engine, "grid_barrier", BLOCKS, N, 0, PTR(arrived), PTR(out));
    no_fault();
    for (int t = 0; t < BLOCKS * N; t++) {
        cr_assert_eq(out[t], BLOCKS);
    }
}

/* Each block says that it is here, stays for several turns, and says that it goes. */
static const char stays[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to)\n{\n"
    ".reg .b32 here, i; .reg .b64 d; .reg .pred on;\n"
    "ld.param.u64 d, [to];\nmov.u32 i, 0;\n"
    "atom.global.add.u32 here, [d], 1; add.u32 here, here, 1; red.global.max.u32 [d+4], here;\n"
    "AGAIN: add.u32 i, i, 1; setp.lt.u32 on, i, 100000; @on bra AGAIN;\n"
    "red.global.add.u32 [d], -1;\nret;\n}\n";

/* At most 32 for each of the four multiprocessors: those that have not begun need no memory. */
Test(scheduler, blocks_beyond_what_the_gpu_holds_begin_later)
{
    uint32_t *here = engine_memory(&engine, 8), *most = here + 1;
    engine_load_text(&engine, stays);
    engine.max_workers = 1;
    ENGINE_LAUNCH(&engine, "k", 300, 1, 0, PTR(here));
    no_fault();
    cr_assert_eq(*here, 0);
    cr_assert_gt(*most, 1, "no block has ever waited");
    cr_assert_leq(*most, 128, "%u blocks at once", *most);
}

Test(scheduler, divergent_loops)
{
    unsigned *in = engine_memory(&engine, 4 * 96), *out = engine_memory(&engine, 4 * 96);
    for (unsigned t = 0; t < 96; t++) {
        in[t] = t * 37 + 1;
    }
    ENGINE_LAUNCH(&engine, "collatz", 1, 96, 0, PTR(in), PTR(out));
    no_fault();
    for (unsigned t = 0; t < 96; t++) {
        unsigned steps = 0;
        for (unsigned x = in[t]; x != 1; x = x & 1 ? 3 * x + 1 : x / 2) {
            steps++;
        }
        cr_assert_eq(out[t], steps, "thread %u", t);
    }
}

static int switches(int x)
{
    int r = 0;
    for (int i = 0; i < 40; i++) {
        switch ((int)((unsigned)x + (unsigned)i) % 7) {
        case 0:
            r += 3;
            break;
        case 1:
            r ^= x;
            break;
        case 2:
            r = (int)((unsigned)r * 5 + 1);
            continue;
        case 3:
            if (r & 1)
                break;
            r = (int)((unsigned)r - (unsigned)x);
            break;
        case 4:
            r = (int)((unsigned)r << 1); /* fall through */
        case 5:
            r = (int)((unsigned)r + (unsigned)i);
            break;
        default:
            if (r > 100000)
                return r;
            r++;
            break;
        }
        x = (int)((unsigned)x * 1103515245u + 12345u);
    }
    return r;
}

Test(scheduler, branches_of_every_kind)
{
    int *in = engine_memory(&engine, 4 * 512), *out = engine_memory(&engine, 4 * 512);
    for (int t = 0; t < 512; t++) {
        in[t] = t * 7919 - 100000;
    }
    ENGINE_LAUNCH(&engine, "switches", 4, 128, 0, PTR(in), PTR(out));
    no_fault();
    for (int t = 0; t < 512; t++) {
        cr_assert_eq(out[t], switches(in[t]), "thread %d: %d, not %d", t, out[t], switches(in[t]));
    }
}

static _Atomic int stop;

static void *stop_soon(void *unused)
{
    nanosleep(&(struct timespec){0, 30 * 1000 * 1000}, NULL);
    stop = 1;
    return unused;
}

Test(scheduler, endless_kernels_stop_when_told)
{
    int *flag = engine_memory(&engine, 4);
    pthread_t thread;
    engine.stop = &stop;
    pthread_create(&thread, NULL, stop_soon, NULL);
    ENGINE_LAUNCH(&engine, "endless", 6, 64, 0, PTR(flag));
    pthread_join(thread, NULL);
    cr_assert_eq(engine.fault.code, SG_FAULT_STOPPED);
}

Test(scheduler, endless_calls_stop_when_told)
{
    unsigned *n = engine_memory(&engine, 256);
    pthread_t thread;
    for (int t = 0; t < 64; t++) {
        n[t] = 90;
    }
    engine.stop = &stop;
    pthread_create(&thread, NULL, stop_soon, NULL);
    ENGINE_LAUNCH(&engine, "endless_calls", 3, 64, 0, PTR(n));
    pthread_join(thread, NULL);
    cr_assert_eq(engine.fault.code, SG_FAULT_STOPPED);
}

Test(faults, illegal_addresses_say_who)
{
    int *memory = engine_memory(&engine, 4);
    static const int64_t offsets[] = {1 << 20, INT64_C(1) << 40, -(INT64_C(1) << 44),
                                      INT64_MIN / 4};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        ENGINE_LAUNCH(&engine, "wild", 4, 64, 0, PTR(memory), (uint64_t)offsets[i]);
        cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS, "offset %lld",
                     (long long)offsets[i]);
        cr_assert_eq(engine.fault.address, PTR(memory) + (uint64_t)offsets[i] * 4);
        cr_assert_eq(engine.fault.thread[0], 5);
        cr_assert_eq(engine.fault.block[0], 2);
        cr_assert_str_eq(engine.fault.kernel, "wild");
        cr_assert_neq(engine.fault.line, 0);
    }
    ENGINE_LAUNCH(&engine, "wild", 4, 64, 0, 0, 0);
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS, "NULL");
    cr_assert_eq(engine.fault.address, 0);
}

/* More blocks than would otherwise be resident in one thread: all must get their turn. */
static void grid_barriers(unsigned workers)
{
    enum { BLOCKS = 300, ROUNDS = 4 };
    engine_close(&engine);
    engine_open(&engine, workers);
    engine_load_file(&engine, "torture");
    engine.workspace = engine_memory(&engine, SG_GRID_WORKSPACE);
    int *value = engine_memory(&engine, BLOCKS * sizeof *value), due[BLOCKS], before[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        due[i] = value[i] = i + 1;
    }
    ENGINE_LAUNCH(&engine, "grid_barriers", BLOCKS, 64, 0, PTR(value), ROUNDS);
    no_fault();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            before[i] = due[i];
        }
        for (int i = 0; i < BLOCKS; i++) {
            due[i] += before[(i + 1) % BLOCKS];
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        cr_assert_eq(value[i], due[i], "block %d has %d, not %d", i, value[i], due[i]);
    }
    engine.workspace = NULL;
}

Test(scheduler, blocks_of_a_cooperative_grid_wait_for_each_other)
{
    grid_barriers(0);
    grid_barriers(3);
}

/* Look-back scans (CUB) keep a value and its flag in one vector. */
Test(scheduler, vectors_are_not_torn)
{
    unsigned *torn = engine_memory(&engine, 4096);
    const char *const kernels[] = {"vectors_of_16", "vectors_of_8"};
    for (int i = 0; i < 2; i++) {
        void *place = engine_memory(&engine, 4096); /* zeros: halves of 16 bytes look torn */
        for (uint32_t threads = 31; threads <= 32; threads++) {
            ENGINE_LAUNCH(&engine, kernels[i], 16, threads, 0, PTR(place), PTR(torn), 20000);
            cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
            cr_assert_eq(*torn, 0, "%s: %u vectors are torn", kernels[i], *torn);
        }
    }
}

Test(faults, a_grid_barrier_without_a_cooperative_launch)
{
    int *value = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "grid_barriers", 2, 32, 0, PTR(value), 1);
    cr_assert_eq(engine.fault.code, SG_FAULT_TRAP);
}

Test(faults, others)
{
    int *memory = engine_memory(&engine, 4096), *out = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "crooked", 1, 32, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_MISALIGNED);
    cr_assert_eq(engine.fault.address, PTR(memory) + 1);
    ENGINE_LAUNCH(&engine, "shared_wild", 1, 32, 0, PTR(out), 1 << 20);
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_geq(engine.fault.address, SG_WINDOW_SHARED);
    ENGINE_LAUNCH(&engine, "trapping", 3, 32, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_TRAP);
    ENGINE_LAUNCH(&engine, "asserting", 1, 32, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    memory[7] = 1;
    ENGINE_LAUNCH(&engine, "asserting", 1, 32, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_ASSERT);
    cr_assert_eq(engine.fault.thread[0], 7);
    cr_assert(engine.fault.text[0] == 'a', "%s", engine.fault.text);
}

Test(faults, grids_of_the_greatest_size_are_not_refused)
{
    int *memory = engine_memory(&engine, 4096);
    const uint64_t params[] = {PTR(memory)};
    engine_launch_3d(&engine, "trapping", (uint32_t[]){2147483647, 65535, 65535},
                     (uint32_t[]){1, 1, 1}, 0, params, 1);
    cr_assert_eq(engine.fault.code, SG_FAULT_TRAP, "%s", engine.fault.text);
}

Test(faults, wrong_launches)
{
    int *memory = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "trapping", 0, 32, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_INVALID_LAUNCH);
    ENGINE_LAUNCH(&engine, "trapping", 1, 2000, 0, PTR(memory));
    cr_assert_eq(engine.fault.code, SG_FAULT_INVALID_LAUNCH);
}
