// A server inside a program: on its own thread and on the program's loop, several at once, beside
// what the process is and does, and with hosts that treat it badly.
#include "server/embed/serving/server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using Io = boost::asio::io_context;
using Descriptor = boost::asio::posix::stream_descriptor;

// A client as others are: a socket, and bytes.
class Socket {
 public:
  explicit Socket(int port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  explicit Socket(const std::string& path) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
    is_open_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~Socket() { ::close(fd_); }
  bool is_open() const { return is_open_; }
  void Send(const std::string& text) const {
    ASSERT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  bool HasAnswer() const {
    pollfd one{.fd = fd_, .events = POLLIN};
    return ::poll(&one, 1, 0) > 0;
  }
  // Empty: it was closed.
  std::string Read() const {
    char bytes[256];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    return {bytes, static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }
  std::string Ask(const std::string& line) const {
    Send(line + "\r\n");
    return Read();
  }

 private:
  int fd_ = -1;
  bool is_open_ = false;
};

struct Folder {
  Folder() { path = ::mkdtemp(name); }
  ~Folder() { std::filesystem::remove_all(path); }
  char name[32] = "/tmp/sluice-server-XXXXXX";
  std::string path;
};

ServerOptions OnHost(std::vector<std::pair<std::string, std::string>> settings = {}) {
  return {.settings = std::move(settings), .loop = ServerOptions::Loop::kHost};
}

// --- what it is

TEST(EmbeddedServer, ServesOnAThreadOfItsOwn) {
  Server server;
  ASSERT_EQ(server.Start(), "");
  EXPECT_GT(server.port(), 0);
  EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
  const Socket client(server.port());
  EXPECT_EQ(client.Ask("SET a 1"), "+OK\r\n");
  EXPECT_EQ(server.Run({"INCR", "a"}).integer(), 2);
  EXPECT_EQ(server.Stop(), "");
  EXPECT_EQ(client.Read(), "");
  EXPECT_FALSE(server.running());
  EXPECT_EQ(server.port(), 0);
  EXPECT_EQ(server.Run({"PING"}).error_code(), "CLOSED");
  EXPECT_EQ(server.Stop(), "");
  EXPECT_EQ(server.Start(), "");
  EXPECT_TRUE(server.Run({"GET", "a"}).is_null());
}

TEST(EmbeddedServer, AnswersAreTyped) {
  Server server;
  ASSERT_EQ(server.Start(), "");
  server.Run({"HSET", "h", "f", std::string_view("\0\xff", 2)});
  const Reply map = server.Run({"HGETALL", "h"});
  EXPECT_EQ(map.kind(), Reply::Kind::kMap);
  EXPECT_EQ(map["f"].text(), std::string_view("\0\xff", 2));
  server.Run({"ZADD", "z", "1.5", "m"});
  EXPECT_EQ(server.Run({"ZSCORE", "z", "m"}).number(), 1.5);
  EXPECT_EQ(server.Run({"LPUSH", "z", "1"}).error_code(), "WRONGTYPE");
  EXPECT_EQ(server.Run({"SUBSCRIBE", "news"}).ToText(), ">[\"subscribe\", \"news\", 1]");
  EXPECT_EQ(server.Run({"PING", "hello"}).text(), "hello");
  EXPECT_EQ(server.Run({"CLIENT", "REPLY", "OFF"}).error_code(), "ERR");
  EXPECT_EQ(server.Run({"MONITOR"}).error_code(), "ERR");
  EXPECT_EQ(server.Run(std::initializer_list<std::string_view>{}).error_code(), "ERR");
  const std::string large(8 << 20, 'x');
  server.Run({"SET", "large", large});
  EXPECT_EQ(server.Run({"GET", "large"}).text(), large);
}

TEST(EmbeddedServer, ServesOnAUnixSocketAndNotThatPort) {
  const Folder folder;
  const std::string path = folder.path + "/s.sock";
  Server server;
  ASSERT_EQ(server.Start({{"port", "0"}, {"unixsocket", path}, {"requirepass", "secret"}}), "");
  EXPECT_EQ(server.port(), 0);
  EXPECT_EQ(server.address(), "unix:" + path);
  EXPECT_TRUE(Socket(path).Ask("PING").starts_with("-NOAUTH"));
  EXPECT_EQ(server.Run({"PING"}).text(), "PONG");
  server.Stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(EmbeddedServer, SeveralAreIndependent) {
  std::vector<Server> servers(5);
  for (Server& server : servers) ASSERT_EQ(server.Start(), "");
  for (size_t i = 0; i < servers.size(); ++i) {
    servers[i].Run({"SET", "who", std::to_string(i)});
  }
  EXPECT_EQ(servers[0].Stop(), "");
  for (size_t i = 1; i < servers.size(); ++i) {
    EXPECT_EQ(servers[i].Run({"GET", "who"}).text(), std::to_string(i));
  }
}

TEST(EmbeddedServer, ClockFaultsAndSpacesAreMethods) {
  Server server;
  ASSERT_EQ(server.Start({{"test-double", "yes"}}), "");
  const ServerSpace one = server.space("one");
  const ServerSpace two = server.space("two");
  EXPECT_EQ(one.url(), "redis://space:one@127.0.0.1:" + std::to_string(server.port()));
  const ServerClock::Date date{1'800'000'000s};
  EXPECT_EQ(one.clock().FreezeAt(date), "");
  one.Run({"SET", "a", "1", "PX", "1000"});
  EXPECT_EQ(one.clock().Advance(999ms), "");
  EXPECT_EQ(one.Run({"GET", "a"}).text(), "1");
  EXPECT_EQ(one.clock().Next(), 1ms);
  EXPECT_TRUE(one.Run({"GET", "a"}).is_null());
  EXPECT_EQ(one.clock().Next(), std::nullopt);
  EXPECT_EQ(one.clock().Now(), date + 1s);
  EXPECT_NE(two.clock().Now(), date + 1s);
  EXPECT_EQ(one.clock().Run(), "");

  std::string fault;
  EXPECT_EQ(two.faults().Add({"COMMAND", "GET"}, fault), std::nullopt);
  EXPECT_NE(fault, "");
  const auto rule = two.faults().Add({"COMMAND", "GET", "TIMES", "1", "ERROR", "ERR no"}, fault);
  ASSERT_TRUE(rule) << fault;
  const Socket client(server.port());
  EXPECT_EQ(client.Ask("SLUICE.SPACE two"), "+OK\r\n");
  EXPECT_EQ(client.Ask("GET a"), "-ERR no\r\n");
  EXPECT_EQ(client.Ask("GET a"), "$-1\r\n");
  EXPECT_EQ(two.faults().Hits(*rule), 1);
  EXPECT_TRUE(two.faults().Delete(*rule));
  EXPECT_EQ(two.faults().Clear(), "");

  two.Run({"SET", "b", "2"});
  EXPECT_EQ(server.space("three").CopyFrom(two), "");
  EXPECT_EQ(two.Reset(), "");
  EXPECT_TRUE(two.Run({"GET", "b"}).is_null());
  EXPECT_EQ(server.space("three").Run({"GET", "b"}).text(), "2");
  EXPECT_EQ(server.space("three").Delete(), "");
  EXPECT_TRUE(server.Run({"GET", "b"}).is_null());
}

TEST(EmbeddedServer, KeepsItsDataInItsDirectory) {
  const Folder folder;
  const ServerOptions options{.settings = {{"dir", folder.path + "/data"}, {"appendonly", "yes"}}};
  Server server;
  ASSERT_EQ(server.Start(options), "");
  server.Run({"SET", "a", "1"});
  EXPECT_EQ(server.Run({"CONFIG", "GET", "dir"})["dir"].text(), folder.path + "/data");
  Server other;
  EXPECT_NE(other.Start(options), "");
  EXPECT_EQ(server.Stop(), "");
  EXPECT_EQ(other.Start(options), "");
  EXPECT_EQ(other.Run({"GET", "a"}).text(), "1");
}

// --- the program's loop

TEST(EmbeddedServer, IsDrivenByAnIoContext) {
  Io io;
  Server server;
  ASSERT_EQ(server.Start(OnHost()), "");
  server.DriveBy<Descriptor>(io);
  const Socket client(server.port());
  client.Send("SET a 1 PX 20\r\nBLPOP list 0.02\r\n");
  EXPECT_FALSE(client.HasAnswer());  // nobody has polled
  // Its timers are the context's, too. A slow machine has both answers at once.
  const std::string wanted = "+OK\r\n*-1\r\n";
  std::string answers;
  while (answers.size() < wanted.size()) {
    while (!client.HasAnswer()) io.run_one();
    answers += client.Read();
  }
  EXPECT_EQ(answers, wanted);
  EXPECT_EQ(io.poll(), 0U);
  EXPECT_EQ(server.Run({"PING"}).text(), "PONG");
  EXPECT_EQ(server.Stop(), "");
  io.run();  // returns, as the server has no more work there
}

TEST(EmbeddedServer, EndsItsIoContextByShutdown) {
  Io io;
  std::string ended = "not yet";
  ServerOptions options = OnHost();
  options.on_end = [&](const std::string& fault) { ended = fault; };
  Server server;
  ASSERT_EQ(server.Start(options), "");
  server.DriveBy<Descriptor>(io);
  const Socket client(server.port());
  client.Send("SHUTDOWN NOSAVE\r\n");
  io.run();
  EXPECT_EQ(client.Read(), "");
  EXPECT_EQ(ended, "");
  EXPECT_FALSE(server.running());
}

TEST(EmbeddedServer, SeveralShareAnIoContextWithItsHost) {
  Io io;
  Server one, other;
  ASSERT_EQ(one.Start(OnHost()), "");
  ASSERT_EQ(other.Start(OnHost({{"test-double", "yes"}})), "");
  one.DriveBy<Descriptor>(io);
  other.DriveBy<Descriptor>(io);
  const Socket client(one.port());
  const Socket other_client(other.port());
  client.Send("INCR n\r\n");
  other_client.Send("INCR n\r\n");
  while (!client.HasAnswer() || !other_client.HasAnswer()) io.run_one();
  one = Server();
  EXPECT_EQ(other.clock().Freeze(), "");
  other = Server();
  io.run();
}

TEST(EmbeddedServer, FitsALoopThatPollsDescriptors) {
  Server server;
  ASSERT_EQ(server.Start(OnHost()), "");
  const Socket client(server.port());
  std::string all;
  const std::string pipeline(1000 * 14, ' ');
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "PING\r\n";
  client.Send(requests);
  while (all.size() < 1000 * 7) {
    pollfd one{.fd = server.descriptor(), .events = POLLIN};
    ASSERT_GE(::poll(&one, 1, -1), 1);
    ASSERT_TRUE(server.Work());
    while (client.HasAnswer()) all += client.Read();
  }
  // With nothing to do nothing is told.
  pollfd one{.fd = server.descriptor(), .events = POLLIN};
  while (::poll(&one, 1, 0) > 0) server.Work();
  EXPECT_EQ(::poll(&one, 1, 0), 0);
}

// --- the process

TEST(EmbeddedServer, LeavesTheProcessAlone) {
  const Folder folder;
  const std::string before = std::filesystem::current_path().string();
  std::filesystem::current_path(folder.path);
  rlimit limit, limit_then;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 512;
  setrlimit(RLIMIT_NOFILE, &limit);
  struct sigaction was[32], is;
  for (int i = 1; i < 32; ++i) ::sigaction(i, nullptr, &was[i]);
  const mode_t mask = ::umask(022);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Server server, memory;
    ASSERT_EQ(server.Start({{"dir", "data"}, {"appendonly", "yes"}}), "");
    ASSERT_EQ(memory.Start(), "");
    memory.Run({"SET", "a", "1"});
    memory.Run({"LOCK.ACQUIRE", "l", "me", "LEASE", "1000"});
    EXPECT_FALSE(memory.Run({"SAVE"}).is_error());  // into memory
    for (int i = 1; i < 32; ++i) {
      ::sigaction(i, nullptr, &is);
      EXPECT_EQ(is.sa_handler, was[i].sa_handler) << i;
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::umask(mask), 022U);
  getrlimit(RLIMIT_NOFILE, &limit_then);
  EXPECT_EQ(limit_then.rlim_cur, 512U);
  EXPECT_EQ(std::filesystem::current_path().string(), folder.path);
  EXPECT_FALSE(std::filesystem::exists("dump.rdb"));
  EXPECT_FALSE(std::filesystem::exists("fence.mark"));
  EXPECT_TRUE(std::filesystem::exists("data/appendonlydir"));
  std::filesystem::current_path(before);
}

TEST(EmbeddedServer, RefusesWhatWouldChangeTheProcess) {
  for (const auto& [name, value] : {std::pair{"daemonize", "yes"},
                                    {"pidfile", "p"},
                                    {"exit-with-parent", "yes"},
                                    {"port-file", "p"},
                                    {"ready-fd", "3"},
                                    {"ready-line", "yes"}}) {
    Server server;
    EXPECT_EQ(server.Start({{name, value}}),
              std::string(name) + ": a server inside a program leaves the process alone");
  }
}

TEST(EmbeddedServer, SaysWhyItDoesNotStart) {
  Server first;
  ASSERT_EQ(first.Start(), "");
  const std::string port = std::to_string(first.port());
  Server second;
  EXPECT_EQ(second.Start({{"port", port}}),
            "can't listen on 127.0.0.1 port " + port + ": Address already in use");
  ServerOptions options = OnHost({{"port", port}});
  EXPECT_NE(second.Start(options), "");
  EXPECT_FALSE(second.running());
  EXPECT_NE(second.Start({{"no-such-option", "1"}}), "");
  EXPECT_NE(second.Start({{"port", "1\nrequirepass x"}}), "");
  EXPECT_NE(second.Start({{"port", "0"}}), "");
  EXPECT_NE(second.Start({{"appendonly", "yes"}}), "");
  EXPECT_NE(second.Start({{"dir", "/proc/nowhere/x"}}), "");
  EXPECT_NE(second.Start({.file = "/no/such/file"}), "");
  EXPECT_EQ(first.Start(), "the server runs already");
  const Folder folder;
  std::filesystem::create_directory(folder.path + "/dump.rdb");
  EXPECT_NE(second.Start({{"dir", folder.path}}), "");
  EXPECT_EQ(second.Start(), "");
}

TEST(EmbeddedServer, SaysWhyItDoesNotEnd) {
  const Folder folder;
  Server server;
  ASSERT_EQ(server.Start({{"dir", folder.path}, {"save", "3600 1"}}), "");
  server.Run({"SET", "a", "1"});
  const Folder away;  // at once: beside us the server may be writing into it
  std::filesystem::rename(folder.path, away.path + "/it");
  EXPECT_NE(server.Stop(), "");
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.Run({"GET", "a"}).text(), "1");
  std::filesystem::create_directory(folder.path);
  EXPECT_EQ(server.Stop(), "");
}

// --- hosts that treat it badly

TEST(EmbeddedServer, IsDestroyedInItsCallback) {
  for (const auto loop : {ServerOptions::Loop::kOwnThread, ServerOptions::Loop::kHost}) {
    std::atomic<bool> has_ended = false;
    auto server = std::make_unique<Server>();
    std::atomic<bool> armed = false;
    ServerOptions options{.settings = {{"loglevel", "debug"}}, .loop = loop};
    options.log = [&](std::string_view) {
      if (!armed.exchange(false)) return;
      EXPECT_EQ(server->Run({"PING"}).error_code(), "BUSY");
      EXPECT_TRUE(server->Stop().starts_with("BUSY"));
      server.reset();
    };
    options.on_end = [&](const std::string&) {
      has_ended = true;
      has_ended.notify_all();
    };
    ASSERT_EQ(server->Start(options), "");
    const Socket client(server->port());
    Server* const same = server.get();
    armed = true;
    client.Send("BGSAVE\r\nDEBUG LOG x\r\nSAVE\r\n");  // of which it tells
    while (loop == ServerOptions::Loop::kHost && !has_ended) same->Work();
    has_ended.wait(false);
    EXPECT_EQ(server, nullptr);
  }
}

TEST(EmbeddedServer, ACallbackThrows) {
  ServerOptions options = OnHost();
  bool throws = false;
  options.log = [&](std::string_view) {
    if (throws) throw std::runtime_error("no paper");
  };
  Io io;
  Server server;
  ASSERT_EQ(server.Start(options), "");
  server.DriveBy<Descriptor>(io);
  const Socket client(server.port());
  throws = true;
  client.Send("SAVE\r\n");
  bool has_thrown = false;
  while (!client.HasAnswer() || !has_thrown) {
    try {
      io.run_one();
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
  }
  EXPECT_EQ(client.Read(), "+OK\r\n");
  throws = false;
  EXPECT_EQ(server.Run({"PING"}).text(), "PONG");  // it goes on

  options.loop = ServerOptions::Loop::kOwnThread;
  Server threaded;
  ASSERT_EQ(threaded.Start(options), "");
  throws = true;
  EXPECT_TRUE(threaded.Run({"SAVE"}).is_ok());
  EXPECT_EQ(threaded.Stop(), "a callback has thrown: no paper");
}

TEST(EmbeddedServer, NobodyPolls) {
  Server server;
  ASSERT_EQ(server.Start(OnHost()), "");
  const Socket client(server.port());
  ASSERT_TRUE(client.is_open());
  client.Send("SET a 1\r\n");
  server = Server();
  while (!client.Read().empty()) {
  }
}

TEST(EmbeddedServer, AChildHasNone) {
  if (std::getenv("SLUICE_EMULATED")) GTEST_SKIP() << "a fork of qemu-user starts no threads";
  for (const auto loop : {ServerOptions::Loop::kOwnThread, ServerOptions::Loop::kHost}) {
    ServerOptions options{.loop = loop};
    Server server;
    ASSERT_EQ(server.Start(options), "");
    const Socket client(server.port());
    const pid_t child = ::fork();
    if (child == 0) {
      bool is_right = !server.running() && server.Run({"PING"}).error_code() == "FORKED" &&
                      server.Stop().starts_with("FORKED") && server.clock().Freeze() != "";
      server = Server();
      is_right = is_right && server.Start() == "" && server.Run({"PING"}).text() == "PONG";
      server = Server();
      ::_exit(is_right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(server.Run({"PING"}).text(), "PONG");
    client.Send("PING\r\n");
    while (!client.HasAnswer()) server.Work();
    EXPECT_EQ(client.Read(), "+PONG\r\n");
  }
}

TEST(EmbeddedServer, ControlIsBackAfterItsConnectionWasClosed) {
  Server server;
  ASSERT_EQ(server.Start({{"test-double", "yes"}}), "");
  const ServerSpace space = server.space("s");
  space.Run({"SET", "a", "1"});
  space.Run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"});
  while (space.Run({"PING"}).error_code() == "CLOSED") {
  }
  EXPECT_EQ(space.Run({"GET", "a"}).text(), "1");
}

}  // namespace
}  // namespace sluice
