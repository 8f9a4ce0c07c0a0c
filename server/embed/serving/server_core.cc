// See server_core.h. The lock is never held while a callback or the server runs; the server itself
// is the loop's alone, others only have it call back (Post).
#include "server/embed/serving/server_core.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/commands/families.h"
#include "server/config/version.h"
#include "server/embed/serving/host_facts.h"
#include "server/net/http/http_port.h"
#include "server/net/links/outgoing_links.h"
#include "server/net/server.h"

namespace sluice {
namespace {

// The path, seen from a folder that is not the working directory.
std::string In(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' ? path : Concat(folder, '/', path);
}

void WaitToRead(int first, int second) {
  pollfd both[] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
  ::poll(both, std::size(both), -1);
}

}  // namespace

namespace {

std::unique_ptr<ExtraPort> MakeHttp(const ExtraPort::Uses& uses) {
  return std::make_unique<HttpPort>(uses);
}

}  // namespace

struct ServerCore::Running {
  Running(Config& config, const CommandTable& commands, const EngineOptions& options,
          Server::Around around)
      : server(config, commands, options, std::move(around)) {}
  Server server;
};

// Says for as long as it lives that a callback runs.
struct ServerCore::Inside {
  explicit Inside(ServerCore& all)
      : core(all), before(core.inside_.exchange(std::this_thread::get_id())) {}
  Inside(const Inside&) = delete;
  ~Inside() { core.inside_ = before; }
  ServerCore& core;
  const std::thread::id before;
};

template <typename Call>
void ServerCore::Guard(const Call& call) {
  const Inside inside(*this);
  try {
    call();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!thrown_) thrown_ = std::current_exception();
  }
}

ServerCore::ServerCore(Options options) : options_(std::move(options)), process_(getpid()) {}

ServerCore::~ServerCore() = default;

bool ServerCore::is_forked() const { return getpid() != process_; }

std::string ServerCore::address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

// --- the start

std::shared_ptr<ServerCore> ServerCore::Start(Options options, std::string& fault) {
  auto core = std::make_shared<ServerCore>(std::move(options));
  fault = core->Configure();
  if (fault.empty() && core->options_.configured) fault = core->options_.configured();
  if (fault.empty() && core->has_folder_) fault = core->EnterFolder();
  if (fault.empty() && core->loop() == Loop::kOwnThread) {
    fault = core->StartThread();
  } else if (fault.empty()) {
    fault = core->Begin();
    if (fault.empty() && core->loop() == Loop::kHost &&
        !core->WorkUntil([&] { return core->begun_; }))
      fault = core->EndFault();
  }
  if (!fault.empty()) return nullptr;
  return core;
}

// A test double, and a server without a folder, write nothing unless the words say otherwise: what
// it is has to be known before they are read.
Fault ServerCore::Configure() {
  const bool is_process = options_.loop == Loop::kProcess;
  const auto load = [&](Config& config) {
    std::string fault;
    if (!options_.file.empty()) fault = config.LoadFile(options_.file);
    if (fault.empty()) fault = config.LoadText(options_.text, "");
    for (const auto& [name, value] : options_.settings) {
      if (!fault.empty()) break;
      if (name.find('\n') != std::string::npos || value.find('\n') != std::string::npos)
        return std::string("an option is one line");
      fault = config.LoadText(Concat(name, ' ', value.empty() ? "\"\"" : value), "");
    }
    return fault;
  };
  Config trial(system_disk_);
  if (std::string fault = load(trial); !fault.empty()) return fault;
  has_folder_ = is_process || trial.settings().dir != Settings{}.dir;
  config_ = std::make_unique<Config>(folder_disk_);
  if (!is_process) config_->Preset("port", {"any"});
  if (trial.settings().test_double || !has_folder_) {
    config_->Preset("save", {""});
    config_->Preset("fence-mark-file", {""});
  }
  if (std::string fault = load(*config_); !fault.empty()) return fault;
  if (!is_process) {
    if (std::string fault = CheckOptions(); !fault.empty()) return fault;
  }
  std::vector<std::string> faults;
  own_commands_ = OwnCommands(*config_, faults);
  if (!faults.empty()) return faults.front();
  if (has_folder_) return {};
  if (config_->settings().appendonly) return "appendonly: a server without a directory has no log";
  config_ = std::make_unique<Config>(*config_, ram_disk_);
  return {};
}

