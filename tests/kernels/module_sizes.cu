// SPDX-License-Identifier: Apache-2.0
// Modules at and beyond what a GPU takes: too many bytes of parameters, static shared memory or
// constants are refused by an error log that says what is allowed; many functions with long names
// are listed; and whatever a module is like, the context is as good as before.
#include <string>
#include <vector>

#include "check_driver.h"

static const std::string head = ".version 8.1\n.target sm_75\n.address_size 64\n";

static CUresult load(const std::string &ptx, CUmodule *module, std::string *said)
{
    static char log[4096];
    log[0] = 0;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUresult result = cuModuleLoadDataEx(module, ptx.c_str(), 2, options, values);
    *said = log;
    return result;
}

static void refused(const std::string &body, const char *name, const char *limit,
                    const char *hexadecimal)
{
    CUmodule module;
    std::string said;
    CUresult result = load(head + body, &module, &said);
    if (result != CUDA_ERROR_INVALID_PTX)
        fail("%s: %s", name, driver_error_name(result));
    if (said.find(limit) == said.npos && said.find(hexadecimal) == said.npos)
        fail("%s: the log does not say that %s is allowed: %s", name, limit, said.c_str());
    CHECK_DRIVER(cuCtxSynchronize());
    printf("%s: %s", name, said.c_str());
}

static CUmodule loaded(const std::string &body)
{
    CUmodule module;
    std::string said;
    CUresult result = load(head + body, &module, &said);
    if (result != CUDA_SUCCESS)
        fail("%s: %s", driver_error_name(result), said.c_str());
    return module;
}

// Unusual but possible modules: they work, or are refused as not supported. semantics S135
static void unusual(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_SUPPORTED)
        fail("%s: %s", what, driver_error_name(result));
    CHECK_DRIVER(cuCtxSynchronize());
    printf("%s: %s\n", what, driver_error_name(result));
}

static void many_parameters()
{
    std::string text, name(70000, 'k');
    for (int i = 0; i < 500000; i++)
        text += std::string(i ? ", " : "") + ".param .u8 p" + std::to_string(i);
    refused(".visible .entry k(" + text + ") { ret; }", "500000 parameters", "32764", "0x7ffc");
    refused(".visible .entry k(.param .b8 a[20000], .param .b8 b[12765]) { ret; }",
            "32765 bytes of parameters", "32764", "0x7ffc");

    std::vector<char> block(32764, 1);
    CUdeviceptr out;
    CHECK_DRIVER(cuMemAlloc(&out, 4));
    memcpy(block.data(), &out, sizeof out);
    CUmodule module = loaded(".visible .entry k(.param .u64 p, .param .b8 a[32756]) {\n"
                             ".reg .b32 %r; .reg .b64 %q; ld.param.u64 %q, [p];\n"
                             "ld.param.u8 %r, [a+32755]; st.global.u32 [%q], %r; ret; }");
    CUfunction function;
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "k"));
    void *parameters[] = {block.data(), block.data() + 8};
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, parameters, nullptr));
    unsigned last;
    CHECK_DRIVER(cuMemcpyDtoH(&last, out, sizeof last));
    if (last != 1)
        fail("the last of 32764 bytes of parameters is %u", last);
    CHECK_DRIVER(cuMemFree(out));
    CHECK_DRIVER(cuModuleUnload(module));

    text.resize(text.find(", .param .u8 p5000"));
    module = loaded(".visible .entry k(" + text + ") { ret; }\n.visible .entry " + name +
                    "() { ret; }\n.visible .global .u32 g" + name + ";");
    size_t bytes;
    unusual(cuModuleGetFunction(&function, module, "k"), "a function of 5000 parameters");
    unusual(cuModuleGetFunction(&function, module, name.c_str()), "a function's name of 70000");
    name = "g" + name;
    unusual(cuModuleGetGlobal(&out, &bytes, module, name.c_str()), "a variable's name of 70001");
    CHECK_DRIVER(cuModuleUnload(module));
}

// Their names are more than half a megabyte.
static void many_functions()
{
    const unsigned all = 3000;
    std::string text, longest(200, 'n');
    for (unsigned i = 0; i < all; i++)
        text += ".visible .entry " + longest + std::to_string(i) + "() { ret; }\n";
    CUmodule module = loaded(text);
    unsigned count;
    CHECK_DRIVER(cuModuleGetFunctionCount(&count, module));
    if (count != all)
        fail("%u functions, %u are there", count, all);
    std::vector<CUfunction> functions(all);
    std::vector<bool> seen(all);
    CHECK_DRIVER(cuModuleEnumerateFunctions(functions.data(), all, module));
    for (CUfunction function : functions) {
        const char *name;
        CHECK_DRIVER(cuFuncGetName(&name, function));
        unsigned number = atoi(name + longest.size());
        if (longest.compare(0, longest.npos, name, longest.size()) != 0 || number >= all ||
            seen[number])
            fail("there is no function %s, or it is there twice", name);
        seen[number] = true;
    }
    CHECK_DRIVER(cuLaunchKernel(functions[all - 1], 1, 1, 1, 1, 1, 1, 0, 0, nullptr, nullptr));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuModuleUnload(module));
    printf("%u functions\n", count);
}

int main()
{
    CUdevice device;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);
    many_parameters();
    refused(".visible .entry k() { .shared .b8 s[49153]; st.volatile.shared.u8 [s], 1; ret; }",
            "shared memory", "49152", "0xc000");
    refused(".visible .const .b8 c[65537];\n.visible .entry k() { ret; }", "constants", "65536",
            "0x10000");
    many_functions();
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
