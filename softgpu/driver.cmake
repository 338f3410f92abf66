# The driver half: everything of the CUDA driver that is not the PTX engine.
find_library(GPUAAS_LZ4 lz4 REQUIRED)
find_library(GPUAAS_ZSTD zstd REQUIRED)

gpuaas_library(softgpu_driver
    attributes.c code.c config.c context.c copy.c device.c engines.c fill.c heap.c hostmem.c
    image_text.c launch.c library.c module.c occupancy.c physical.c process.c queue.c ranges.c
    spans.c streams.c vmm.c)
gpuaas_use_cuda(softgpu_driver)
target_link_libraries(softgpu_driver PUBLIC softgpu_engine api base ${GPUAAS_LZ4} ${GPUAAS_ZSTD})
