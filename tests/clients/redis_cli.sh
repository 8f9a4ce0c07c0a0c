#!/bin/bash
# redis-cli: lines, pipes, bulk loading, scans and INFO, as a person at a terminal meets the server.
#   redis_cli.sh port
set -euo pipefail
cli=(redis-cli -p "$1")

expect() {
  local want=$1 got
  shift
  got=$("$@") || { echo "failed: $*" >&2; exit 1; }
  [[ $got == "$want" ]] || { echo "$*: expected '$want', got '$got'" >&2; exit 1; }
}
typed() { printf '%s\n' "$@" | "${cli[@]}"; }

expect PONG "${cli[@]}" PING
expect OK "${cli[@]}" FLUSHALL
expect OK "${cli[@]}" SET lock me NX PX 60000
expect '' "${cli[@]}" SET lock you NX PX 60000
expect '"me"' "${cli[@]}" --no-raw GET lock
expect '(nil)' "${cli[@]}" --no-raw GET missing
expect '(integer) 1' "${cli[@]}" --no-raw DEL lock
expect "ERR unknown command 'nosuch', with args beginning with: 'a' 'b' " "${cli[@]}" nosuch a b

# Typed line by line: a throttle, and a lock released under WATCH.
expect $'OK\nQUEUED\nQUEUED\n1\n1' typed MULTI 'INCR hits' 'PEXPIRE hits 60000' EXEC
expect $'OK\nOK\nme\nOK\nQUEUED\n1' typed 'SET lock me' 'WATCH lock' 'GET lock' MULTI 'DEL lock' EXEC

# RESP3 and another database.
expect OK "${cli[@]}" -3 -n 2 SET there 1
expect '(nil)' "${cli[@]}" -3 --no-raw GET there
expect 1 "${cli[@]}" -n 2 GET there

# Mass insertion: redis-cli --pipe sends RESP and an ECHO at the end.
"${cli[@]}" FLUSHALL >/dev/null
for ((i = 0; i < 5000; i++)); do
  printf '*3\r\n$3\r\nSET\r\n$%d\r\nkey:%d\r\n$1\r\nv\r\n' $((4 + ${#i})) "$i"
done | "${cli[@]}" --pipe | grep -q 'errors: 0, replies: 5000'
expect 5000 "${cli[@]}" DBSIZE
expect 5000 bash -c "redis-cli -p $1 --scan | sort -u | wc -l"
expect 1111 bash -c "redis-cli -p $1 --scan --pattern 'key:1*' | sort -u | wc -l"

expect 1 bash -c "redis-cli -p $1 INFO | grep -c '^redis_version:7\.'"
expect 1 bash -c "redis-cli -p $1 INFO keyspace | grep -c '^db0:keys=5000'"
expect $'maxmemory-policy\nnoeviction' "${cli[@]}" CONFIG GET maxmemory-policy
echo ok
