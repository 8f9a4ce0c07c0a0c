# frozen_string_literal: true

require "securerandom"
require "socket"
require "sluice/errors"

module Sluice
  # Spans as the server has them.
  module Span
    # Whole milliseconds, at least one.
    def self.milliseconds(name, seconds)
      valid = seconds.is_a?(Numeric) && seconds.finite? && seconds >= 0.001
      raise ArgumentError, "#{name} must be at least a millisecond, not #{seconds.inspect}" unless valid

      (seconds * 1000).round
    end
  end

  # A moment on both clocks, in seconds: the monotonic one, which nobody steps, and the wall clock, which goes on while
  # the machine sleeps.
  Moment = Struct.new(:monotonic, :wall) do
    def self.now
      new(monotonic, Process.clock_gettime(Process::CLOCK_REALTIME))
    end

    def self.monotonic
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def plus(seconds)
      Moment.new(monotonic + seconds, wall + seconds)
    end

    # The earlier one, on each clock.
    def earlier(other)
      Moment.new([monotonic, other.monotonic].min, [wall, other.wall].min)
    end

    # Seconds until then; 0 when one clock has passed it.
    def left
      now = Moment.now
      [0, [monotonic - now.monotonic, wall - now.wall].min].max
    end
  end

  # How a lock is asked for and held; spans are seconds. README.md says what each option is.
  class LockOptions
    MARGIN_MAX = 1.0
    DEFAULTS = { lease: 30.0, wait: 0, owner: nil, renew: true, renew_every: nil, margin: nil, shared: false,
                 permits: nil, min_hold: nil, label: nil, priority: nil, id: nil }.freeze

    attr_reader :lease, :wait, :owner, :margin, :renewal

    # Raises ArgumentError where they make no sense.
    def initialize(**options)
      unknown = options.keys - DEFAULTS.keys
      raise ArgumentError, "a lock has no option #{unknown.first}" unless unknown.empty?

      @all = DEFAULTS.merge(options)
      @lease, @wait, @owner = @all.values_at(:lease, :wait, :owner)
      @lease_ms = Span.milliseconds(:lease, lease)
      @margin = @all[:margin] || [MARGIN_MAX, lease / 10.0].min
      @renewal = @all[:renew] ? @all[:renew_every] || lease / 3.0 : nil # seconds between renewals
      check
    end

    def with(**options)
      LockOptions.new(**@all, **options)
    end

    # Whether the request may queue.
    def waits?
      !(wait.nil? || wait == 0) # rubocop:disable Style/NumericPredicate
    end

    # How it is held: said by a renewal, too, for a server that has lost its log's end.
    def shape
      return @all[:shared] ? ["SHARED"] : [] unless @all[:permits]

      take, of = @all[:permits].is_a?(Hash) ? @all[:permits].values_at(:take, :of) : [1, @all[:permits]]
      ["PERMITS", take, "OF", of]
    end

    def acquire_words(key, owner)
      words = ["LOCK.ACQUIRE", key, owner, "LEASE", @lease_ms, *shape]
      words.push("MINHOLD", Span.milliseconds(:min_hold, @all[:min_hold])) if @all[:min_hold]
      { "LABEL" => :label, "PRIORITY" => :priority, "ID" => :id }.each do |word, option|
        words.push(word, @all[option]) unless @all[option].nil?
      end
      words
    end

    # Behind those, for a request that may queue.
    def wait_words
      ["WAIT", Span.milliseconds(:wait, wait)]
    end

    def renew_words(key, owner, token)
      ["LOCK.RENEW", key, owner, "LEASE", @lease_ms, "TOKEN", token, *shape]
    end

    private

    def check
      { wait: (wait if waits?), min_hold: @all[:min_hold], renew_every: @all[:renew_every] }.each do |name, span|
        Span.milliseconds(name, span) unless span.nil?
      end
      unless margin >= 0 && (renewal || 0) + margin < lease
        raise ArgumentError, "renew_every and margin must leave some of the lease"
      end
      raise ArgumentError, "a lock is shared or has permits, not both" if @all[:shared] && @all[:permits]
      raise ArgumentError, "an id wants an owner who asks again" if @all[:id] && !owner
    end
  end

  # Names for those who ask without one: of this host, process and client, and counted.
  class Owners
    def initialize
      @mutex = Mutex.new
    end

    def next
      @mutex.synchronize do
        unless @pid == Process.pid
          @pid = Process.pid
          @prefix = "#{Socket.gethostname}:#{@pid}:#{SecureRandom.uuid}"
          @count = 0
        end
        "#{@prefix}:#{@count += 1}"
      end
    end
  end

  # What was granted to whom, no earlier than `begun`. alone: nobody else asks under this name.
  Grant = Struct.new(:key, :owner, :alone, :token, :begun) do
    # The server's clock may be a double's, far ahead: the grant was no later than its answer.
    def self.of(key, owner, alone, reply, sent)
      UnexpectedReply.check("LOCK.ACQUIRE", reply, Array.new(4, Integer))
      token, _lease, _holds, waited = reply
      new(key, owner, alone, token, sent.plus(waited / 1000.0).earlier(Moment.now))
    end
  end

  # A grant that is held until it is lost or released, as far as its holder knows by its own clocks. It counts from
  # before the request was sent, so it never thinks that it holds the lock for longer than the server does, and gives the
  # lock up a margin before that moment, unless a renewal has come back in time. What no clock can promise (a process
  # that stands still) is what the token is for. Callers see to it that one thread at a time is in here.
  class Lease
    attr_reader :grant, :options, :lost
    attr_accessor :renew_at # on the monotonic clock

    def initialize(grant, options)
      @grant = grant
      @options = options
      @pid = Process.pid
      @released = false
      extend_from(grant.begun, options.lease)
    end

    def remaining
      @deadline.left
    end

    def held?
      notice_fork
      lost.nil? && !@released && remaining.positive?
    end

    def over?
      notice_fork
      !lost.nil? || @released
    end

    # Why it is not held; nil while it is.
    def fault
      return lost if held? || lost

      loss(@released ? "RELEASED" : "EXPIRED")
    end

    def loss(code)
      LockLost.new(grant.key, grant.token, code)
    end

    # It is lost from now on; false if that was known, or is nothing to its holder any more.
    def lose(code)
      return false if lost || @released

      @lost = loss(code)
      true
    end

    # It is given back; false if it was lost before.
    def release
      known = held? || @released
      @released = true
      known
    end

    # The lease was given anew, no earlier than `begun`.
    def extend_from(begun, seconds)
      @deadline = begun.plus([seconds, options.lease].min - options.margin)
      @renew_at = options.renewal && begun.monotonic + options.renewal
    end

    # A renewal failed on its way: the next comes soon.
    def retry_soon
      @renew_at = options.renewal && Moment.monotonic + options.renewal / 4
    end

    # On the monotonic clock: when there is something to renew, or to give up.
    def next_moment
      [Moment.monotonic + remaining, *renew_at].min
    end

    # A lock belongs to the process that took it.
    def notice_fork
      lose("FORKED") unless @pid == Process.pid
    end

    def forked?
      notice_fork
      @pid != Process.pid
    end
  end
end
