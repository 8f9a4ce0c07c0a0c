# frozen_string_literal: true

require "weakref"
require "sluice/lease"

module Sluice
  # One thread, begun with the first lock and anew in a process that was forked, that calls locks when something is due.
  # A lock that nobody knows of any more is renewed no more: its lease ends it.
  class Keeper
    def initialize
      @beginning = Mutex.new
      begin_anew
    end

    # lock.tick is called at lock.next_moment, as that is now; what was said of it before is void.
    def watch(lock)
      @beginning.synchronize { @pid == Process.pid || begin_anew } # threads of a fork may come at once
      @mutex.synchronize do
        moment = lock.next_moment
        lock.watched = (@number += 1)
        at = @due.bsearch_index { |due, _| due >= moment } || @due.size
        @due.insert(at, [moment, @number, WeakRef.new(lock)])
        @thread ||= Thread.new { loop { call(*due) } }.tap { |thread| thread.name = "sluice-keeper" }
        @changed.signal
      end
    end

    private

    def begin_anew
      @pid = Process.pid
      @mutex = Mutex.new
      @changed = ConditionVariable.new
      @due = [] # the next one first
      @number = 0
      @thread = nil
    end

    def due
      @mutex.synchronize do
        while (seconds = left).nil? || seconds.positive?
          @changed.wait(@mutex, seconds)
        end
        @due.shift.last(2)
      end
    end

    # Seconds until there is something to do; nil while no lock is watched.
    def left
      @due.first && @due.first.first - Moment.monotonic
    end

    def call(number, reference)
      lock = reference.__getobj__
      return unless lock.watched == number

      # The wall clock may see it a little later.
      lock.next_moment <= Moment.monotonic ? lock.tick : watch(lock)
    rescue WeakRef::RefError
      nil
    end
  end
end
