# frozen_string_literal: true

# Sluice for Ruby: locks and limits over redis-rb.
#
#   locks = Sluice::LockClient.new(Redis.new)
#   locks.acquire("report:7", lease: 30, wait: 5) { |lock| lock.fenced("SET", "report:7:sum", "done") }
#
#   limits = Sluice::LimitClient.new(Redis.new)
#   limits.take("user:17", Sluice::Limit.new("rolling", 100, 60)).allowed?
#
# Sluice::RateLimit (sluice/rack) is Rack middleware; sluice/rspec and sluice/minitest start a private server for tests.
require "sluice/version"
require "sluice/errors"
require "sluice/limit_client"
require "sluice/lock_client"
