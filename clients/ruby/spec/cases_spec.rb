# frozen_string_literal: true

require_relative "spec_helper"
require_relative "made_up_server"

# The cases that all clients share (clients/cases.json).
RSpec.describe "the shared cases" do
  (Player::CASES["locks"] + Player::CASES["limits"]).each do |one|
    it one["name"] do
      player = Player.new(sluice, locks: Sluice::LockClient.new(sluice_redis),
                                  limits: Sluice::LimitClient.new(sluice_redis, prefix: one.fetch("prefix", "")))
      player.play(one["steps"])
    end
  end

  Player::CASES["answers"].each do |one|
    it "a server that answers #{one["name"]}" do
      MadeUpServer.start(one["answers"]) do |redis|
        Player.new(nil, locks: Sluice::LockClient.new(redis), limits: Sluice::LimitClient.new(redis)).play(one["steps"])
      end
    end
  end

  Player::CASES["http"].each do |one|
    it "rack: #{one["name"]}" do
      errors = []
      app = Sluice::RateLimit.new(
        ->(_env) { [200, { "content-type" => "text/plain" }, ["served"]] }, limits: Sluice::LimitClient.new(sluice_redis),
        key: ->(env) { env["HTTP_X_KEY"] }, cost: ->(env) { env["HTTP_X_COST"] }, on_error: ->(error, _) { errors << error },
        **Player.options(one["options"]), limit: Player.limit(one["options"]["limit"])
      )
      player = Player.new(sluice)
      one["steps"].each do |step|
        next player.play([step]) unless step["key"]

        before = errors.size
        status, headers, body = app.call({ "HTTP_X_KEY" => step["key"], "HTTP_X_COST" => step["cost"] })
        expect(status).to eq(step["status"])
        expect(body.join).to include(step.fetch("text", ""))
        step.fetch("headers", {}).each { |name, value| expect(headers[name.downcase]).to eq(value), name }
        expect(headers.keys.grep(/[A-Z]/)).to be_empty # Rack 3 takes small letters alone
        expect(errors.size > before).to eq(step["error"]) if step.key?("error")
        player.compare_sent(step)
      end
    end
  end

  Player::CASES["addresses"].each do |address, key|
    it("rack: the address #{address}") { expect(Sluice::RateLimit.address_key(address)).to eq(key) }
  end
end
