# frozen_string_literal: true

require "json"
require "sluice"

# Plays the steps of a shared case (clients/cases.json; clients/README.md says what each step means) on the clients of
# this gem, against a test double whose clock stands at 2030-01-01.
class Player
  CASES = JSON.parse(File.read(File.expand_path("../../cases.json", __dir__)))
  NOW = 1_893_456_000
  OURS = /\A(?:LOCK\.|LIMIT\.|FENCED\z)/i.freeze
  SPANS = %i[lease wait renew_every margin min_hold ban id_for timeout].freeze
  KINDS = { "LockLost" => Sluice::LockLost, "LockNotGranted" => Sluice::LockNotGranted, "Argument" => ArgumentError,
            "UnexpectedReply" => Sluice::UnexpectedReply, "Server" => Redis::CommandError, "Connection" => Redis::BaseConnectionError }.freeze

  # What work raises by itself.
  class OwnError < StandardError; end

  # A step did not do what it says.
  class Wrong < StandardError; end

  def self.words(step)
    step.is_a?(String) ? step.split(" ", -1) : step.map { |word| bytes(word) }
  end

  # A word that is no text stands as { "hex": "ff00" }.
  def self.bytes(word)
    word.is_a?(Hash) && word.key?("hex") ? [word["hex"]].pack("H*") : word
  end

  # Options of a case in this gem's units.
  def self.options(options)
    (options || {}).to_h do |name, value|
      value = bytes(value)
      value = value.transform_keys(&:to_sym) if value.is_a?(Hash)
      [name.to_sym, SPANS.include?(name.to_sym) ? value / 1000.0 : value]
    end
  end

  def self.limit(limit)
    return Sluice::Policy.new(limit["policy"]) if limit["policy"]

    if limit["algorithm"] == "calendar"
      return Sluice::Calendar.new(limit["max"], limit["unit"], zone: limit["zone"], starts: limit["starts"])
    end

    Sluice::Limit.new(limit["algorithm"], limit["max"], limit["period"] / 1000.0, burst: limit["burst"])
  end

  # A value of ours in the words of the cases.
  def self.plain(value)
    ms = ->(seconds) { seconds && (seconds * 1000).round }
    case value
    when Sluice::Verdict
      { "allowed" => value.allowed?, "limit" => value.limit, "remaining" => value.remaining,
        "retry" => ms[value.retry_after], "never_fits" => value.never_fits?, "reset" => ms[value.reset_after], "reset_at" => ms[value.reset_at] }
    when Sluice::Verdicts
      { "allowed" => value.allowed?, "remaining" => value.verdicts.map(&:remaining) }
    when Sluice::LimitInfo
      { **value.to_h.transform_keys(&:to_s), "period" => ms[value.period], "reset_at" => ms[value.reset_at] }
    when Sluice::Calendar
      { "algorithm" => value.algorithm, "max" => value.max, "unit" => value.unit, "zone" => value.zone,
        "starts" => value.starts }
    when Sluice::Limit
      { "algorithm" => value.algorithm, "max" => value.max, "period" => ms[value.period], "burst" => value.burst }
    else value
    end
  end

  # space: nil for a server that is made up, of which steps ask nothing.
  def initialize(space, locks: nil, limits: nil)
    @space = space
    @locks = locks
    @limits = limits
    @seen = 0
    @things = {} # locks, and calls that are under way
    return unless space

    @own = space.call("CLIENT", "ID")
    space.journal.start
    space.clock.freeze_time(NOW)
  end

  def play(steps)
    steps.each do |step|
      step(step)
    rescue Wrong => e
      raise Wrong, "#{JSON.generate(step)}: #{e.message}"
    end
  end

  # Compares the requests since the last look with `sends` and `answers` of a step.
  def compare_sent(step)
    return unless @space

    fresh = newest
    if step["sends"]
      pattern = step["sends"].map { |one| Player.words(one) }
      sent = fresh.each_with_index.map do |entry, row|
        entry.words.each_with_index.map { |word, at| pattern.dig(row, at) == "*" ? "*" : word.dup.force_encoding("UTF-8") }
      end
      expect(sent, pattern)
    end
    expect(fresh.map(&:answer), step["answers"]) if step["answers"]
  end

  def expect(found, expected)
    raise Wrong, "#{expected.inspect} was expected, not #{found.inspect}" unless found == expected
  end

  private

  def step(step)
    if step.key?("server")
      answer = @space.call(*Player.words(step["server"]))
      expect(answer, step["gives"]) if step.key?("gives")
    elsif step.key?("fail") then raise OwnError, step["fail"]
    elsif step.key?("begin") then @things[step["begin"]] = Thread.new { outcome(step) }
    elsif step.key?("until") then wait_until(step)
    elsif step.key?("sleep")
      newest
      sleep(step["sleep"] / 1000.0)
    else check(step, *finished(step))
    end
    compare_sent(step)
  end

  def finished(step)
    return outcome(step) unless step.key?("end")

    @things[step["end"]].join(30) ? @things[step["end"]].value : raise(Wrong, "it is not over, after 30 s")
  end

  # [value, nil] or [nil, error] of a call.
  def outcome(step)
    value = step.key?("with") ? work(step) : invoke(step)
    @things[step["as"]] = value if step["as"] && !step.key?("with")
    [value, nil]
  rescue Wrong
    raise
  rescue StandardError => e
    [nil, e]
  end

  def check(step, value, error)
    return check_error(error, step["raises"]) if step.key?("raises")
    raise error if error
    return unless step.key?("gives")

    token = step["gives"].is_a?(Hash) && step["gives"]["token"]
    return expect(Player.plain(value), step["gives"]) unless token

    raise Wrong, "the lock was not granted" if value.nil?

    expect(value.token, token) unless token == "*"
  end

  def check_error(error, expected)
    kind = expected["error"] == "Own" ? OwnError : KINDS.fetch(expected["error"])
    raise Wrong, "#{expected} was expected, not #{error.inspect}" unless error.is_a?(kind)

    code = expected["error"] == "Server" ? Sluice::Codes.of(error) : (error.code if error.respond_to?(:code))
    expect(code, expected["code"]) if expected["code"]
    expect(error.key, expected["key"]) if expected["key"]
    expect(error.token, expected["token"]) if expected["token"]
    expect(error.message, expected["text"]) if expected["text"]
  end

  def work(step)
    @locks.acquire(step["with"], **Player.options(step["options"])) do |lock|
      @things[step["as"]] = lock
      play(step["do"])
    end
  end

  def invoke(step)
    return of_lock(@things[step["of"]], step) if step["of"]

    options = Player.options(step["options"])
    key = Player.bytes(step["key"])
    case step["call"]
    when "acquire", "try_acquire" then @locks.public_send(step["call"], key, **options)
    when "take" then @limits.take(key, Player.limit(step["limit"]), **options)
    when "take_all"
      @limits.take_all(step["requests"].map do |one|
        { key: one["key"], limit: Player.limit(one["limit"]), cost: one.fetch("cost", 1) }
      end, **options)
    when "refund" then @limits.refund(key, step["units"], **options)
    when "info" then @limits.info(key)
    when "set_policy" then @limits.set_policy(step["name"], Player.limit(step["limit"]))
    when "get_policy", "delete_policy" then @limits.public_send(step["call"], step["name"])
    when "policies" then @limits.policies
    end
  end

  def of_lock(lock, step)
    case step["call"]
    when "held" then lock.held?
    when "lost" then lock.lost?
    else lock.public_send(step["call"], *step["words"])
    end
  end

  def wait_until(step)
    condition = step["until"]
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    until so?(condition)
      raise Wrong, "it is not so, after 30 s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.002
    end
    return unless condition["lost"]

    check_error(@things[condition["lost"]].reason, { "error" => "LockLost", "code" => step["code"] })
  end

  def so?(condition)
    return @things[condition["lost"]].lost? if condition["lost"]
    return @space.call("INFO", "clients").include?("blocked_clients:#{condition["waiting"]}\r") if condition["waiting"]
    return @space.journal.requests(condition["sent"]).size >= condition["times"] if condition["sent"]
    return @space.call(*Player.words(condition["server"])) == condition["gives"] if condition["server"]

    outcome(condition).first == condition["gives"]
  end

  # What the clients have sent since the last look.
  def newest
    entries = @space.journal.requests
    fresh = entries.select { |entry| entry.number > @seen && entry.client != @own && OURS.match?(entry.words.first) }
    @seen = entries.last.number unless entries.empty?
    fresh
  end
end
