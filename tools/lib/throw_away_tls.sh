#!/bin/bash
# throw_away_tls.sh FOLDER: makes an authority (ca.crt), a certificate of the server for this machine's names
# (server.crt, server.key) and one for its clients (client.crt, client.key), good for 30 days. What is there and
# good for another day stays. Whoever can read the folder is such a client: it is for a try, not for others to trust.
set -euo pipefail

folder=$1
days=30
fresh() { openssl x509 -in "$folder/client.crt" -noout -checkend 86400 >/dev/null 2>&1; }
fresh && exit 0
umask 077
mkdir -p "$folder"
cd "$folder"

quiet() { local said; said=$("$@" 2>&1) || { echo "$said" >&2; exit 1; }; }
curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
quiet openssl req -x509 "${curve[@]}" -days $days -subj "/CN=Sluice, for a try" -keyout ca.key -out ca.crt

# issue NAME SUBJECT EXTENSIONS: a certificate that the authority has signed.
issue() {
  quiet openssl req "${curve[@]}" -subj "$2" -keyout "$1.key" -out "$1.csr"
  quiet openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days $days \
    -extfile <(printf '%b' "basicConstraints=CA:FALSE\\n$3") -out "$1.crt"
  rm "$1.csr"
}
name=$(hostname)
issue server "/CN=localhost" \
  "extendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,DNS:$name,IP:127.0.0.1,IP:::1"
issue client "/CN=default" "extendedKeyUsage=clientAuth"
rm ca.key
