# SPDX-License-Identifier: Apache-2.0
# The driver half: everything of the CUDA driver that is not the PTX engine.
find_library(GPUAAS_LZ4 lz4 REQUIRED)
find_library(GPUAAS_ZSTD zstd REQUIRED)

gpuaas_library(softgpu_driver
    copy/copy.c copy/copy_order.c copy/memset.c
    graph/graph.c graph/graph_condition.c graph/graph_memory.c graph/graph_node.c graph/graph_run.c
    lifetime/context_lifetime.c lifetime/init.c
    memory/heap.c memory/host_memory.c memory/ipc.c memory/kept.c memory/peer_access.c
    memory/ranges.c memory/spans.c memory/vmm.c
    module/code.c module/device_launch.c module/fault_log.c module/image_text.c
    module/kernel_heap.c module/launch.c module/library.c module/managed.c module/module.c
    module/occupancy.c module/timed.c module/workspace.c
    node/event_page.c node/memory_file.c node/memory_ledger.c node/node.c node/node_devices.c
    node/node_lock.c node/node_segment.c node/physical.c node/shared_chunks.c node/time_slices.c
    process/attributes.c process/config.c process/context.c process/device.c process/placement.c
    process/print.c
    process/process.c process/report.c
    spin.c
    stream/clock.c stream/context_events.c stream/device_flow.c stream/device_ledger.c
    stream/engines.c stream/events.c stream/green.c
    stream/host_function.c stream/queue.c stream/shared_events.c stream/streams.c stream/trace.c
    stream/values.c stream/waits.c
    texture/array.c texture/sampled.c)
gpuaas_use_cuda(softgpu_driver)
target_link_libraries(softgpu_driver PUBLIC softgpu_engine model front api base ${GPUAAS_LZ4}
    ${GPUAAS_ZSTD})

gpuaas_unit_test(test_softgpu_memory tests/test_memory.c tests/no_host.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_node tests/test_node.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_shared_chunks tests/test_shared_chunks.c LIBS softgpu_driver)
# Processes that fork, and whose children have threads.
set_tests_properties(test_softgpu_shared_chunks PROPERTIES
                     ENVIRONMENT "TSAN_OPTIONS=die_after_fork=0")
gpuaas_unit_test(test_softgpu_event_page tests/test_event_page.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_node_segment tests/test_node_segment.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_config tests/test_config.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_timing tests/test_timing.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_queue tests/test_queue.c tests/no_host.c LIBS softgpu_driver)
gpuaas_unit_test(test_softgpu_image_text tests/test_image_text.c LIBS softgpu_driver)
target_compile_definitions(test_softgpu_image_text PRIVATE IMAGES_DIR="${GPUAAS_IMAGES_DIR}")
add_dependencies(test_softgpu_image_text api_test_images)

# libcuda.so.1: what programs load, and what a server opens by its path.
add_library(softgpu_cuda SHARED
    calls/array.c calls/call.c calls/context.c calls/copy.c calls/event.c
    calls/function.c calls/graph.c calls/green.c calls/host.c calls/host_function.c calls/ipc.c
    calls/launch.c
    calls/library.c calls/load.c calls/managed.c calls/memory.c calls/mempool.c calls/memset.c
    calls/module.c calls/occupancy.c calls/places.c calls/pointer.c
    calls/settings.c
    calls/stream.c calls/texture.c calls/vmm.c
    ${GPUAAS_GEN_SOFT_SOURCES})
gpuaas_needs_api(softgpu_cuda)
target_compile_definitions(softgpu_cuda PRIVATE API_CUDA_INSIDE)
gpuaas_cuda_exports(softgpu_cuda)
target_link_libraries(softgpu_cuda PRIVATE softgpu_driver front api base)
set_target_properties(softgpu_cuda PROPERTIES OUTPUT_NAME cuda VERSION 1 SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/softgpu)

# These see it as a server does.
set(_softgpu_library ${CMAKE_BINARY_DIR}/lib/softgpu/libcuda.so.1)
foreach(_test handles module_places object_places output_context)
    gpuaas_unit_test(test_softgpu_${_test} tests/test_${_test}.c LIBS api base)
    gpuaas_needs_api(test_softgpu_${_test})
    target_compile_definitions(test_softgpu_${_test} PRIVATE SOFTGPU_LIBRARY="${_softgpu_library}")
    add_dependencies(test_softgpu_${_test} softgpu_cuda)
endforeach()

add_executable(softgpu_churn tests/churn.c)
gpuaas_needs_api(softgpu_churn)
target_link_libraries(softgpu_churn PRIVATE api base)
set_target_properties(softgpu_churn PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(softgpu_churn softgpu_cuda)
add_test(NAME softgpu_churn COMMAND softgpu_churn ${_softgpu_library})
set_tests_properties(softgpu_churn PROPERTIES LABELS unit TIMEOUT 300
    ENVIRONMENT SOFTGPU_NODE=self)
