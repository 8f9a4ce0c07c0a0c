# frozen_string_literal: true

module Sluice
  # What this gem raises by itself. What the server refuses is a Redis::CommandError.
  class Error < StandardError; end

  # Others hold the lock, and the wait is over.
  class LockNotGranted < Error
    attr_reader :key

    def initialize(key)
      super("the lock '#{key}' was not granted: others hold it")
      @key = key
    end
  end

  # The lock was lost while it was held. `code` is EXPIRED (no renewal came back in time), RELEASED (by its holder),
  # FORKED (it is another process's) or the server's.
  class LockLost < Error
    REASONS = {
      "EXPIRED" => "no renewal came back in time, and its lease is over", "RELEASED" => "it was released",
      "FORKED" => "it belongs to the process that this one was forked from"
    }.freeze

    attr_reader :key, :token, :code

    def initialize(key, token, code)
      super("the lock '#{key}' is not held: #{REASONS.fetch(code, "the server answered #{code}")}")
      @key = key
      @token = token
      @code = code
    end
  end

  # The server answered a request with something else than its command gives: it is another server, or of a version that
  # this gem does not know. Nothing is known of what it has done.
  class UnexpectedReply < Error
    def self.of(command, reply)
      new("#{command} was answered #{reply.inspect[0, 100]}: is that Sluice, and of this version?")
    end

    # Raises unless the reply is of that class, or, for an array of classes, an array that begins with such values.
    def self.check(command, reply, expected)
      sound = expected.is_a?(Array) ? reply.is_a?(Array) && expected.zip(reply).all? { |kind, one| one.is_a?(kind) } : reply.is_a?(expected)
      raise of(command, reply) unless sound
    end
  end

  # Codes of the server's answers.
  module Codes
    LOST = %w[NOTHELD STALE WRONGTYPE].freeze # they end a lock

    # The code of a Redis::CommandError.
    def self.of(error)
      error.message[/\A[A-Z][A-Z0-9]*(?= |\z)/]
    end
  end
end
