# frozen_string_literal: true

require "redis"

module Sluice
  # Connections to the server of a client of redis-rb, with its options and beside it: so a lock is renewed while that
  # client waits or is inside a transaction, and no answer that does not come holds others up. Threads each take one
  # that is free, or a new one; a process that was forked begins with none.
  class Connections
    IDLE_MAX = 8 # more are closed after use

    # redis: a Redis, or a ConnectionPool of some. changes: of its options.
    def initialize(redis, **changes)
      redis = redis.with { |one| one } if !redis.is_a?(Redis) && redis.respond_to?(:with)
      raise ArgumentError, "a client of redis-rb is needed" unless redis.is_a?(Redis) && redis._client.is_a?(Redis::Client)

      @class = redis.class
      @options = redis._client.options.merge(changes)
      @mutex = Mutex.new
      @idle = []
      @pid = Process.pid
    end

    # The same server, over connections that give up after so long.
    def within(seconds)
      timeouts = %i[timeout connect_timeout read_timeout write_timeout].to_h { |name| [name, Float(seconds)] }
      Connections.new(open(**timeouts, reconnect_attempts: 0))
    end

    # The reply to a command.
    def call(*words)
      redis = take
      reply = redis.call(*words)
      give(redis)
      reply
    rescue Redis::CommandError
      give(redis)
      raise
    end

    # For what is as well done by a lease.
    def call_quietly(*words)
      call(*words)
    rescue Redis::BaseError
      nil
    end

    # Over a connection that ends with its first trouble: a request that waits must not be sent twice. What ends the
    # thread's wait (Timeout, Thread#raise, Thread#kill) takes the request back.
    def call_waiting(*words)
      own = open(read_timeout: 0.0, reconnect_attempts: 0)
      number = own.call("CLIENT", "ID")
      answered = false
      begin
        reply = own.call(*words)
        answered = true
        reply
      rescue Redis::CommandError
        answered = true
        raise
      ensure
        call_quietly("CLIENT", "KILL", "ID", number) unless answered # then it is parked no more
      end
    ensure
      own&.close
    end

    private

    def open(**changes)
      @class.new(@options.merge(changes))
    end

    def take
      @mutex.synchronize do
        unless @pid == Process.pid
          @pid = Process.pid
          @idle = [] # the other process goes on with those
        end
        @idle.pop
      end || open
    end

    def give(redis)
      kept = @mutex.synchronize { @idle.size < IDLE_MAX && @idle.push(redis) }
      redis.close unless kept
    end
  end
end
