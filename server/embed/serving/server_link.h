// ServerLink: a client of a server in the same program, over a pair of sockets: words out, the
// answer back. It is in one space of a test double. It connects when it is first used, and again
// when the server has closed it.
//
// Where the server has no thread of its own a call has it work until the answer is there.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/reply_sink.h"
#include "server/embed/serving/server_core.h"

namespace sluice {

class ServerLink {
 public:
  // `space` empty: that of a client that has said nothing.
  ServerLink(std::weak_ptr<ServerCore> core, std::string space)
      : core_(std::move(core)), space_(std::move(space)) {}
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;

  // The answer, or an error of a call that could not be made, goes to `sink`. Other threads that
  // call meanwhile wait.
  void Call(std::span<const std::string_view> words, ReplySink& sink);
  const std::string& space() const { return space_; }
  std::shared_ptr<ServerCore> core() const { return core_.lock(); }

 private:
  struct Answer;

  std::string Refusal(std::span<const std::string_view> words) const;
  bool Ask(ServerCore& core, std::span<const std::string_view> words, Answer& answer);
  bool Connect(ServerCore& core);
  bool Exchange(ServerCore& core, std::string_view request, Answer& answer);
  bool Wait(ServerCore& core, short events) const;
  bool Receive();
  void Close();

  const std::weak_ptr<ServerCore> core_;
  const std::string space_;
  std::mutex mutex_;  // of all below
  int descriptor_ = -1;
  std::string received_;
};

}  // namespace sluice
