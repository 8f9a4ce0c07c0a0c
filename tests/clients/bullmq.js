// BullMQ: jobs with priorities, delays, retries and events through worker and queue objects:
//   node bullmq.js port
"use strict";
const assert = require("node:assert");
const { Queue, QueueEvents, Worker, FlowProducer } = require("bullmq");

const connection = { port: Number(process.argv[2]), maxRetriesPerRequest: null };

function until(emitter, event, count) {
  return new Promise((resolve) => {
    const seen = [];
    emitter.on(event, (...args) => {
      seen.push(args);
      if (seen.length === count) resolve(seen);
    });
  });
}

async function jobsAndEvents() {
  const queue = new Queue("mail", { connection });
  const events = new QueueEvents("mail", { connection });
  await events.waitUntilReady();
  await queue.obliterate({ force: true });

  const order = [];
  const completed = until(events, "completed", 6);
  const started = Date.now();
  await queue.add("late", { n: 5 }, { delay: 300 });
  await queue.addBulk([1, 2].map((n) => ({ name: "plain", data: { n } })));
  await queue.add("low", { n: 4 }, { priority: 10 });
  await queue.add("high", { n: 3 }, { priority: 1 });
  await queue.add("shaky", { n: 6 }, { attempts: 3, backoff: { type: "fixed", delay: 400 } });
  assert.strictEqual((await queue.getJobCounts("delayed")).delayed, 1);

  const worker = new Worker("mail", async (job) => {
    if (job.name === "shaky" && job.attemptsMade < 1) throw new Error("not yet");
    if (job.name === "late") assert.ok(Date.now() - started >= 290, "delayed");
    await job.updateProgress(50);
    await job.log(`sent ${job.data.n}`);
    order.push(job.data.n);
    return { sent: job.data.n };
  }, { connection });
  const done = await completed;
  assert.deepStrictEqual(order.slice(0, 2), [1, 2]);
  assert.ok(order.indexOf(3) < order.indexOf(4), "priority");
  assert.deepStrictEqual([...order].sort(), [1, 2, 3, 4, 5, 6]);
  assert.ok(done.every(([{ returnvalue }]) => returnvalue.sent >= 1));
  const counts = await queue.getJobCounts();
  assert.strictEqual(counts.completed, 6);
  assert.strictEqual(counts.failed + counts.waiting + counts.delayed + counts.active, 0);
  const [job] = await queue.getCompleted(0, 0);
  assert.strictEqual(job.progress, 50);
  assert.strictEqual((await queue.getJobLogs(job.id)).count, 1);
  await queue.pause();
  assert.ok(await queue.isPaused());
  await queue.resume();
  await worker.close();

  // A job that fails for good, and one that is taken out.
  const failing = new Worker("mail", async () => { throw new Error("no"); }, { connection });
  const failed = until(events, "failed", 1);
  await queue.add("bad", {});
  const [[{ failedReason }]] = await failed;
  assert.strictEqual(failedReason, "no");
  await failing.close();
  const lonely = await queue.add("lonely", {}, { jobId: "only-one" });
  assert.strictEqual((await queue.add("lonely", {}, { jobId: "only-one" })).id, lonely.id);
  assert.strictEqual(await queue.count(), 1);
  await lonely.remove();
  assert.strictEqual(await queue.count(), 0);
  assert.ok((await queue.clean(0, 100, "completed")).length >= 6);
  await queue.close();
  await events.close();
}

async function flow() {
  const producer = new FlowProducer({ connection });
  const child = new Worker("parts", async (job) => job.data.value, { connection });
  const parent = new Worker("whole", async (job) => {
    const values = Object.values(await job.getChildrenValues());
    return values.reduce((sum, value) => sum + value, 0);
  }, { connection });
  const finished = until(parent, "completed", 1);
  await producer.add({
    name: "sum", queueName: "whole",
    children: [1, 2, 3].map((value) => ({ name: "part", queueName: "parts", data: { value } })),
  });
  const [[, result]] = await finished;
  assert.strictEqual(result, 6);
  await Promise.all([child.close(), parent.close(), producer.close()]);
}

async function limited() {
  const queue = new Queue("slow", { connection });
  const worker = new Worker("slow", async () => Date.now(), { connection, limiter: { max: 2, duration: 300 } });
  const done = until(worker, "completed", 4);
  await queue.addBulk([1, 2, 3, 4].map((n) => ({ name: "x", data: { n } })));
  const times = (await done).map(([, at]) => at).sort();
  assert.ok(times[3] - times[0] >= 250, `rate limit: ${times[3] - times[0]} ms`);
  await worker.close();
  await queue.close();
}

(async () => {
  await jobsAndEvents();
  await flow();
  await limited();
  console.log("ok");
  process.exit(0);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
