# frozen_string_literal: true

require "ipaddr"
require "sluice/limit_client"

module Sluice
  # The limit cannot be asked; `cause` is what went wrong.
  class LimiterUnavailable < Error; end

  # A rate limit before a Rack application, with the IETF's headers (draft-ietf-httpapi-ratelimit-headers):
  #
  #   use Sluice::RateLimit, limits: Sluice::LimitClient.new(redis), limit: Sluice::Limit.new("window", 100, 60)
  #
  # env["sluice.rate_limit"] is the verdict. README.md has the options; what is a callable takes the env. What the
  # application's own callables raise is the application's.
  class RateLimit
    TIMEOUT = 0.5
    MESSAGES = {
      429 => "Too Many Requests", 413 => "This request costs more than the limit ever allows",
      503 => "The rate limit cannot be asked"
    }.freeze
    NAME = /\A[ !#-\[\]-~]+\z/

    # Who an address stands for: an IPv6 network of 64 bits is one household or one host, which has all of its
    # addresses; an IPv4 address that comes in IPv6 is that.
    def self.address_key(address)
      parsed = IPAddr.new(address.sub(/%.*/, ""))
      return address if parsed.ipv4?
      return parsed.native.to_s if parsed.ipv4_mapped?

      "#{parsed.to_string.split(":").first(4).map { |group| group.to_i(16).to_s(16) }.join(":")}::/64"
    rescue IPAddr::Error
      address
    end

    # The limit is asked over connections of its own, for they give up sooner than those of `limits`.
    def initialize(app, limits:, limit:, key: nil, cost: nil, skip: nil, name: "default", prefix: "http:",
                   fail_open: true, timeout: TIMEOUT, legacy_headers: false, on_error: nil)
      raise ArgumentError, "name must be printable ASCII without quotes and backslashes" unless NAME.match?(name)

      @app = app
      @limits = limits.within(timeout)
      @limit = limit
      @key = key || method(:address)
      @cost = cost
      @skip = skip
      @name = name
      @prefix = prefix
      @fail_open = fail_open
      @legacy_headers = legacy_headers
      @on_error = on_error
    end

    def call(env)
      status, headers, verdict = ask(env)
      env["sluice.rate_limit"] = verdict
      if status
        return [status, headers.merge("content-type" => "text/plain; charset=utf-8"), ["#{MESSAGES[status]}\n"]]
      end

      answer, theirs, body = @app.call(env)
      [answer, headers.empty? ? theirs : theirs.merge(headers), body]
    end

    private

    # [nil when the request may go on, headers, verdict]
    def ask(env)
      limit = value(@limit, env)
      return [nil, {}, nil] if limit.nil? || @skip&.call(env)

      key = "#{@prefix}#{@name}:#{@key.call(env)}"
      cost = value(@cost, env)
      begin
        verdict = @limits.take(key, limit, cost: cost)
      rescue Redis::BaseError, UnexpectedReply => e
        return unavailable(e, env)
      end
      [status(verdict), headers(verdict, limit.period), verdict]
    end

    def value(option, env)
      option.respond_to?(:call) ? option.call(env) : option
    end

    def unavailable(cause, env)
      raise LimiterUnavailable, "the limit cannot be asked: #{cause.message}"
    rescue LimiterUnavailable => e
      @on_error&.call(e, env)
      [@fail_open ? nil : 503, {}, nil]
    end

    def status(verdict)
      return if verdict.allowed?

      verdict.retry_after ? 429 : 413
    end

    # In small letters, as Rack 3 wants them; on the wire and in Rack 2 it is all the same.
    def headers(verdict, period)
      window = period ? ";w=#{[1, seconds(period)].max}" : ""
      found = { "ratelimit-policy" => "\"#{@name}\";q=#{verdict.limit}#{window}",
                "ratelimit" => "\"#{@name}\";r=#{verdict.remaining};t=#{seconds(verdict.reset_after)}" }
      found.merge!(legacy(verdict)) if @legacy_headers
      found["retry-after"] = [1, seconds(verdict.retry_after)].max.to_s if !verdict.allowed? && verdict.retry_after
      found
    end

    def legacy(verdict)
      { "x-ratelimit-limit" => verdict.limit.to_s, "x-ratelimit-remaining" => verdict.remaining.to_s,
        "x-ratelimit-reset" => seconds(verdict.reset_at).to_s }
    end

    def seconds(span)
      [0, span.round(3).ceil].max
    end

    def address(env)
      address = env["REMOTE_ADDR"]
      raise ArgumentError, "the request has no address (REMOTE_ADDR); hand in a key" if address.to_s.empty?

      RateLimit.address_key(address)
    end
  end
end
