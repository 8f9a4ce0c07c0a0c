# redis-rb, which MasterLock and TrafficJam stand on: locks, throttles, pipelines, scans, reconnection.
#   ruby redis_rb.rb port
require "redis"

port = Integer(ARGV.fetch(0))

def expect(condition, what)
  return if condition
  warn "redis-rb: #{what}"
  exit 1
end

one = Redis.new(port: port)
other = Redis.new(port: port)
one.flushall

# A lock with a lease, released under WATCH.
expect(one.set("lock", "me", nx: true, px: 60_000) == true, "the lock is not taken")
expect(other.set("lock", "you", nx: true, px: 60_000) == false, "taken twice")
released = one.watch("lock") do
  if one.get("lock") == "me"
    one.multi { |transaction| transaction.del("lock") }
  else
    one.unwatch
  end
end
expect(released == [1], "not released")
one.set("lock", "me")
lost = one.watch("lock") do
  other.set("lock", "you")
  one.multi { |transaction| transaction.del("lock") }
end
expect(lost.nil?, "released what is another's")

# Throttles.
(1..3).each do |count|
  answer = one.multi do |transaction|
    transaction.incr("hits")
    transaction.pexpire("hits", 60_000)
  end
  expect(answer == [count, true], "the count is #{answer}")
end
expect(one.pttl("hits").between?(1, 60_000), "no TTL")
expect(one.get("window").nil? && one.incr("window") == 1 && one.pexpire("window", 1000), "window")

# Pipelines and scans.
answers = one.pipelined { |pipeline| 2000.times { |n| pipeline.set("key:#{n}", n, ex: 1000) } }
expect(answers == ["OK"] * 2000, "the pipeline")
expect(one.scan_each(match: "key:*", count: 100).to_a.uniq.size == 2000, "the scan")
expect(one.mget("key:1", "nosuch") == ["1", nil], "MGET")
expect(one.mapped_mset("a" => "1", "b" => "2") == "OK", "MSET")

# Errors, INFO, and a connection that the server closed.
begin
  one.incr("lock")
  expect(false, "no error")
rescue Redis::CommandError => e
  expect(e.message == "ERR value is not an integer or out of range", e.message)
end
expect(one.info["redis_version"].start_with?("7."), "INFO")
expect(one.config(:get, "maxmemory-policy") == { "maxmemory-policy" => "noeviction" }, "CONFIG GET")
one.call("CLIENT", "SETNAME", "victim")
id = one.call("CLIENT", "ID")
expect(other.call("CLIENT", "KILL", "ID", id) == 1, "CLIENT KILL")
expect(one.ping == "PONG", "reconnecting")
puts "ok"
