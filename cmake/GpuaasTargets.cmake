# SPDX-License-Identifier: Apache-2.0
# Small helpers so that every folder's CMakeLists.txt reads as a list of its files.
find_package(Threads REQUIRED)

# gpuaas_library(NAME sources...): a static, position independent folder library; others include it
# as "<folder>/<header>.h" from the repository root.
function(gpuaas_library name)
    add_library(${name} STATIC ${ARGN})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
    target_link_libraries(${name} PUBLIC Threads::Threads)
endfunction()

# Headers of the toolkit: SYSTEM, so that their warnings are not ours.
function(gpuaas_use_cuda name)
    target_include_directories(${name} SYSTEM PUBLIC ${GPUAAS_CUDA_ROOT}/include)
endfunction()

# criterion's library cannot run under ThreadSanitizer; its tests can. A target of the same name
# takes the library's place.
if(GPUAAS_SANITIZE STREQUAL "thread")
    add_library(criterion STATIC ${CMAKE_SOURCE_DIR}/tests/tools/tsan/runner.c)
endif()

# gpuaas_unit_test(NAME sources... LIBS libraries...): one criterion binary, one ctest test
# labelled "unit".
function(gpuaas_unit_test name)
    cmake_parse_arguments(T "" "" "LIBS" ${ARGN})
    add_executable(${name} ${T_UNPARSED_ARGUMENTS})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
    target_link_libraries(${name} PRIVATE ${T_LIBS} criterion)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
    # One test at a time, ctest runs several binaries: when long tests end side by side, criterion
    # itself forgets memory, and LeakSanitizer says so. Its other reports must fail the test here:
    # criterion takes no notice of how a test's process exits.
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300
        ENVIRONMENT "CRITERION_JOBS=1;SOFTGPU_NODE=self"
        FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer")
endfunction()

# gpuaas_test_takes(SECONDS [COMPUTES] tests...): so long beside others, with sanitizers; ctest
# begins with the longest. A test uses a third of a processor on average and waits else: run_tests
# (scripts/lib.sh) gives ctest three places for each processor, of which tests that compute most of
# the time take all three.
function(gpuaas_test_takes seconds)
    cmake_parse_arguments(T "COMPUTES" "" "" ${ARGN})
    foreach(name ${T_UNPARSED_ARGUMENTS})
        if(TEST ${name}) # builds lack some
            set_tests_properties(${name} PROPERTIES COST ${seconds})
            if(T_COMPUTES)
                set_tests_properties(${name} PROPERTIES PROCESSORS 3)
            endif()
        endif()
    endforeach()
endfunction()

# gpuaas_optimize_whole(PROGRAM libraries...): inlines across their files, for a forwarded call goes
# through many of them. Others link the same libraries as usual. In one piece: base/glibc_floor.h is
# assembler, which is in one piece only.
function(gpuaas_optimize_whole program)
    foreach(library ${ARGN})
        target_compile_options(${library} PRIVATE -flto=auto -ffat-lto-objects)
    endforeach()
    set_target_properties(${program} PROPERTIES GPUAAS_WHOLE ON)
    # The table of all calls has them without their parameters.
    target_link_options(${program} PRIVATE -flto=auto -flto-partition=one -Wno-lto-type-mismatch)
endfunction()
