# frozen_string_literal: true

require_relative "spec_helper"
require "open3"

# The test double, and the helpers for RSpec and minitest as users have them.
RSpec.describe Sluice::Server do
  let(:lib) { File.expand_path("../lib", __dir__) }

  it "has a clock" do
    sluice.clock.freeze_time(Time.utc(2030))
    expect(sluice.clock.now).to eq(1_893_456_000)
    sluice_redis.set("session", "alice", ex: 1800)
    sluice.clock.advance(1799.999)
    expect(sluice_redis.get("session")).to eq("alice")
    expect(sluice.clock.next).to be_within(0.0001).of(0.001)
    expect(sluice_redis.get("session")).to be_nil
    expect(sluice.clock.next).to be_nil
    sluice.clock.set(5).run
    expect(sluice.clock.now).to be >= 5
  end

  it "makes faults" do
    sluice.faults.add("COMMAND", "GET", "ERROR", "OOM no") do |rule|
      expect { sluice_redis.get("k") }.to raise_error(Redis::CommandError, /OOM no/)
      expect(sluice.faults.hits(rule)).to eq(1)
    end
    expect(sluice_redis.get("k")).to be_nil
    sluice.faults.add("DROP")
    expect(sluice.faults.clear).to eq(1)
    expect { sluice.faults.hits(99) }.to raise_error(ArgumentError)
  end

  it "has spaces of their own, with ports where they are wanted" do
    other = Sluice::Testing.server.space
    sluice_redis.set("k", "v")
    expect(other.call("GET", "k")).to be_nil
    expect(other.copy_from(sluice).call("GET", "k")).to eq("v")
    expect(Redis.new(port: other.listen).get("k")).to eq("v")
    other.reset
    expect(other.call("DBSIZE")).to eq(0)
    other.delete
  end

  it "says why it does not start" do
    expect { described_class.start(options: { maxmemory: "much" }) }.to raise_error(Sluice::ServerError, /maxmemory/)
    expect { described_class.start(bin: "/nowhere") }.to raise_error(Sluice::BinaryNotFound, %r{'/nowhere'})
    kept = ENV.to_h.slice("PATH", "SLUICE_BIN")
    begin
      ENV.update("PATH" => "", "SLUICE_BIN" => "")
      expect { described_class.start }.to raise_error(
        Sluice::BinaryNotFound, /in PATH.*x86_64-linux and aarch64-linux.*tools\/run.*SLUICE_BIN/
      )
    ensure
      ENV.update(kept)
    end
  end

  it "says that a program is not executable" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/sluice", "")
      expect { described_class.start(bin: "#{folder}/sluice") }.to raise_error(Sluice::BinaryNotFound, /is no program/)
      File.write("#{folder}/sluice", "#!/nowhere/interpreter\n")
      File.chmod(0o755, "#{folder}/sluice")
      expect { described_class.start(bin: "#{folder}/sluice") }.to raise_error(Sluice::ServerError, /could not be started/)
      File.binwrite("#{folder}/sluice", ["\x7fELF\x02\x01\x01", 243].pack("a18vx44")) # for RISC-V
      expect { described_class.start(bin: "#{folder}/sluice") }.to raise_error(
        Sluice::ServerError, /is a program for another processor, and this machine is/
      )
    end
  end

  it "says that a port is taken" do
    taken = TCPServer.new("127.0.0.1", 0)
    options = { port: taken.addr[1] }
    expect { described_class.start(options: options) }.to raise_error(Sluice::ServerError, /in use/)
    taken.close
    expect(described_class.start(options: options) { |server| [server.port, server.call("PING")] }).to eq([options[:port], "PONG"])
  end

  it "takes the program of this platform's gem before that in PATH" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/sluice_server.rb", "module SluiceServer; def self.program = '#{folder}/carried'; end")
      File.symlink(ENV.fetch("SLUICE_BIN"), "#{folder}/carried")
      find = lambda do |bin|
        Open3.capture2e({ "SLUICE_BIN" => bin }, "ruby", "-I", lib, "-I", folder, "-e",
                        'require "sluice/server"; print Sluice::Binary.find').first
      end
      expect([find.call(nil), find.call("/bin/true")]).to eq(["#{folder}/carried", "/bin/true"])
      File.unlink("#{folder}/carried")
      expect(find.call(nil)).to include("not executable")
    end
  end

  it "stops" do
    pid = described_class.start(seed: 1) { |server| server.call("PING") == "PONG" && server.pid }
    expect { Process.kill(0, pid) }.to raise_error(Errno::ESRCH)
  end

  it "goes with its process, however that ends" do
    script = 'require "sluice/server"; s = Sluice::Server.start; puts s.pid; $stdout.flush; Process.kill("KILL", $$)'
    pid = Open3.capture2("ruby", "-I", lib, "-e", script).first.to_i
    eventually do
      Process.kill(0, pid) && File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"
    rescue Errno::ESRCH, Errno::ENOENT
      true
    end
  end

  it "helps RSpec, and shows what a failing example sent" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/a_spec.rb", <<~RUBY)
        require "sluice/rspec"
        RSpec.describe "x" do
          2.times { |n| it("is empty \#{n}") { expect(sluice_redis.incr("n")).to eq(1) } }
          it("has a clock") { sluice_redis.set("k", "v", ex: 60); sluice_clock.advance(60); expect(sluice_redis.get("k")).to be_nil }
          it("fails") { sluice_redis.set("seen", "it"); expect(1).to eq(2) }
        end
      RUBY
      output, status = Open3.capture2e("rspec", "-I", lib, "#{folder}/a_spec.rb")
      expect(status).not_to be_success
      expect(output).to include("4 examples, 1 failure").and match(/#\d+ set seen it .*\+OK/)
    end
  end

  it "helps minitest, and shows what a failing test sent" do
    Dir.mktmpdir do |folder|
      File.write("#{folder}/a_test.rb", <<~RUBY)
        require "minitest/autorun"
        require "sluice/minitest"
        class ATest < Minitest::Test
          include Sluice::Minitest
          def test_clock = sluice_redis.set("k", "v", ex: 60) && sluice_clock.advance(60) && assert_nil(sluice_redis.get("k"))
          def test_empty = assert_equal(1, sluice_redis.incr("n"))
          def test_fails = sluice_redis.set("seen", "it") && flunk
          def test_none = assert(true)
        end
      RUBY
      output, status = Open3.capture2e("ruby", "-I", lib, "#{folder}/a_test.rb")
      expect(status).not_to be_success
      expect(output).to include("4 runs", "1 failures, 0 errors").and match(/#\d+ set seen it .*\+OK/)
    end
  end
end

RSpec.describe "the gem" do
  it "has all that it needs" do
    Dir.mktmpdir do |folder|
      root = File.expand_path("..", __dir__)
      _, built = Open3.capture2e("gem", "build", "sluice.gemspec", "--output", "#{folder}/sluice.gem", chdir: root)
      expect(built).to be_success
      output, installed = Open3.capture2e("gem", "install", "--local", "--no-document", "--ignore-dependencies",
                                          "--install-dir", "#{folder}/gems", "#{folder}/sluice.gem")
      expect(installed).to be_success, output
      script = 'gem "sluice"; require "sluice"; require "sluice/rack"; require "sluice/server"; print Sluice::VERSION'
      output, = Open3.capture2e({ "GEM_PATH" => "#{folder}/gems:#{Gem.path.join(":")}" }, "ruby", "-e", script)
      expect(output).to eq(Sluice::VERSION)
    end
  end
end
