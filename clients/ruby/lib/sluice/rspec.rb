# frozen_string_literal: true

# `require "sluice/rspec"` in spec_helper.rb: each example has `sluice`, a private server made when it is first asked
# for, `sluice_clock`, which is frozen, and `sluice_redis`. An example that fails shows what was sent.
require "rspec/core"
require "sluice/testing"

RSpec.configure do |config|
  config.include Sluice::Testing
  config.after do |example|
    release_sluice do |history|
      if example.exception && !history.empty?
        example.metadata[:extra_failure_lines] = ["", "sluice: the last requests of this example", *history]
      end
    end
  end
end
