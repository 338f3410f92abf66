# SPDX-License-Identifier: Apache-2.0
# The PTX engine: softgpu/engine/engine.h and what stands behind it.
set(SG_PTX_SOURCES
    load.c
    lex.c
    type.c
    token.c
    scope.c
    link.c
    variable.c
    initialiser.c
    opcode.c
    table.c
    source.c
    builtin_unit.c
    statement.c
    function.c
    module.c
    decode_rows.c
    decode_special.c
    decode_slots.c
    decode_shape.c
    decode_fast.c
    decode_fuse.c
    decode_emit.c
    decode_alu.c
    decode_move.c
    decode_memory.c
    decode_convert.c
    decode_pack.c
    decode_video.c
    decode_compare.c
    decode_builtin.c
    decode_flow.c
    decode_matrix.c
    decode_atom.c
    decode_async.c
    decode_cluster.c
    decode_call.c
    decode_stack.c
    call_graph.c
    decode_texture.c
    decode_cost.c
    decode_kernel.c
    program_load.c)
set(SG_EXEC_SOURCES
    arena.c
    code_ranges.c
    program.c
    cost.c
    op.c
    misc.c
    collective.c
    atomic.c
    async.c
    cluster.c
    fragment.c
    mbarrier.c
    reduce.c
    matrix.c
    matrix_memory.c
    reach.c
    surface.c
    query.c
    cube.c
    generic.c
    group.c
    barrier.c
    call.c
    fault.c
    assert.c
    kernel_heap.c
    malloc.c
    condition.c
    stack.c
    format.c
    print.c
    sched.c
    fast.c
    fast_pair.c
    block.c
    const.c
    grid.c
    launcher.c
    runtime.c
    pool.c)
list(TRANSFORM SG_PTX_SOURCES PREPEND ptx/)
list(TRANSFORM SG_EXEC_SOURCES PREPEND exec/)

# The handlers exist twice: for x86-64-v3, and for every x86-64. exec/op.c chooses when it runs.
# Without TSan: what kernels do to each other's memory is their business. Without the address and
# alignment checks: the engine has checked every access, and they would cost the vector code.
set(SG_HANDLER_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-sanitize=all)
if(GPUAAS_SANITIZE STREQUAL "none")
    list(APPEND SG_HANDLER_FLAGS -O3)
else()
    list(APPEND SG_HANDLER_FLAGS -O2 -ftree-vectorize)
endif()
set(SG_HANDLER_SOURCES
    exec/alu_int.c
    exec/alu_float.c
    exec/alu_half.c
    exec/alu_video.c
    exec/alu_convert.c
    exec/alu_compare.c
    exec/memory.c
    exec/fast_memory.c
    exec/isa.c
    exec/tex.c
    exec/sample.c
    exec/texel.c)
