// See outgoing_links.h. An outcome may open and give up links, so each step looks for a due one
// anew.
#include "server/net/links/outgoing_links.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

std::unique_ptr<LinkOpener> OutgoingLinks::Make(const Uses& uses) {
  return std::make_unique<OutgoingLinks>(uses);
}

OutgoingLinks::OutgoingLinks(const Uses& uses)
    : calls_(uses.poller, uses.want_advance),
      for_attempts_{.poller = uses.poller,
                    .alarms = uses.alarms,
                    .calls = calls_,
                    .connect = uses.connect,
                    .wire = [this]() -> TlsWire& { return wire_ ? *wire_ : wire_.emplace(); },
                    .wake = uses.want_advance} {}

void OutgoingLinks::Open(const LinkTarget& target, const LinkListener& listener, Outcome outcome) {
  links_[&listener] = std::unique_ptr<Link>(
      new Link{.attempt = LinkAttempt(target, for_attempts_), .outcome = std::move(outcome)});
}

// A step of each that is due: one that is due again by then has its next step in the next turn.
bool OutgoingLinks::Advance() {
  calls_.Advance();
  std::vector<const LinkListener*> due;
  for (const auto& [listener, link] : links_) {
    if (link->attempt.is_due()) due.push_back(listener);
  }
  for (const LinkListener* const listener : due) {
    const auto link = links_.find(listener);
    if (link == links_.end() || !link->second->attempt.is_due()) continue;
    const LinkAttempt::Stage stage = link->second->attempt.Advance();
    if (stage == LinkAttempt::Stage::kOpen || stage == LinkAttempt::Stage::kFailed)
      Finish(link, stage);
  }
  return std::ranges::any_of(links_,
                             [](const auto& entry) { return entry.second->attempt.is_due(); });
}

void OutgoingLinks::Finish(Links::iterator link, LinkAttempt::Stage stage) {
  const std::unique_ptr<Link> done = std::move(link->second);
  links_.erase(link);
  LinkAttempt& attempt = done->attempt;
  if (stage == LinkAttempt::Stage::kFailed) return done->outcome.failed(attempt.fault());
  const boost::intrusive_ptr<Connection> connection = attempt.TakeConnection();
  done->outcome.opened(connection, attempt.PeerOf(*connection));
}

}  // namespace sluice
