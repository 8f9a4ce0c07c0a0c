# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "sluice"
require "sluice/rack"
require "sluice/rspec"
require_relative "player"

# Helpers of these specs.
module Patience
  def eventually
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    until (value = yield)
      raise "still not so" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.002
    end
    value
  end

  def waiting?(count = 1)
    sluice.call("INFO", "clients").include?("blocked_clients:#{count}\r")
  end

  # Exit status of a fork in which the block has to be true.
  def in_child
    child = fork do
      status = 1
      begin
        status = yield ? 0 : 2
      rescue Exception => e # rubocop:disable Lint/RescueException
        warn e.full_message
      ensure
        exit!(status)
      end
    end
    Process.wait2(child).last.exitstatus
  end
end

RSpec.configure do |config|
  config.include Patience
  config.disable_monkey_patching!
end
