# redis-rb as a client of a cluster: keys, locks, scripts, pipelines; `port` is that of any of its servers.
#   ruby cluster_ruby.rb port            its own calls
#   ruby cluster_ruby.rb port through    goes on through a failover (see cluster_clients.py)
begin
  require "redis"
  require "redis/cluster"
rescue LoadError
  puts "skipped: redis-rb is missing, or knows no clusters"
  exit 77
end

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'.freeze
PATIENCE = 20 # seconds
KEYS = (0...300).map { |number| "key:#{number}" }

def expect(condition, what)
  return if condition
  warn "redis-rb: #{what}"
  exit 1
end

def own_calls(cluster)
  KEYS.each { |key| expect(cluster.set(key, "v", nx: true, px: 60_000), "#{key} is not set") }
  KEYS.each { |key| expect(cluster.get(key) == "v", "#{key} is another") }
  expect(cluster.eval(RELEASE, keys: [KEYS[0]], argv: ["you"]) == 0, "released what is another's")
  expect(cluster.eval(RELEASE, keys: [KEYS[0]], argv: ["v"]) == 1, "not released")
  counted = cluster.multi do |transaction|
    transaction.incr("{t}a")
    transaction.incr("{t}a")
  end
  expect(counted == [1, 2], "a transaction: #{counted}")
  begin
    cluster.mget("a", "b")
    expect(false, "keys of two slots have been read at once")
  rescue Redis::CommandError, Redis::Cluster::CrossSlotPipeliningError => e
    expect(e.message.include?("CROSSSLOT") || e.is_a?(Redis::Cluster::CrossSlotPipeliningError), e.message)
  end
  expect(cluster.dbsize >= 300, "keys are missing")
end

# Tries again what a server that is going refuses, and where a new master is not known to all yet.
def patiently
  ends = Time.now + PATIENCE
  begin
    yield
  rescue Redis::BaseError, Redis::Cluster::Node::ReloadNeeded
    raise if Time.now > ends
    sleep 0.05
    retry
  end
end

# Until standard input ends: what was written is read again.
def through(cluster)
  gone = false
  Thread.new { $stdin.read; gone = true }
  round = 0
  until gone
    round += 1
    KEYS.first(60).map { |key| "redis-rb:#{key}" }.each do |key|
      patiently { cluster.set(key, round) }
      read = patiently { cluster.get(key) }
      expect(read == round.to_s, "#{key} was set to #{round} and is #{read}")
    end
    puts round
    $stdout.flush
  end
end

cluster = Redis.new(cluster: ["redis://127.0.0.1:#{Integer(ARGV.fetch(0))}"])
ARGV[1] == "through" ? through(cluster) : own_calls(cluster)
