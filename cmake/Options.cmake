# SPDX-License-Identifier: Apache-2.0
# Compiler flags, sanitizers and output folders: the same for every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(GPUAAS_SANITIZE "none" CACHE STRING
    "none, address (with undefined), thread, fuzz (address with undefined, for libFuzzer), mutants")
set_property(CACHE GPUAAS_SANITIZE PROPERTY STRINGS none address thread fuzz mutants)

add_compile_definitions(_GNU_SOURCE GPUAAS_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wconversion -Werror -fno-strict-aliasing)
if(NOT GPUAAS_SANITIZE STREQUAL "none")
    add_compile_options(-UNDEBUG) # RelWithDebInfo would switch assert() off where it is wanted most
endif()
if(GPUAAS_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                        -fno-omit-frame-pointer -O1)
    add_link_options(-fsanitize=address,undefined)
elseif(GPUAAS_SANITIZE STREQUAL "fuzz")
    # Warnings are gcc's business in the other builds: clang has others (-w).
    add_compile_options(-w -fsanitize=address,undefined,fuzzer-no-link
                        -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1)
    add_link_options(-fsanitize=address,undefined)
elseif(GPUAAS_SANITIZE STREQUAL "mutants")
    # No sanitizer: the copy of the tree that scripts/mutate makes, with faults in it.
    add_compile_options(-w -O1 -include ${CMAKE_SOURCE_DIR}/mutant.h)
elseif(GPUAAS_SANITIZE STREQUAL "thread")
    # gcc finds "maybe uninitialized" what the instrumentation alone has hidden from it.
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -Wno-maybe-uninitialized)
    add_link_options(-fsanitize=thread)
endif()

if(GPUAAS_SANITIZE STREQUAL "address")
    # Sanitizers describe each check and each variable by addresses. In a program that may begin
    # anywhere, each process corrects 150000 of them as it starts, and tests start thousands.
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

if(GPUAAS_SANITIZE STREQUAL "none")
    # See gpuaas_optimize_whole: gcc would do it wherever it links what has been compiled for it.
    add_link_options($<$<NOT:$<BOOL:$<TARGET_PROPERTY:GPUAAS_WHOLE>>>:-fno-lto>)
endif()

# Failpoints (base/failpoint.h) are for tests, and never in what users load.
set(GPUAAS_FAILPOINTS OFF)
if(NOT GPUAAS_SANITIZE STREQUAL "none")
    set(GPUAAS_FAILPOINTS ON)
    add_compile_definitions(GPUAAS_FAILPOINTS)
endif()

find_program(CCACHE ccache)
if(CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
