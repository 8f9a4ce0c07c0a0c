# frozen_string_literal: true

require "socket"

# A server that gives the answers of a table, by the names of commands, and OK to all else. Yields a client of redis-rb.
module MadeUpServer
  def self.start(answers)
    listener = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { Thread.new(listener.accept) { |socket| serve(socket, answers) } } }
    yield Redis.new(port: listener.addr[1])
  ensure
    thread&.kill
    listener&.close
  end

  def self.serve(socket, answers)
    while (words = request(socket))
      socket.write(answers.fetch(words.first.upcase, "+OK\r\n"))
    end
  rescue SystemCallError, IOError
    nil # the client has gone
  end

  def self.request(socket)
    count = socket.gets or return

    Array.new(count[1..].to_i) { socket.read(socket.gets[1..].to_i + 2).chomp("\r\n") }
  end
end
