// Server: the real server inside a program, on a port or a Unix socket: for tests of code that
// speaks to one, and for programs that serve others besides what else they do.
//
//   sluice::Server server;
//   if (std::string fault = server.Start({{"test-double", "yes"}}); !fault.empty()) return fault;
//   redisConnect("127.0.0.1", server.port());
//   server.clock().Freeze();
//   server.clock().Advance(30s);
//
// Options are those of sluice.conf. Without a port it takes a free one of 127.0.0.1; without a
// directory (dir) it keeps everything in memory and writes no file. Several may be in a process,
// each independent.
//
// The process is left alone: signals, working directory, umask, standard streams, limits. There is
// no log unless `log` or the option logfile asks for one.
//
// Its loop is a thread of its own; or the program's: then nothing happens but in Work, in DriveBy's
// handlers, and in calls of the server that wait for an answer.
//
// Threads. With a thread of its own, any thread may call at any time. Without one, and in Start,
// Stop and the destructor, one at a time.
//
// Callbacks run on the server's loop. One may destroy the server, which ends when it returns, but
// not ask it for anything ("BUSY ..."). One may throw: on the program's loop the call of Work, or
// the handler, ends with it; of the server's own thread Stop tells it.
//
// A child of fork has no server: every call answers "FORKED ...", and its destructor leaves the
// parent's alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/embed/reply.h"

