// SPDX-License-Identifier: Apache-2.0
// Device code linked at run time (cuLinkCreate and what follows), from PTX and from a file.
#include <unistd.h>

#include "check_driver.h"

#define HEAD ".version 7.5\n.target sm_75\n.address_size 64\n"

static char adder[] = HEAD ".visible .global .u32 added = 0;\n"
                           ".visible .func (.param .b32 r) add(.param .b32 a, .param .b32 b)\n"
                           "{ .reg .b32 %r<4>;\n"
                           "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];\n"
                           "add.u32 %r3, %r1, %r2; st.global.u32 [added], %r3;\n"
                           "st.param.b32 [r], %r3; ret; }\n";

#define KERNEL(name, number)                                                                       \
    HEAD ".extern .func (.param .b32 r) add(.param .b32 a, .param .b32 b);\n"                      \
         ".visible .entry " name "(.param .u64 out) {\n"                                           \
         ".reg .b32 %r<4>; .reg .b64 %rd<3>;\n"                                                    \
         "{ .param .b32 a; .param .b32 b; .param .b32 r;\n"                                        \
         "st.param.b32 [a], " number "; st.param.b32 [b], 2;\n"                                    \
         "call (r), add, (a, b); ld.param.b32 %r1, [r]; }\n"                                       \
         "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;\n"                              \
         "st.global.u32 [%rd2], %r1; ret; }\n"
static char forty[] = KERNEL("forty", "40");
static char fifty[] = KERNEL("fifty", "50");
static char wrong[] = HEAD ".visible .entry wrong() { nonsense; }\n";

static void add(CUlinkState link, CUjitInputType type, void *data, size_t size)
{
    CHECK_DRIVER(cuLinkAddData(link, type, data, size, "input", 0, NULL, NULL));
}

static unsigned run(void *image, const char *name, unsigned *added)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr out, variable;
    unsigned value = 0;
    CHECK_DRIVER(cuModuleLoadData(&module, image));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, name));
    CHECK_DRIVER(cuModuleGetGlobal(&variable, NULL, module, "added"));
    CHECK_DRIVER(cuMemAlloc(&out, 4));
    void *parameters[] = {&out};
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK_DRIVER(cuMemcpyDtoH(&value, out, 4));
    CHECK_DRIVER(cuMemcpyDtoH(added, variable, 4));
    CHECK_DRIVER(cuMemFree(out));
    CHECK_DRIVER(cuModuleUnload(module));
    return value;
}

static void expect(void *image, const char *name, unsigned expected)
{
    unsigned added = 0, value = run(image, name, &added);
    if (value != expected || added != expected)
        fail("%s gave %u and left %u, not %u", name, value, added, expected);
}

static double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// The output of the linker outlives it, and can be an input itself.
static void link_two()
{
    CUlinkState link;
    void *made, *kept;
    size_t size;
    char info[512] = "x", error[512] = "x";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME};
    void *values[] = {info, (void *)sizeof info, error, (void *)sizeof error, NULL};
    const double begun = now_ms();
    CHECK_DRIVER(cuLinkCreate(5, options, values, &link));
    add(link, CU_JIT_INPUT_PTX, forty, sizeof forty);
    add(link, CU_JIT_INPUT_PTX, adder, sizeof adder);
    CHECK_DRIVER(cuLinkComplete(link, &made, &size));
    const double passed_ms = now_ms() - begun;
    float ms = 0;
    memcpy(&ms, &values[4], sizeof ms);
    if (!(ms > 0 && ms <= passed_ms * 1.01) || error[0] != 0)
        fail("linking took %f ms of %f and said '%s'", ms, passed_ms, error);
    expect(made, "forty", 42);
    kept = malloc(size);
    memcpy(kept, made, size);
    CHECK_DRIVER(cuLinkDestroy(link));
    expect(kept, "forty", 42);

    CHECK_DRIVER(cuLinkCreate(0, NULL, NULL, &link));
    add(link, CU_JIT_INPUT_CUBIN, kept, size);
    add(link, CU_JIT_INPUT_PTX, fifty, sizeof fifty);
    CHECK_DRIVER(cuLinkComplete(link, &made, &size));
    expect(made, "fifty", 52);
    expect(made, "forty", 42);
    CHECK_DRIVER(cuLinkDestroy(link));
    free(kept);
}

static void link_file()
{
    char path[] = "/tmp/driver_link.XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, adder, sizeof adder - 1) != (ssize_t)(sizeof adder - 1))
        fail("cannot write %s", path);
    close(file);
    CUlinkState link;
    void *made;
    size_t size;
    CHECK_DRIVER(cuLinkCreate(0, NULL, NULL, &link));
    CHECK_DRIVER(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    unlink(path);
    EXPECT_DRIVER(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL),
                  CUDA_ERROR_FILE_NOT_FOUND);
    add(link, CU_JIT_INPUT_PTX, fifty, sizeof fifty);
    CHECK_DRIVER(cuLinkComplete(link, &made, &size));
    expect(made, "fifty", 52);
    CHECK_DRIVER(cuLinkDestroy(link));
}

// Linking must fail, here or there, and the log says why.
static void refused(char *first, size_t first_size, char *second, size_t second_size,
                    const char *word)
{
    CUlinkState link;
    void *made;
    size_t size;
    char error[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {error, (void *)sizeof error};
    CHECK_DRIVER(cuLinkCreate(2, options, values, &link));
    CUresult rc = cuLinkAddData(link, CU_JIT_INPUT_PTX, first, first_size, "first", 0, NULL, NULL);
    if (rc == CUDA_SUCCESS && second)
        rc = cuLinkAddData(link, CU_JIT_INPUT_PTX, second, second_size, "second", 0, NULL, NULL);
    if (rc == CUDA_SUCCESS)
        rc = cuLinkComplete(link, &made, &size);
    if (rc == CUDA_SUCCESS || strstr(error, word) == NULL)
        fail("linking gave %d and said '%s', without '%s'", (int)rc, error, word);
    CHECK_DRIVER(cuLinkDestroy(link));
}

int main()
{
    CHECK_DRIVER(cuInit(0));
    CUcontext context = create_context(0);
    link_two();
    link_file();
    refused(forty, sizeof forty, NULL, 0, "add");
    refused(adder, sizeof adder, adder, sizeof adder, "add");
    refused(wrong, sizeof wrong, NULL, 0, "nonsense");
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
