# frozen_string_literal: true

require "sluice/lease"

module Sluice
  # A lock that is held, and renewed until it is released. LockClient#acquire gives it.
  class Lock
    attr_accessor :watched # for the keeper

    def initialize(connections, keeper, lease)
      @connections = connections
      @keeper = keeper
      @lease = lease
      @mutex = Mutex.new # over the lease
      @releasing = Mutex.new
      @renewing = Mutex.new
      @on_lost = []
      @lost = ConditionVariable.new
      keeper.watch(self)
    end

    def key
      @lease.grant.key
    end

    def owner
      @lease.grant.owner
    end

    # Grows with each grant; goes along to others that are to keep out those who come late.
    def token
      @lease.grant.token
    end

    # Whether it may be relied on at this moment.
    def held?
      @lease.held?
    end

    # Whether it is known to be lost; `reason` says why.
    def lost?
      !reason.nil?
    end

    # A LockLost, or nil.
    def reason
      @lease.notice_fork
      @lease.lost
    end

    # For how many seconds it may still be relied on without a renewal; 0 when it is not held.
    def remaining
      held? ? @lease.remaining : 0.0
    end

    # Raises LockLost unless it is held: before each step that must not be done without the lock.
    def assert_held
      fault = @lease.fault
      raise fault if fault
    end

    # Calls the block with the reason when the lock is lost, in the thread that finds out; at once if it is.
    def on_lost(&block)
      known = @mutex.synchronize { reason || !@on_lost.push(block) }
      block.call(known) if known
      self
    end

    # Waits until the lock is lost: the reason, or nil after `timeout` seconds.
    def wait_until_lost(timeout = nil)
      deadline = timeout && Moment.monotonic + timeout
      @mutex.synchronize do
        until lost?
          left = deadline && deadline - Moment.monotonic
          break if left && left <= 0

          @lost.wait(@mutex, left)
        end
        reason
      end
    end

    # Runs a command on this server only while the token is not stale:  lock.fenced("SET", "result", "done")
    # Raises LockLost if it is: nothing was run, and the lock is lost.
    def fenced(*words)
      @connections.call("FENCED", key, token, *words)
    rescue Redis::CommandError => e
      raise unless Codes.of(e) == "STALE"

      lose("STALE")
      raise @lease.loss("STALE")
    end

    # Renews now, in addition to the timer. Raises LockLost if it is lost.
    def renew
      assert_held
      begin
        send_renewal
      rescue Redis::CommandError
        raise unless lost?
      end
      raise reason if lost?
    end

    # Gives it back; false if it was lost before. Further calls give the same.
    def release
      @releasing.synchronize do
        @answer = send_release if @answer.nil?
        @answer
      end
    end

    # Runs the block, and gives the lock back. Raises LockLost when it was lost before the work was done, for then the
    # work may have met another's.
    def hold
      outer = $! # rubocop:disable Style/SpecialGlobalVars
      begin
        assert_held
        yield self
      ensure
        # What leaves by return or break is done as well; an error of the work is the one to show.
        $!.equal?(outer) ? finish : release_quietly # rubocop:disable Style/SpecialGlobalVars
      end
    end

    # For the keeper: when there is something to do.
    def next_moment
      @lease.next_moment
    end

    # For the keeper: gives the lock up, or renews it in a thread, so that no answer that does not come holds others up.
    def tick
      renew = @mutex.synchronize do
        return if @lease.over?

        due = @lease.remaining.positive? && @lease.renew_at && @lease.renew_at <= Moment.monotonic
        @lease.renew_at = nil if due # until that one is over
        due
      end
      return lose("EXPIRED") if @lease.remaining.zero?

      begin_renewal if renew
      @keeper.watch(self)
    end

    def inspect
      "#<#{self.class} #{key.inspect} token=#{token} #{held? ? "held" : "not held"}>"
    end

    private

    def send_renewal
      @renewing.synchronize do
        sent = Moment.now
        lease_ms = @connections.call(*@lease.options.renew_words(key, owner, token))
        UnexpectedReply.check("LOCK.RENEW", lease_ms, Integer)
        if_held { @lease.extend_from(sent, lease_ms / 1000.0) }
      rescue Redis::CommandError => e
        lose(Codes.of(e)) if Codes::LOST.include?(Codes.of(e))
        raise
      end
    end

    def begin_renewal
      Thread.new { renew_by_timer }.name = "sluice-renewal"
    rescue ThreadError # there are too many of them just now
      if_held { @lease.retry_soon }
    end

    def renew_by_timer
      send_renewal
    rescue StandardError # whatever it was: the lease runs down meanwhile
      if_held { @lease.retry_soon }
    end

    # Runs the block, and has the lock watched. What comes back behind the deadline is too late: the work may have found out.
    def if_held
      held = @mutex.synchronize { @lease.held?.tap { |so| yield if so } }
      held ? @keeper.watch(self) : lose("EXPIRED")
    end

    def send_release
      return false if @lease.forked? # it is the other process that gives it back

      held = @mutex.synchronize { @lease.release }
      begin
        left = @connections.call("LOCK.RELEASE", key, owner, *(["ALL"] if @lease.grant.alone), "TOKEN", token)
        UnexpectedReply.check("LOCK.RELEASE", left, Integer)
        held
      rescue Redis::CommandError => e
        return false if Codes::LOST.include?(Codes.of(e))
        return held if Codes.of(e) == "LOCKGRACE" # a server that has lost its log's end lets the lease end it

        raise
      end
    end

    def release_quietly
      release
    rescue Redis::BaseError, UnexpectedReply
      nil # its lease ends it
    end

    def finish
      held = held?
      begin
        released = release
      rescue Redis::BaseConnectionError
        # An answer that is lost on its way takes nothing back: the work was done in time.
        return if held

        raise
      end
      raise reason || @lease.loss("NOTHELD") unless released
    end

    def lose(code)
      calls = @mutex.synchronize do
        return unless @lease.lose(code)

        @lost.broadcast
        @on_lost.slice!(0..)
      end
      calls.each { |call| tell(call) }
    end

    # An error of the caller's block is shown, and goes no farther: this thread may be the one that renews other locks.
    def tell(call)
      call.call(reason)
    rescue StandardError => e
      warn(e.full_message(highlight: false))
    end
  end
end
