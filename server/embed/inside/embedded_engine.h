// EmbeddedEngine: an engine inside a host program, with all that an engine needs of the world:
// configuration, clock, files. No socket, no thread, no descriptor unless it has a folder.
//
//   EmbeddedEngine engine(options);
//   const std::string fault = engine.Start();
//   SessionId id = engine.Open(replies, pushes);
//   engine.Run(id, args);     // the answer is in `replies` by then, unless it waits
//   engine.Work();            // what time has brought
//
// Answers are values from the first (ReplySink). Pushes that the server makes as bytes (those of
// tracking and MONITOR) are read back into values here.
//
// Files are written and synced on the caller's thread. The host's process (signals, working
// directory, umask) is left alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/args.h"
#include "protocol/reply_sink.h"
#include "protocol/text/fault.h"
#include "server/clients/host.h"
#include "server/clients/session.h"
#include "server/config/config.h"
#include "server/embed/inside/folder_disk.h"
#include "server/system/system_disk.h"
#include "server/system/zone_files.h"
#include "server/test_double/ram_disk.h"
#include "storage/time/clock.h"

namespace sluice {

struct Command;
class CommandTable;
class Engine;

class EmbeddedEngine final : private ProcessServices, private Host {
 public:
  struct Options {
    Clock* clock = nullptr;  // outlives the engine; null: the system's
    std::string folder;      // where its files are; empty: it has none
    std::vector<std::pair<std::string, std::string>> settings;  // as in sluice.conf
    std::optional<uint64_t> seed;  // of all choices; none: the system's
    std::chrono::milliseconds zone_patience = kZonePatience;
    std::function<void(std::string_view)> log;
  };
  explicit EmbeddedEngine(Options options);
  ~EmbeddedEngine() override;

  // Once, before all else: reads what is in the folder. A sentence why it cannot, or empty.
  Fault Start();
  // All that was answered is on disk, where there is one. A sentence why not, or empty. Nothing is
  // run from then on.
  Fault Finish();
  // Nothing is run any more: Finish, SHUTDOWN.
  bool ended() const { return ended_; }

  // --- clients
  // Both sinks outlive the session.
  SessionId Open(ReplySink& replies, ReplySink& pushes);
  void Drop(SessionId id);
  bool IsOpen(SessionId id) const;
  // Statistics hear of errors that the sinks are given.
  ErrorListener& errors();

  enum class Outcome : uint8_t {
    kAnswered,
    kWaits,    // the answer comes in a later call
    kHeld,     // CLIENT PAUSE: to be shown again
    kClosed,   // the session is gone, or the engine has ended
    kTooLong,  // more words than a request may have, or longer ones: nothing has run
    kUnsafe,   // answered; but what it changed is not in the log, which cannot be written
  };
  // Requires: that client neither waits nor is held. `sink`: in the place of the client's own, for
  // an answer that comes at once.
  Outcome Run(SessionId id, Args args, ReplySink* sink = nullptr);
  // --- LIMIT.TAKE without words
  struct TakeRequest {
    std::string_view algorithm;  // as LIMIT.TAKE names it
    int64_t max, period_ms;
    int64_t burst;  // 0: the algorithm's own
    int64_t cost;
  };
  struct Taken {
    bool allowed;
    int64_t limit, remaining, retry_ms, reset_ms, reset_at_ms;  // as the command answers
  };
  // None, and nothing has happened: LIMIT.TAKE answers it, for it is a fault, or somebody is to
  // hear of the command.
  std::optional<Taken> Take(SessionId id, std::string_view key, const TakeRequest& request);

  bool Waits(SessionId id) const;
  bool IsHeld(SessionId id) const;
  // Its wait ends as if its time was over; it is answered by then. Nothing happens to one that does
  // not wait.
  void EndWait(SessionId id);
  void SelectLike(SessionId id, SessionId other);  // the same database
  // Why the log cannot be written; empty: it can.
  const std::string& write_fault() const;

  // --- time
  int64_t NowUs();
  // Until there is something to do, in µs: 0: now. Empty: never, unless something comes.
  std::optional<int64_t> UntilWorkUs();
  // Does all there is at this moment.
  void Work();

  const std::string& last_warning() const { return last_warning_; }
  size_t UsedMemory() const;
  // Walks all state: the first violated invariant, or empty.
  std::string Audit();

 private:
  void Send(Session& session) override;
  void Closed(SessionId) override {}
  void Poll() override {}
  void Shutdown(int code) override;
  bool Stopping() const override { return ended_; }
  bool opens_links() const override { return false; }
  void FillWithRandom(std::span<uint8_t> bytes) override;
  void Sleep(int64_t micros) override;
  void Log(LogLevel level, std::string_view line) override;

  Fault Configure();
  Fault LockFolder();
  bool Fits(Args args) const;
  Outcome RunOnce(SessionId id, Args args);
  void SpeakResp3(Session& session);

  const Options options_;
  Background at_once_;  // on the caller's thread
  std::unique_ptr<Clock> own_clock_;
  Clock& clock_;
  SystemDisk system_disk_;
  std::optional<FolderDisk> folder_disk_;
  RamDisk ram_disk_;
  std::unique_ptr<DiskFile> folder_lock_;
  Config config_;
  std::unique_ptr<const CommandTable> own_commands_;  // null: those that all databases share
  const Command* limit_take_ = nullptr;
  std::string fault_;  // of the configuration
  std::string last_warning_;
  bool ended_ = false;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sluice