// These options act on a process, which here is another's.
Fault ServerCore::CheckOptions() const {
  const Settings& settings = config_->settings();
  const std::pair<bool, std::string_view> taken[] = {
      {settings.daemonize, "daemonize"},
      {!settings.pidfile.empty(), "pidfile"},
      {settings.exit_with_parent, "exit-with-parent"},
      {!settings.port_file.empty(), "port-file"},
      {settings.ready_fd >= 0, "ready-fd"},
      {settings.ready_line == "yes", "ready-line"}};
  for (const auto& [is_set, name] : taken) {
    if (is_set) return Concat(name, ": a server inside a program leaves the process alone");
  }
  return {};
}

// From here on its files are seen from there, wherever the process is.
Fault ServerCore::EnterFolder() {
  const Settings& settings = config_->settings();
  if (loop() != Loop::kProcess) {
    if (const int fault = system_disk_.MakeFolder(settings.dir))
      return Concat("can't make the directory '", settings.dir, "' (dir): ", std::strerror(fault));
  }
  std::error_code unknown;
  const std::string here = std::filesystem::current_path(unknown).string();
  const std::string folder = loop() == Loop::kProcess
                                 ? here  // by now
                                 : std::filesystem::canonical(settings.dir, unknown).string();
  if (unknown)
    return Concat("can't find the directory '", settings.dir, "' (dir): ", unknown.message());
  folder_disk_.Enter(folder);
  if (Fault fault = config_->SetAtStart("dir", {folder})) return fault;
  if (folder == here) return {};
  Fault fault = config_->SetAtStart("unixsocket", {In(folder, settings.unixsocket)});
  return fault ? fault : config_->SetAtStart("logfile", {In(folder, settings.logfile)});
}

// CONFIG SET dir, of a server that is all that its process does: as in Redis, all that is named
// from now on is seen from there. The log and the fence mark stay where they were opened.
std::optional<std::string> ServerCore::OptionChanged(std::string_view option) {
  if (option != "dir" || loop() != Loop::kProcess) return std::nullopt;
  if (::chdir(config_->settings().dir.c_str()) != 0) return std::strerror(errno);
  std::error_code unknown;
  const std::string folder = std::filesystem::current_path(unknown).string();
  if (unknown) return unknown.message();
  folder_disk_.Enter(folder);
  return config_->SetAtStart("dir", {folder});
}

// On the loop.
Fault ServerCore::Begin() {
  const Settings& settings = config_->settings();
  const CommandTable& shared = settings.test_double ? CommandsOfTestDouble() : AllCommands();
  const CommandTable& commands = own_commands_ ? *own_commands_ : shared;
  const auto log = [this](std::string_view line) { Guard([&] { options_.log(line); }); };
  const auto ready = [this](const std::string& address, int port) {
    {
      const std::lock_guard lock(mutex_);
      address_ = address;
      port_ = port;
      begun_ = true;
    }
    changed_.notify_all();
    if (options_.ready) Guard([&] { options_.ready(address, port); });
  };
  Server::Around around{.owns_process = loop() == Loop::kProcess,
                        .log = {},
                        .make_http = MakeHttp,
                        .make_links = OutgoingLinks::Make,
                        .ready = ready,
                        .started_as = {options_.command, options_.command_folder},
                        .handed_over = options_.handed_over,
                        .goes_on = [this] { RefuseEnd(); }};
  if (options_.log) around.log = log;
  auto server = std::make_unique<Running>(*config_, commands, HostFacts(settings), around);
  Server& made = server->server;
  {
    const std::lock_guard lock(mutex_);
    server_ = std::move(server);
  }
  running_ = true;
  if (loop() == Loop::kProcess) made.FollowSignals();
  std::string fault = made.OpenLog();
  if (fault.empty()) {
    Introduce();
    config_->Follow(*this);
    fault = made.Start();
  }
  if (fault.empty() && loop() == Loop::kHost) {
    driver_ = made.Driver();
    if (!driver_) fault = Concat("can't wait for clients: ", std::strerror(errno));
  }
  if (!fault.empty()) {
    const std::lock_guard lock(mutex_);
    running_ = false;
    ended_ = true;
    fault_ = fault;
    server.swap(server_);
    return fault;
  }
  for (const std::string& warning : config_->TakeWarnings()) Log(warning);
  return {};
}

// Before anything is loaded. Programs that start servers for tests wait for " PID: ", which Redis's
// banner has.
void ServerCore::Introduce() {
  for (const std::string& warning : config_->TakeWarnings()) Log(warning);
  server_->server.Write(LogLevel::kNotice, Concat("Sluice ", kSluiceVersion, " speaks Redis ",
                                                  kRedisVersion, "; PID: ", int64_t{::getpid()}));
  if (config_->settings().test_double)
    Log("this is a test double: every client may move its time and make it fail");
}

