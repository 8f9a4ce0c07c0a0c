# What tools/run and tools/test share: messages, Debian packages, configuring and building.
# Sourced, never run. All messages go to stderr; work that is already done is not mentioned.

readonly root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The one list of what a build needs, and of what the tests need on top of it.
readonly build_packages=(g++ cmake ninja-build ccache pkg-config
  libabsl-dev libboost-dev liblzf-dev libmimalloc-dev libssl-dev libxxhash-dev liblua5.1-0-dev lua-bitop-dev)
readonly test_packages=(libgtest-dev libgmock-dev libhiredis-dev openssl valgrind
  redis-server redis-tools faketime tzdata python3 python3-redis ruby ruby-redis curl iproute2 procps
  python3-rq python3-celery ruby-sidekiq
  prometheus prometheus-redis-exporter chromium chromium-driver haproxy nutcracker nginx-light libnginx-mod-stream
  python3-pytest python3-pytest-xdist python3-pytest-asyncio python3-build python3-setuptools python3-wheel mypy
  python3-flask python3-django ruby-rspec ruby-minitest ruby-rack ruby-connection-pool python3-pip)
readonly clang_packages=(clang libclang-rt-14-dev)
readonly package_packages=(debhelper dpkg-dev fakeroot lintian)

say() { echo "sluice: $*" >&2; }
fail() { say "$*"; exit 1; }

# quietly what command...: announces a long step, and shows its output only when it fails.
quietly() {
  local what=$1 log
  shift
  say "$what ..."
  log=$(mktemp)
  if "$@" >"$log" 2>&1 </dev/null; then
    rm -f "$log"
  else
    tail -n 30 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

installed() { [[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]; }

as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }

# need_packages name...: installs those that are missing, and starts no service that comes with one.
need_packages() {
  local missing=() package
  command -v apt-get dpkg-query >/dev/null ||
    fail "this needs Debian 12 (there is no apt-get here); elsewhere, README.md says how to build by hand"
  for package; do
    installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || command -v sudo >/dev/null ||
    fail "packages are missing; as root, run: apt-get install ${missing[*]}"
  # sudo asks for its password here, where the question can be seen.
  ((EUID == 0)) || sudo -v ||
    fail "installing packages needs root; run: sudo apt-get install ${missing[*]}"

  quietly "updating the package lists" as_root apt-get -q update ||
    fail "apt-get update failed: is the network up?"
  hold_services
  quietly "installing ${missing[*]}" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "${missing[@]}" ||
    fail "these packages could not be installed: ${missing[*]}"
  release_services
  # A redis-server that came for the tests does not start with the machine either.
  if [[ " ${missing[*]} " == *" redis-server "* && -d /run/systemd/system ]]; then
    as_root systemctl --quiet disable redis-server
  fi
}

# Debian starts a service as it is installed unless policy-rc.d says no (exit status 101). A policy
# that the machine already has is left as it is.
readonly policy=/usr/sbin/policy-rc.d
hold_services() {
  [[ -e $policy ]] && return
  trap release_services EXIT
  printf '#!/bin/sh\n# Put here by Sluice for one installation.\nexit 101\n' |
    as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}
release_services() {
  if grep -qs 'by Sluice' "$policy"; then as_root rm -f "$policy"; fi
}

# configure folder key=value...: runs cmake unless the folder was already configured like this.
configure() {
  local folder=$1 pair flags=() stale=0
  shift
  [[ -e $folder/build.ninja ]] || stale=1
  for pair; do
    flags+=("-D$pair")
    grep -qs -- "^${pair%%=*}:[A-Z]*=${pair#*=}\$" "$folder/CMakeCache.txt" || stale=1
  done
  ((stale)) || return 0
  quietly "configuring ${folder##*/}/" cmake -S "$root" -B "$folder" -G Ninja "${flags[@]}" ||
    fail "cmake could not configure ${folder##*/}/ (if it is an old one, remove it and try again)"
}

# build folder target...: ninja, with its progress on one line of a terminal, or in tenths in a log.
build() {
  local folder=$1 colour=0
  shift
  [[ -t 2 ]] && colour=1
  CLICOLOR_FORCE=$colour ninja -C "$folder" "$@" 2>&1 </dev/null |
    show_progress "${folder##*/}" >&2 ||
    fail "the build failed; the first error above says where"
}

show_progress() {
  local line tenth last=-1 clear=''
  [[ -t 1 ]] && clear=$'\r\e[K'
  while IFS= read -r line; do
    case $line in
      'ninja: no work'* | 'ninja: Entering'* | *'Re-checking globbed'* | '-- '*) ;;
      '['[0-9]*/*'] '*)
        if [[ $clear ]]; then
          printf '%s%.*s' "$clear" "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line"
        elif [[ $line =~ ^.([0-9]+)/([0-9]+) ]]; then
          tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
          ((tenth == last)) || echo "sluice: building $1/ ${BASH_REMATCH[0]#[}"
          last=$tenth
        fi ;;
      *) printf '%s%s\n' "$clear" "$line" ;;
    esac
  done
  printf '%s' "$clear"
}
