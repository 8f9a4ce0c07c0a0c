// See monitors.h. A line is written once for all monitors. Quoted it may be four times as long as
// the request, so a request beyond what may wait for any monitor is not written at all: the
// monitors are closed, as they would be by receiving it.
#include "server/notify/monitors.h"

#include <algorithm>
#include <string>

#include "protocol/text/concat.h"
#include "server/clients/output_bound.h"

namespace sluice {
namespace {

// As a C programmer would write it: what redis-cli and Redis show of any bytes.
void AddQuoted(std::string& line, std::string_view bytes) {
  constexpr std::string_view kSpecial = "\\\"\n\r\t\a\b";
  constexpr std::string_view kLetters = "\\\"nrtab";
  line.push_back('"');
  for (const char c : bytes) {
    const size_t special = kSpecial.find(c);
    if (special != std::string_view::npos) {
      line.push_back('\\');
      line.push_back(kLetters[special]);
    } else if (c >= ' ' && c <= '~') {
      line.push_back(c);
    } else {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      ConcatTo(line, "\\x", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  line.push_back('"');
}

// Redis's three forms: a script, the server's own socket path, an address.
void AddOrigin(std::string& line, const Session& client, const Settings& settings) {
  if (client.conditions & kInScript) {
    line.append("lua");
  } else if (client.peer.unix_socket) {
    ConcatTo(line, "unix:", settings.unixsocket);
  } else {
    line.append(client.peer.address.view());
  }
}

}  // namespace

void Monitors::Add(Session& session) {
  session.conditions |= kMonitor;
  watching_.push_back(&session);
  flags_.Raise(SlowPathFlags::kCommands);
  clients_.ClassChanged(session);
}

// O(monitors), of which there are few.
void Monitors::Remove(Session& session) {
  if (!(session.conditions & kMonitor)) return;
  session.conditions &= ~kMonitor;
  std::erase(watching_, &session);
  clients_.ClassChanged(session);
}

// A request larger than all that may wait for any of them is not even written: quoted it would be
// four times as large.
bool Monitors::IsTooLong(Args args) const {
  const uint64_t limit = OutputBound(settings_.output_pubsub.hard_bytes);
  uint64_t bytes = 0;
  for (const std::string_view argument : args) bytes += argument.size();
  return limit > 0 && bytes > limit;
}

void Monitors::Show(const Session& client, Args args, std::span<const size_t> secret) {
  if (IsTooLong(args)) {
    for (Session* session : watching_) {
      if (session->reply_mode != ReplyMode::kOn) continue;
      clients_.CloseOverOutputLimit(*session);
      clients_.QueueSend(*session);
    }
    return;
  }
  // Read anew, so that lines of one turn differ.
  const int64_t us = clock_.clock().Sample().unix_us();
  const std::string fraction = Concat(1'000'000 + us % 1'000'000).substr(1);
  std::string line = Concat('+', us / 1'000'000, '.', fraction, " [", client.db, ' ');
  AddOrigin(line, client, settings_);
  line.push_back(']');
  for (size_t i = 0; i < args.size(); ++i) {
    line.push_back(' ');
    const bool hidden = std::ranges::find(secret, i) != secret.end();
    AddQuoted(line, hidden ? "(redacted)" : args[i]);
  }
  line.append("\r\n");
  for (Session* session : watching_) {
    if (session->reply_mode == ReplyMode::kOn) clients_.Push(*session, {line});
  }
}

}  // namespace sluice
