# SPDX-License-Identifier: MIT
# The toolchain of the preset mingw: Windows programs by mingw-w64's g++, run by wine. The variant with POSIX threads has
# the standard library's threads.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix) # for GoogleTest's project
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS) # with DLLs, programs and DLLs need the same C++ library
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
endif()
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
