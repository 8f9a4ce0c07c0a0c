// OutgoingLinks: the links of a server that are being opened. Each is a LinkAttempt; this goes on
// with those that can, calls their outcomes, and has what they share: threads that look names up,
// and what lies between OpenSSL and sockets.
//
// It never waits. A step of each link that is due is all that a turn does for them.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "server/net/link_opener.h"
#include "server/net/links/link_attempt.h"
#include "server/net/links/unawaited_calls.h"

namespace sluice {

class OutgoingLinks final : public LinkOpener {
 public:
  static std::unique_ptr<LinkOpener> Make(const Uses& uses);
  explicit OutgoingLinks(const Uses& uses);

  void Open(const LinkTarget& target, const LinkListener& listener, Outcome outcome) override;
  void GiveUp(const LinkListener& listener) override { links_.erase(&listener); }
  bool Advance() override;
  void Close() override { links_.clear(); }

 private:
  struct Link {
    LinkAttempt attempt;
    Outcome outcome;
  };
  using Links = std::map<const LinkListener*, std::unique_ptr<Link>>;

  void Finish(Links::iterator link, LinkAttempt::Stage stage);

  std::optional<TlsWire> wire_;  // from the first link with TLS on; connections keep using it
  UnawaitedCalls calls_;
  const LinkAttempt::Uses for_attempts_;
  Links links_;
};

}  // namespace sluice
