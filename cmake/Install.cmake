# SPDX-License-Identifier: Apache-2.0
# cmake --install: what users get, laid out as in the build folder: so programs find each other. The
# target `installed` builds that, and nothing else (./dev build --installed).
include(GNUInstallDirs)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
add_custom_target(installed)
foreach(_pair gpuaasd:bin gpuaasctl:bin gpuaas:bin client_cuda:lib/gpuaas softgpu_cuda:lib/softgpu
        jit_nvrtc:lib/gpuaas/jit jit_nvJitLink:lib/gpuaas/jit)
    string(REPLACE ":" ";" _pair ${_pair})
    list(GET _pair 0 _target)
    list(GET _pair 1 _folder)
    install(TARGETS ${_target} RUNTIME DESTINATION ${_folder} LIBRARY DESTINATION ${_folder})
    add_dependencies(installed ${_target})
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/share/bash-completion/completions/gpuaasctl
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES docs/man/gpuaas.1 docs/man/gpuaasctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/gpuaasd.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES docs/man/gpuaasd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
# The pages, without links to files of the tree that are not installed.
install(CODE "
    execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/install_pages.py
                            \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}
                    OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE \"\\n\" \";\" pages \"\${pages}\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${pages})")
# The unit names the place of gpuaasd, which is known only now.
install(CODE "
    set(unit \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/gpuaasd.service)
    configure_file(${CMAKE_SOURCE_DIR}/server/gpuaasd.service.in \${unit} @ONLY)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${unit})")
