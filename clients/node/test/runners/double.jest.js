const Redis = require("ioredis");
const { useSluice } = require("@sluice/client/jest");

const sluice = useSluice();

for (const n of [1, 2]) {
  test(`a space each, ${n}`, async () => {
    expect(await sluice.execute("INCR", "n")).toBe(1);
  });
}

test("a limit's window", async () => {
  const client = new Redis(sluice.url);
  await sluice.clock.freeze();
  const take = () => client.call("LIMIT.TAKE", "user:17", "WINDOW", "1", "60000");
  expect((await take())[0]).toBe(1);
  expect((await take())[0]).toBe(0);
  await sluice.clock.next();
  expect((await take())[0]).toBe(1);
  client.disconnect();
});
