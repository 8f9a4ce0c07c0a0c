# Sources of Debian packages. Sourced after setup.sh, never run.

# fetch_sources folder package: unpacks them there. They come from where the machine takes its packages, with lists of
# their own: the system's are neither needed nor changed.
fetch_sources() (
  set -e
  shopt -s nullglob
  cd "$1"
  mkdir -p apt/lists/partial apt/cache/archives/partial apt/sources
  for file in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types:.*/Types: deb-src/' "$file" >"apt/sources/${file##*/}"
  done
  sed -sn 's/^deb /deb-src /p' /etc/apt/sources.list.d/*.list /etc/apt/sources.list >apt/sources.list 2>/dev/null || true
  options=(-o "Dir::Etc::SourceList=$PWD/apt/sources.list"
    -o "Dir::Etc::SourceParts=$PWD/apt/sources"
    -o "Dir::State::Lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache")
  apt-get "${options[@]}" update
  apt-get "${options[@]}" source "$2"
)
