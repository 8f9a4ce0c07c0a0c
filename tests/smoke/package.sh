#!/bin/bash
# The life of the Debian package in a system of its own (an overlay of this one, gone at the end): it installs,
# makes its user, serves from its configuration, is installed anew with configuration and data kept, removed with
# both kept, and purged. Needs root.
#   package.sh [folder of the packages]      build-package/, as tools/package leaves it; 77: there are none
set -euo pipefail
folder=$(realpath -m "${1:-$(dirname "$0")/../../build-package}")
# Skipped where there is nothing to try, or no right to.
compgen -G "$folder/sluice_*.deb" >/dev/null && ((EUID == 0)) || exit 77
if [[ ${SLUICE_INSIDE-} != yes ]]; then
  SLUICE_INSIDE=yes exec unshare --mount --pid --fork --propagation private "$0" "$folder"
fi

base=$(mktemp -d)
mount -t tmpfs tmpfs "$base"
mkdir "$base"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root" || exit 77
mount -t proc proc "$base/root/proc"
mount --rbind /dev "$base/root/dev"
mount -t tmpfs tmpfs "$base/root/tmp"
mount -t tmpfs tmpfs "$base/root/run"
cp "$folder"/sluice_*.deb "$base/root/tmp/"
printf '#!/bin/sh\nexit 101\n' >"$base/root/usr/sbin/policy-rc.d"
chmod 755 "$base/root/usr/sbin/policy-rc.d"

inside() { chroot "$base/root" "$@"; }
say() { echo "package: $*"; }
must() { "${@:2}" >/dev/null || { say "not so: $1"; exit 1; }; }
gone() { [[ ! -e $base/root$1 ]]; }

# Runs the server as the service does, without systemd; a command of a client, and the end.
serve() {
  inside runuser -u sluice -- /usr/bin/sluice /etc/sluice/sluice.conf --supervised no --port 0 >"$base/log" 2>&1 &
  until [[ -S $base/root/run/sluice/sluice.sock ]]; do sleep 0.05; done
  inside runuser -u sluice -- redis-cli -s /run/sluice/sluice.sock "$@"
  inside runuser -u sluice -- redis-cli -s /run/sluice/sluice.sock SHUTDOWN
  wait
}

must "it installs" inside sh -c 'dpkg -i /tmp/sluice_*.deb'
must "the user is there" inside id sluice
must "the configuration is for root and the service" \
  test "$(inside stat -c '%U:%G %a' /etc/sluice/sluice.conf)" = 'root:sluice 640'
must "the unit is sound" inside systemd-analyze verify --man=no sluice.service
must "the unit is closed enough" inside systemd-analyze security --offline=yes --threshold=20 sluice.service
must "the state belongs to the service" test "$(inside stat -c '%U:%G %a' /var/lib/sluice)" = 'sluice:sluice 750'
inside install -d -o sluice -g sluice /run/sluice # RuntimeDirectory
must "it serves" test "$(serve SET kept 1)" = OK
must "users are kept" test "$(serve ACL SAVE)" = OK

# The image: what its file says is run as its user, on the state that the package has made, in a network of its own.
readonly containerfile=$(dirname "$0")/../../deploy/container/Containerfile
words() { # the list of that instruction, a word a line
  sed -n "/^$1 \[/,/\]/p" "$containerfile" | tr -d '\\\n' | grep -o '"[^"]*"' | tr -d '"'
}
mapfile -t command < <(words ENTRYPOINT; words CMD)
readonly user=$(sed -n 's/^USER //p' "$containerfile")
must "the image's user is the service's" test "$user" = sluice
must "the image serves" unshare --net chroot "$base/root" sh -c '
  ip link set lo up
  runuser -u "$0" -- "$@" >/tmp/image.log 2>&1 &
  runuser -u "$0" -- /usr/bin/sluice --ping 127.0.0.1:6379 --wait 10 || { cat /tmp/image.log >&2; exit 1; }
  redis-cli SET in-image 1 && redis-cli SHUTDOWN
  wait' "$user" "${command[@]}"
echo '# mine' >>"$base/root/etc/sluice/sluice.conf"
must "it is installed anew" inside sh -c 'dpkg -i --force-confold /tmp/sluice_*.deb'
must "the configuration is kept" grep -q '^# mine' "$base/root/etc/sluice/sluice.conf"
must "the data are kept" test "$(serve GET kept)" = 1
must "it is removed" inside dpkg -r sluice
must "the program is gone" gone /usr/bin/sluice
must "data and configuration stay" test -e "$base/root/var/lib/sluice/appendonlydir" -a -e "$base/root/etc/sluice/sluice.conf"
must "it is purged" inside dpkg -P sluice
must "nothing is left" gone /var/lib/sluice
must "not of the configuration either" gone /etc/sluice
say ok
