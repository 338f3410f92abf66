# SPDX-License-Identifier: Apache-2.0
# Containers of every kind, made by the toolkit, for tests of code that reads or unpacks them.
set(GPUAAS_IMAGES_DIR ${CMAKE_BINARY_DIR}/tests/images CACHE INTERNAL "")
set(_images "")
set(_image_source ${CMAKE_CURRENT_LIST_DIR}/kernels.cu)

function(_image name)
    set(_out ${GPUAAS_IMAGES_DIR}/${name})
    add_custom_command(OUTPUT ${_out}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${GPUAAS_IMAGES_DIR}
        COMMAND ${GPUAAS_CUDA_ROOT}/bin/nvcc ${ARGN} ${_image_source} -o ${_out}
        DEPENDS ${_image_source}
        COMMENT "nvcc ${name}" VERBATIM)
    set(_images ${_images} ${_out} PARENT_SCOPE)
endfunction()

set(_both -gencode arch=compute_75,code=[sm_75,compute_75])
_image(raw.fatbin -fatbin -no-compress ${_both})
_image(zstd.fatbin -fatbin -Xfatbin -compress-all ${_both})
_image(balance.fatbin -fatbin ${_both})
if(GPUAAS_CUDA_VERSION GREATER_EQUAL 12080) # --compress-mode
    _image(size.fatbin -fatbin --compress-mode=size ${_both})
    _image(speed.fatbin -fatbin --compress-mode=speed ${_both})
else()
    _image(size.fatbin -fatbin ${_both})
    _image(speed.fatbin -fatbin ${_both})
endif()
_image(machine.fatbin -fatbin -gencode arch=compute_75,code=sm_75)
_image(unit.o -dc ${_both})
_image(units.a -lib -rdc=true ${_both})
# A stand-in for NVIDIA's device run time, which is identified by this name.
_image(devrt.fatbin -fatbin -gencode arch=compute_75,code=sm_75 -Dplain=cuda_device_runtime_cu)
_image(newer.fatbin -fatbin -gencode arch=compute_90,code=compute_90)
_image(many.fatbin -fatbin -gencode arch=compute_75,code=[sm_75,compute_75]
       -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=[sm_90,compute_90])
_image(kernels.cubin -cubin -arch=sm_75)
_image(kernels.ptx -ptx -arch=compute_75)
# With variables; some for several GPUs.
set(_image_source ${CMAKE_CURRENT_LIST_DIR}/variables.cu)
_image(variables.ptx -ptx -arch=compute_75)
_image(variables_75.cubin -cubin -arch=sm_75)
_image(variables_90.cubin -cubin -arch=sm_90)
_image(variables_many.fatbin -fatbin -Xfatbin -compress-all ${_both}
       -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90])
add_custom_target(api_test_images DEPENDS ${_images})
