# frozen_string_literal: true

require "sluice/connections"
require "sluice/keeper"
require "sluice/lock"

module Sluice
  # Locks of one server, or of a cluster.
  class LockClient
    # redis: a client of redis-rb or a ConnectionPool of some, whose options are taken. defaults: options of each lock.
    def initialize(redis, **defaults)
      @connections = Connections.new(redis)
      @options = LockOptions.new(**defaults)
      @owners = Owners.new
      @keeper = Keeper.new
    end

    # With a block, what that gives: it runs while the lock is held, and LockLost is raised when the lock was lost before
    # it was done. Without one the lock, to be released by hand. Raises LockNotGranted when others hold it and the wait
    # is over.
    def acquire(key, **options, &work)
      lock = try_acquire(key, **options) || raise(LockNotGranted, key)
      work ? lock.hold(&work) : lock
    end

    # The lock, or nil when others hold it and the wait is over.
    def try_acquire(key, **options)
      chosen = options.empty? ? @options : @options.with(**options)
      grant = ask(key, chosen.owner || @owners.next, chosen)
      grant && Lock.new(@connections, @keeper, Lease.new(grant, chosen))
    end

    private

    # A first request does not wait.
    def ask(key, owner, options)
      words = options.acquire_words(key, owner)
      begin
        granted = attempt(key, owner, options) { @connections.call(*words) }
      rescue Redis::CommandError => e
        raise unless Codes.of(e) == "LOCKGRACE" && options.waits? # a request that waits waits for that, too
      end
      return granted if granted || !options.waits?

      attempt(key, owner, options) { @connections.call_waiting(*words, *options.wait_words) }
    end

    def attempt(key, owner, options)
      alone = options.owner.nil?
      sent = Moment.now
      answered = false
      begin
        reply = yield
        grant = reply && Grant.of(key, owner, alone, reply, sent)
        answered = true
        grant
      rescue Redis::CommandError
        answered = true
        raise
      ensure
        give_back(key, owner) if alone && !answered # it may have been granted
      end
    end

    # Whoever has closed the connection may take long to answer.
    def give_back(key, owner)
      Thread.new { @connections.call_quietly("LOCK.RELEASE", key, owner, "ALL") }.name = "sluice-give-back"
    rescue ThreadError
      nil # its lease ends it
    end
  end
end
