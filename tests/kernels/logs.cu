// SPDX-License-Identifier: Apache-2.0
// What went wrong, in words: cuLogs*, CUDA_LOG_FILE, and what a verbose JIT says. semantics S112
#include <string>
#include <unistd.h>

#include "check_driver.h"

static const char wrong_ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                                ".visible .entry k()\n{\n    no_such_instruction.u32;\n"
                                "    ret;\n}\n";
static const char right_ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                                ".visible .entry uses_shared()\n{\n    .shared .b8 tile[64];\n"
                                "    .reg .b32 %r<2>;\n    mov.u32 %r1, tile;\n"
                                "    st.shared.u32 [%r1], %r1;\n    ret;\n}\n";

__global__ void leaves_memory(unsigned *at)
{
    at[1ull << 40] = 1;
}

static std::string heard;
static int calls;
static CUresult inside = CUDA_SUCCESS;

static void CUDA_CB hear(void *data, CUlogLevel level, char *message, size_t length)
{
    if (data != &heard || level != CU_LOG_LEVEL_ERROR || strlen(message) != length)
        fail("what a callback gets");
    int count;
    inside = cuDeviceGetCount(&count);
    heard += message;
    calls++;
}

static bool has(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

static std::string dump(CUlogIterator *from)
{
    static char buffer[32768];
    size_t size = sizeof buffer;
    CHECK_DRIVER(cuLogsDumpToMemory(from, buffer, &size, 0));
    if (strlen(buffer) != size)
        fail("%zu bytes are told of %zu", size, strlen(buffer));
    return buffer;
}

static std::string contents(const std::string &path)
{
    std::string text;
    FILE *file = fopen(path.c_str(), "r");
    for (int c; file && (c = fgetc(file)) != EOF;)
        text += (char)c;
    if (file)
        fclose(file);
    return text;
}

static void check_small_buffers(CUlogIterator before)
{
    char buffer[4096];
    size_t size = 10;
    CUlogIterator at = before;
    EXPECT_DRIVER(cuLogsDumpToMemory(&at, buffer, &size, 0), CUDA_ERROR_INVALID_VALUE);
    if (size != 0 || at != before)
        fail("a dump that fails changes something");
    CHECK_DRIVER(cuLogsCurrent(&at, 0));
    size = sizeof buffer;
    CHECK_DRIVER(cuLogsDumpToMemory(&at, buffer, &size, 0));
    if (size != 0)
        fail("there is a message behind the last one: %s", buffer);
    EXPECT_DRIVER(cuLogsDumpToMemory(&at, nullptr, &size, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLogsDumpToMemory(&at, buffer, &size, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLogsCurrent(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLogsDumpToFile(&at, "/no/such/folder/file", 0), CUDA_ERROR_INVALID_VALUE);
}

static void check_verbose()
{
    char log[4096] = "";
    CUmodule module;
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_LOG_VERBOSE};
    void *values[] = {log, (void *)sizeof log, (void *)1};
    CHECK_DRIVER(cuModuleLoadDataEx(&module, right_ptx, 3, options, values));
    if (!has(log, "'uses_shared'") || !has(log, "64 bytes smem") || !has(log, "registers") ||
        (size_t)values[1] != strlen(log))
        fail("the log of %zu bytes: %s", (size_t)values[1], log);
    CHECK_DRIVER(cuModuleUnload(module));
    values[1] = (void *)sizeof log;
    CHECK_DRIVER(cuModuleLoadDataEx(&module, right_ptx, 2, options, values));
    if (log[0] != 0)
        fail("said without being asked: %s", log);
    CHECK_DRIVER(cuModuleUnload(module));
    char tiny[24] = ""; // what does not fit is cut
    values[0] = tiny;
    values[1] = (void *)sizeof tiny;
    CHECK_DRIVER(cuModuleLoadDataEx(&module, right_ptx, 3, options, values));
    if (strlen(tiny) != sizeof tiny - 1)
        fail("a log of %zu bytes in a buffer of %zu", strlen(tiny), sizeof tiny);
    CHECK_DRIVER(cuModuleUnload(module));
}

int main()
{
    std::string folder = "/tmp/gpuaas_logs_" + std::to_string(getpid());
    std::string file = folder + "_env", dumped = folder + "_dump";
    CUlogsCallbackHandle handle;
    CUlogIterator start, at;
    CUmodule module;
    setenv("CUDA_LOG_FILE", file.c_str(), 1);
    EXPECT_DRIVER(cuLogsRegisterCallback(nullptr, nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuLogsRegisterCallback(hear, &heard, &handle));
    CHECK(cudaFree(nullptr));
    check_verbose();
    CHECK_DRIVER(cuLogsCurrent(&start, 0));
    at = start;
    EXPECT_DRIVER(cuModuleLoadData(&module, wrong_ptx), CUDA_ERROR_INVALID_PTX);
    CHECK_DRIVER(cuCtxSynchronize());
    std::string text = dump(&at);
    if (calls == 0 || !has(text, "no_such_instruction") || !has(heard, "no_such_instruction"))
        fail("a wrong PTX is not in the log: %s", text.c_str());
    if (inside != CUDA_ERROR_NOT_PERMITTED)
        fail("a callback may call CUDA: %d", (int)inside);
    setenv("CUDA_LOG_FILE", "/no/such/folder/file", 1); // too late: it is asked for once
    CHECK_DRIVER(cuLogsUnregisterCallback(handle));
    EXPECT_DRIVER(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
    int before = calls;
    check_small_buffers(start);
    unsigned *data;
    CHECK(cudaMalloc(&data, 64));
    leaves_memory<<<1, 1>>>(data);
    EXPECT_DRIVER(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_DRIVER(cuLogsDumpToFile(&at, dumped.c_str(), 0));
    std::string written = contents(dumped), all = contents(file);
    if (!has(written, "leaves_memory") || !has(written, "illegal address") ||
        has(written, "no_such_instruction"))
        fail("the fault is not in the file: %s", written.c_str());
    if (!has(all, "leaves_memory") || !has(all, "no_such_instruction"))
        fail("CUDA_LOG_FILE has: %s", all.c_str());
    if (calls != before)
        fail("a callback that is not registered is called");
    unlink(dumped.c_str());
    unlink(file.c_str());
    return passed();
}
