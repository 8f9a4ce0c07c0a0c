# A lock of clients/ruby that is held while servers come and go, for tests/smoke/held_locks.py:
#   ruby held_ruby.rb sentinel|cluster port...      ports of Sentinels, or of a cluster
# What it says is in held_redis_py.py.
$LOAD_PATH.unshift(File.expand_path("../../clients/ruby/lib", __dir__))
require "sluice"

KIND, *PORTS = ARGV
NODES = PORTS.map { |port| { host: "127.0.0.1", port: port.to_i } }
$stdout.sync = true

def client
  return Redis.new(url: "redis://mymaster", sentinels: NODES, role: :master, timeout: 2) if KIND == "sentinel"

  Redis.new(cluster: NODES, timeout: 2)
end

policy = Sluice::Policy.new("five")
limits = Sluice::LimitClient.new(client, prefix: "limit:")
limits.set_policy("five", Sluice::Limit.new("window", 5, 3600))
[limits, limits.within(5)].each do |users|
  taken = (0...20).all? { |number| users.take("user:#{number}", policy).allowed? }
  raise "the policy is not everywhere" unless taken && users.policies == ["five"]
end
raise "a wait" unless limits.take("user:0", policy, cost: 3, wait: 1).allowed?
raise "a policy" unless limits.delete_policy("five") && limits.policies.empty?

locks = Sluice::LockClient.new(client, lease: 60, renew_every: 0.1)
first = locks.acquire("door")
waiting = Thread.new { locks.acquire("door", wait: 30) }
raise "it did not wait" if waiting.join(0.3) || !first.release

lock = waiting.value
lock.on_lost { |reason| puts "lost #{reason.code}" }
puts "held #{lock.token}"
$stdin.each_line do |line|
  puts "done #{line.strip == "renew" ? lock.renew : lock.fenced("SET", "{door}result", "mine")}"
rescue Sluice::LockLost => e
  puts "lost #{e.code}"
rescue Redis::BaseError => e
  puts "failed #{e.class} #{e.message}"
end
