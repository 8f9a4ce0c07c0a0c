// CurrentClient: which client causes what happens now. The client whose top-level command runs,
// and, while a slow command of one client lets others be served from inside it, that client too.
#pragma once

#include <utility>

#include "server/clients/session.h"

namespace sluice {

// It holds pointers only while a command runs, inside which no session is destroyed.
class CurrentClient {
 public:
  // The client whose top-level command runs; null between commands.
  const Session* current() const { return current_; }
  Session* current() { return current_; }
  // The client whose command the turn runs inside of; null: it is a turn of its own.
  const Session* caller() const { return caller_; }
  bool serving_from_within() const { return caller_ != nullptr; }
  // Whether a command of it runs, maybe around the turn that this is.
  bool IsExecuting(const Session& session) const {
    return &session == current_ || &session == caller_;
  }
  // False for the client whose command runs: it must neither be read from nor dropped.
  bool MayTouch(SessionId id) const { return !caller_ || !(caller_->id == id); }
  // A script runs: what it changes is told to its own client too.
  bool script_runs() const { return script_runs_; }
  void set_script_runs(bool runs) { script_runs_ = runs; }

  // While it lives, what happens is that client's doing.
  class As {
   public:
    As(CurrentClient& current_client, Session& session)
        : current_client_(current_client),
          around_(std::exchange(current_client.current_, &session)) {}
    ~As() { current_client_.current_ = around_; }
    As(const As&) = delete;
    As& operator=(const As&) = delete;

   private:
    CurrentClient& current_client_;
    Session* const around_;
  };
  // While it lives, what happens is no client's doing, though a command is about to run.
  class Apart {
   public:
    explicit Apart(CurrentClient& current_client)
        : current_client_(current_client),
          around_(std::exchange(current_client.current_, nullptr)) {}
    ~Apart() { current_client_.current_ = around_; }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

   private:
    CurrentClient& current_client_;
    Session* const around_;
  };
  // While it lives, others are served from inside a command of `caller`.
  class Within {
   public:
    Within(CurrentClient& current_client, Session& caller) : current_client_(current_client) {
      current_client_.caller_ = &caller;
    }
    ~Within() { current_client_.caller_ = nullptr; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    CurrentClient& current_client_;
  };

 private:
  Session* current_ = nullptr;
  const Session* caller_ = nullptr;
  bool script_runs_ = false;
};

}  // namespace sluice
