/* SPDX-License-Identifier: Apache-2.0 */
/* See ptx_run.h. */
#include "tests/fuzz/ptx_run.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/engine/texture.h"
#include "softgpu/engine/texture_objects.h"
#include "tests/fuzz/input.h"

#define RUN_US       3000 /* of processor time, for all kernels of an input together */
#define MEMORY_BYTES (4 * SG_MAP_CHUNK)
#define PARAMS_MAX   65536u

static struct sg_pool *pool;
static struct sg_map *map;
static uint8_t *memory; /* all that kernels may touch */
static _Atomic int stop;
static struct sg_objects *objects;
static uint64_t handles[2 * SG_SHAPES]; /* a texture and a surface of each shape */

static void time_is_up(int number)
{
    (void)number;
    atomic_store(&stop, 1);
}

/* In the same memory, too; the last ones end behind it. */
static void make_object(unsigned index)
{
    const enum sg_shape shape = (enum sg_shape)(index % SG_SHAPES);
    const bool layered = shape >= SG_SHAPE_1D_LAYERED, line = shape == SG_SHAPE_1D_LAYERED;
    struct sg_object object = {
        .kind = index < SG_SHAPES ? SG_OBJECT_TEXTURE : SG_OBJECT_SURFACE,
        .texels = {.shape = shape,
                   .channel = (enum sg_channel)((shape * 3 + index / SG_SHAPES) % SG_CHANNELS),
                   .channels = 1u << index % 3,
                   .layers = layered ? 12 : 1,
                   .level_count = shape == SG_SHAPE_LINEAR ? 1 : 3},
        .sampler = {
            .address = {(enum sg_address_mode)(shape % 4), SG_ADDRESS_MIRROR, SG_ADDRESS_BORDER},
            .linear = shape % 3 != 0,
            .normalised_coordinates = shape % 2 == 0,
            .mip_linear = true,
            .seamless = shape == SG_SHAPE_CUBE,
            .mip_max = 9}};
    object.texels.layers = shape == SG_SHAPE_CUBE ? 6 : object.texels.layers;
    uint32_t height = shape < SG_SHAPE_2D || line ? 1 : 16;
    uint64_t bytes = sg_texels_layout(&object.texels, 16, height, shape == SG_SHAPE_3D ? 8 : 1);
    bool beyond = index % SG_SHAPES == SG_SHAPE_2D_LAYERED;
    sg_texels_place(&object.texels,
                    (uintptr_t)memory +
                        (beyond ? MEMORY_BYTES - bytes / 2 / 512 * 512 : index * SG_LEVEL_ALIGN));
    FUZZ_CHECK(sg_objects_add(objects, &object, &handles[index]) == GA_OK);
}

