# The command `gpuaas`: stands alone, so that it runs where the client library is missing and can
# say so.
add_executable(gpuaas ${CMAKE_CURRENT_LIST_DIR}/gpuaas.c ${CMAKE_CURRENT_LIST_DIR}/gpuaas_devices.c)
gpuaas_use_cuda(gpuaas)
gpuaas_needs_api(gpuaas)
target_include_directories(gpuaas PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
target_compile_definitions(gpuaas PRIVATE JIT_CUDA_MAJOR=${GPUAAS_CUDA_MAJOR})
target_link_libraries(gpuaas PRIVATE ${CMAKE_DL_LIBS})
