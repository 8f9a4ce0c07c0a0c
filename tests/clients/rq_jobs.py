#!/usr/bin/python3
"""RQ from Debian: jobs, results, failures, dependencies, delayed jobs, through a worker in this process:
rq_jobs.py port"""
import datetime
import sys
import time
from operator import add, truediv

import redis
from rq import Queue, SimpleWorker
from rq.job import Job
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry


def main():
    connection = redis.Redis(port=int(sys.argv[1]))
    connection.flushall()
    high, low = Queue("high", connection=connection), Queue("low", connection=connection)
    worker = SimpleWorker([high, low], connection=connection)

    second = low.enqueue(add, 3, 4)
    first = high.enqueue(add, 1, 2)
    after = low.enqueue(add, 5, 6, depends_on=[first, second])
    bad = low.enqueue(truediv, 1, 0)
    assert (len(high), len(low)) == (1, 2), (len(high), len(low))
    worker.work(burst=True)
    assert (first.result, second.result, after.result) == (3, 7, 11)
    assert [job.get_status(refresh=True) for job in (first, second, after)] == ["finished"] * 3
    assert bad.get_status(refresh=True) == "failed" and "ZeroDivisionError" in bad.exc_info
    assert bad.id in FailedJobRegistry(queue=low).get_job_ids()
    assert set(FinishedJobRegistry(queue=low).get_job_ids()) == {second.id, after.id}
    assert Job.fetch(first.id, connection=connection).args == (1, 2)

    low.enqueue_in(datetime.timedelta(seconds=1), add, 1, 1, job_id="later")
    assert ScheduledJobRegistry(queue=low).get_job_ids() == ["later"]
    time.sleep(1.2)
    worker = SimpleWorker([low], connection=connection)
    worker.work(burst=True, with_scheduler=True)
    for _ in range(50):
        if Job.fetch("later", connection=connection).get_status() == "finished":
            break
        time.sleep(0.1)
        worker = SimpleWorker([low], connection=connection)
        worker.work(burst=True)
    assert Job.fetch("later", connection=connection).result == 2
    low.empty()
    low.delete()
    print("ok")


main()
