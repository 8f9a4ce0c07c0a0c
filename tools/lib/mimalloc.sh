# The sources of mimalloc, which Debian has as a shared library alone. Sourced after setup.sh and sources.sh, never run.

# fetch_mimalloc folder: leaves its sources in folder/mimalloc, unless they are there already.
fetch_mimalloc() {
  local folder=$1 found
  [[ -e $folder/mimalloc/src/static.c ]] && return
  need_packages dpkg-dev
  mkdir -p "$folder/fetched"
  quietly "fetching the sources of mimalloc" fetch_sources "$folder/fetched" mimalloc ||
    fail "apt-get could not fetch Debian's sources of mimalloc"
  found=("$folder"/fetched/mimalloc-*/)
  ln -sfn "${found[0]%/}" "$folder/mimalloc"
}