void ptx_run_open(void)
{
    (void)signal(SIGVTALRM, time_is_up);
    uint8_t *room = mmap(NULL, MEMORY_BYTES + SG_MAP_CHUNK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(room != MAP_FAILED);
    memory = room + (SG_MAP_CHUNK - (uintptr_t)room % SG_MAP_CHUNK) % SG_MAP_CHUNK;
    map = sg_map_create();
    FUZZ_CHECK(map != NULL && sg_pool_create(0, &pool) == GA_OK);
    FUZZ_CHECK(sg_map_set(map, (uintptr_t)memory, MEMORY_BYTES, SG_MAP_READ | SG_MAP_WRITE) ==
               GA_OK);
    objects = sg_objects_create();
    FUZZ_CHECK(objects != NULL);
    for (unsigned i = 0; i < 2 * SG_SHAPES; i++) {
        make_object(i);
    }
}

/* Four of the eight parameters point into the memory, and are also sizes and numbers; four are
 * textures or surfaces. */
static void run_kernel(const struct sg_image *image, const struct sg_kernel *kernel)
{
    static uint64_t params[PARAMS_MAX / 8];
    FUZZ_CHECK(kernel->param_bytes <= sizeof params);
    for (size_t i = 0; i < (kernel->param_bytes + 7u) / 8; i++) {
        params[i] = i % 8 < 4 ? (uintptr_t)memory + i % 4 * SG_MAP_CHUNK
                              : handles[(i / 8 * 4 + i % 4) % (2 * SG_SHAPES)];
    }
    struct sg_launch launch = {
        .image = image,
        .kernel = kernel,
        .grid = {2, 1, 1},
        .block = {kernel->reqntid[0] != 0 ? kernel->reqntid[0] : 40,
                  kernel->reqntid[1] != 0 ? kernel->reqntid[1] : 1,
                  kernel->reqntid[2] != 0 ? kernel->reqntid[2] : 1},
        .params = params,
        .map = map,
        .stop = &stop,
        .objects = objects,
    };
    struct sg_fault fault;
    sg_grid_run(pool, &launch, &fault);
    FUZZ_CHECK(sg_fault_name(fault.code) != NULL);
}

static void run_kernels(const struct sg_program *program, const struct sg_image *image)
{
    struct itimerval timer = {.it_value = {.tv_usec = RUN_US}};
    atomic_store(&stop, 0);
    (void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
    size_t count = sg_program_kernel_count(program);
    for (size_t i = 0; i < count && atomic_load(&stop) == 0; i++) {
        run_kernel(image, sg_program_kernel_at(program, i));
    }
    timer = (struct itimerval){0};
    (void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

/* Variables lie in the same memory, over each other: that disturbs kernels, not us. Larger ones get
 * no address, and such an image is refused. */
void ptx_run(const struct sg_program *program)
{
    size_t count = sg_program_variable_count(program);
    uint64_t *addresses = calloc(count + 1, sizeof *addresses);
    FUZZ_CHECK(addresses != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct sg_variable *variable = sg_program_variable_at(program, i);
        addresses[i] = variable->bytes <= MEMORY_BYTES ? (uintptr_t)memory : 0;
    }
    struct sg_image *image = NULL;
    if (sg_image_create(program, addresses, &image) == GA_OK) {
        run_kernels(program, image);
        sg_image_destroy(image);
    }
    free(addresses);
}

/* ---- one kernel, by warps and thread by thread ---- */

#define THREADS_MAX 64u
#define WORDS       8u /* that each thread writes */
#define LIMIT_NS    UINT64_C(5000000000)

static enum sg_fault_code run_threads(const struct sg_image *image, const struct sg_kernel *kernel,
                                      uint32_t first, uint32_t threads)
{
    uint64_t params[4] = {(uintptr_t)memory, first, UINT64_C(0x1234567800000007),
                          UINT64_C(0xfedcba9840000003)};
    struct sg_launch launch = {.image = image,
                               .kernel = kernel,
                               .grid = {1, 1, 1},
                               .block = {threads, 1, 1},
                               .params = params,
                               .limit_ns = LIMIT_NS,
                               .map = map};
    struct sg_fault fault;
    sg_grid_run(pool, &launch, &fault);
    if (fault.code != SG_FAULT_NONE && getenv("FUZZ_VERBOSE") != NULL) {
        fprintf(stderr, "%s: %s, PTX line %u\n", sg_fault_name(fault.code), fault.text, fault.line);
    }
    return fault.code;
}

void ptx_compare(const struct sg_program *program, uint32_t threads)
{
    static uint32_t together[THREADS_MAX * WORDS];
    const size_t bytes = sizeof together;
    struct sg_image *image = NULL;
    const struct sg_kernel *kernel = sg_program_kernel_find(program, "k");
    FUZZ_CHECK(kernel != NULL && kernel->param_bytes == 32 && threads <= THREADS_MAX);
    FUZZ_CHECK(sg_image_create(program, NULL, &image) == GA_OK);
    memset(memory, 0, bytes);
    enum sg_fault_code code = run_threads(image, kernel, 0, threads), alone = SG_FAULT_NONE;
    FUZZ_CHECK(code == SG_FAULT_NONE || code == SG_FAULT_INVALID_PC);
    memcpy(together, memory, bytes);
    memset(memory, 0, bytes);
    for (uint32_t i = 0; i < threads && alone == SG_FAULT_NONE; i++) {
        /* if one comes to a fault, it has to be found; otherwise some are enough */
        if (i % 5 == 0 || code != SG_FAULT_NONE) {
            alone = run_threads(image, kernel, i, 1);
            FUZZ_CHECK(code != SG_FAULT_NONE ||
                       memcmp(memory + (size_t)i * 4 * WORDS, together + (size_t)i * WORDS,
                              4 * WORDS) == 0);
        }
    }
    FUZZ_CHECK(alone == code);
    sg_image_destroy(image);
}
