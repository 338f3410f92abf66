# The command `gpuaas`: stands alone, so that it runs where the client library is missing and can
# say so.
add_executable(gpuaas ${CMAKE_CURRENT_LIST_DIR}/gpuaas.c)
