# SPDX-License-Identifier: MIT
# Installs headers, libraries, orrery.pc, the CMake package and the pretty-printers of gdb. The installed tree may be moved: the .pc file and the package
# compute the prefix from their own location.
#
# A debug build with CMAKE_DEBUG_POSTFIX may be installed beside a release build: its libraries and its .pc file have the
# postfix in their names, headers and CMake package are the same. The package then has a library for each configuration.
include(CMakePackageConfigHelpers)

set(orr_postfix)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(orr_postfix ${CMAKE_DEBUG_POSTFIX})
endif()

install(TARGETS ${orr_libraries} EXPORT orrery-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET orrery-recording AND NOT orr_postfix) # Programs have no postfix.
    install(TARGETS orrery-recording RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/orrery DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(orr_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/orrery)
install(EXPORT orrery-targets NAMESPACE orrery:: DESTINATION ${orr_package_dir})
configure_package_config_file(cmake/orrery-config.cmake.in
    ${PROJECT_BINARY_DIR}/orrery-config.cmake INSTALL_DESTINATION ${orr_package_dir})
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orrery-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orrery-config.cmake
    ${PROJECT_BINARY_DIR}/orrery-config-version.cmake DESTINATION ${orr_package_dir})

file(RELATIVE_PATH orr_pc_prefix
    "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" orr_pc_prefix "${orr_pc_prefix}")
set(orr_pc_definitions)
if(ORR_NO_ASSERT)
    set(orr_pc_definitions " -DORR_NO_ASSERT")
endif()
foreach(macro IN LISTS orr_left_out_macros)
    string(APPEND orr_pc_definitions " -D${macro}")
endforeach()
set(orr_pc_libraries)
if(ORR_THREADS)
    set(orr_pc_libraries " -pthread")
endif()
configure_file(cmake/orrery.pc.in ${PROJECT_BINARY_DIR}/orrery${orr_postfix}.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/orrery${orr_postfix}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES tools/gdb/orrery.py DESTINATION ${CMAKE_INSTALL_DATADIR}/orrery/gdb) # The same in both builds.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
