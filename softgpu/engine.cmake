# The PTX engine: softgpu/engine.h and what stands behind it.
gpuaas_library(softgpu_engine map.c)
target_link_libraries(softgpu_engine PUBLIC base m)
