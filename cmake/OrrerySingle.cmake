# SPDX-License-Identifier: MIT
# Target `single`: writes the whole core as one orrery.c and one orrery.h to build/…/single.

# In module order. Some modules have no public header, some have several.
set(orr_single_headers)
foreach(header platform base math schema store kinds query message schedule history traveller replay)
    list(APPEND orr_single_headers include/orrery/${header}.h)
endforeach()
set(orr_single_dir ${PROJECT_BINARY_DIR}/single)
add_custom_target(single
    COMMAND ${PROJECT_SOURCE_DIR}/tools/amalgamate ${orr_single_dir}
            ${orr_single_headers} ${orr_single_sources}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Writing single/orrery.c and single/orrery.h"
    VERBATIM)
