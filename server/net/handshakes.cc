// See handshakes.h. An entry that is ready stands in `ready_` exactly once; it ends only in its own
// step, or is taken out first (Forget), so that what stands there is always there.
#include "server/net/handshakes.h"

#include "protocol/text/concat.h"
#include "server/net/tls/tls_stream.h"

namespace sluice {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

// Bytes that it has sent by now are looked at without waiting to be told of them.
void Handshakes::Begin(boost::intrusive_ptr<Connection> connection, Peer peer) {
  if (entries_.size() >= kMax && !EndSilentSince(kNever)) return connection->Close();
  Connection& begun = *connection;
  const int64_t until_ns = clock_.TickNanos() + kTimeMs * 1'000'000;
  ConnectionOwner& owner = begun.owner();
  begun.set_owner(*this);
  entries_.push_back({std::move(connection), owner, std::move(peer), until_ns});
  entry_of_[&begun] = std::prev(entries_.end());
  Ready(begun);
}

// One that is ready may be a client in a moment, so it stays.
bool Handshakes::EndSilentSince(int64_t since_ns) {
  auto silent = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->is_ready || entry->heard_ns > since_ns) continue;
    if (silent == entries_.end() || entry->heard_ns < silent->heard_ns) silent = entry;
  }
  if (silent == entries_.end()) return false;
  Fail(silent, "of too many it has been silent for the longest", "");
  return true;
}

bool Handshakes::EndSilent() {
  return !entries_.empty() && EndSilentSince(clock_.TickNanos() - kSilentMs * 1'000'000);
}

void Handshakes::Forget(Connection& connection) {
  const auto found = entry_of_.find(&connection);
  if (found == entry_of_.end()) return;
  const Entries::iterator entry = found->second;
  if (entry->is_ready) std::erase(ready_, entry);
  End(entry);
}

void Handshakes::Ready(Connection& connection) {
  const auto found = entry_of_.find(&connection);
  if (found == entry_of_.end()) return;
  found->second->heard_ns = clock_.TickNanos();
  if (std::exchange(found->second->is_ready, true)) return;
  ready_.push_back(found->second);
  wake_();
}

int64_t Handshakes::HeardNanos(const Connection& connection) const {
  const auto found = entry_of_.find(&connection);
  return found == entry_of_.end() ? 0 : found->second->heard_ns;
}

bool Handshakes::Advance() {
  if (entries_.empty()) [[likely]]
    return false;
  const int64_t begun_ns = clock_.TickNanos();
  EndOverdue(begun_ns);
  int64_t now_ns = begun_ns;
  while (!ready_.empty() && now_ns - begun_ns < kStepNanos) {
    const Entries::iterator entry = ready_.front();
    ready_.pop_front();
    Step(entry);
    now_ns = clock_.TickNanos();
  }
  return !ready_.empty();
}

void Handshakes::Step(Entries::iterator entry) {
  entry->is_ready = false;
  const boost::intrusive_ptr<Connection> connection = entry->connection;
  TlsStream& tls = *connection->tls();
  switch (tls.Shake()) {
    case TlsStream::Progress::kWaits:
      if (tls.has_unsent()) connection->AwaitWritable();
      if (tls.has_more()) Ready(*connection);
      return;
    case TlsStream::Progress::kFailed:
      if (tls.is_plain()) return Fail(entry, "it speaks plain text on the TLS port", "");
      return Fail(entry, "the handshake failed: ", tls.fault());
    case TlsStream::Progress::kDone:
      break;
  }
  Peer peer = std::move(entry->peer);
  End(entry);
  done_(connection, std::move(peer));
}

void Handshakes::Fail(Entries::iterator entry, std::string_view what, std::string_view why) {
  Say(Concat("a TLS connection from ", entry->peer.address, " is closed: ", what, why));
  entry->connection->Close();
  End(entry);
}

void Handshakes::End(Entries::iterator entry) {
  entry->connection->set_owner(entry->owner);
  entry_of_.erase(entry->connection.get());
  entries_.erase(entry);
}

// One that is ready has sent something in time, which its step looks at.
void Handshakes::EndOverdue(int64_t now_ns) {
  for (auto entry = entries_.begin(); entry != entries_.end() && entry->until_ns <= now_ns;) {
    const auto overdue = entry++;
    if (!overdue->is_ready) Fail(overdue, "its handshake takes too long", "");
  }
}

int64_t Handshakes::NextNanos() const {
  for (const Entry& entry : entries_) {
    if (!entry.is_ready) return entry.until_ns;
  }
  return kNever;
}

void Handshakes::Close() {
  for (const Entry& entry : entries_) entry.connection->Close();
  ready_.clear();
  entry_of_.clear();
  entries_.clear();
}

void Handshakes::Say(const std::string& line) {
  const int64_t now_ns = clock_.TickNanos();
  if (now_ns - said_since_ns_ >= kNanosPerSecond) {
    if (unsaid_ > 0) tell_(Concat(unsaid_, " more TLS connections were closed"));
    said_since_ns_ = now_ns;
    said_ = 0;
    unsaid_ = 0;
  }
  if (++said_ <= kLinesPerSecond) return tell_(line);
  ++unsaid_;
}

}  // namespace sluice
