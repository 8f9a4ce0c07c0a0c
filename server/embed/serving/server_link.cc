// See server_link.h. Pushes that come between answers are passed over; those that answer a command
// (SUBSCRIBE) begin with its name.
#include "server/embed/serving/server_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "protocol/reply_reader.h"
#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "server/dispatch/arg_reader.h"
#include "server/embed/inside/replay.h"

namespace sluice {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr std::string_view kClosed = "CLOSED the server has closed this connection";

std::string RequestOf(std::span<const std::string_view> words) {
  std::string request;
  AppendRequest(request, words);
  return request;
}

std::string InCapitals(std::string_view word) {
  std::string upper(word);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

struct ServerLink::Answer {
  Reply reply;
  std::string command;  // in capitals

  bool IsIt(const Reply& read) const {
    if (read.kind == Reply::Kind::kAttribute) return false;
    return read.kind != Reply::Kind::kPush ||
           (!read.elements.empty() && IsWord(read.elements.front().text, command));
  }
};

ServerLink::~ServerLink() { Close(); }

void ServerLink::Close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  received_.clear();
}

// An answer to each command is what this connection lives on.
std::string ServerLink::Refusal(std::span<const std::string_view> words) const {
  if (words.empty()) return "ERR a command has a name";
  const bool is_mute = words.size() > 1 && IsWord(words[0], "CLIENT") && IsWord(words[1], "REPLY");
  if (is_mute || IsWord(words[0], "MONITOR"))
    return Concat("ERR ", words[0], " takes a connection of its own: see url()");
  return {};
}

void ServerLink::Call(std::span<const std::string_view> words, ReplySink& sink) {
  const std::shared_ptr<ServerCore> core = core_.lock();
  if (!core) return sink.Error(ServerCore::kGone);
  if (core->is_forked()) return sink.Error(ServerCore::kForked);
  if (core->is_inside()) return sink.Error(ServerCore::kInside);
  if (const std::string refusal = Refusal(words); !refusal.empty()) return sink.Error(refusal);
  const std::lock_guard lock(mutex_);
  Answer answer;
  if (!Ask(*core, words, answer)) {
    Close();
    return sink.Error(core->running() ? kClosed : ServerCore::kGone);
  }
  Replay(answer.reply, sink);
}

// A connection that was closed since the last call (SLUICE.RESET, CLIENT KILL, a fault) is noticed
// before anything is sent; one that is closed during a call answers with that.
bool ServerLink::Ask(ServerCore& core, std::span<const std::string_view> words, Answer& answer) {
  if (descriptor_ >= 0 && !Receive()) Close();
  if (descriptor_ < 0 && !Connect(core)) return false;
  answer.command = InCapitals(words.front());
  return Exchange(core, RequestOf(words), answer);
}

bool ServerLink::Connect(ServerCore& core) {
  descriptor_ = core.Connect();
  if (descriptor_ < 0) return false;
  Answer answer;
  const std::string_view hello[] = {"HELLO", "3"};
  if (!Exchange(core, RequestOf(hello), answer)) return false;
  if (space_.empty()) return true;
  const std::string_view enter[] = {"SLUICE.SPACE", space_};
  return Exchange(core, RequestOf(enter), answer) && answer.reply.kind != Reply::Kind::kError;
}

bool ServerLink::Wait(ServerCore& core, short events) const {
  pollfd one{.fd = descriptor_, .events = events};
  if (core.loop() == ServerCore::Loop::kOwnThread) return ::poll(&one, 1, -1) > 0 || errno == EINTR;
  return core.WorkUntil([&] { return ::poll(&one, 1, 0) > 0; }, descriptor_);
}

bool ServerLink::Exchange(ServerCore& core, std::string_view request, Answer& answer) {
  while (!request.empty()) {
    const ssize_t sent = ::send(descriptor_, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && !WouldBlock()) return false;
    if (sent >= 0) request.remove_prefix(static_cast<size_t>(sent));
    if (sent < 0 && !Wait(core, POLLOUT)) return false;
  }
  while (true) {
    ReplyReader reader;
    std::optional<Reply> read = reader.Read(received_);
    if (reader.failed()) return false;
    if (read) {
      received_.erase(0, reader.consumed());
      if (!answer.IsIt(*read)) continue;
      answer.reply = std::move(*read);
      return true;
    }
    if (!Wait(core, POLLIN) || !Receive()) return false;
  }
}

// All there is at this moment. False: the connection is closed, and nothing more will come.
bool ServerLink::Receive() {
  const size_t before = received_.size();
  while (true) {
    const size_t size = received_.size();
    received_.resize(size + kReadBytes);
    const ssize_t got = ::recv(descriptor_, received_.data() + size, kReadBytes, 0);
    received_.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) continue;
    return (got < 0 && WouldBlock()) || received_.size() > before;
  }
}

}  // namespace sluice
