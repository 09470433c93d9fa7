# SPDX-License-Identifier: MIT
# Toolchain for Linux on aarch64: Debian's cross compiler, programs run under qemu-user. Linked statically, so that the
# emulator needs no libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
