// ServerCore: a server in a program, and whose loop it goes by. Handles (server.h) share it; it
// outlives them while a callback of it runs.
//
//   kOwnThread   a thread of the core makes the server, runs it and ends it
//   kHost        the thread that calls Work does
//   kProcess     the same, by Run; signals, limits and standard streams of the process are its own
//
// Callbacks run on the server's loop. An exception of theirs is kept: it must not unwind the
// engine. Work throws it when the engine is at rest; a thread of the core has nobody to throw it
// to, so End tells it.
//
// A child of fork has nothing of it but the memory: there it answers with kForked, and is left.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/text/fault.h"
#include "server/config/config.h"
#include "server/embed/inside/folder_disk.h"
#include "server/system/system_disk.h"
#include "server/test_double/ram_disk.h"

namespace sluice {

class CommandTable;
class LoopDescriptor;

class ServerCore final : public std::enable_shared_from_this<ServerCore>, private OptionFollower {
 public:
  static constexpr std::string_view kForked =
      "FORKED the server belongs to the process that has started it";
  static constexpr std::string_view kInside =
      "BUSY a callback of the server cannot wait for the server";
  static constexpr std::string_view kGone = "CLOSED the server has ended";

  enum class Loop : uint8_t { kOwnThread, kHost, kProcess };
  struct Options {
    Loop loop = Loop::kOwnThread;
    std::string file;  // of configuration; empty: none
    std::string text;  // of configuration, read after it
    std::vector<std::pair<std::string, std::string>> settings;
    std::function<void(std::string_view line)> log;
    std::function<std::string()> configured;
    std::function<void(const std::string& address, int port)> ready;
    std::function<void(const std::string& fault)> ended;
    // For kProcess: how another is started that takes its place, and the call when it has it.
    std::vector<std::string> command;
    std::string command_folder;
    std::function<void()> handed_over;
  };
  // Returns when clients are served; with kProcess when they can connect. Null: `fault` says why.
  static std::shared_ptr<ServerCore> Start(Options options, std::string& fault);
  explicit ServerCore(Options options);
  ~ServerCore();

  bool is_forked() const;
  bool running() const { return running_; }
  int port() const { return port_; }
  std::string address() const;
  // A callback is running, and this is its thread.
  bool is_inside() const { return inside_ == std::this_thread::get_id(); }

  // --- its end
  // As on SIGTERM, and waits for it. A sentence why it goes on, or what went wrong; or empty.
  Fault End();
  // Its handle goes: it ends whatever it has to say; but from within a callback later.
  void Leave();

  // --- its loop, of kHost and kProcess
  // False: it has ended.
  bool Work();
  // The same until `done` says so; it waits where there is nothing to do. `descriptor`: of what
  // `done` waits for, if that is not the server.
  bool WorkUntil(const std::function<bool()>& done, int descriptor = -1);
  void Run();
  Loop loop() const { return options_.loop; }
  const std::shared_ptr<const LoopDescriptor>& driver() const { return driver_; }
  int exit_code() const { return exit_code_; }

  // A socket whose other end is a trusted client of it. Below zero: it has ended, or there is none
  // to be had.
  int Connect();
  void Log(std::string_view line);

 private:
  struct Inside;
  struct Running;  // the server itself, whose name is a public one's too

  Fault Configure();
  Fault CheckOptions() const;
  Fault EnterFolder();
  std::optional<std::string> OptionChanged(std::string_view option) override;
  Fault Begin();
  void Introduce();
  void Finish();
  void RunThread();
  Fault StartThread();
  bool Post(std::function<void()> call);
  void AskToEnd();
  void RefuseEnd();
  bool WorkOnce();
  void Rethrow();
  Fault EndFault();
  template <typename Call>
  void Guard(const Call& call);

  const Options options_;
  const int process_;
  SystemDisk system_disk_;
  RamDisk ram_disk_;
  FolderDisk folder_disk_{system_disk_, {}};
  std::unique_ptr<Config> config_;
  std::unique_ptr<const CommandTable> own_commands_;  // null: those that all servers share
  bool has_folder_ = false;
  std::shared_ptr<const LoopDescriptor> driver_;
  std::thread thread_;

  std::atomic<bool> running_ = false;
  std::atomic<int> port_ = 0;
  std::atomic<std::thread::id> inside_{};
  bool leaves_ = false;  // of kHost: the handle is gone
  int exit_code_ = 0;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::unique_ptr<Running> server_;  // the loop's; null: it has ended
  bool begun_ = false;               // clients are served, or never will be
  bool ended_ = false;
  std::optional<std::string> refusal_;  // why it does not end
  std::string fault_;
  std::string address_;
  std::exception_ptr thrown_;
};

}  // namespace sluice
