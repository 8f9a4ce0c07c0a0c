# frozen_string_literal: true

require_relative "spec_helper"
require "rack"

RSpec.describe Sluice::RateLimit do
  let(:five) { Sluice::Limit.new("window", 5, 60) }
  let(:limits) { Sluice::LimitClient.new(sluice_redis) }

  # A whole application behind the limit, as config.ru has it.
  def application(**options)
    limits = self.limits
    Rack::MockRequest.new(Rack::Lint.new(Rack::Builder.app do
      use Sluice::RateLimit, limits: limits, **options
      run ->(env) { [200, { "Content-Type" => "text/plain" }, [env["sluice.rate_limit"]&.remaining.to_s]] }
    end))
  end

  it "limits by address unless it is told by what" do
    sluice.clock.freeze_time
    answer = application(limit: five).get("/", "REMOTE_ADDR" => "2001:db8::1")
    expect([answer.status, answer.body, answer["RateLimit"]]).to eq([200, "4", '"default";r=4;t=60'])
    expect(sluice.call("EXISTS", "http:default:2001:db8:0:0::/64")).to eq(1)
  end

  it "leaves those alone that have no limit" do
    [{ limit: ->(_env) {} }, { limit: five, skip: ->(_env) { true } }].each do |options|
      answer = application(**options).get("/", "REMOTE_ADDR" => "10.1.2.3")
      expect([answer.status, answer.body, answer["RateLimit"]]).to eq([200, "", nil])
    end
  end

  it "lets an error of the application be its own" do
    expect { application(limit: five, key: ->(_env) { raise KeyError, "mine" }).get("/") }.to raise_error(KeyError)
    expect { application(limit: five).get("/", "REMOTE_ADDR" => "") }.to raise_error(ArgumentError)
  end

  it "hands a late answer to nobody else" do
    app = application(limit: five, timeout: 0.05, key: ->(env) { env["HTTP_X_KEY"] })
    rule = sluice.faults.add("COMMAND", "LIMIT.TAKE", "TIMES", 1, "HANG")
    expect(app.get("/", "HTTP_X_KEY" => "a").status).to eq(200)
    sluice.faults.delete(rule)
    expect(Array.new(2) { app.get("/", "HTTP_X_KEY" => "b").body }).to eq(%w[4 3])
  end

  it "refuses wrong options" do
    expect { described_class.new(nil, limits: limits, limit: five, name: 'a"b') }.to raise_error(ArgumentError)
    expect { described_class.new(nil, limits: limits) }.to raise_error(ArgumentError)
  end
end
