/* PTX text of a stranger, up to four modules with a NUL between them: parsed, linked, checked,
 * loaded, and each kernel run for a few milliseconds. A kernel may do what it likes, except touch
 * memory outside the buffer that it was given. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "softgpu/engine.h"
#include "tests/fuzz/input.h"

#define RUN_US       3000 /* of processor time, for all kernels of an input together */
#define MEMORY_BYTES (4 * SG_MAP_CHUNK)
#define PARAMS_MOST  65536u
#define UNITS_MOST   4
#define TEXT_MOST    16384u /* longer ones only take longer */

static struct sg_pool *pool;
static struct sg_map *map;
static uint8_t *memory; /* all that kernels may touch */
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
    return 0;
}

/* Every parameter points into the memory, which is also a size and a number. */
static void run_kernel(const struct sg_image *image, const struct sg_kernel *kernel)
{
    static uint64_t params[PARAMS_MOST / 8];
    FUZZ_CHECK(kernel->param_bytes <= sizeof params);
    for (size_t i = 0; i < (kernel->param_bytes + 7u) / 8; i++) {
        params[i] = (uintptr_t)memory + i % 4 * SG_MAP_CHUNK;
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
static void run_program(const struct sg_program *program)
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

static size_t split(const char *text, size_t size, struct sg_unit *units)
{
    size_t count = 0;
    for (size_t at = 0; count < UNITS_MOST && (at < size || count == 0);) {
        const char *end = at < size ? memchr(text + at, 0, size - at) : NULL;
        size_t bytes =
            end == NULL || count + 1 == UNITS_MOST ? size - at : (size_t)(end - text) - at;
        units[count++] = (struct sg_unit){.text = text + at, .bytes = bytes};
        at += bytes + 1;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[400];
    struct sg_log log = {.text = text, .size = sizeof text};
    struct sg_program *program = NULL;
    if (size > TEXT_MOST) {
        return 0;
    }
    struct sg_unit units[UNITS_MOST];
    size_t count = split((const char *)data, size, units);
    enum sg_load_result result = sg_program_link(units, count, &log, &program);
    FUZZ_CHECK(log.used < sizeof text && text[log.used] == 0);
    if (result == SG_LOAD_OK) {
        run_program(program);
        sg_program_destroy(program);
    } else {
        FUZZ_CHECK(program == NULL && (log.used != 0 || result == SG_LOAD_NO_MEMORY));
    }
    return 0;
}
