# frozen_string_literal: true

require "minitest"
require "sluice/testing"

module Sluice
  # `include Sluice::Minitest` in a test class: each test has `sluice`, a private server made when it is first asked for,
  # `sluice_clock`, which is frozen, and `sluice_redis`. A test that fails shows what was sent.
  module Minitest
    include Testing

    def after_teardown
      super
      release_sluice do |history|
        failures.each { |failure| failure.extend(Sent).sluice_history = history } unless history.empty?
      end
    end

    # A failure that shows what was sent to the test's server.
    module Sent
      attr_accessor :sluice_history

      def message
        [super, "sluice: the last requests of this test", *sluice_history].join("\n")
      end
    end
  end
end
