/* SPDX-License-Identifier: Apache-2.0 */
/* Modules made again where they were, as a server makes them. */
#include <pthread.h>

#include "softgpu/tests/places_fixture.h"

TestSuite(module_places, .init = setup, .timeout = 60);

/* `keep` stores a pointer to a function, `apply` calls it: factor * twice(x) + hidden + shared, and
 * adds 1 to the two. `where` tells addresses. */
static const char functions[] = HEAD
    ".visible .global .align 8 .u64 pointer;\n"
    ".visible .const .align 4 .u32 factor = 3;\n"
    ".global .align 4 .u32 hidden = 100;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_one = 1000;\n"
    ".visible .global .align 16 .b8 large[3000000];\n"
    ".func (.param .b32 result) twice(.param .b32 x)\n"
    "{\n    .reg .b32 %r<2>;\n"
    "    ld.param.u32 %r1, [x];\n    add.u32 %r1, %r1, %r1;\n    st.param.b32 [result], %r1;\n"
    "    ret;\n}\n"
    ".visible .entry keep()\n"
    "{\n    .reg .b64 %d<2>;\n    mov.u64 %d1, twice;\n    st.global.u64 [pointer], %d1;\n"
    "    ret;\n}\n"
    ".visible .entry apply(.param .u64 to, .param .u32 x)\n"
    "{\n    .reg .b64 %d<3>;\n    .reg .b32 %r<8>;\n"
    "    ld.param.u64 %d1, [to];\n    ld.param.u32 %r1, [x];\n    ld.global.u64 %d2, [pointer];\n"
    "    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n"
    "    p: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "    call (r), %d2, (a), p;\n    ld.param.b32 %r2, [r]; }\n"
    "    ld.const.u32 %r3, [factor];\n    mul.lo.u32 %r2, %r2, %r3;\n"
    "    ld.global.u32 %r4, [hidden];\n    add.u32 %r2, %r2, %r4;\n"
    "    add.u32 %r4, %r4, 1;\n    st.global.u32 [hidden], %r4;\n"
    "    ld.global.u32 %r5, [shared_one];\n    add.u32 %r2, %r2, %r5;\n"
    "    add.u32 %r5, %r5, 1;\n    st.global.u32 [shared_one], %r5;\n"
    "    st.global.u32 [%d1], %r2;\n    ret;\n}\n"
    ".visible .entry where(.param .u64 to)\n"
    "{\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [to];\n"
    "    mov.u64 %d2, twice;\n    st.global.u64 [%d1], %d2;\n"
    "    mov.u64 %d2, hidden;\n    st.global.u64 [%d1+8], %d2;\n"
    "    mov.u64 %d2, shared_one;\n    st.global.u64 [%d1+16], %d2;\n"
    "    mov.u64 %d2, large;\n    st.global.u64 [%d1+24], %d2;\n    ret;\n}\n";

/* A module with all that a server knows of it. */
struct known {
    CUmodule module;
    struct cuda_module_layout layout;
    uint64_t addresses[16];
    struct cuda_module_variable variables[16];
    void *contents[16];
};

static void know(struct known *known, CUmodule module)
{
    *known = (struct known){.module = module};
    OK(places->module_layout(module, &known->layout));
    cr_assert_leq(known->layout.variable_count, 16);
    known->layout.addresses = known->addresses;
    for (size_t i = 0; i < known->layout.variable_count; i++) {
        OK(places->module_variable(module, i, &known->variables[i]));
        known->addresses[i] = known->variables[i].address;
    }
    GIVES(places->module_variable(module, known->layout.variable_count, &known->variables[0]),
          CUDA_ERROR_INVALID_VALUE);
    if (known->layout.variable_count != 0) {
        OK(places->module_variable(module, 0, &known->variables[0]));
    }
}

static void keep(const struct known *known)
{
    for (size_t i = 0; i < known->layout.variable_count; i++) {
        OK(places->address_keep(known->addresses[i]));
    }
}

static void release(const struct known *known)
{
    for (size_t i = 0; i < known->layout.variable_count; i++) {
        OK(places->address_release(known->addresses[i]));
    }
}

