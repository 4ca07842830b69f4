# SPDX-License-Identifier: MIT
# Debian's clang-19 for wasm32-wasi. Its C++ library has no unwinder: throw calls the __cxa_throw of web/engine, which
# throws into JavaScript, and -fignore-exceptions drops the catch blocks. Without threads, clang removes every fence before
# it orders instructions. sums.hpp relies on these fences, so strict aliasing is off.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
set(CMAKE_CXX_FLAGS_INIT "-fignore-exceptions -fno-strict-aliasing -flto -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-flto -fuse-ld=/usr/bin/wasm-ld-19")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
