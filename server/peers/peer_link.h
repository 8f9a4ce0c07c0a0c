// PeerLink: asks another server of the cluster, one question after the other, over a connection
// that it opens when it is first asked, logs in on (masteruser, masterauth) and keeps. It has no
// sockets (Links) and no clock: EverySecond bounds how long an answer may take.
//
//   kClosed ── Ask ──> kOpening ──> kAsked ── the answer ──> kIdle ── Ask ──> kAsked
//      └──────────────────┴────────────┴── lost, late, nonsense: Failed ──────────┘
//
//   link.Ask({"10.0.0.7", 6379}, {"CLUSTER", "MAP", "GET"}, 5000, *this);
//   PeerAnswered(link, answer)   or   PeerFailed(link, "Connection refused")
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/args.h"
#include "server/clients/clients.h"
#include "server/clients/link_listener.h"
#include "server/clients/links.h"
#include "server/config/config.h"
#include "server/core/turn_clock.h"
#include "server/peers/answer_reader.h"

namespace sluice {

class PeerLink;

// The one who asks. It may ask again, or destroy nothing, from within these calls.
class PeerAsker {
 public:
  virtual ~PeerAsker() = default;
  virtual void PeerAnswered(PeerLink& link, const PeerAnswer& answer) = 0;
  // There is no answer, and no link any more; `why` is the end of a sentence.
  virtual void PeerFailed(PeerLink& link, std::string_view why) = 0;
};

class PeerLink final : private LinkListener {
 public:
  static constexpr size_t kBulkBytesMax = size_t{4} << 20;

  struct Uses {
    const Config& config;
    const TurnClock& clock;
    Clients& clients;
    Links& links;
  };
  struct Address {
    std::string host;
    uint16_t port = 0;
    bool operator==(const Address&) const = default;
  };

  // Requests as bytes, and how many answers come to them, each of which the asker is given.
  struct Question {
    std::string bytes;
    size_t answers = 1;
    bool logs_in = true;  // by masteruser and masterauth, where these are set
  };

  PeerLink(const Uses& uses, PeerAsker& asker) : on_(uses), asker_(asker) {}
  ~PeerLink() override { on_.links.Close(*this); }

  // Requires: !is_busy(). The outcome follows, but for a sentence: nothing does.
  Fault Ask(const Address& address, Question question, int64_t timeout_ms);
  Fault Ask(const Address& address, Args words, int64_t timeout_ms);
  bool is_busy() const { return state_ == State::kOpening || state_ == State::kAsked; }
  // The question and the connection are given up, and the asker hears no more.
  void Close();
  void EverySecond();
  void TimeShifted(int64_t ms) { until_ms_ += ms; }
  const Address& address() const { return address_; }
  // Whether the last question has gone out. If it has not, the other server was never reached.
  bool question_was_sent() const { return question_was_sent_; }

 private:
  enum class State : uint8_t { kClosed, kOpening, kAsked, kIdle };

  // --- LinkListener
  void LinkOpened(Session& session) override;
  void LinkFailed(std::string_view why) override;
  size_t LinkReceived(Session& session, std::string_view bytes) override;
  void LinkClosed(Session& session) override;

  void Say(std::string_view bytes);
  void TakeAnswers();
  void Fail(std::string_view why);

  const Uses on_;
  PeerAsker& asker_;
  State state_ = State::kClosed;
  Address address_;
  std::optional<SessionId> session_;
  Question question_;     // its bytes: until the link is open
  size_t left_ = 0;       // answers that are to come
  std::string received_;  // of the answer
  bool awaits_login_ = false;
  bool question_was_sent_ = false;
  int64_t until_ms_ = 0;
};

}  // namespace sluice
