# frozen_string_literal: true

require "redis"

module Sluice
  # Connections to the server of a client of redis-rb, with its options and beside it: so a lock is renewed while that
  # client waits or is inside a transaction, and no answer that does not come holds others up. Threads each take one
  # that is free, or a new one; a process that was forked begins with none.
  #
  # The client may be one that asks Sentinels, or one of a cluster: then each of these is. A request that waits goes to one
  # server, that of its key.
  class Connections
    IDLE_MAX = 8 # more are closed after use
    REDIRECTIONS_MAX = 5

    # redis: a Redis, or a ConnectionPool of some.
    def initialize(redis)
      redis = redis.with { |one| one } if !redis.is_a?(Redis) && redis.respond_to?(:with)
      raise ArgumentError, "a client of redis-rb is needed" unless redis.is_a?(Redis)

      @class = redis.class
      @cluster = redis._client.is_a?(Redis::Cluster)
      @options, @server_options = options_of(redis)
      begin_anew
    end

    # The same servers, over connections that give up after so long.
    def within(seconds)
      timeouts = %i[timeout connect_timeout read_timeout write_timeout].to_h { |name| [name, Float(seconds)] }
      dup.tap { |other| other.begin_anew(**timeouts, reconnect_attempts: 0) }
    end

    # The reply to a command. redis-rb makes a connection anew that its server has closed, unless it is told to make no
    # attempts: then that is done here, once, and for such connections alone as were of use before.
    def call(*words)
      used = take
      call_over(used || open, words)
    rescue Redis::ConnectionError
      raise unless used && @options[:reconnect_attempts] == 0 # rubocop:disable Style/NumericPredicate

      @mutex.synchronize { @idle.clear } # they ended along with it
      call_over(open, words)
    end

    # For what is as well done by a lease.
    def call_quietly(*words)
      call(*words)
    rescue Redis::BaseError
      nil
    end

    # A command about no key: to each master of a cluster.
    def call_all(*words)
      return call(*words) unless @cluster

      slots.map(&:last).uniq.map do |place|
        redis = open_one(**place)
        redis.call(*words)
      ensure
        redis&.close
      end.first
    end

    # Over a connection that ends with its first trouble: a request that waits must not be sent twice. What ends the
    # thread's wait (Timeout, Thread#raise, Thread#kill) takes the request back.
    def call_waiting(*words)
      place = @cluster ? place_of(words[1]) : {}
      (0..REDIRECTIONS_MAX).each do |count|
        return wait_at(place, words)
      rescue Redis::CommandError => e
        place = moved(e) # it waits nowhere then
        raise if place.nil? || count == REDIRECTIONS_MAX
      end
    end

    protected

    def begin_anew(**changes)
      @options = @options.merge(changes)
      @server_options = @server_options.merge(changes)
      @mutex = Mutex.new
      @idle = []
      @pid = Process.pid
    end

    private

    # Those of the client, and those of a connection to one server. redis-rb has no word to ask a cluster's client for them.
    def options_of(redis)
      client = redis._client
      if @cluster
        [redis.instance_variable_get(:@options), client.instance_variable_get(:@node).first.options]
      elsif client.is_a?(Redis::Client)
        [client.options, client.options]
      else
        raise ArgumentError, "a client of redis-rb is needed"
      end
    end

    # redis-rb finds the key of a command, and so its server, by the name in small letters.
    def routed(words)
      @cluster ? [words.first.downcase, *words.drop(1)] : words
    end

    def open(**changes)
      @class.new(@options.merge(changes))
    end

    # To one server; of a cluster, to that at the place.
    def open_one(**changes)
      @class.new(@server_options.merge(changes))
    end

    # [first slot, last slot, where their master is] each.
    def slots
      rows = begin
        call("CLUSTER", "SLOTS")
      rescue Redis::CannotConnectError
        call("CLUSTER", "SLOTS") # by now it knows who is gone
      end
      rows.map { |first, last, (host, port)| [first, last, { host: host, port: port }] }
    end

    def place_of(key)
      tag = key.b[/\{([^}]*)\}/, 1].to_s
      slot = Redis::Cluster::KeySlotConverter.convert(tag.empty? ? key.b : tag)
      found = slots.find { |first, last,| slot.between?(first, last) }
      found ? found.last : raise(Redis::CommandError, "CLUSTERDOWN Hash slot not served")
    end

    def moved(error)
      host, port = error.message.match(/\AMOVED \d+ (.+):(\d+)\z/)&.captures if @cluster
      { host: host, port: Integer(port) } if host
    end

    def wait_at(place, words)
      own = open_one(**place, read_timeout: 0.0, reconnect_attempts: 0)
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
        end_wait(place, number) unless answered
      end
    ensure
      own&.close
    end

    # When this is answered, the request is parked no more.
    def end_wait(place, number)
      redis = open_one(**place)
      redis.call("CLIENT", "KILL", "ID", number)
    rescue Redis::BaseError
      nil
    ensure
      redis&.close
    end

    def call_over(redis, words)
      reply = redis.call(*routed(words))
      give(redis)
      reply
    rescue Redis::CommandError
      give(redis)
      raise
    rescue Redis::CannotConnectError
      give(redis) if @cluster # it has asked anew who has which slots
      raise
    end

    # One that is free, or nil.
    def take
      @mutex.synchronize do
        unless @pid == Process.pid
          @pid = Process.pid
          @idle = [] # the other process goes on with those
        end
        @idle.pop
      end
    end

    def give(redis)
      kept = @mutex.synchronize { @idle.size < IDLE_MAX && @idle.push(redis) }
      redis.close unless kept
    end
  end
end
