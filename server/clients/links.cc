// See links.h. A listener may do anything to its link while it is told of it, so an entry is looked
// up anew behind each call.
#include "server/clients/links.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice {
namespace {

// As Redis: with the server's own certificate where there is none for links, and any of its
// authorities' will do, whatever name it is for.
TlsWords TlsWordsOf(const Settings& settings) {
  TlsWords words{.on = true,
                 .authority_file = settings.tls_ca_cert_file,
                 .authority_folder = settings.tls_ca_cert_dir,
                 .certificate_file = settings.tls_client_cert_file,
                 .key_file = settings.tls_client_key_file,
                 .any_name = true,
                 .key_password = settings.tls_client_key_file_pass};
  if (!words.certificate_file.empty()) return words;
  words.certificate_file = settings.tls_cert_file;
  words.key_file = settings.tls_key_file;
  words.key_password = settings.tls_key_file_pass;
  return words;
}

}  // namespace

LinkTarget LinkTargetOf(const Settings& settings, std::string host, int port, int64_t timeout_ms) {
  LinkTarget target{.host = std::move(host),
                    .port = port,
                    .source_address = settings.bind_source_addr,
                    .timeout_ms = timeout_ms};
  if (settings.tls_replication) target.tls = TlsWordsOf(settings);
  return target;
}

std::vector<Links::Link>::iterator Links::Find(const LinkListener& listener) {
  return std::ranges::find(links_, &listener, &Link::listener);
}

std::vector<Links::Link>::iterator Links::Find(const Session& session) {
  return std::ranges::find(links_, std::optional(session.id), &Link::session);
}

// --- for listeners

Fault Links::Open(const LinkTarget& target, LinkListener& listener) {
  assert(Find(listener) == links_.end());
  Fault fault = host_.OpenLink(target, listener);
  if (fault.empty()) links_.push_back({&listener, std::nullopt});
  return fault;
}

void Links::Close(LinkListener& listener) {
  const auto found = Find(listener);
  if (found == links_.end()) return;
  const std::optional<SessionId> id = found->session;
  links_.erase(found);
  if (!id) return host_.CloseLink(listener);
  if (Session* const session = clients_.Find(*id)) clients_.Close(*session, CloseMode::kNow);
}

void Links::ReadOn(Session& session) {
  if (session.is_stalled) clients_.Requeue(session);
}

void Links::Parse(Session& session) {
  session.is_raw = false;
  if (!session.is_stalled) return;  // it is being shown the bytes
  StallEnds(session);
  clients_.Requeue(session);
}

void Links::StallEnds(Session& session) {
  session.is_stalled = false;
  host_.ReadOn(session);
}

// --- for the engine

void Links::Opened(Session& session, LinkListener& listener) {
  assert(Find(listener) != links_.end());
  clients_.SetKind(session, SessionKind::kMasterLink);
  session.is_raw = true;
  session.reply_mode = ReplyMode::kOff;
  Find(listener)->session = session.id;
  listener.LinkOpened(session);
}

void Links::Failed(LinkListener& listener, std::string_view why) {
  links_.erase(Find(listener));
  listener.LinkFailed(why);
}

void Links::Give(Session& session) {
  const auto found = Find(session);
  if (found == links_.end() || session.close != CloseMode::kOpen) {  // it was given up
    session.pending = {};
    return;
  }
  const size_t taken = found->listener->LinkReceived(session, session.pending.view());
  assert(taken <= session.pending.size());
  if (taken == session.pending.size()) {
    session.pending = {};
  } else {
    session.pending.Assign(session.pending.view().substr(taken));
  }
  const bool stalls = session.is_raw && !session.pending.empty();
  if (session.is_stalled && !stalls) return StallEnds(session);
  session.is_stalled = stalls;
}

void Links::Forget(Session& session) {
  const auto found = Find(session);
  if (found == links_.end()) return;
  LinkListener& listener = *found->listener;
  links_.erase(found);
  listener.LinkClosed(session);
}

std::string Links::Audit() const {
  for (const Link& link : links_) {
    if (!link.session) continue;
    const Session* const session = clients_.Find(*link.session);
    if (!session || session->kind != SessionKind::kMasterLink) return "a link has no session";
    if (session->is_stalled && (!session->is_raw || session->pending.empty()))
      return "a link waits for nothing";
  }
  return "";
}

}  // namespace sluice
