# redis-rb and Sidekiq behind Sentinel, for tests/smoke/sentinel_clients.py:
#   ruby sentinel_ruby.rb redis-rb|sidekiq port...
# Writes a number that grows; prints each that a replica has; goes on whatever happens.
require "redis"

NAME, *PORTS = ARGV
SENTINELS = PORTS.map { |port| { host: "127.0.0.1", port: port.to_i } }
GROUP = { url: "redis://mymaster", sentinels: SENTINELS, role: :master, timeout: 2, reconnect_attempts: 0 }.freeze
$stdout.sync = true

def count_up
  (1..).each do |number|
    begin
      yield number
    rescue Redis::BaseError, Errno::ECONNREFUSED => e
      warn e.message if ENV["SHOW_FAULTS"]
    end
    sleep 0.01
  end
end

def plain
  client = Redis.new(**GROUP)
  count_up do |number|
    client.set("count", number)
    puts number if client.call([:wait, 1, 500]).to_i.positive?
  end
end

# A job prints its number: those that are done count.
def jobs
  require "sidekiq"
  require "sidekiq/api"
  require "sidekiq/cli"
  require "sidekiq/launcher"
  Sidekiq.logger.level = Logger::FATAL
  [:configure_client, :configure_server].each do |side|
    Sidekiq.public_send(side) { |config| config.redis = GROUP.dup }
  end
  Object.const_set(:Tell, Class.new { include Sidekiq::Worker; def perform(number) = puts(number) })
  config = Sidekiq.respond_to?(:options) ? Sidekiq.options : Sidekiq
  config[:queues] = ["default"]
  config[:concurrency] = 1
  Sidekiq::Launcher.new(config).run
  count_up { |number| Object.const_get(:Tell).perform_async(number) }
end

NAME == "sidekiq" ? jobs : plain
