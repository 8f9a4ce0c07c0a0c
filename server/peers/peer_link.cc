// See peer_link.h.
#include "server/peers/peer_link.h"

#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"

namespace sluice {
namespace {

std::string LoginOf(const Settings& settings) {
  std::string out;
  if (settings.masterauth.empty()) return out;
  const std::string_view words[] = {"AUTH", settings.masteruser, settings.masterauth};
  const std::string_view of_default[] = {"AUTH", settings.masterauth};
  AppendRequest(out, settings.masteruser.empty() ? Args(of_default) : Args(words));
  return out;
}

}  // namespace

Fault PeerLink::Ask(const Address& address, Args words, int64_t timeout_ms) {
  Question question;
  AppendRequest(question.bytes, words);
  return Ask(address, std::move(question), timeout_ms);
}

Fault PeerLink::Ask(const Address& address, Question question, int64_t timeout_ms) {
  if (!(address == address_)) Close();
  left_ = question.answers;
  until_ms_ = on_.clock.now().ms() + timeout_ms;
  question_was_sent_ = state_ == State::kIdle;
  if (state_ == State::kIdle) {
    state_ = State::kAsked;
    Say(question.bytes);
    return {};
  }
  address_ = address;
  if (Fault fault = on_.links.Open(
          LinkTargetOf(on_.config.settings(), address.host, address.port, timeout_ms), *this))
    return fault;
  state_ = State::kOpening;
  question_ = std::move(question);
  return {};
}

void PeerLink::Close() {
  on_.links.Close(*this);
  session_.reset();
  FreeMemory(question_);
  received_.clear();
  awaits_login_ = false;
  state_ = State::kClosed;
}

void PeerLink::Say(std::string_view bytes) {
  Session* const session = session_ ? on_.clients.Find(*session_) : nullptr;
  if (!session) return;
  session->output.Append(bytes);
  on_.clients.QueueSend(*session);
}

// --- LinkListener

void PeerLink::LinkOpened(Session& session) {
  session_ = session.id;
  state_ = State::kAsked;
  question_was_sent_ = true;
  const Question question = std::exchange(question_, {});
  const std::string login = question.logs_in ? LoginOf(on_.config.settings()) : std::string();
  awaits_login_ = !login.empty();
  Say(login);
  Say(question.bytes);
}

void PeerLink::LinkFailed(std::string_view why) { Fail(why); }

void PeerLink::LinkClosed(Session&) {
  session_.reset();
  Fail("it has closed the connection");
}

size_t PeerLink::LinkReceived(Session&, std::string_view bytes) {
  received_.append(bytes);
  TakeAnswers();
  return bytes.size();
}

void PeerLink::TakeAnswers() {
  for (;;) {
    AnswerReading reading = ReadAnswer(received_, kBulkBytesMax);
    if (reading.state == AnswerReading::State::kIncomplete) return;
    if (reading.state == AnswerReading::State::kFault || state_ != State::kAsked) {
      if (received_.empty()) return;
      return Fail("its answer makes no sense");
    }
    received_.erase(0, reading.bytes);
    if (std::exchange(awaits_login_, false)) {
      if (reading.answer.is_error) return Fail(Concat("masterauth: ", reading.answer.value()));
      continue;
    }
    // A word too many is a fault before the next question can be taken for its answer.
    const bool is_last = --left_ == 0;
    if (is_last && !received_.empty()) return Fail("its answer makes no sense");
    if (is_last) state_ = State::kIdle;
    asker_.PeerAnswered(*this, reading.answer);
    if (is_last || state_ != State::kAsked) return;
  }
}

void PeerLink::Fail(std::string_view why) {
  const bool was_asked = is_busy();
  const std::string reason(why);
  Close();
  if (was_asked) asker_.PeerFailed(*this, reason);
}

void PeerLink::EverySecond() {
  if (is_busy() && on_.clock.now().ms() > until_ms_) Fail("it does not answer");
}

}  // namespace sluice
