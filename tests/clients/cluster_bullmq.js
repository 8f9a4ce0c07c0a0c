// BullMQ on a cluster, its keys in one slot by a hash tag, through failovers (see cluster_clients.py):
//   node cluster_bullmq.js name port through
// A line is printed when some jobs are done; when standard input ends no more are added, and each has to be done.
"use strict";
const assert = require("node:assert");
const { Queue, Worker } = require("bullmq");
const { Cluster } = require("ioredis-5");

const port = Number(process.argv[3]);
const prefix = "{jobs}";
const BATCH = 20;
const PATIENCE = 20000; // ms

// BullMQ wants to wait for ever in its own connections.
const connect = () => new Cluster([{ host: "127.0.0.1", port }], {
  redisOptions: { maxRetriesPerRequest: null }, clusterRetryStrategy: () => 50, retryDelayOnFailover: 50,
});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function patiently(call) {
  for (const end = Date.now() + PATIENCE; ; await pause(50)) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

async function main() {
  let going = true;
  process.stdin.on("end", () => { going = false; }).resume();
  const [ofQueue, ofWorker] = [connect(), connect()];
  const queue = new Queue("mail", { connection: ofQueue, prefix });
  const done = new Map();
  const worker = new Worker("mail", async (job) => job.data.n * 2, { connection: ofWorker, prefix, concurrency: 4 });
  for (const one of [queue, worker, ofQueue, ofWorker]) one.on("error", () => {}); // it connects again by itself
  worker.on("completed", (job, result) => done.set(job.data.n, result));
  let added = 0;
  while (going) {
    for (const end = added + BATCH; added < end; ++added) {
      const n = added; // an id, so that one which is added again after a lost answer stays one job
      await patiently(() => queue.add("mail", { n }, { jobId: `job-${n}`, attempts: 3 }));
    }
    for (const end = Date.now() + PATIENCE; done.size < added; await pause(10))
      assert.ok(Date.now() < end, `${added - done.size} jobs are not done`);
    console.log(added);
  }
  for (let n = 0; n < added; ++n) assert.strictEqual(done.get(n), n * 2);
  assert.strictEqual((await patiently(() => queue.getJobCounts("failed"))).failed, 0);
  await worker.close(true);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
