#!/usr/bin/python3
"""redis-py behind Sentinel, for tests/smoke/sentinel_clients.py:  sentinel_redis_py.py redis-py port...

Writes a number that grows; prints each that a replica has; goes on whatever happens.
"""
import itertools
import sys
import time

from redis import RedisError
from redis.sentinel import Sentinel

sentinels = Sentinel([("127.0.0.1", int(port)) for port in sys.argv[2:]], socket_timeout=0.5)
client = sentinels.master_for("mymaster", socket_timeout=2)
for number in itertools.count(1):
    try:
        client.set("count", number)
        if client.wait(1, 500) > 0:
            print(number, flush=True)
    except RedisError:
        pass
    time.sleep(0.01)
