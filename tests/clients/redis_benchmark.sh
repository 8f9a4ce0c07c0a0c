#!/bin/bash
# redis-benchmark: many clients at once, with and without pipelining. It ends at the first error.
#   redis_benchmark.sh port
set -euo pipefail
for depth in 1 32; do
  output=$(redis-benchmark -p "$1" -c 50 -n 20000 -r 10000 -P $depth --csv \
    -t ping_inline,ping_mbulk,set,get,incr,mset 2>&1) || { echo "$output" >&2; exit 1; }
  (($(wc -l <<<"$output") >= 7)) || { echo "$output" >&2; exit 1; }
done
redis-benchmark -p "$1" -c 20 -n 5000 -P 16 -q SET key:__rand_int__ v NX PX 60000 >/dev/null
[[ $(redis-cli -p "$1" PING) == PONG ]]
echo ok
