# frozen_string_literal: true

require_relative "spec_helper"
require "timeout"

# What LockClient does beyond the shared cases: threads, interruptions, forks, clocks that step.
RSpec.describe Sluice::LockClient do
  let(:locks) { described_class.new(sluice_redis) }

  it "tells of a loss" do
    lock = locks.acquire("door", renew_every: 0.005)
    told = []
    lock.on_lost { |reason| told << reason.code }
    sluice.call("LOCK.BREAK", "door")
    expect(lock.wait_until_lost(30)).to have_attributes(class: Sluice::LockLost, code: "NOTHELD", key: "door")
    eventually { told.any? }
    lock.on_lost { |reason| told << reason.code } # at once
    expect(told).to eq(%w[NOTHELD NOTHELD])
  end

  it "waits for a loss no longer than it is told to" do
    lock = locks.acquire("door")
    expect(lock.wait_until_lost(0.01)).to be_nil
    expect(lock.release).to be(true)
  end

  it "renews many locks from one thread" do
    before = Thread.list.count { |thread| thread.name == "sluice-keeper" }
    held = Array.new(50) { |n| locks.acquire("door:#{n}", lease: 60, renew_every: 0.02) }
    held.each { |lock| eventually { sluice.journal.requests("LOCK.RENEW #{lock.key} *").any? } }
    expect(Thread.list.count { |thread| thread.name == "sluice-keeper" }).to eq(before + 1)
    expect(held.map(&:release)).to all(be(true))
  end

  it "lets a renewal that hangs hold no other lock up" do
    stuck = sluice.faults.add("COMMAND", "LOCK.RENEW", "KEY", "stuck", "HANG")
    lock = locks.acquire("stuck", lease: 0.1)
    other = locks.acquire("other", lease: 1.5)
    expect(lock.wait_until_lost(30).code).to eq("EXPIRED")
    sleep 2
    expect(other).to be_held
    sluice.faults.delete(stuck)
    expect(other.release).to be(true)
  end

  it "goes on renewing when what is told of a loss fails" do
    other = locks.acquire("other", lease: 60, renew_every: 0.005)
    lock = locks.acquire("door", lease: 0.1, renew: false)
    told = []
    lock.on_lost { raise "mine" }
    lock.on_lost { |reason| told << reason.code }
    expect { eventually { told.any? } }.to output(/mine \(RuntimeError\)/).to_stderr
    count = sluice.journal.requests("LOCK.RENEW other *").size
    eventually { sluice.journal.requests("LOCK.RENEW other *").size > count }
    expect([told, other.release]).to eq([["EXPIRED"], true])
  end

  it "renews later where a thread cannot be begun" do
    lock = locks.acquire("door", lease: 60, renew_every: 0.005)
    eventually { sluice.journal.requests("LOCK.RENEW door *").any? }
    refused = 0
    allow(Thread).to receive(:new).and_wrap_original do |original, *arguments, &block|
      raise ThreadError, "can't create Thread" if (refused += 1) <= 3

      original.call(*arguments, &block)
    end
    eventually { refused > 3 }
    count = sluice.journal.requests("LOCK.RENEW door *").size
    eventually { sluice.journal.requests("LOCK.RENEW door *").size > count }
    expect(lock.release).to be(true)
  end

  it "renews while its client is inside a transaction, and over other connections than that" do
    lock = locks.acquire("door", lease: 60, renew_every: 0.005)
    replies = sluice_redis.multi do |transaction|
      transaction.call("PING")
      eventually { sluice.journal.requests("LOCK.RENEW door *").any? }
    end
    expect(replies).to eq(["PONG"])
    expect(lock.release).to be(true)
  end

  it "finds out that the machine has slept" do
    lock = locks.acquire("door", lease: 60, renew_every: 0.03)
    clock = Process.method(:clock_gettime)
    allow(Process).to receive(:clock_gettime) do |id, *unit|
      clock.unbind.bind_call(Process, id, *unit) + (id == Process::CLOCK_REALTIME ? 60 : 0)
    end
    expect(lock).not_to be_held
    expect(eventually { lock.reason }.code).to eq("EXPIRED")
  end

  it "finds out that the machine has slept while a renewal was under way" do
    rule = sluice.faults.add("COMMAND", "LOCK.RENEW", "HANG")
    lock = locks.acquire("door", lease: 90, renew_every: 0.01)
    eventually { sluice.faults.hits(rule) == 1 }
    clock = Process.method(:clock_gettime)
    allow(Process).to receive(:clock_gettime) do |id, *unit|
      clock.unbind.bind_call(Process, id, *unit) + (id == Process::CLOCK_REALTIME ? 90 : 0)
    end
    sluice.faults.delete(rule) # now it is answered
    expect(eventually { lock.reason }.code).to eq("EXPIRED")
  end

  it "holds no lease for longer because the wall clock steps back" do
    lock = locks.acquire("door", lease: 0.2, renew: false)
    clock = Process.method(:clock_gettime)
    allow(Process).to receive(:clock_gettime) do |id, *unit|
      clock.unbind.bind_call(Process, id, *unit) - (id == Process::CLOCK_REALTIME ? 3600 : 0)
    end
    expect(lock).to be_held
    expect(eventually { lock.reason }.code).to eq("EXPIRED")
  end

  it "holds a lease of months" do
    lock = locks.acquire("door", lease: 100 * 86_400)
    sleep 0.02
    expect(lock.remaining).to be > 99 * 86_400
    expect(lock.release).to be(true)
  end

  it "gives the block's value, and gives back when the block is left" do
    expect(locks.acquire("door") { 7 }).to eq(7)
    left = -> { locks.acquire("door") { return 8 } }
    expect(left.call).to eq(8)
    expect(sluice.call("EXISTS", "door")).to eq(0)
    begin
      raise "outer"
    rescue RuntimeError
      expect(locks.acquire("door") { 9 }).to eq(9)
      expect { locks.acquire("door") { sluice.call("LOCK.BREAK", "door") } }.to raise_error(Sluice::LockLost)
    end
  end

  it "begins no work under a grant that comes too late" do
    sluice.faults.add("COMMAND", "LOCK.ACQUIRE", "AFTER", "DELAY", 150, "REAL")
    expect { locks.acquire("door", lease: 0.1) { raise "the work was begun" } }.to raise_error(Sluice::LockLost)
  end

  it "takes a request back that waits no more" do
    holder = locks.acquire("door")
    expect { Timeout.timeout(0.1) { locks.acquire("door", wait: 60) } }.to raise_error(Timeout::Error)
    expect(waiting?(0)).to be(true)
    waiter = Thread.new { locks.acquire("door", wait: 60) }
    eventually { waiting? }
    waiter.kill.join
    expect(waiting?(0)).to be(true)
    expect(holder.release).to be(true)
    eventually { sluice.call("EXISTS", "door").zero? }
  end

  it "waits for longer than the client's time-outs" do
    slow = described_class.new(sluice.redis(timeout: 0.1))
    holder = slow.acquire("door")
    releasing = Thread.new { sleep 0.3 and holder.release }
    expect(slow.acquire("door", wait: 30) { |lock| lock.held? }).to be(true)
    releasing.join
  end

  it "tells a fork that the lock is lost, and lets it give nothing back" do
    lock = locks.acquire("door", lease: 60, renew_every: 0.01)
    status = in_child do
      told = []
      lock.on_lost { |reason| told << reason.code }
      !lock.held? && lock.lost? && told == ["FORKED"] && lock.release == false
    end
    expect(status).to eq(0)
    expect([lock.held?, sluice.call("EXISTS", "door"), lock.release]).to eq([true, 1, true])
  end

  it "renews what a fork takes by a thread of its own" do
    lock = locks.acquire("door", lease: 60, renew_every: 0.005)
    url = sluice.url
    status = in_child do
      mine = locks.acquire("desk", lease: 60, renew_every: 0.005)
      looking = Redis.new(url: url)
      eventually { looking.call("SLUICE.JOURNAL", "GET", "MATCH", "LOCK.RENEW desk *").size >= 2 }
      mine.held? && mine.owner[/.*:/] != lock.owner[/.*:/] && mine.release
    end
    expect(status).to eq(0)
    count = sluice.journal.requests("LOCK.RENEW door *").size
    eventually { sluice.journal.requests("LOCK.RENEW door *").size > count }
    expect(lock.release).to be(true)
  end

  it "renews what threads of a fork take at once" do
    locks.acquire("door")
    url = sluice.url
    status = in_child do
      mine = Array.new(8) { |n| Thread.new { locks.acquire("desk:#{n}", lease: 60, renew_every: 0.005) } }.map(&:value)
      looking = Redis.new(url: url)
      mine.each { |lock| eventually { looking.call("SLUICE.JOURNAL", "GET", "MATCH", "LOCK.RENEW #{lock.key} *").any? } }
    end
    expect(status).to eq(0)
  end

  it "takes the options of the clients in a pool" do
    require "connection_pool"
    pool = ConnectionPool.new(size: 1) { sluice.redis }
    pool.with { expect(described_class.new(pool).acquire("door") { |lock| lock.held? }).to be(true) }
  end

  it "refuses wrong words" do
    expect { described_class.new(Object.new) }.to raise_error(ArgumentError)
    expect { described_class.new(sluice_redis, leese: 5) }.to raise_error(ArgumentError, /leese/)
    %i[lease wait renew_every].each do |option|
      expect { locks.acquire("door", option => "soon") }.to raise_error(ArgumentError, /#{option}/)
    end
    limit = Sluice::Limit.new("window", 5, 60)
    expect { Sluice::LimitClient.new(sluice_redis).take("k", limit, wait: "soon") }.to raise_error(ArgumentError, /wait/)
  end
end

RSpec.describe Sluice::Keeper do
  it "calls a lock whose moment comes while it is looked at" do
    lock = Struct.new(:watched, :next_moment, :ticks) { def tick = self.ticks += 1 }.new(0, 0.01, 0)
    # In each thread the clock stands before that moment once, and then behind it.
    allow(Sluice::Moment).to receive(:monotonic) do
      (Thread.current[:looked] = Thread.current[:looked].to_i + 1) == 1 ? 0 : 2
    end
    described_class.new.watch(lock)
    eventually { lock.ticks == 1 }
  end
end

RSpec.describe Sluice::LimitClient do
  it "runs a block if the limit allows it" do
    sluice.clock.freeze_time
    limits = described_class.new(sluice_redis)
    once = Sluice::Limit.new("window", 1, 60)
    expect(limits.limit("mail", once) { 7 }).to eq(7)
    expect { limits.limit("mail", once) { raise "it ran" } }.to raise_error(Sluice::LimitExceeded) { |error|
      expect([error.key, error.verdict.retry_after]).to eq(["mail", 60])
    }
  end
end
