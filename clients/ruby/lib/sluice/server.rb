# frozen_string_literal: true

require "tmpdir"
require "sluice/double"
require "sluice/errors"

module Sluice
  # There is no program to start. Says where was looked, and what to do.
  class BinaryNotFound < Error; end

  # The server did not start; the message holds its log.
  class ServerError < Error; end

  # Where the program `sluice` is.
  module Binary
    MISSING = "there is no program `sluice` in PATH, nor in a gem `sluice-server` for #{RUBY_PLATFORM} (there are those " \
              "for x86_64-linux and aarch64-linux): build it (tools/run in Sluice's source makes build/sluice) and set " \
              "SLUICE_BIN to its path, or hand the path in as `bin`"

    MACHINES = { 62 => "x86_64", 183 => "aarch64" }.freeze # of an ELF file

    # Why a program that did not start cannot: it is for another processor. Empty where that is not why.
    def self.foreign(program)
      head = File.binread(program, 20)
      machine = MACHINES.fetch(head.unpack1("@18v"), "another processor") if head.start_with?("\x7fELF") && head.size == 20
      here = RbConfig::CONFIG["host_cpu"]
      machine && machine != here ? "'#{program}' is a program for #{machine}, and this machine is #{here}\n" : ""
    rescue SystemCallError
      "" # it is gone
    end

    # The argument, the variable SLUICE_BIN, the gem that carries it, then PATH.
    def self.find(bin = nil)
      { "bin" => bin, "SLUICE_BIN" => ENV["SLUICE_BIN"] }.each do |source, value|
        next if value.nil? || value.empty?
        raise BinaryNotFound, "#{source} names '#{value}', which is no program" unless program?(value)

        return File.expand_path(value)
      end
      packaged || on_path || raise(BinaryNotFound, MISSING)
    end

    # Of the gem `sluice-server`; nil where it is not installed.
    def self.packaged
      require "sluice_server"
      program = SluiceServer.program
      program?(program) ? program : raise(BinaryNotFound, "'#{program}' of sluice-server is not executable: install it again")
    rescue LoadError
      nil
    end

    def self.program?(file)
      File.file?(file) && File.executable?(file)
    end

    def self.on_path
      ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).reject(&:empty?)
         .map { |folder| File.join(folder, "sluice") }.find { |file| program?(file) }
    end
  end

  # A private server inside a Server: data, clock, faults and journal of its own.
  class Space < Double
    NAMES_USERS = Gem::Version.new(Redis::VERSION) >= Gem::Version.new("4.3")

    attr_reader :name

    def initialize(server, name)
      super(server.host, server.port, name)
      @server = server
      @name = name
    end

    # Everything of `source` (a Space or its name) in place of all that is here: for fixtures that are made once.
    def copy_from(source)
      @server.call("SLUICE.SPACE", "COPY", source.is_a?(Space) ? source.name : source, name)
      self
    end

    # Clients of redis-rb before 4.3 know of no user names: they get a port of the space's own.
    def url
      NAMES_USERS ? super : "redis://#{host}:#{@own_port ||= listen}"
    end

    # A port of its own, for code under test that knows of no user names.
    def listen
      @server.call("SLUICE.SPACE", "LISTEN", name)
    end

    # It is gone, and its clients are closed.
    def delete
      disconnect
      @server.call("SLUICE.SPACE", "DEL", name)
    end
  end

  # A test double as a process: on a free port of 127.0.0.1, gone with `stop`, and with this process however it ends. It
  # is itself the space `default`.
  class Server < Double
    START_SECONDS = 30
    END_SECONDS = 10

    attr_reader :pid

    # bin: the program; without it SLUICE_BIN, then `sluice` in PATH. options: as on the command line,
    # { maxmemory: "10mb" }. seed: makes what is random the same in each run. With a block, what that gives; the server
    # is stopped behind it.
    def self.start(**how)
      server = new(**how)
      return server unless block_given?

      begin
        yield server
      ensure
        server.stop
      end
    end

    def initialize(bin: nil, options: {}, seed: nil)
      program = Binary.find(bin)
      @folder = Dir.mktmpdir("sluice-")
      @owner = Process.pid
      @spaces = 0
      output, input = IO.pipe
      @pid = spawn(words(program, options, seed), input)
      input.close
      super("127.0.0.1", ready(output, program), nil)
      at_exit { stop }
    end

    # The private server of this name, made on first use; without a name a new one.
    def space(name = nil)
      Space.new(self, name || "space-#{@spaces += 1}")
    end

    # What the server has logged so far; nothing once it is stopped.
    def log
      File.file?(log_file) ? File.read(log_file).scrub : ""
    end

    # Ends the process; stopping twice is fine. A fork of the one that started it leaves it alone.
    def stop
      disconnect
      return if @pid.nil? || @owner != Process.pid

      Process.kill("TERM", @pid)
      waiter = Process.detach(@pid)
      Process.kill("KILL", @pid) unless waiter.join(END_SECONDS)
      waiter.join
      clean_up
    end

    private

    def words(program, options, seed)
      [program, "--test-double", "yes", "--port", "any", "--ready-line", "yes", "--exit-with-parent", "yes", "--dir", @folder,
       "--save", "",
       *(["--seed", seed.to_s] if seed),
       *options.flat_map { |name, value| ["--#{name.to_s.tr("_", "-")}", value.to_s] }]
    end

    def spawn(words, output)
      Process.spawn(*words, in: File::NULL, out: output, err: log_file)
    rescue SystemCallError => e
      clean_up
      raise ServerError, "sluice could not be started: #{e.message}"
    end

    def log_file
      File.join(@folder, "log")
    end

    # The port, from the one line of its standard output, which comes when clients are served.
    def ready(output, program)
      ready = output.wait_readable(START_SECONDS)
      line = ready ? output.gets.to_s : ""
      found = line.match(/\Aready on .*:(\d+)$/)
      return found[1].to_i if found

      status = end_of_start(ready && line.empty?)
      said = Binary.foreign(program) + log
      clean_up
      raise ServerError, "sluice did not start (#{status}):\n#{said}"
    end

    # Of a process that is about to end its status and last words are worth a moment.
    def end_of_start(ending)
      waiter = Process.detach(@pid)
      Process.kill("KILL", @pid) unless ending && waiter.join(END_SECONDS)
      waiter.value
    end

    def clean_up
      @pid = nil
      FileUtils.remove_entry(@folder, true)
    end
  end
end
