# Sources of Debian packages, and packages of another architecture. They come from where the machine takes its packages,
# with lists of their own: the system's are neither needed nor changed. Sourced after setup.sh, never run.

# fetch_sources folder package: unpacks them there.
fetch_sources() (
  set -e
  cd "$1"
  own_lists 's/^Types:.*/Types: deb-src/' 's/^deb /deb-src /p'
  apt-get "${own_lists[@]}" update
  apt-get "${own_lists[@]}" source "$2"
)

# unpack_foreign architecture folder root package...: fetches them into the folder, and unpacks them into root.
unpack_foreign() (
  set -e
  architecture=$1
  cd "$2"
  target=$3
  shift 3
  own_lists '' 's/^deb /deb /p'
  : >apt/status
  own_lists+=(-o "Dir::State::status=$PWD/apt/status" -o "APT::Architecture=$architecture"
    -o "APT::Architectures::=$architecture")
  apt-get "${own_lists[@]}" update
  apt-get "${own_lists[@]}" download "$@"
  for file in *.deb; do dpkg -x "$file" "$target"; done
)

# own_lists sources-edit list-edit: makes apt/ here, and sets own_lists to the options that apt-get wants for it. The
# first edits files of the newer form (*.sources), the second, with -n, those of the older (*.list).
own_lists() {
  local file
  shopt -s nullglob
  mkdir -p apt/lists/partial apt/cache/archives/partial apt/sources
  for file in /etc/apt/sources.list.d/*.sources; do
    sed "$1" "$file" >"apt/sources/${file##*/}"
  done
  sed -sn "$2" /etc/apt/sources.list.d/*.list /etc/apt/sources.list >apt/sources.list 2>/dev/null || true
  own_lists=(-o "Dir::Etc::SourceList=$PWD/apt/sources.list" -o "Dir::Etc::SourceParts=$PWD/apt/sources"
    -o "Dir::State::Lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache")
}
