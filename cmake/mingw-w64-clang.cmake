# SPDX-License-Identifier: MIT
# The toolchain of the preset mingw-clang: clang with Microsoft's extensions, for Windows, with the library of mingw-w64's
# g++. Unlike g++, clang has native thread-local storage there, which the tests of threads need to see as well. It stands in
# for clang-cl, whose standard library Debian does not have.
include(${CMAKE_CURRENT_LIST_DIR}/mingw-w64.cmake)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET x86_64-w64-mingw32)
set(CMAKE_CXX_COMPILER_TARGET x86_64-w64-mingw32)
set(CMAKE_CXX_FLAGS_INIT -fms-extensions)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -fuse-ld=lld-19 -lpthread") # clang does not know that the library was built with it
