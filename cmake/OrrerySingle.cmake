# SPDX-License-Identifier: MIT
# Target `single`: the whole core as one orrery.c and one orrery.h in build/…/single.

set(orr_single_headers)
foreach(module IN LISTS ORR_MODULES)
    list(APPEND orr_single_headers include/orrery/${module}.h)
    if(module STREQUAL "base")
        list(APPEND orr_single_headers include/orrery/math.h) # The base's second header.
    endif()
    if(module STREQUAL "history")
        list(APPEND orr_single_headers include/orrery/replay.h) # Its second header.
    endif()
    if(module STREQUAL "store")
        list(APPEND orr_single_headers include/orrery/kinds.h) # The store's second header.
    endif()
    if(module STREQUAL "history")
        list(APPEND orr_single_headers include/orrery/traveller.h) # The history's second header.
    endif()
endforeach()
set(orr_single_dir ${PROJECT_BINARY_DIR}/single)
add_custom_target(single
    COMMAND ${PROJECT_SOURCE_DIR}/tools/amalgamate ${orr_single_dir}
            ${orr_single_headers} ${ORR_SOURCES}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Writing single/orrery.c and single/orrery.h"
    VERBATIM)
