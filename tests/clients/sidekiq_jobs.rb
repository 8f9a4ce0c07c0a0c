# Sidekiq from Debian: jobs, retries, scheduled jobs, through a launcher in this process:
#   ruby sidekiq_jobs.rb port
require "sidekiq"
require "sidekiq/api"
require "sidekiq/cli"

Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)
PORT = ARGV.fetch(0).to_i
DONE = Queue.new

Sidekiq.logger.level = Logger::FATAL
[:configure_client, :configure_server].each do |side|
  Sidekiq.public_send(side) { |config| config.redis = { url: "redis://127.0.0.1:#{PORT}/0" } }
end

class Add
  include Sidekiq::Worker
  sidekiq_options queue: "sums", retry: 2
  sidekiq_retry_in { 1 }
  def perform(a, b)
    DONE << [a, b, a + b]
  end
end

class Bad
  include Sidekiq::Worker
  sidekiq_options queue: "sums", retry: 0
  def perform
    raise "on purpose"
  end
end

def expect(what, condition)
  return if condition
  warn "failed: #{what}"
  exit 1
end

def take(seconds)
  Timeout.timeout(seconds) { DONE.pop }
end

Sidekiq.redis(&:flushall)
id = Add.perform_async(1, 2)
Add.perform_in(1, 3, 4)
Sidekiq::Client.push_bulk("class" => Add, "args" => [[5, 6], [7, 8]])
queue = Sidekiq::Queue.new("sums")
expect "three wait", queue.size == 3
expect "found by id", queue.find_job(id).args == [1, 2]
expect "one is scheduled", Sidekiq::ScheduledSet.new.size == 1

require "sidekiq/launcher"
config = Sidekiq.respond_to?(:options) ? Sidekiq.options : Sidekiq
config[:queues] = ["sums"]
config[:concurrency] = 2
config[:poll_interval_average] = 1
config[:average_scheduled_poll_interval] = 1
config[:timeout] = 1
launcher = Sidekiq::Launcher.new(config)
launcher.run
results = Array.new(3) { take(20) }
expect "results #{results}", results.sort == [[1, 2, 3], [5, 6, 11], [7, 8, 15]]
expect "scheduled", take(40) == [3, 4, 7]
Bad.perform_async
deadline = Time.now + 20
sleep 0.1 until Sidekiq::Stats.new.failed == 1 || Time.now > deadline
stats = Sidekiq::Stats.new
expect "failed #{stats.failed}", stats.failed == 1
expect "processed #{stats.processed}", stats.processed >= 4
expect "nothing is left", queue.size.zero?
expect "a process is known", Sidekiq::ProcessSet.new.size >= 0
puts "ok"
$stdout.flush
exit! 0
