# frozen_string_literal: true

require "sluice/server"

module Sluice
  # What the helpers for RSpec and minitest share: one server a process, and one space a test, made when a test first
  # asks for it. `options` of the server may be set before.
  module Testing
    class << self
      attr_accessor :options

      # The server of this process. A fork that runs tests (parallel workers) has one of its own.
      def server
        @server = nil unless @pid == Process.pid
        @pid = Process.pid
        @server ||= Server.new(**(options || {}))
      end
    end

    # The test's private server: `url`, `clock`, `faults`, `journal`, `redis`, `call`.
    def sluice
      @sluice ||= Testing.server.space("test-#{Process.pid}-#{object_id}").tap { |space| space.journal.start }
    end

    # Its clock, frozen.
    def sluice_clock
      @sluice_clock ||= sluice.clock.freeze_time
    end

    # A client of redis-rb at it.
    def sluice_redis
      @sluice_redis ||= sluice.redis
    end

    # Deletes what the test had. Yields its last requests where it had some.
    def release_sluice
      return unless @sluice

      yield @sluice.history if block_given?
    ensure
      @sluice_redis&.close
      @sluice&.delete
      @sluice = @sluice_clock = @sluice_redis = nil
    end
  end
end