static void read_contents(struct known *known)
{
    for (size_t i = 0; i < known->layout.variable_count; i++) {
        const struct cuda_module_variable *variable = &known->variables[i];
        known->contents[i] = malloc(variable->bytes);
        OK(driver.cuMemcpyDtoH_v2(known->contents[i], variable->address, variable->bytes));
    }
}

static void write_contents(const struct known *known)
{
    for (size_t i = 0; i < known->layout.variable_count; i++) {
        const struct cuda_module_variable *variable = &known->variables[i];
        OK(driver.cuMemcpyHtoD_v2(variable->address, known->contents[i], variable->bytes));
        free(known->contents[i]);
    }
}

static void expect_same(const struct known *known, CUmodule module)
{
    struct known now;
    know(&now, module);
    cr_assert_eq(now.layout.code_base, known->layout.code_base);
    cr_assert_eq(now.layout.variable_count, known->layout.variable_count);
    for (size_t i = 0; i < now.layout.variable_count; i++) {
        cr_assert_eq(now.addresses[i], known->addresses[i], "variable %s",
                     known->variables[i].name);
    }
}

static unsigned apply(CUmodule module, unsigned x)
{
    CUdeviceptr to;
    unsigned answer = 0;
    OK(driver.cuMemAlloc_v2(&to, sizeof answer));
    launch(module, "apply", (void *[]){&to, &x});
    OK(driver.cuMemcpyDtoH_v2(&answer, to, sizeof answer));
    OK(driver.cuMemFree_v2(to));
    return answer;
}

static void where(CUmodule module, uint64_t answer[4])
{
    CUdeviceptr to;
    OK(driver.cuMemAlloc_v2(&to, 32));
    launch(module, "where", (void *[]){&to});
    OK(driver.cuMemcpyDtoH_v2(answer, to, 32));
    OK(driver.cuMemFree_v2(to));
}

