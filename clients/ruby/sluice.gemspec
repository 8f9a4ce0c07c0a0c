# frozen_string_literal: true

require_relative "lib/sluice/version"

Gem::Specification.new do |spec|
  spec.name = "sluice"
  spec.version = Sluice::VERSION
  spec.summary = "Sluice for Ruby: locks, limits, Rack middleware, and a private server for tests with a clock you own"
  spec.authors = ["The Sluice authors"]
  spec.license = "BSD-3-Clause"
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "README.md", "LICENSE"].sort }
  spec.metadata = { "rubygems_mfa_required" => "true" }
  spec.add_dependency "redis", ">= 4.2", "< 5"
end
