// See caller.h.
#include "tests/simulation/cluster/caller.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/command_line.h"

namespace sluice::cluster {

Caller::~Caller() {
  if (connection_) network_.Detach(connection_, Connection::Side::kCaller);
}

void Caller::Ask(const std::vector<std::string>& words, int64_t patience, Answered answered) {
  answered_ = std::move(answered);
  const uint64_t request = ++request_;
  const std::string bytes = EncodeRequest(words);
  was_said_ = false;
  connection_ ? Say(bytes) : Connect(bytes);
  time_.After(patience, [this, request, lives = std::weak_ptr(lives_)] {
    if (lives.expired() || request_ != request || !answered_) return;
    HangUp();
    Finish(std::nullopt);
  });
}

// No answer to the call is no answer to the request: patience ends it.
void Caller::Connect(const std::string& request) {
  const int64_t delay = network_.DelayBetween(site_, callee_->site());
  if (delay < 0 || !callee_->has_power()) return;
  time_.After(delay, [this, request, number = request_, lives = std::weak_ptr(lives_)] {
    if (lives.expired() || request_ != number || !answered_) return;
    connection_ = callee_->Accept(site_, *this);
    if (!connection_) return Finish(std::nullopt);
    Say(request);
  });
}

void Caller::Say(std::string_view bytes) {
  was_said_ = true;
  network_.Say(connection_, Connection::Side::kCaller, bytes);
}

void Caller::HangUp() {
  if (!connection_) return;
  network_.Close(std::exchange(connection_, nullptr), Connection::Side::kCaller);
  received_.clear();
}

void Caller::Arrived(std::string_view bytes) {
  received_ += bytes;
  ReplyReader reader;
  const std::optional<Reply> reply = reader.Read(received_);
  EXPECT_FALSE(reader.failed()) << received_;
  if (!reply) return;
  received_.erase(0, reader.consumed());
  Finish(reply);
}

void Caller::Ended() {
  connection_ = nullptr;
  received_.clear();
  if (answered_) Finish(std::nullopt);
}

void Caller::Finish(const std::optional<Reply>& reply) {
  if (const Answered answered = std::exchange(answered_, nullptr)) answered(reply);
}

}  // namespace sluice::cluster
