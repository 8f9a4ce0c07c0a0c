// See embedded_engine.h.
#include "server/embed/inside/embedded_engine.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protocol/limits.h"
#include "protocol/reply_reader.h"
#include "protocol/text/concat.h"
#include "protocol/text/words.h"
#include "server/commands/families.h"
#include "server/commit/turn_gate.h"
#include "server/core/request_outcome.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/log_state.h"
#include "server/embed/inside/replay.h"
#include "server/engine/engine.h"
#include "server/limits/limit_service.h"
#include "server/snapshots/snapshots.h"
#include "server/system/system_clock.h"
#include "server/system/system_random.h"
#include "server/system/zone_files.h"
#include "storage/keyspace/keyspace.h"
#include "storage/limits/limiter_key.h"

namespace sluice {
namespace {

// Turns that a command which a snapshot holds back may take to be let go: each saves a slice.
constexpr int kHeldTurnsMax = 1'000'000;
constexpr int kResp = 3;

EngineOptions OptionsOf(const EmbeddedEngine::Options& options) {
  EngineOptions engine;
  engine.zones = std::make_shared<ZoneFiles>(options.zone_patience);
  if (options.seed) {
    engine.seed = *options.seed;
  } else {
    engine.seed = SystemRandom();
    engine.hash_key = SipKey{SystemRandom(), SystemRandom()};
  }
  if (!options.folder.empty())
    engine.process = std::make_shared<const ProcessFacts>(ProcessFacts{.process_id = getpid()});
  return engine;
}

std::string AbsolutePath(const std::string& folder) {
  SystemDisk disk;
  return disk.Absolute(folder);
}

}  // namespace

EmbeddedEngine::EmbeddedEngine(Options options)
    : Host(static_cast<ProcessServices&>(*this), at_once_),
      options_(std::move(options)),
      own_clock_(options_.clock ? nullptr
                                : std::make_unique<SystemClock>(SystemClock::Reading::kByTicks)),
      clock_(options_.clock ? *options_.clock : *own_clock_),
      config_(options_.folder.empty()
                  ? static_cast<Disk&>(ram_disk_)
                  : folder_disk_.emplace(system_disk_, AbsolutePath(options_.folder))) {
  fault_ = Configure();
  std::vector<std::string> faults;
  if (fault_.empty()) own_commands_ = OwnCommands(config_, faults);
  if (!faults.empty()) fault_ = faults.front();
  const CommandTable& commands = own_commands_ ? *own_commands_ : AllCommands();
  limit_take_ = commands.Find("LIMIT.TAKE");
  Host& host = *this;
  engine_ = std::make_unique<Engine>(config_, clock_, host, commands, OptionsOf(options_));
}

EmbeddedEngine::~EmbeddedEngine() = default;

// Without a folder nothing is written anywhere.
Fault EmbeddedEngine::Configure() {
  config_.Preset("save", {""});
  config_.Preset("latency-tracking", {"no"});  // a tenth of what a GET costs
  if (options_.folder.empty()) {
    config_.Preset("fence-mark-file", {""});
  } else {
    config_.Preset("appendonly", {"yes"});
  }
  for (const auto& [name, value] : options_.settings) {
    if (const std::string fault = config_.LoadText(Concat(name, " ", value), ""); !fault.empty())
      return Concat(name, ": ", fault);
  }
  return options_.folder.empty() && config_.settings().appendonly
             ? "appendonly: a database without a directory has no log"
             : std::string();
}

Fault EmbeddedEngine::Start() {
  std::string fault = fault_;
  if (fault.empty() && folder_disk_ && system_disk_.MakeFolder(folder_disk_->Absolute("")) != 0)
    fault = Concat(folder_disk_->Absolute(""), " (directory) cannot be made");
  if (fault.empty() && folder_disk_) fault = LockFolder();
  if (fault.empty()) fault = engine_->StartLog();
  while (fault.empty() && engine_->loading() && !ended_) engine_->RunTurn();
  if (fault.empty() && ended_) fault = last_warning_;
  if (!fault.empty()) ended_ = true;
  if (fault.empty()) Work();
  return fault;
}

// The log has a lock of its own, against servers; a database with snapshots alone has this one.
Fault EmbeddedEngine::LockFolder() {
  const std::string path = folder_disk_->Absolute("database.lock");
  int fault = system_disk_.Open(path, Disk::Mode::kAppend, folder_lock_);
  if (fault == 0) fault = folder_lock_->Lock();
  if (fault == 0) return {};
  folder_lock_.reset();
  if (fault == EWOULDBLOCK)
    return Concat("another database has ", folder_disk_->Absolute(""), " (directory)");
  return Concat(path, " cannot be locked: ", std::strerror(fault));
}

Fault EmbeddedEngine::Finish() {
  if (ended_) return {};
  ended_ = true;
  return engine_->FinishLog() ? std::string() : last_warning_;
}

// --- clients

SessionId EmbeddedEngine::Open(ReplySink& replies, ReplySink& pushes) {
  const SessionId id = engine_->Open({.address = "host:0", .local_address = "host:0"});
  Session& session = *engine_->Find(id);
  session.sink = &replies;
  session.rare.Make().push_sink = &pushes;
  engine_->part<Clients>().SetLoggedIn(session, true);
  SpeakResp3(session);
  return id;
}

// HELLO and RESET may say otherwise, but pushes are read back as that.
void EmbeddedEngine::SpeakResp3(Session& session) {
  session.writer.set_version(kResp);
  engine_->part<Clients>().ClassChanged(session);
}

void EmbeddedEngine::Drop(SessionId id) {
  engine_->Drop(id);
  if (!ended_) Work();  // what it held may be others' now
}

bool EmbeddedEngine::IsOpen(SessionId id) const { return engine_->Find(id) != nullptr; }

ErrorListener& EmbeddedEngine::errors() { return engine_->part<Clients>(); }

EmbeddedEngine::Outcome EmbeddedEngine::Run(SessionId id, Args args, ReplySink* sink) {
  if (ended_) [[unlikely]]
    return Outcome::kClosed;
  if (!Fits(args)) [[unlikely]]
    return Outcome::kTooLong;
  if (!sink) return RunOnce(id, args);
  Session* session = engine_->Find(id);
  if (!session) return Outcome::kClosed;
  ReplySink* const own = std::exchange(session->sink, sink);
  const Outcome outcome = RunOnce(id, args);
  session = engine_->Find(id);
  if (session) session->sink = own;
  return outcome;
}

// As of what comes from a socket.
bool EmbeddedEngine::Fits(Args args) const {
  if (args.size() > static_cast<size_t>(kArgumentsMax)) return false;
  const auto most = static_cast<size_t>(config_.settings().proto_max_bulk_len);
  for (const std::string_view word : args) {
    if (word.size() > most) return false;
  }
  return true;
}

EmbeddedEngine::Outcome EmbeddedEngine::RunOnce(SessionId id, Args args) {
  const TurnGate& gate = engine_->part<TurnGate>();
  const uint64_t turn = gate.last();
  auto outcome = engine_->RunNow(id, args);
  // A snapshot lets it go in its own time, which is ours to give; a pause is the clients' affair.
  for (int i = 0; outcome == RequestOutcome::kHeld && i < kHeldTurnsMax; ++i) {
    if (!engine_->part<Snapshots>().busy()) return Outcome::kHeld;
    engine_->RunTurn();
    const Session* const session = engine_->Find(id);
    if (!session || !session->paused) outcome = engine_->RunNow(id, args);
  }
  if (!outcome) [[unlikely]]
    return Outcome::kClosed;
  if (*outcome == RequestOutcome::kHeld) return Outcome::kHeld;
  const bool is_unsafe = gate.IsAnyLost(turn);
  if (ended_) [[unlikely]] {
    engine_->FinishLog();
    return Outcome::kAnswered;
  }
  Session* const session = engine_->Find(id);
  if (session && session->blocked) return Outcome::kWaits;
  if (session && session->resp() != kResp) [[unlikely]]
    SpeakResp3(*session);
  if (engine_->has_left_over()) engine_->RunTurn();
  return is_unsafe ? Outcome::kUnsafe : Outcome::kAnswered;
}

std::optional<EmbeddedEngine::Taken> EmbeddedEngine::Take(SessionId id, std::string_view key,
                                                          const TakeRequest& asked) {
  if (ended_ || !limit_take_ ||
      key.size() > static_cast<size_t>(config_.settings().proto_max_bulk_len))
    return std::nullopt;
  LimitAlgorithm algorithm;
  LimitRequest request;
  request.cost = asked.cost;
  if (asked.cost < 1 || !ParseLimitAlgorithm(asked.algorithm, &algorithm) ||
      MakeLimitConfig(algorithm, asked.max, asked.period_ms,
                      asked.burst == 0 ? kNotGiven : asked.burst,
                      &request.config) != LimitFault::kNone)
    return std::nullopt;
  Session* const session = engine_->DirectSession(id);
  if (!session) return std::nullopt;
  LimitVerdict verdict;
  bool is_done = false;
  const auto take = [&] {
    Keyspace& keyspace = engine_->keyspace();
    LimiterKey limiter(keyspace.db(session->db), keyspace.Hash(key), engine_->now());
    is_done = limiter.IsOpenTo(algorithm);
    if (!is_done) return Dispatcher::Work::kNotDone;
    verdict = engine_->part<LimitService>().Take(limiter, session->db, request);
    return limiter.changed() ? Dispatcher::Work::kChanged : Dispatcher::Work::kLooked;
  };
  engine_->part<Dispatcher>().RunWithoutWords(*session, *limit_take_, key, take);
  if (!is_done) return std::nullopt;
  if (engine_->has_left_over()) [[unlikely]]
    engine_->RunTurn();
  return Taken{verdict.allowed,  verdict.limit,    verdict.remaining,
               verdict.retry_ms, verdict.reset_ms, verdict.reset_at_ms};
}

bool EmbeddedEngine::Waits(SessionId id) const {
  const Session* const session = engine_->Find(id);
  return session && session->blocked;
}

bool EmbeddedEngine::IsHeld(SessionId id) const {
  const Session* const session = engine_->Find(id);
  return session && session->paused;
}

void EmbeddedEngine::EndWait(SessionId id) {
  Session* const session = engine_->Find(id);
  if (!session || !session->blocked) return;
  engine_->part<BlockedClients>().Unblock(*session, BlockedClients::End::kTimeout);
  Work();
}

void EmbeddedEngine::SelectLike(SessionId id, SessionId other) {
  Session* const session = engine_->Find(id);
  const Session* const model = engine_->Find(other);
  if (session && model) session->db = model->db;
}

const std::string& EmbeddedEngine::write_fault() const {
  return engine_->part<LogState>().write_fault;
}

// --- time

int64_t EmbeddedEngine::NowUs() { return clock_.Sample().steady_us - clock_.shift_ms() * 1000; }

std::optional<int64_t> EmbeddedEngine::UntilWorkUs() {
  if (ended_) return std::nullopt;
  if (engine_->has_left_over()) return 0;
  const int64_t next_ms = engine_->NextWork();
  if (next_ms == TimerWheel::kNever) return std::nullopt;
  return std::max<int64_t>(0, next_ms * 1000 - clock_.Sample().steady_us);
}

void EmbeddedEngine::Work() {
  while (!ended_ && engine_->RunTurn()) {
  }
}

size_t EmbeddedEngine::UsedMemory() const { return engine_->UsedMemory(); }

std::string EmbeddedEngine::Audit() {
  std::string fault = engine_->keyspace().Audit(engine_->now());
  return fault.empty() ? engine_->Audit() : fault;
}

// --- Host

// Only pushes are ever bytes.
void EmbeddedEngine::Send(Session& session) {
  std::string bytes;
  while (session.output.sendable() > 0) {
    iovec vectors[16];
    const size_t count = session.output.Peek(vectors, 16);
    size_t sent = 0;
    for (size_t i = 0; i < count; ++i) {
      bytes.append(static_cast<const char*>(vectors[i].iov_base), vectors[i].iov_len);
      sent += vectors[i].iov_len;
    }
    session.output.Consume(sent);
  }
  session.output.ReleaseMemory();
  std::string_view rest = bytes;
  ReplyReader reader;
  while (const std::optional<Reply> push = reader.Read(rest)) {
    if (session.rare->push_sink) Replay(*push, *session.rare->push_sink);
    rest.remove_prefix(reader.consumed());
  }
}

void EmbeddedEngine::Shutdown(int code) {
  static_cast<void>(code);
  ended_ = true;
}

void EmbeddedEngine::FillWithRandom(std::span<uint8_t> bytes) { FillWithSystemRandom(bytes); }

void EmbeddedEngine::Sleep(int64_t micros) { ::usleep(static_cast<useconds_t>(micros)); }

void EmbeddedEngine::Log(LogLevel level, std::string_view line) {
  if (level == LogLevel::kWarning) last_warning_.assign(line);
  if (options_.log) options_.log(line);
}

}  // namespace sluice