static size_t free_memory(void)
{
    size_t free_bytes, total;
    OK(driver.cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

static CUresult load_placed(const struct known *known, const char *text, CUmodule *module)
{
    OK(places->module_place(&known->layout));
    return driver.cuModuleLoadData(module, text);
}

Test(module_places, a_module_tells_all_that_kernels_can_change)
{
    static const struct {
        const char *name;
        uint64_t bytes;
        enum cuda_variable_kind kind;
    } expected[] = {{"pointer", 8, CUDA_VARIABLE_GLOBAL},
                    {"factor", 4, CUDA_VARIABLE_CONSTANT},
                    {"hidden", 4, CUDA_VARIABLE_GLOBAL},
                    {"shared_one", 4, CUDA_VARIABLE_MANAGED},
                    {"large", 3000000, CUDA_VARIABLE_GLOBAL}};
    struct known known;
    CUmodule module = load(functions);
    know(&known, module);
    cr_assert_eq(known.layout.variable_count, 5);
    for (unsigned i = 0; i < 5; i++) {
        unsigned found = 0;
        for (unsigned j = 0; j < 5; j++) {
            const struct cuda_module_variable *variable = &known.variables[j];
            found += strcmp(variable->name, expected[i].name) == 0 &&
                     variable->bytes == expected[i].bytes && variable->kind == expected[i].kind;
        }
        cr_assert_eq(found, 1, "%s", expected[i].name);
    }
    uint64_t told[4];
    where(module, told);
    cr_assert(told[0] >= known.layout.code_base &&
              told[0] < known.layout.code_base + known.layout.code_bytes);
    struct cuda_module_layout layout;
    GIVES(places->module_layout(context, &layout), CUDA_ERROR_INVALID_HANDLE);
    GIVES(places->module_layout(module, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(driver.cuModuleUnload(module));
    GIVES(places->module_layout(module, &layout), CUDA_ERROR_INVALID_HANDLE);
}

Test(module_places, one_that_nothing_has_used_is_dropped)
{
    CUmodule module = load(functions);
    OK(places->module_drop(module));
    GIVES(places->module_drop(module), CUDA_ERROR_INVALID_HANDLE);
    GIVES(driver.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

/* Another context, other modules and other memory come between. */
Test(module_places, a_module_comes_back_where_it_was)
{
    struct known known;
    CUmodule module = load(functions), others[3];
    uint64_t before[4], after[4];
    launch(module, "keep", NULL);
    cr_assert_eq(apply(module, 7), 3 * 14 + 100 + 1000);
    where(module, before);
    unsigned five = 5;
    CUdeviceptr factor;
    OK(driver.cuModuleGetGlobal_v2(&factor, NULL, module, "factor"));
    OK(driver.cuMemcpyHtoD_v2(factor, &five, sizeof five));
    know(&known, module);
    read_contents(&known);
    keep(&known);
    OK(driver.cuModuleUnload(module));
    OK(driver.cuCtxDestroy_v2(context));
    OK(driver.cuCtxCreate_v2(&context, 0, 0));
    for (unsigned i = 0; i < 3; i++) {
        CUdeviceptr intruder;
        others[i] = load(functions);
        OK(driver.cuMemAlloc_v2(&intruder, 512));
        OK(driver.cuMemAlloc_v2(&intruder, 3000000));
    }
    OK(load_placed(&known, functions, &module));
    expect_same(&known, module);
    write_contents(&known);
    cr_assert_eq(apply(module, 7), 5 * 14 + 101 + 1001);
    where(module, after);
    cr_assert_arr_eq(before, after, sizeof before);
    where(others[2], after);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_neq(before[i], after[i]);
    }
    OK(driver.cuModuleUnload(module));
}

Test(module_places, a_module_moves_to_another_device)
{
    struct known known;
    CUcontext elsewhere;
    CUdeviceptr intruder;
    uint64_t before[4], after[4];
    size_t empty = free_memory(), there;
    CUmodule module = load(functions), moved = NULL;
    launch(module, "keep", NULL);
    where(module, before);
    know(&known, module);
    read_contents(&known);
    keep(&known);
    do { /* until something lives beside the variables */
        OK(driver.cuMemAlloc_v2(&intruder, 512));
    } while (intruder >> 21 != known.addresses[0] >> 21);
    OK(driver.cuModuleUnload(module));
    OK(driver.cuCtxCreate_v2(&elsewhere, 0, 1));
    there = free_memory();
    GIVES(load_placed(&known, functions, &moved), CUDA_ERROR_ALREADY_ACQUIRED);
    cr_assert_eq(free_memory(), there);
    OK(driver.cuMemFree_v2(intruder));
    OK(load_placed(&known, functions, &moved));
    expect_same(&known, moved);
    write_contents(&known);
    cr_assert_eq(apply(moved, 7), 3 * 14 + 100 + 1000);
    where(moved, after);
    cr_assert_arr_eq(before, after, sizeof before);
    cr_assert_lt(free_memory(), there);
    CUcontext of = NULL;
    OK(driver.cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, known.addresses[0]));
    cr_assert_eq(of, elsewhere);
    OK(driver.cuModuleUnload(moved));
    cr_assert_eq(free_memory(), there);
    OK(driver.cuCtxSetCurrent(context));
    cr_assert_eq(free_memory(), empty);
}

Test(module_places, a_process_that_never_had_the_module_places_it)
{
    struct known known;
    CUmodule module = load(functions);
    know(&known, module);
    OK(driver.cuModuleUnload(module));
    known.layout.code_base += 1000 * known.layout.code_bytes;
    const uint64_t space = free_space();
    for (size_t i = 0; i < known.layout.variable_count; i++) {
        known.addresses[i] = space + i * 16 * 1024 * 1024;
    }
    OK(load_placed(&known, functions, &module));
    expect_same(&known, module);
    launch(module, "keep", NULL);
    cr_assert_eq(apply(module, 7), 3 * 14 + 100 + 1000);
    struct known later;
    know(&later, load(functions));
    cr_assert_gt(later.layout.code_base, known.layout.code_base,
                 "no later module may get what an earlier one elsewhere has had");
}

/* Nothing is left of a load that fails, and the next one is as always. */
static void expect_refused(const struct known *known, const char *text, CUresult code)
{
    CUmodule module = NULL;
    size_t before = free_memory();
    GIVES(load_placed(known, text, &module), code);
    cr_assert_null(module);
    cr_assert_eq(free_memory(), before);
    module = load(text);
    OK(driver.cuModuleUnload(module));
    cr_assert_eq(free_memory(), before);
}

Test(module_places, places_that_are_taken_are_refused)
{
    struct known known;
    CUmodule module = load(functions);
    CUdeviceptr intruder;
    know(&known, module);
    expect_refused(&known, functions, CUDA_ERROR_ALREADY_ACQUIRED); /* it is still there */
    known.layout.code_base += 1000 * known.layout.code_bytes;
    expect_refused(&known, functions, CUDA_ERROR_ALREADY_ACQUIRED); /* the variables are */
    known.layout.code_base -= 1000 * known.layout.code_bytes;
    OK(driver.cuModuleUnload(module));
    const uint64_t space = free_space();
    for (size_t i = 0; i < known.layout.variable_count; i++) { /* each of them */
        if (known.variables[i].kind == CUDA_VARIABLE_MANAGED) {
            continue;
        }
        known.addresses[i] = space + i * 16 * 1024 * 1024;
    }
    OK(driver.cuMemAlloc_v2(&intruder, 512));
    uint64_t hidden = known.addresses[2];
    known.addresses[2] = intruder;
    expect_refused(&known, functions, CUDA_ERROR_ALREADY_ACQUIRED);
    known.addresses[2] = hidden;
    OK(load_placed(&known, functions, &module));
    expect_same(&known, module);
}

Test(module_places, layouts_that_do_not_fit_are_refused)
{
    struct known known;
    CUmodule module = load(functions);
    know(&known, module);
    keep(&known);
    OK(driver.cuModuleUnload(module));
    expect_refused(&known, HEAD ".visible .entry k() { ret; }", CUDA_ERROR_INVALID_VALUE);
    const struct known good = known;
    for (unsigned i = 0; i < known.layout.variable_count; i++) {
        known.addresses[i] = 0;
        expect_refused(&known, functions, CUDA_ERROR_INVALID_VALUE);
        known.addresses[i] = good.addresses[i] + 16;
        expect_refused(&known, functions, CUDA_ERROR_INVALID_VALUE);
        known.addresses[i] = good.addresses[i];
    }
    const uint64_t codes[] = {16, good.layout.code_base + 16, UINT64_MAX - 15};
    for (unsigned i = 0; i < 3; i++) {
        known.layout.code_base = codes[i];
        expect_refused(&known, functions, CUDA_ERROR_INVALID_VALUE);
    }
    known.layout.code_base = good.layout.code_base;
    OK(load_placed(&known, functions, &module));
    expect_same(&known, module);
}

Test(module_places, a_wish_ends_with_the_load_that_it_was_for)
{
    struct known known;
    CUmodule module = load(functions);
    know(&known, module);
    OK(driver.cuModuleUnload(module));
    GIVES(load_placed(&known, "no program", &module), CUDA_ERROR_INVALID_IMAGE);
    OK(places->module_place(NULL));
    struct known later;
    know(&later, load(functions));
    cr_assert_neq(later.layout.code_base, known.layout.code_base);
}

Test(module_places, kept_places_are_given_back)
{
    struct known known;
    size_t before = free_memory();
    CUmodule module = load(functions);
    know(&known, module);
    keep(&known);
    keep(&known);
    OK(driver.cuModuleUnload(module));
    cr_assert_lt(free_memory(), before);
    release(&known);
    cr_assert_eq(free_memory(), before);
    release(&known);
    module = load(functions);
    know(&known, module);
    keep(&known);
    release(&known);
    OK(driver.cuModuleUnload(module));
    cr_assert_eq(free_memory(), before);
    GIVES(places->address_keep(known.addresses[0]), CUDA_ERROR_INVALID_VALUE);
    module = load(functions);
    know(&known, module);
    keep(&known);
    OK(driver.cuModuleUnload(module));
    known.addresses[4] += 16;
    GIVES(load_placed(&known, functions, &module), CUDA_ERROR_INVALID_VALUE); /* they stay kept */
    known.addresses[4] -= 16;
    cr_assert_lt(free_memory(), before);
    OK(load_placed(&known, functions, &module)); /* and not any longer */
    OK(driver.cuModuleUnload(module));
    cr_assert_eq(free_memory(), before);
    CUdeviceptr own;
    void *pinned;
    OK(driver.cuMemAlloc_v2(&own, 512));
    GIVES(places->address_keep(own + 8), CUDA_ERROR_INVALID_VALUE);
    OK(driver.cuMemHostAlloc(&pinned, 512, 0));
    GIVES(places->address_keep((uint64_t)(uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
}

/* ---- threads */

struct worker {
    struct known known;
    pthread_barrier_t *barrier;
    CUcontext context;
    int failed;
};

/* Criterion's asserts belong to the main thread. */
static void *work(void *data)
{
    struct worker *worker = data;
    for (unsigned round = 0; round < 200 && !worker->failed; round++) {
        CUmodule module;
        struct cuda_module_layout layout;
        worker->failed = driver.cuCtxSetCurrent(worker->context) != CUDA_SUCCESS ||
                         places->module_place(&worker->known.layout) != 0;
        pthread_barrier_wait(worker->barrier);
        worker->failed |= driver.cuModuleLoadData(&module, functions) != CUDA_SUCCESS ||
                          places->module_layout(module, &layout) != 0 ||
                          layout.code_base != worker->known.layout.code_base;
        for (size_t i = 0; i < worker->known.layout.variable_count && !worker->failed; i++) {
            struct cuda_module_variable variable;
            worker->failed |= places->module_variable(module, i, &variable) != 0 ||
                              variable.address != worker->known.addresses[i];
        }
        for (size_t i = 0; i < worker->known.layout.variable_count && !worker->failed; i++) {
            worker->failed |= places->address_keep(worker->known.addresses[i]) != 0;
        }
        pthread_barrier_wait(worker->barrier);
        worker->failed |= driver.cuModuleUnload(module) != CUDA_SUCCESS;
    }
    return NULL;
}

Test(module_places, threads_place_side_by_side)
{
    static struct worker workers[2];
    pthread_barrier_t barrier;
    pthread_t threads[2];
    CUmodule modules[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        modules[i] = load(functions);
    }
    for (unsigned i = 0; i < 2; i++) {
        know(&workers[i].known, modules[i]);
        workers[i].known.layout.addresses = workers[i].known.addresses;
        workers[i].barrier = &barrier;
        workers[i].context = context;
        keep(&workers[i].known);
    }
    for (unsigned i = 0; i < 2; i++) {
        OK(driver.cuModuleUnload(modules[i]));
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(workers[i].failed, 0);
    }
}

/* ---- memory of the device run time */

static const char texts[] =
    HEAD ".extern .func (.param .b64 r) cudaGetErrorString(.param .b32 e);\n"
         ".visible .entry where(.param .u64 to)\n"
         "{\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [to];\n"
         "    { .param .b32 a; .param .b64 r; st.param.b32 [a], 2;\n"
         "    call (r), cudaGetErrorString, (a);\n    ld.param.b64 %d2, [r]; }\n"
         "    st.global.u64 [%d1], %d2;\n    st.global.u64 [%d1+8], %d2;\n"
         "    st.global.u64 [%d1+16], %d2;\n    st.global.u64 [%d1+24], %d2;\n    ret;\n}\n";

Test(module_places, texts_of_the_device_run_time_stay)
{
    struct known known;
    uint64_t before[4], after[4];
    char text[14] = "";
    CUmodule module = load(texts);
    know(&known, module);
    where(module, before);
    cr_assert(before[0] >= known.layout.runtime_base &&
              before[0] < known.layout.runtime_base + known.layout.runtime_bytes);
    OK(places->address_keep(known.layout.runtime_base));
    OK(driver.cuModuleUnload(module));
    where(load(texts), after);
    cr_assert_neq(before[0], after[0]);
    OK(load_placed(&known, texts, &module));
    OK(driver.cuMemcpyDtoH_v2(text, before[0], sizeof text));
    cr_assert_str_eq(text, "out of memory");
    where(module, after);
    cr_assert_eq(before[0], after[0]);
}
