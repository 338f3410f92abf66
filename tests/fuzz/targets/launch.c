/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of any shape: grid, block, shared memory, stack and parameters of a few kernels that go
 * where their parameters say. Each ends, as a success or as a fault; nothing else is touched. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "softgpu/engine/engine.h"
#include "softgpu/engine/permission_map.h"
#include "tests/fuzz/input.h"

#define RUN_US       3000 /* of processor time */
#define MEMORY_BYTES (4 * SG_MAP_CHUNK)
#define HEAP_BYTES   SG_MAP_CHUNK
#define PARAMS       4 /* of each kernel, 8 bytes each */

static const char text[] =
    ".version 9.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".extern .func free (.param .b64 p);\n.extern .shared .align 16 .b8 s[];\n"
    ".func (.param .b64 r) deep (.param .b64 n)\n"
    "{ .reg .u64 a, b; .reg .pred p; ld.param.u64 a, [n]; setp.eq.u64 p, a, 0; mov.u64 b, 0;\n"
    "  @p bra END; sub.u64 a, a, 1; call (b), deep, (a); add.u64 b, b, 1;\n"
    "END: st.param.u64 [r], b; ret; }\n"
    ".visible .entry access(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{ .reg .u64 x, y; .reg .u32 t, u; ld.param.u64 x, [a]; ld.param.u64 y, [b];\n"
    "  mov.u32 t, %tid.x; mad.wide.u32 x, t, 4, x; ld.u32 u, [x]; st.u32 [y], u;\n"
    "  ld.param.u64 x, [c]; red.add.u32 [x], t; cvt.u32.u64 u, y; st.shared.u32 [u], t;\n"
    "  bar.sync 0; ld.param.u64 x, [d]; ld.local.v2.u64 {x, y}, [x]; ret; }\n"
    ".visible .entry calls(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{ .reg .u64 x, y, z; ld.param.u64 x, [a]; and.b64 x, x, 4095; call (y), deep, (x);\n"
    "  ld.param.u64 x, [b]; alloca.u64 z, x; st.local.u8 [z], 1; ld.param.u64 x, [c];\n"
    "  proto: .callprototype (.param .b64 _) _ (.param .b64 _);\n"
    "  call (y), x, (y), proto; mov.u64 z, deep; ret; }\n"
    ".visible .entry heap(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n"
    "{ .reg .u64 x, y; .reg .pred p; ld.param.u64 x, [a]; call (y), malloc, (x);\n"
    "  setp.ne.u64 p, y, 0; @p st.u8 [y], 1; call free, (y); ld.param.u64 x, [b];\n"
    "  call free, (x); ret; }\n";

static struct sg_pool *pool;
static struct sg_map *map;
static struct sg_program *program;
static struct sg_image *image;
static uint8_t *memory;
static _Atomic int stop;

static void time_is_up(int number)
{
    (void)number;
    atomic_store(&stop, 1);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    (void)signal(SIGVTALRM, time_is_up);
    uint8_t *room = mmap(NULL, MEMORY_BYTES + SG_MAP_CHUNK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(room != MAP_FAILED);
    memory = room + (SG_MAP_CHUNK - (uintptr_t)room % SG_MAP_CHUNK) % SG_MAP_CHUNK;
    map = sg_map_create();
    FUZZ_CHECK(map != NULL && sg_pool_create(0, &pool) == GA_OK);
    FUZZ_CHECK(sg_map_set(map, (uintptr_t)memory, MEMORY_BYTES, SG_MAP_READ | SG_MAP_WRITE) ==
               GA_OK);
    FUZZ_CHECK(sg_program_load(text, sizeof text, NULL, &program) == SG_LOAD_OK);
    FUZZ_CHECK(sg_image_create(program, NULL, &image) == GA_OK);
    return 0;
}

/* A small number, a place in the memory, one near a window, or anything. */
static uint64_t parameter(struct fuzz_input *input)
{
    uint8_t kind = fuzz_u8(input);
    uint64_t value = fuzz_u64(input);
    switch (kind % 4) {
    case 0:
        return value & 0xffff;
    case 1:
        return (uintptr_t)memory + value % MEMORY_BYTES;
    case 2:
        return SG_WINDOW_SHARED + (value >> 32 & 7) * (UINT64_C(1) << 31) + (value & 0xff) - 128;
    default:
        return value;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint64_t params[PARAMS];
    struct sg_launch launch = {.image = image, .params = params, .map = map, .stop = &stop};
    launch.kernel = sg_program_kernel_at(program, fuzz_u8(&input) % 3);
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = fuzz_u8(&input) & 1 ? fuzz_u32(&input) : fuzz_u8(&input);
        launch.block[i] = fuzz_u8(&input) & 1 ? fuzz_u32(&input) : fuzz_u8(&input) & 63;
    }
    launch.dynamic_shared = fuzz_u8(&input) & 1 ? fuzz_u32(&input) : fuzz_u16(&input);
    launch.stack_bytes = fuzz_u32(&input) & 0xfffff;
    for (int i = 0; i < PARAMS; i++) {
        params[i] = parameter(&input);
    }
    launch.heap = sg_kernel_heap_make((uintptr_t)memory, HEAP_BYTES);
    FUZZ_CHECK(launch.heap != NULL);
    struct itimerval timer = {.it_value = {.tv_usec = RUN_US}};
    struct sg_fault fault;
    atomic_store(&stop, 0);
    (void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
    sg_grid_run(pool, &launch, &fault);
    timer = (struct itimerval){0};
    (void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
    FUZZ_CHECK(strcmp(sg_fault_name(fault.code), "unknown fault") != 0);
    sg_kernel_heap_free(launch.heap);
    return 0;
}
