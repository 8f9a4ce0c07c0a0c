# frozen_string_literal: true

require "sluice/connections"
require "sluice/lease"

module Sluice
  # `max` a `period` of seconds. burst: as the algorithm has it. Raises ArgumentError for an algorithm that there is not.
  class Limit
    ALGORITHMS = %w[WINDOW ROLLING SLIDING LOG GCRA LEAKY].freeze

    attr_reader :algorithm, :max, :period, :burst

    def initialize(algorithm, max, period, burst: nil)
      @algorithm = algorithm.to_s.upcase
      unless ALGORITHMS.include?(@algorithm)
        raise ArgumentError, "no algorithm: #{algorithm}; there are #{ALGORITHMS.join(", ")}"
      end

      @max = max
      @period = period
      @burst = burst
      @period_ms = Span.milliseconds(:period, period)
    end

    # As LIMIT.TAKE has it.
    def words
      [algorithm, max, @period_ms, *(["BURST", burst] if burst)]
    end

    # As LIMIT.ALL has it.
    def words_of_several(cost)
      [algorithm, max, @period_ms, burst || 0, cost]
    end
  end

  # `max` in each minute, hour, day, week or month by the clocks of a time zone (UTC). starts: the hour of a day, the day
  # of a week (1: Monday) or of a month.
  class Calendar
    attr_reader :max, :unit, :zone, :starts

    def initialize(max, unit, zone: nil, starts: nil)
      @max = max
      @unit = unit.to_s.upcase
      @zone = zone
      @starts = starts
    end

    def algorithm
      "CALENDAR"
    end

    def period
      nil # no window is as long as the next
    end

    def words
      [algorithm, max, unit, *(["ZONE", zone] if zone), *(["STARTS", starts] if starts)]
    end

    def words_of_several(_cost)
      raise ArgumentError, "a calendar among several limits needs a policy"
    end
  end

  # A limit by its name in the server, changeable in one place.
  Policy = Struct.new(:name) do
    def period
      nil # the server has it
    end

    def words
      ["POLICY", name]
    end

    def words_of_several(cost)
      ["POLICY", name, cost]
    end
  end

  # What a limit says. Times are in seconds; retry_after is nil if the cost never fits.
  Verdict = Struct.new(:allowed, :limit, :remaining, :retry_after, :reset_after, :reset_at) do
    def self.of(reply)
      UnexpectedReply.check("LIMIT.TAKE", reply, Array.new(6, Integer))
      allowed, limit, remaining, retry_ms, reset_ms, reset_at_ms = reply
      new(allowed == 1, limit, remaining, retry_ms.negative? ? nil : retry_ms / 1000.0, reset_ms / 1000.0,
          reset_at_ms / 1000.0)
    end

    alias_method :allowed?, :allowed

    # The cost is above the limit: no waiting helps.
    def never_fits?
      retry_after.nil?
    end
  end

  # Of several limits: `allowed` when all were taken, for then only was anything taken.
  Verdicts = Struct.new(:allowed, :verdicts) do
    alias_method :allowed?, :allowed
  end

  # What is known of a limit. Times are in seconds.
  LimitInfo = Struct.new(:algorithm, :limit, :period, :burst, :used, :remaining, :reset_at)

  # The block of LimitClient#limit was not run.
  class LimitExceeded < Error
    attr_reader :key, :verdict

    def initialize(key, verdict)
      wait = verdict.retry_after ? "; it would be allowed in #{verdict.retry_after} s" : ""
      super("the limit '#{key}' is exceeded#{wait}")
      @key = key
      @verdict = verdict
    end
  end

  # Limits of one server, or of a cluster, where each master has the policies.
  class LimitClient
    # redis: a client of redis-rb or a ConnectionPool of some, whose options are taken. prefix: stands before each key.
    def initialize(redis, prefix: "")
      @connections = redis.is_a?(Connections) ? redis : Connections.new(redis)
      @prefix = prefix
    end

    # The same limits, over connections that give up after so long.
    def within(seconds)
      LimitClient.new(@connections.within(seconds), prefix: @prefix)
    end

    # Takes `cost` units, all or none: a Verdict. peek: stores nothing. wait: parks the caller, in order, for so many
    # seconds until they fit. ban: refuses everything for so long after a refusal. shadow: counts apart. id: asked again
    # with it, as the answer was lost, the request counts once; id_for: for so long.
    def take(key, limit, cost: nil, peek: false, wait: 0, ban: nil, shadow: false, id: nil, id_for: nil)
      words = ["LIMIT.TAKE", full(key), *limit.words, *(["COST", cost] if cost),
               *(["BAN", Span.milliseconds(:ban, ban)] if ban), *("PEEK" if peek), *("SHADOW" if shadow),
               *id_words(id, id_for)]
      return Verdict.of(@connections.call(*words)) if wait.nil? || wait == 0 # rubocop:disable Style/NumericPredicate

      Verdict.of(@connections.call_waiting(*words, "WAIT", Span.milliseconds(:wait, wait)))
    end

    # Runs the block if the limit allows it. Raises LimitExceeded.
    def limit(key, limit, **options)
      verdict = take(key, limit, **options)
      raise LimitExceeded.new(key, verdict) unless verdict.allowed?

      yield verdict
    end

    # Takes from all of them or from none: [{key:, limit:, cost:}]. id, id_for: as of take.
    def take_all(requests, id: nil, id_for: nil)
      words = requests.flat_map { |request| request[:limit].words_of_several(request.fetch(:cost, 1)) }
      keys = requests.map { |request| full(request[:key]) }
      reply = @connections.call("LIMIT.ALL", keys.size, *keys, *words, *id_words(id, id_for))
      UnexpectedReply.check("LIMIT.ALL", reply, [Integer])
      allowed, *rows = reply
      Verdicts.new(allowed == 1, rows.map { |row| Verdict.of(row) })
    end

    # Gives back what was taken and not used. What remains now; nil when the limit is whole. id, id_for: as of take.
    def refund(key, units = 1, id: nil, id_for: nil)
      left = @connections.call("LIMIT.REFUND", full(key), units, *id_words(id, id_for))
      UnexpectedReply.check("LIMIT.REFUND", left, Integer) unless left.nil?
      left
    end

    # What is known of a limit; nil when it is whole.
    def info(key)
      reply = @connections.call("LIMIT.INFO", full(key))
      return if reply == []

      UnexpectedReply.check("LIMIT.INFO", reply, [String, *Array.new(6, Integer)])
      algorithm, limit, period_ms, burst, used, remaining, reset_at_ms = reply
      LimitInfo.new(algorithm, limit, period_ms / 1000.0, burst, used, remaining, reset_at_ms / 1000.0)
    end

    # A limit by a name: take(key, Policy.new(name)).
    def set_policy(name, limit) # rubocop:disable Naming/AccessorMethodName
      reply = @connections.call_all("LIMIT.POLICY", "SET", name, *limit.words)
      raise UnexpectedReply.of("LIMIT.POLICY", reply) unless reply == "OK"
    end

    # The limit of that name, or nil.
    def get_policy(name) # rubocop:disable Naming/AccessorMethodName
      reply = @connections.call("LIMIT.POLICY", "GET", name)
      return if reply == []

      UnexpectedReply.check("LIMIT.POLICY", reply, [String, Integer, Integer, Integer])
      return calendar_of(reply) if reply.size > 4

      algorithm, max, period_ms, burst = reply
      raise UnexpectedReply.of("LIMIT.POLICY", reply) unless Limit::ALGORITHMS.include?(algorithm)

      Limit.new(algorithm, max, period_ms / 1000.0, burst: burst)
    end

    # Whether there was one of that name.
    def delete_policy(name)
      count = @connections.call_all("LIMIT.POLICY", "DEL", name)
      UnexpectedReply.check("LIMIT.POLICY", count, Integer)
      count == 1
    end

    # The names of all.
    def policies
      names = @connections.call("LIMIT.POLICY", "LIST")
      UnexpectedReply.check("LIMIT.POLICY", names, Array)
      names
    end

    private

    def calendar_of(reply)
      UnexpectedReply.check("LIMIT.POLICY", reply.drop(4), [String, String, Integer])
      _, max, _, _, unit, zone, starts = reply
      Calendar.new(max, unit, zone: zone, starts: starts)
    end

    # Keys are bytes, in whatever encoding they come.
    def full(key)
      @prefix.b + key.b
    end

    # Asking again safely: with the same id the same verdict, and nothing more is taken.
    def id_words(id, id_for)
      raise ArgumentError, "id_for wants an id" if id_for && !id
      return [] unless id

      ["ID", id, *(["FOR", Span.milliseconds(:id_for, id_for)] if id_for)]
    end
  end
end
