// See server.h: handles on a ServerCore and on connections to it.
#include "server/embed/serving/server.h"

#include <fcntl.h>

#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/embed/reply_builder.h"
#include "server/embed/serving/server_core.h"
#include "server/embed/serving/server_link.h"
#include "server/net/loop_descriptor.h"

namespace sluice {
inline namespace v1 {
namespace {

Reply Ask(ServerLink& link, std::span<const std::string_view> words) {
  ReplyBuilder reply;
  link.Call(words, reply);
  return reply.Take();
}

Reply Ask(ServerLink& link, std::string_view command, std::initializer_list<std::string_view> rest,
          std::string_view subcommand = {}) {
  std::vector<std::string_view> words{command};
  if (!subcommand.empty()) words.push_back(subcommand);
  words.insert(words.end(), rest.begin(), rest.end());
  return Ask(link, words);
}

std::string FaultOf(const Reply& reply) {
  return std::string(reply.is_error() ? reply.text() : std::string_view());
}

ServerCore::Loop LoopOf(ServerOptions::Loop loop) {
  switch (loop) {
    case ServerOptions::Loop::kHost:
      return ServerCore::Loop::kHost;
    case ServerOptions::Loop::kProcess:
      return ServerCore::Loop::kProcess;
    default:
      return ServerCore::Loop::kOwnThread;
  }
}

}  // namespace

// --- ServerClock

std::string ServerClock::Do(std::initializer_list<std::string_view> words) {
  return FaultOf(Ask(*link_, "SLUICE.CLOCK", words));
}

std::string ServerClock::FreezeAt(Date date) {
  const std::string unix_ms = Int64Text(date.time_since_epoch().count());
  const std::string fault = Freeze();
  return fault.empty() ? Do({"SET", unix_ms}) : fault;
}

std::string ServerClock::Advance(Millis by) { return Do({"ADVANCE", Int64Text(by.count())}); }

std::optional<ServerClock::Millis> ServerClock::Next() {
  const int64_t passed_ms = Ask(*link_, "SLUICE.CLOCK", {"NEXT"}).integer(-1);
  if (passed_ms < 0) return std::nullopt;
  return Millis(passed_ms);
}

ServerClock::Date ServerClock::Now() {
  return Date(Millis(Ask(*link_, "SLUICE.CLOCK", {"NOW"}).integer()));
}

// --- ServerFaults

std::optional<int64_t> ServerFaults::Add(Words rule, std::string& fault) {
  const Reply reply = Ask(*link_, "SLUICE.FAULT", rule, "ADD");
  fault = FaultOf(reply);
  if (!fault.empty()) return std::nullopt;
  return reply.integer();
}

bool ServerFaults::Delete(int64_t number) {
  return Ask(*link_, "SLUICE.FAULT", {"DEL", Int64Text(number)}).integer() == 1;
}

int64_t ServerFaults::Hits(int64_t number) {
  const Reply all = Ask(*link_, "SLUICE.FAULT", {"LIST"});
  for (const Reply& rule : all) {
    if (rule["id"].integer() == number) return rule["hits"].integer();
  }
  return 0;
}

std::string ServerFaults::Clear() { return FaultOf(Ask(*link_, "SLUICE.FAULT", {"CLEAR"})); }

// --- ServerSpace

ServerSpace::ServerSpace(const std::shared_ptr<ServerCore>& core, std::string name)
    : link_(std::make_shared<ServerLink>(core, std::move(name))) {}

Reply ServerSpace::Run(std::span<const std::string_view> words) const { return Ask(*link_, words); }

const std::string& ServerSpace::name() const { return link_->space(); }

std::string ServerSpace::url() const {
  const std::shared_ptr<ServerCore> core = link_->core();
  if (!core || !core->running()) return {};
  const std::string address = core->address();
  if (core->port() == 0) return address;
  return name().empty() ? Concat("redis://", address)
                        : Concat("redis://space:", name(), "@", address);
}

std::string ServerSpace::Reset() const { return FaultOf(Run({"SLUICE.RESET"})); }

int ServerSpace::port() const {
  const std::shared_ptr<ServerCore> core = link_->core();
  if (!core || !core->running()) return 0;
  if (name().empty()) return core->port();
  const ServerSpace outside(core, {});
  return static_cast<int>(outside.Run({"SLUICE.SPACE", "LISTEN", name()}).integer());
}

// From outside of it: a client that is in a space does not replace or end it.
std::string ServerSpace::CopyFrom(const ServerSpace& other) const {
  ServerSpace outside(link_->core(), {});
  const std::string from = other.name().empty() ? "default" : other.name();
  return FaultOf(outside.Run({"SLUICE.SPACE", "COPY", from, name()}));
}

std::string ServerSpace::Delete() const {
  ServerSpace outside(link_->core(), {});
  return FaultOf(outside.Run({"SLUICE.SPACE", "DEL", name().empty() ? "default" : name()}));
}

// --- Server

Server::Server() : space_(nullptr, {}) {}

Server::Server(Server&&) noexcept = default;

Server& Server::operator=(Server&& other) noexcept {
  if (this != &other) {
    Server before(std::move(*this));
    core_ = std::move(other.core_);
    space_ = std::move(other.space_);
  }
  return *this;
}

Server::~Server() {
  const std::shared_ptr<ServerCore> core = std::move(core_);
  if (!core) return;
  if (core->is_forked()) {
    // A child of fork never looks at it again: closing it would reach the parent's.
    new std::shared_ptr<ServerCore>(core);
    return;
  }
  core->Leave();
}

std::string Server::Start(ServerOptions options) {
  if (running()) return "the server runs already";
  *this = Server();
  ServerCore::Options all{.loop = LoopOf(options.loop),
                          .file = std::move(options.file),
                          .text = std::move(options.text),
                          .settings = std::move(options.settings),
                          .log = std::move(options.log),
                          .configured = std::move(options.on_configured),
                          .ready = std::move(options.on_ready),
                          .ended = std::move(options.on_end),
                          .command = std::move(options.command),
                          .command_folder = std::move(options.command_folder),
                          .handed_over = std::move(options.on_handed_over)};
  std::string fault;
  core_ = ServerCore::Start(std::move(all), fault);
  space_ = ServerSpace(core_, {});
  return fault;
}

std::string Server::Stop() {
  if (!core_) return {};
  if (core_->is_forked()) return std::string(ServerCore::kForked);
  return core_->End();
}

bool Server::running() const { return core_ && core_->running() && !core_->is_forked(); }

int Server::port() const { return running() ? core_->port() : 0; }

std::string Server::address() const { return running() ? core_->address() : std::string(); }

ServerSpace Server::space(std::string name) const { return ServerSpace(core_, std::move(name)); }

int Server::descriptor() const {
  return running() && core_->driver() ? core_->driver()->descriptor() : -1;
}

bool Server::Work() { return running() && core_->driver() && core_->Work(); }

Server::Drive Server::DriveAside() const {
  Drive drive;
  if (descriptor() < 0) return drive;
  drive.descriptor = ::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0);
  drive.holds = std::const_pointer_cast<LoopDescriptor>(core_->driver());
  drive.work = [weak = std::weak_ptr(core_)] {
    const std::shared_ptr<ServerCore> core = weak.lock();
    return core && !core->is_forked() && core->Work();
  };
  return drive;
}

int Server::RunAsProcess() {
  if (!running() || core_->loop() != ServerCore::Loop::kProcess) return 1;
  core_->Run();
  return core_->exit_code();
}

void Server::Log(std::string_view line) {
  if (running() && !line.empty()) core_->Log(line);
}

}  // namespace v1
}  // namespace sluice