// --- its own thread

// The host's signals are for its own threads.
Fault ServerCore::StartThread() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string fault;
  try {
    thread_ = std::thread([core = shared_from_this()] { core->RunThread(); });
  } catch (const std::system_error& error) {
    fault = Concat("can't start a thread: ", error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!fault.empty()) return fault;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return begun_ || ended_; });
  if (begun_) return {};
  lock.unlock();
  thread_.join();
  return EndFault();
}

void ServerCore::RunThread() {
  if (Begin().empty()) {
    server_->server.Run();
    Finish();
  }
  changed_.notify_all();
}

// --- its loop

// The server is gone before anybody hears that it has ended: its sockets and files are free.
void ServerCore::Finish() {
  std::unique_ptr<Running> server;
  std::string fault;
  {
    const std::lock_guard lock(mutex_);
    if (!server_) return;
    server = std::move(server_);
  }
  exit_code_ = server->server.exit_code();
  if (exit_code_ != 0) fault = server->server.last_warning();
  server.reset();
  running_ = false;
  if (options_.ended) Guard([&] { options_.ended(fault); });
  {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
    ended_ = true;
  }
  changed_.notify_all();
}

bool ServerCore::WorkOnce() {
  if (!server_) return false;
  if (server_->server.Work()) return true;
  Finish();
  return false;
}

bool ServerCore::Work() {
  // One call inside another, from a callback, would be a turn inside a turn.
  if (is_inside()) return running_;
  const auto self = shared_from_this();  // its handle may go
  bool goes_on = WorkOnce();
  while (goes_on && leaves_) goes_on = WorkOnce();
  Rethrow();
  return goes_on;
}

bool ServerCore::WorkUntil(const std::function<bool()>& done, int descriptor) {
  while (!done()) {
    if (!Work()) return done();
    if (!done()) WaitToRead(driver_->descriptor(), descriptor);
  }
  return true;
}

void ServerCore::Run() {
  const auto self = shared_from_this();
  server_->server.Run();
  Finish();
  Rethrow();
}

void ServerCore::Rethrow() {
  std::exception_ptr thrown;
  {
    const std::lock_guard lock(mutex_);
    thrown.swap(thrown_);
  }
  if (thrown) std::rethrow_exception(thrown);
}

bool ServerCore::Post(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  if (!server_) return false;
  server_->server.Post(std::move(call));
  return true;
}

// --- its end

Fault ServerCore::EndFault() {
  const std::lock_guard lock(mutex_);
  if (!thrown_ || !fault_.empty()) return fault_;
  try {
    std::rethrow_exception(std::exchange(thrown_, nullptr));
  } catch (const std::exception& thrown) {
    return Concat("a callback has thrown: ", thrown.what());
  } catch (...) {
    return "a callback has thrown";
  }
}

void ServerCore::AskToEnd() {
  if (!server_->server.End("The program ends the server")) RefuseEnd();
}

// What is asked about it may be a client's SHUTDOWN that came to nothing: then nobody waits.
void ServerCore::RefuseEnd() {
  {
    const std::lock_guard lock(mutex_);
    refusal_ = server_->server.last_warning();
  }
  changed_.notify_all();
}

Fault ServerCore::End() {
  if (is_inside()) return std::string(kInside);
  {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
  }
  Post([this] { AskToEnd(); });
  if (loop() != Loop::kOwnThread) {
    WorkUntil([this] { return ended_ || refusal_; });
    return ended_ ? EndFault() : Fault(*refusal_);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || refusal_; });
  if (!ended_) return *refusal_;
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  return EndFault();
}

void ServerCore::Leave() {
  Post([this] { server_->server.EndAnyway("The program ends the server"); });
  if (loop() == Loop::kOwnThread) {
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) return thread_.detach();
    return thread_.join();
  }
  leaves_ = true;
  if (is_inside()) return;
  while (WorkOnce()) {
  }
}

// --- clients

int ServerCore::Connect() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return -1;
  const std::lock_guard lock(mutex_);
  if (!server_) {
    ::close(ends[0]);
    ::close(ends[1]);
    return -1;
  }
  server_->server.Admit(ends[1]);
  return ends[0];
}

void ServerCore::Log(std::string_view line) {
  if (server_) server_->server.Write(LogLevel::kWarning, line);
}

}  // namespace sluice
