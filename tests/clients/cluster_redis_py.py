#!/usr/bin/python3
"""redis-py as a client of a cluster: keys, pipelines, scripts, its Lock; `port` is that of any of its servers.

  cluster_redis_py.py port            its own calls
  cluster_redis_py.py port through    goes on through a failover (see tests/smoke/cluster_clients.py)
"""
import sys
import threading
import time

SKIPPED = 77
PATIENCE = 20  # seconds

try:
    from redis.cluster import RedisCluster
    from redis.exceptions import LockError, RedisClusterException, RedisError
except ImportError:
    print("skipped: redis-py is missing, or knows no clusters")
    sys.exit(SKIPPED)


def patiently(call, *args):
    """Tries again what a server that is going refuses."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call(*args)
        except (RedisError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def through(cluster):
    """Until standard input ends: what was written is read again."""
    gone = threading.Thread(target=sys.stdin.read, daemon=True)
    gone.start()
    count = 0
    while gone.is_alive():
        count += 1
        for key in (f"redis-py:{number}" for number in range(60)):
            patiently(cluster.set, key, count)
            value = patiently(cluster.get, key)
            assert value == b"%d" % count, f"{key} was set to {count} and is {value}"
        print(count, flush=True)


def main():
    cluster = RedisCluster(host="127.0.0.1", port=int(sys.argv[1]))
    if sys.argv[2:] == ["through"]:
        return through(cluster)
    keys = [f"key:{number}" for number in range(300)]
    for key in keys:
        assert cluster.set(key, "v", nx=True, px=60000)
    assert all(cluster.get(key) == b"v" for key in keys)
    assert cluster.eval("return redis.call('GET', KEYS[1])", 1, keys[0]) == b"v"
    with cluster.pipeline() as pipe:
        pipe.set("{t}a", 1).incr("{t}a").set("other", 1)
        assert pipe.execute() == [True, 2, True]
    try:
        cluster.mget("a", "b")
        raise AssertionError("keys of two slots have been read at once")
    except RedisClusterException:
        pass
    assert cluster.mget_nonatomic("a", *keys[:3]) == [None, b"v", b"v", b"v"]
    lock = cluster.lock("lock", timeout=60)
    assert lock.acquire(blocking=False) and lock.locked()
    lock.extend(30)
    lock.release()
    try:
        lock.release()
        raise AssertionError("a lock was released twice")
    except LockError:
        pass
    sizes = [node["db0"]["keys"] for node in cluster.info("keyspace", target_nodes=RedisCluster.PRIMARIES).values()]
    assert len(sizes) >= 2 and sum(sizes) >= 300, sizes
    cluster.close()


if __name__ == "__main__":
    main()
