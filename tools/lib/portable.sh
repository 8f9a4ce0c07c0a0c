# The program without shared libraries, and the archives that carry it. Sourced after setup.sh, sources.sh and mimalloc.sh,
# never run.

readonly portable_packages=(binutils python3)

# build_portable folder: leaves folder/sluice, stripped. Paths of this machine are not in it: two trees make the same.
build_portable() {
  local folder=$1
  need_packages "${build_packages[@]}" "${portable_packages[@]}"
  fetch_mimalloc "$folder"
  configure "$folder/build" CMAKE_BUILD_TYPE=Release SLUICE_TESTS=OFF SLUICE_STATIC=ON \
    SLUICE_MIMALLOC_DIR="$folder/mimalloc"
  build "$folder/build" sluice
  strip --strip-all -o "$folder/sluice" "$folder/build/sluice"
}

# archive_portable folder platform: makes the archives of folder/sluice there, twice, and says so if they differ.
archive_portable() {
  local folder=$1 platform=$2
  rm -rf "$folder/archives" "$folder/again"
  "$root/packaging/portable/build.py" "$folder/sluice" "$platform" "$folder/archives" ||
    fail "the archives could not be made"
  "$root/packaging/portable/build.py" "$folder/sluice" "$platform" "$folder/again" >/dev/null
  diff -r "$folder/archives" "$folder/again" >/dev/null || fail "the archives differ from one time to the next"
  rm -rf "$folder/again"
}
