# SPDX-License-Identifier: Apache-2.0
# OpenSSL inside the client library: its code, and none of its names. Programs bring their own
# OpenSSL, of any version, and the library asks the loader for nothing but the C library.
find_library(GPUAAS_LIBSSL_A libssl.a REQUIRED)
find_library(GPUAAS_LIBCRYPTO_A libcrypto.a REQUIRED)
add_library(gpuaas_openssl_inside INTERFACE)
target_link_libraries(gpuaas_openssl_inside INTERFACE ${GPUAAS_LIBSSL_A} ${GPUAAS_LIBCRYPTO_A} dl)
target_link_options(gpuaas_openssl_inside INTERFACE -Wl,--exclude-libs,libssl.a:libcrypto.a)
if(GPUAAS_SANITIZE STREQUAL "none")
    # Its calls that are newer than the C library that we promise to do with:
    # client/process/libc_versions.c
    foreach(_name dladdr dlclose dlerror dlopen dlsym fstat stat pthread_getspecific
            pthread_setspecific pthread_key_create pthread_key_delete pthread_once
            pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_wrlock
            pthread_rwlock_unlock)
        target_link_options(gpuaas_openssl_inside INTERFACE -Wl,--wrap=${_name})
    endforeach()
endif()
