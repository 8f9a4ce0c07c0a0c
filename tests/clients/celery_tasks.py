#!/usr/bin/python3
"""Celery from Debian with Redis as broker and result store: tasks, chains, chords, retries, delays:
celery_tasks.py port"""
import os
import sys
import threading
import time

from celery import Celery, chain, chord, group
from celery.contrib.testing.worker import start_worker

PORT = int(sys.argv[1])
app = Celery("tests", broker=f"redis://127.0.0.1:{PORT}/0", backend=f"redis://127.0.0.1:{PORT}/1")
app.conf.update(task_default_queue="work", broker_connection_retry=False, result_expires=60,
                worker_hijack_root_logger=False, worker_redirect_stdouts=False)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=2)
def shaky(self):
    if self.request.retries < 1:
        raise self.retry(countdown=0.3)
    return self.request.retries


@app.task
def wrong():
    raise KeyError("nothing")


def main():
    threading.Timer(100, lambda: os._exit(3)).start()
    with start_worker(app, pool="threads", concurrency=3, perform_ping_check=False, loglevel="ERROR"):
        assert add.delay(1, 2).get(timeout=30) == 3
        assert chain(add.s(1, 2), add.s(10))().get(timeout=30) == 13
        assert sorted(group(add.s(n, n) for n in range(5))().get(timeout=30)) == [0, 2, 4, 6, 8]
        assert chord((add.s(n, 1) for n in range(4)), total.s())().get(timeout=30) == 10
        assert shaky.delay().get(timeout=30) == 1
        started = time.monotonic()
        assert add.apply_async((2, 2), countdown=1).get(timeout=30) == 4
        assert time.monotonic() - started > 0.9
        failed = wrong.delay()
        failed.wait(timeout=30, propagate=False)
        assert failed.state == "FAILURE" and isinstance(failed.result, KeyError)
        failed.forget()
    print("ok")
    os._exit(0)


main()
