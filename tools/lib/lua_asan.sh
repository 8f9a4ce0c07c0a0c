# Lua with ASan, so that faults inside it show, too. Sourced after setup.sh and sources.sh, never run. It is built from
# Debian's sources, patches included, and so behaves as the one that is linked otherwise.

# build_lua_asan folder: leaves liblua5.1.a there, unless it is there already.
build_lua_asan() {
  local folder=$1
  [[ -e $folder/liblua5.1.a ]] && return
  need_packages dpkg-dev gcc
  mkdir -p "$folder/source"
  quietly "fetching the sources of Lua" fetch_sources "$folder/source" lua5.1 ||
    fail "apt-get could not fetch Debian's sources of lua5.1"
  quietly "building Lua with ASan" compile_lua "$folder" || fail "Lua could not be built"
}

# What Debian's own build compiles, and with its definitions; the interpreter and the compiler are
# programs and stay out.
compile_lua() (
  set -e
  cd "$1"
  flags=(-g -O1 -fno-omit-frame-pointer -fsanitize=address -DLUA_USE_LINUX)
  local lua=(source/lua5.1-*/src) file
  rm -rf objects
  mkdir objects
  for file in "${lua[0]}"/*.c; do
    case ${file##*/} in lua.c | luac.c | print.c) continue ;; esac
    gcc "${flags[@]}" -I"${lua[0]}" -c "$file" -o "objects/$(basename "$file" .c).o"
  done
  ar rcs liblua5.1.a objects/*.o
)
