# frozen_string_literal: true

require "redis"
require "cgi"
require "sluice/lease"

module Sluice
  # A space's clock: TIME, TTLs, leases, limits, blocking time-outs and stream ids follow it. Spans and moments are in
  # seconds; a moment may be a Time.
  class Clock
    def initialize(double)
      @double = double
    end

    # Unix time.
    def now
      call("NOW") / 1000.0
    end

    # Time stands still from now on; at the moment `at`, if that is given.
    def freeze_time(at = nil)
      call("FREEZE")
      set(at) unless at.nil?
      self
    end

    # Time passes again, from where it stands.
    def run
      call("RUN")
      self
    end

    # Lets time pass: every timer that is due on the way fires at its own time and in order before this returns.
    def advance(seconds)
      call("ADVANCE", (seconds * 1000).round)
      self
    end

    # Goes to the first timer that fires. How many seconds that was; nil when none is set.
    def next
      span = call("NEXT")
      span.negative? ? nil : span / 1000.0
    end

    # Steps the wall clock as NTP would: relative deadlines stay, absolute ones follow.
    def set(moment)
      call("SET", (moment.to_r * 1000).round)
      self
    end

    private

    def call(*words)
      @double.call("SLUICE.CLOCK", *words)
    end
  end

  # Which requests of other connections go wrong, and how, in the server's own words (docs/testing-with-sluice.md):
  #   faults.add("COMMAND", "EXEC", "TIMES", 1, "CLOSE")
  class Faults
    def initialize(double)
      @double = double
    end

    # The rule's id. With a block, what that gives, and the rule is deleted behind it.
    def add(*words)
      id = @double.call("SLUICE.FAULT", "ADD", *words)
      return id unless block_given?

      begin
        yield id
      ensure
        delete(id)
      end
    end

    # What it holds back goes on. False: it was gone already.
    def delete(id)
      @double.call("SLUICE.FAULT", "DEL", id) == 1
    end

    # Deletes all rules; how many there were.
    def clear
      @double.call("SLUICE.FAULT", "CLEAR")
    end

    # How many requests a rule has hit.
    def hits(id)
      row = @double.call("SLUICE.FAULT", "LIST").find { |number, *| number == id }
      raise ArgumentError, "the rule #{id} is not there any more" unless row

      row[3]
    end
  end

  # What clients really sent, and what they got. A pattern is a glob over a whole request, its words joined by spaces.
  class Journal
    Entry = Struct.new(:number, :at_ms, :client, :name, :words, :answer, :fault) do
      def to_s
        "##{number} #{words.join(" ")} (client #{client}) #{answer || "no answer"}"
      end
    end

    def initialize(double)
      @double = double
    end

    def start
      @double.call("SLUICE.JOURNAL", "START")
      self
    end

    def clear
      @double.call("SLUICE.JOURNAL", "CLEAR")
    end

    # What was recorded, the oldest first.
    def requests(match = nil, count: nil)
      words = [*(["COUNT", count] if count), *(["MATCH", match] if match)]
      @double.call("SLUICE.JOURNAL", "GET", *words).map { |row| Entry.new(*row) }
    end
  end

  # What a server and a space have in common: `url` for clients, a clock, faults and a journal.
  class Double
    attr_reader :host, :port, :clock, :faults, :journal

    def initialize(host, port, space)
      @host = host
      @port = port
      @space = space
      @clock = Clock.new(self)
      @faults = Faults.new(self)
      @journal = Journal.new(self)
    end

    # redis://..., which every client takes.
    def url
      @space ? "redis://#{CGI.escape("space:#{@space}")}:any@#{host}:#{port}" : "redis://#{host}:#{port}"
    end

    # A new client of redis-rb. The caller closes it.
    def redis(**options)
      Redis.new(url: url, **options)
    end

    # Any command over this object's own connection, which no fault hits once it has set one.
    def call(*words)
      @redis ||= redis(timeout: 60, reconnect_attempts: 0)
      @redis.call(*words)
    end

    # Data, scripts, clock, faults, journal and random choices are as after the start.
    def reset
      call("SLUICE.RESET")
    end

    # The last requests, a line each.
    def history(count = 30)
      journal.requests(count: count).map(&:to_s)
    end

    def disconnect
      @redis&.close
      @redis = nil
    end
  end
end
