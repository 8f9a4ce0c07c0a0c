# A toolchain for arm64: Debian's cross compiler, and libraries of Debian's arm64 packages, which lie unpacked in
# SLUICE_ARM64_ROOT (tools/lib/arm64.sh makes it). Nothing of the machine's own libraries is looked at. What is built runs
# by qemu-user, tests too, on the C library that comes with the compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/qemu-aarch64 -L /usr/aarch64-linux-gnu)
# A program without shared libraries must have no list of folders for them: glibc checks it at the start.
set(CMAKE_SKIP_RPATH ON)

# Projects that try the compiler read this file as well, and have to find the same folder.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SLUICE_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${SLUICE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SLUICE_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${SLUICE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SLUICE_ARM64_ROOT}/usr/share/pkgconfig)
