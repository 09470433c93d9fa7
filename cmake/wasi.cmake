# SPDX-License-Identifier: MIT
# Toolchain for WebAssembly with WASI: clang and Debian's wasi-libc, programs run under node (tools/run_wasi.mjs). 32 bits,
# no threads, no setjmp.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_SYSROOT /usr)
# Excludes the headers of the host.
add_compile_options(-nostdlibinc -isystem /usr/include/wasm32-wasi)
# 8 MB of stack, placed below the data: a stack overflow traps instead of overwriting data.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=8388608 -Wl,--stack-first")
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings ${CMAKE_CURRENT_LIST_DIR}/../tools/run_wasi.mjs)