namespace sluice {

class ServerCore;
class ServerLink;

inline namespace v1 {

struct ServerOptions {
  // As lines of sluice.conf: {{"port", "7000"}, {"unixsocket", "/tmp/s"}, {"appendonly", "yes"}}.
  std::vector<std::pair<std::string, std::string>> settings = {};
  // Configuration that is read before them: a file, and then text. Empty: none.
  std::string file = {};
  std::string text = {};
  // Gets each line of the log, unless the option logfile names a file.
  std::function<void(std::string_view line)> log = {};
  // The configuration was read, and nothing is open yet. A sentence: it is not to start.
  std::function<std::string()> on_configured = {};
  // Clients are served there; port 0: there is none.
  std::function<void(const std::string& address, int port)> on_ready = {};
  // It has ended: by Stop, SHUTDOWN, or a fault, which is a sentence then.
  std::function<void(const std::string& fault)> on_end = {};
  enum class Loop : uint8_t {
    kOwnThread,
    kHost,     // Work and DriveBy
    kProcess,  // RunAsProcess
  };
  Loop loop = Loop::kOwnThread;
  // For kProcess: the words that have started the process, and where. SIGUSR2 has them start
  // another one that takes its place; on_handed_over is called when that has it. Empty: there is no
  // successor.
  std::vector<std::string> command = {};
  std::string command_folder = {};
  std::function<void()> on_handed_over = {};
};

// The clock of a test double, or of one of its spaces. Functions answer with an error sentence, or
// empty.
class ServerClock {
 public:
  using Millis = std::chrono::milliseconds;
  using Date = std::chrono::sys_time<Millis>;

  std::string Freeze() { return Do({"FREEZE"}); }
  // And shows that time from now on.
  std::string FreezeAt(Date date);
  std::string Run() { return Do({"RUN"}); }  // it goes on from where it stands
  // Lets so much time pass: everything that is due on the way has happened at its own moment.
  std::string Advance(Millis by);
  // To the first timer that fires; how long that was. None: no timer is set, or the server is gone.
  std::optional<Millis> Next();
  // The epoch where the server is gone.
  Date Now();

 private:
  friend class ServerSpace;
  explicit ServerClock(std::shared_ptr<ServerLink> link) : link_(std::move(link)) {}
  std::string Do(std::initializer_list<std::string_view> words);
  std::shared_ptr<ServerLink> link_;
};

// The faults of a test double, or of one of its spaces.
class ServerFaults {
 public:
  using Words = std::initializer_list<std::string_view>;

  // `rule` as behind SLUICE.FAULT ADD: {"COMMAND", "EXEC", "AFTER", "TIMES", "1", "CLOSE"}. Its
  // number; none: `fault` says what is wrong with it.
  std::optional<int64_t> Add(Words rule, std::string& fault);
  // False: there is none of that number any more.
  bool Delete(int64_t number);
  // How many requests it has hit; 0 where it is gone.
  int64_t Hits(int64_t number);
  std::string Clear();  // an error sentence, or empty

 private:
  friend class ServerSpace;
  explicit ServerFaults(std::shared_ptr<ServerLink> link) : link_(std::move(link)) {}
  std::shared_ptr<ServerLink> link_;
};

// A private server of a test double, or what a client of a server sees that has chosen no space. It
// is made when it is first used, and stays when this goes. It may outlive the server.
class ServerSpace {
 public:
  ServerSpace(const ServerSpace&) = default;
  ServerSpace& operator=(const ServerSpace&) = default;

  // Over a connection of this object's own, which needs no password; it waits for the answer.
  Reply Run(std::span<const std::string_view> words) const;
  Reply Run(std::initializer_list<std::string_view> words) const {
    return Run(std::span(words.begin(), words.size()));
  }
  ServerClock clock() const { return ServerClock(link_); }
  ServerFaults faults() const { return ServerFaults(link_); }
  // "redis://space:name@127.0.0.1:41873", by which a client gets into it; "unix:/path" where there
  // is no port, and then AUTH leads into it. Empty: the server is gone.
  std::string url() const;
  // Where it has a port of its own, of 127.0.0.1, which is made when it is first asked for: whoever
  // connects there is in it. 0: there is none to be had.
  int port() const;
  const std::string& name() const;  // empty: of those that have chosen none
  // --- error sentences, or empty
  std::string Reset() const;  // as it was when it was made
  std::string CopyFrom(const ServerSpace& other) const;
  std::string Delete() const;  // with all in it; its clients are closed

 private:
  friend class Server;
  ServerSpace(const std::shared_ptr<ServerCore>& core, std::string name);
  std::shared_ptr<ServerLink> link_;
};

class Server {
 public:
  Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  // Ends it, whether or not what was to be saved can be.
  ~Server();

  // Returns when clients are served. An error sentence (a port that is taken, a damaged file, an
  // option that does not exist ...), or empty.
  std::string Start(ServerOptions options = {});
  // A template, so that g++ takes {.settings = ...} for options.
  template <class = void>
  std::string Start(std::initializer_list<std::pair<std::string, std::string>> settings) {
    return Start(ServerOptions{.settings = {settings.begin(), settings.end()}});
  }
  // Ends it as SIGTERM ends a server, and waits for that. Why it goes on, or what could not be
  // saved; or empty.
  std::string Stop();
  bool running() const;

  // As they were when it began to serve: 0, empty without one.
  int port() const;
  // "127.0.0.1:41873", "unix:/path".
  std::string address() const;
  // "redis://127.0.0.1:41873".
  std::string url() const { return space().url(); }

  // The space of clients that have chosen none.
  Reply Run(std::span<const std::string_view> words) const { return space().Run(words); }
  Reply Run(std::initializer_list<std::string_view> words) const { return space().Run(words); }
  ServerClock clock() const { return space().clock(); }
  ServerFaults faults() const { return space().faults(); }
  const ServerSpace& space() const { return space_; }
  // For a test double.
  ServerSpace space(std::string name) const;

  // --- on the program's loop (kHost)
  // Can be read when there is something to do: Work is to be called then. Below zero: it has ended.
  int descriptor() const;
  // Does some of what there is to do, without waiting. False: it has ended.
  bool Work();
  // An io_context of Asio, Boost's or the one that stands alone, has it work: it is served while
  // io.run() or io.poll() is. The name is that of Asio's class for descriptors:
  //
  //   server.DriveBy<boost::asio::posix::stream_descriptor>(io);
  //
  // The context outlives the server. When the server ends it has no more work there.
  template <class StreamDescriptor, class IoContext>
  void DriveBy(IoContext& io);

  // --- the process is a server and nothing else (kProcess)
  // Serves on this thread until it ends, by SIGINT and SIGTERM too; SIGHUP and SIGPIPE are ignored
  // from Start on. The process's exit code.
  int RunAsProcess();
  // Adds a line to its log, unless it is empty.
  void Log(std::string_view line);

 private:
  // The needs of a driver, of which neither side has to know the other.
  struct Drive {
    int descriptor = -1;          // a copy, which is the driver's to close
    std::shared_ptr<void> holds;  // what can be read of it
    std::function<bool()> work;
  };
  Drive DriveAside() const;
  template <class StreamDescriptor>
  struct Driver;

  std::shared_ptr<ServerCore> core_;
  ServerSpace space_;
};

// Lives as long as Asio waits for it.
template <class StreamDescriptor>
struct Server::Driver : std::enable_shared_from_this<Driver<StreamDescriptor>> {
  template <class IoContext>
  Driver(IoContext& io, Drive what) : drive(std::move(what)), set(io, drive.descriptor) {}

  void Await() {
    set.async_wait(StreamDescriptor::wait_read,
                   [self = this->shared_from_this()](const auto& error) {
                     if (!error) self->Serve();
                   });
  }
  void Serve() {
    bool goes_on = true;
    try {
      goes_on = drive.work();
    } catch (...) {
      Await();  // what a callback has thrown is for the caller of io.run(); the server goes on
      throw;
    }
    if (goes_on) Await();
  }

  Drive drive;
  StreamDescriptor set;
};

template <class StreamDescriptor, class IoContext>
void Server::DriveBy(IoContext& io) {
  Drive drive = DriveAside();
  if (drive.descriptor < 0) return;
  std::make_shared<Driver<StreamDescriptor>>(io, std::move(drive))->Await();
}

}  // namespace v1
}  // namespace sluice