foreach(isa v3 base)
    add_library(sg_handlers_${isa} OBJECT ${SG_HANDLER_SOURCES})
    target_include_directories(sg_handlers_${isa} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(sg_handlers_${isa} PRIVATE ${SG_HANDLER_FLAGS})
    target_compile_definitions(sg_handlers_${isa} PRIVATE SG_ISA=${isa})
endforeach()
target_compile_options(sg_handlers_v3 PRIVATE -march=x86-64-v3)
# Atomics are hidden from TSan, too, or it would miss the order they make between kernels. The
# calls at the end of fast*.c have to become jumps.
set_source_files_properties(exec/atomic.c exec/collective.c exec/matrix.c exec/matrix_memory.c
    exec/surface.c exec/fast.c exec/fast_pair.c exec/async.c exec/mbarrier.c exec/reduce.c
    PROPERTIES COMPILE_OPTIONS
    "-O2;-ffp-contract=off;-fno-sanitize=all")

gpuaas_library(softgpu_engine engine/budget.c engine/permission_map.c engine/texture.c
    engine/texture_objects.c
    ${SG_PTX_SOURCES} ${SG_EXEC_SOURCES}
    $<TARGET_OBJECTS:sg_handlers_v3> $<TARGET_OBJECTS:sg_handlers_base>)
target_link_libraries(softgpu_engine PUBLIC base m)

# ---- tests ----
# The kernels of the tests, compiled by nvcc.
set(SG_TEST_KERNELS ${CMAKE_CURRENT_BINARY_DIR}/kernels)
set(SG_TEST_FLAGS_launches -rdc=true)
foreach(name basic calls heap maths features launches torture print waiting async)
    set(arch compute_75)
    if(name STREQUAL "async") # for what came with it
        set(arch compute_90)
    endif()
    add_custom_command(OUTPUT ${SG_TEST_KERNELS}/${name}.ptx
        COMMAND ${CMAKE_COMMAND} -E make_directory ${SG_TEST_KERNELS}
        COMMAND ${GPUAAS_CUDA_ROOT}/bin/nvcc -ptx -arch=${arch} -Wno-deprecated-declarations
                ${SG_TEST_FLAGS_${name}}
                ${CMAKE_CURRENT_SOURCE_DIR}/tests/kernels/${name}.cu
                -o ${SG_TEST_KERNELS}/${name}.ptx
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/kernels/${name}.cu
        COMMENT "Compiling ${name}.cu to PTX" VERBATIM)
    list(APPEND SG_TEST_PTX ${SG_TEST_KERNELS}/${name}.ptx)
endforeach()
add_custom_target(softgpu_test_kernels DEPENDS ${SG_TEST_PTX})

foreach(name
    programs
    cost
    fast
    access
    scheduler
    whole
    maths
    load
    link
    launches
    ops
    objects
    textures
    surfaces
    texture_objects
    calls
    forms
    special
    faults
    format
    print
    waiting
    kernel_heap
    async
    atom
    matrix
    sparse
    wmma
    half
    conversions
    carry
    op_digests
    video
    accuracy
    budget)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tests/test_${name}.c)
        continue()
    endif()
    gpuaas_unit_test(test_softgpu_${name} tests/test_${name}.c tests/engine_fixture.c
                     LIBS softgpu_engine)
    target_compile_definitions(test_softgpu_${name} PRIVATE SG_TEST_KERNELS="${SG_TEST_KERNELS}")
    add_dependencies(test_softgpu_${name} softgpu_test_kernels)
endforeach()
# Its blocks turn until blocks of another worker have run: for that the workers need processors.
set_tests_properties(test_softgpu_waiting PROPERTIES RUN_SERIAL TRUE)
foreach(name half conversions)
    target_sources(test_softgpu_${name} PRIVATE tests/half_reference.c)
endforeach()

foreach(name textures surfaces texture_objects)
    target_sources(test_softgpu_${name} PRIVATE tests/texture_fixture.c)
endforeach()

# These tests run once more with the handlers that run on any x86-64.
foreach(name programs maths textures fast access)
    add_test(NAME test_softgpu_${name}_base COMMAND test_softgpu_${name})
    set_tests_properties(test_softgpu_${name}_base PROPERTIES LABELS unit TIMEOUT 300
        ENVIRONMENT SOFTGPU_ISA=base)
endforeach()

# Figures, not a test: build/release/tests/bench_engine
add_executable(bench_engine tests/bench_engine.c tests/engine_fixture.c)
target_link_libraries(bench_engine PRIVATE softgpu_engine)
target_compile_definitions(bench_engine PRIVATE SG_TEST_KERNELS="${SG_TEST_KERNELS}")
add_dependencies(bench_engine softgpu_test_kernels)
set_target_properties(bench_engine PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set_source_files_properties(tests/test_ops.c tests/half_reference.c PROPERTIES COMPILE_OPTIONS
    "-ffp-contract=off;-frounding-math;-Wno-conversion;-Wno-unused-function")
