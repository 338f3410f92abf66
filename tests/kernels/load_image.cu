// SPDX-License-Identifier: Apache-2.0
// load_image MIB TIMES: loads an image of about so many MiB so many times, one after the other, and
// runs its kernel each time. A helper of the tests of images: all programs have the same bytes.
#include <string>

#include "check_driver.h"

static const char code[] = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

// The rest is a comment that does not compress.
static std::string image_of(size_t bytes)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ=+";
    std::string image = std::string(code) + "//";
    Random random(7);
    while (image.size() < bytes) {
        uint32_t word = random.next();
        for (int i = 0; i < 5; i++)
            image += digits[word >> 6 * i & 63];
    }
    return image + "\n";
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoull(argv[1], nullptr, 10) : 1) << 20;
    unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    CUdevice device;
    CUdeviceptr word;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);
    CHECK_DRIVER(cuMemAlloc(&word, 4));
    std::string image = image_of(bytes);
    for (uint32_t i = 1; i <= times; i++) {
        CUmodule module;
        CUfunction store;
        uint32_t got = 0;
        void *parameters[] = {&word, &i};
        CHECK_DRIVER(cuModuleLoadData(&module, image.c_str()));
        CHECK_DRIVER(cuModuleGetFunction(&store, module, "store"));
        CHECK_DRIVER(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
        CHECK_DRIVER(cuMemcpyDtoH(&got, word, 4));
        if (got != i)
            fail("the kernel has stored %u, not %u", got, i);
        CHECK_DRIVER(cuModuleUnload(module));
    }
    CHECK_DRIVER(cuMemFree(word));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
