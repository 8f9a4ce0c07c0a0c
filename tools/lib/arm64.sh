# The program for arm64 and its tests, built on another machine by Debian's cross compiler. Sourced after setup.sh,
# sources.sh, mimalloc.sh and portable.sh, never run.

readonly arm64_packages=(crossbuild-essential-arm64 python3)
# Of arm64, unpacked into a folder: what a build finds is what it would find installed on such a machine. (CMake's files of
# abseil, OpenSSL and hiredis want to see the shared libraries, too.)
readonly arm64_libraries=(libabsl-dev libabsl20220623 libboost1.74-dev liblzf-dev liblzf1 libssl-dev libssl3 libxxhash-dev
  liblua5.1-0-dev lua-bitop-dev libgtest-dev libgmock-dev libhiredis-dev libhiredis0.14)

# configure_arm64 folder: folder/build, with all tests; and folder/root, the libraries.
configure_arm64() {
  local folder=$1
  need_packages "${build_packages[@]}" "${arm64_packages[@]}"
  fetch_mimalloc "$folder"
  fetch_arm64_root "$folder"
  configure "$folder/build" CMAKE_TOOLCHAIN_FILE="$root/cmake/arm64.cmake" SLUICE_ARM64_ROOT="$folder/root" \
    CMAKE_BUILD_TYPE=Release SLUICE_TESTS=ON SLUICE_LIBRARY=OFF SLUICE_STATIC=ON SLUICE_MIMALLOC_DIR="$folder/mimalloc"
}

# build_arm64 folder: leaves folder/sluice, stripped.
build_arm64() {
  local folder=$1
  configure_arm64 "$folder"
  build "$folder/build" sluice
  aarch64-linux-gnu-strip --strip-all -o "$folder/sluice" "$folder/build/sluice"
}

# fetch_arm64_root folder: leaves the libraries in folder/root, unless they are there already.
fetch_arm64_root() {
  local folder=$1
  [[ -e $folder/root/complete ]] && return
  rm -rf "$folder/root" "$folder/packages"
  mkdir -p "$folder/root" "$folder/packages"
  quietly "fetching the libraries for arm64" unpack_foreign arm64 "$folder/packages" "$folder/root" \
    "${arm64_libraries[@]}" || fail "apt-get could not fetch Debian's packages for arm64"
  # The compiler knows of no folder for one architecture in there.
  cp -a "$folder"/root/usr/include/aarch64-linux-gnu/. "$folder/root/usr/include/"
  touch "$folder/root/complete"
}
