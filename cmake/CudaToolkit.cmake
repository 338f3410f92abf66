# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit gives headers (cuda.h) and nvcc; nothing of it is linked into the product.
set(GPUAAS_CUDA_HOME "" CACHE PATH
    "CUDA toolkit; empty: $CUDA_HOME, then nvcc on PATH, then /usr/local/cuda")
set(_cuda_tried "")
find_program(_cuda_nvcc nvcc)
if(_cuda_nvcc)
    get_filename_component(_cuda_nvcc_real ${_cuda_nvcc} REALPATH)
    get_filename_component(_cuda_nvcc_home ${_cuda_nvcc_real}/../.. ABSOLUTE)
endif()
foreach(_home "${GPUAAS_CUDA_HOME}" "$ENV{CUDA_HOME}" "${_cuda_nvcc_home}" /usr/local/cuda)
    if(_home)
        list(APPEND _cuda_tried ${_home})
        if(EXISTS ${_home}/include/cuda.h AND EXISTS ${_home}/bin/nvcc)
            set(GPUAAS_CUDA_ROOT ${_home})
            break()
        endif()
    endif()
endforeach()
if(NOT GPUAAS_CUDA_ROOT)
    message(FATAL_ERROR
        "No CUDA toolkit (include/cuda.h and bin/nvcc) in: ${_cuda_tried}. "
        "Install CUDA 12.4 or newer (https://developer.nvidia.com/cuda-downloads) "
        "or set CUDA_HOME.")
endif()
file(STRINGS ${GPUAAS_CUDA_ROOT}/include/cuda.h _cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
string(REGEX REPLACE ".* ([0-9]+)$" "\\1" GPUAAS_CUDA_VERSION "${_cuda_version}")
if(GPUAAS_CUDA_VERSION LESS 12040)
    message(FATAL_ERROR "CUDA toolkit in ${GPUAAS_CUDA_ROOT} is ${GPUAAS_CUDA_VERSION}; "
        "12040 (12.4) or newer is needed.")
endif()
math(EXPR GPUAAS_CUDA_MAJOR "${GPUAAS_CUDA_VERSION} / 1000")
math(EXPR GPUAAS_CUDA_MINOR "(${GPUAAS_CUDA_VERSION} % 1000) / 10")
message(STATUS "CUDA toolkit ${GPUAAS_CUDA_VERSION} in ${GPUAAS_CUDA_ROOT}")
