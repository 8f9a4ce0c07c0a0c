// See migration.h.
#include "server/peers/migration.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"
#include "protocol/text/free_memory.h"

namespace sluice {

size_t Migration::AnswersTo(const Order& order) {
  return order.head_answers + order.requests_per_key * order.keys.size();
}

Fault Migration::Begin(CommandCall& call, Order order) {
  // A write that is held back would be a second one.
  if (client_) return "another MIGRATE is on its way";
  // They may be large, and are the link's from here on.
  PeerLink::Question question{
      .bytes = std::move(order.head), .answers = AnswersTo(order), .logs_in = false};
  question.bytes += order.restores;
  FreeMemory(order.restores);
  if (Fault fault = link_.Ask(order.to, std::move(question), order.timeout_ms)) return fault;
  order_ = std::move(order);
  outcome_ = {};
  answers_ = 0;
  head_is_refused_ = false;
  client_ = call.client.id;
  on_.pause.HoldWrites(Pause::Cause::kMigration);
  on_.blocked_clients.Block(call, {.owner = this});
  return {};
}

// First those to the head, then those of each key, of which the last is to its RESTORE. After a
// refused AUTH or SELECT keys may be in another place than the one named, so none counts as moved.
void Migration::PeerAnswered(PeerLink&, const PeerAnswer& answer) {
  const size_t number = answers_++;
  const bool is_head = number < order_.head_answers;
  const size_t of_keys = is_head ? 0 : number - order_.head_answers;
  if (answer.is_error && outcome_.error.empty())
    outcome_.error = Concat("ERR Target instance replied with error: ", answer.value());
  const bool is_restore = !is_head && (of_keys + 1) % order_.requests_per_key == 0;
  head_is_refused_ |= is_head && answer.is_error;
  if (is_restore && !answer.is_error && !head_is_refused_)
    outcome_.moved.push_back(order_.keys[of_keys / order_.requests_per_key]);
  if (answers_ == AnswersTo(order_)) End();
}

// The client gets Redis's sentence, which does not say why; the log does.
void Migration::PeerFailed(PeerLink&, std::string_view why) {
  // Redis does not wait for its connection: it learns of a refusal when it writes.
  const bool was_refused = why == std::strerror(ECONNREFUSED);
  outcome_.error = link_.question_was_sent() ? "IOERR error or timeout reading to target instance"
                   : was_refused             ? "IOERR error or timeout writing to target instance"
                                             : "IOERR error or timeout connecting to the client";
  LogFailure(why);
  End();
}

void Migration::LogFailure(std::string_view why) {
  const std::optional<uint64_t> left_out = failures_logged_.Admit(on_.links.clock.now().ms());
  if (!left_out) return;
  std::string line = Concat("MIGRATE to ", order_.to.host, ":", order_.to.port, " failed: ", why);
  if (*left_out > 0) line += Concat(" (", *left_out, " more were not logged)");
  on_.host.Log(LogLevel::kWarning, line);
}

// Writes go on behind it.
void Migration::End() {
  link_.Close();
  const std::optional<SessionId> client = std::exchange(client_, std::nullopt);
  Session* const session = client ? on_.clients.Find(*client) : nullptr;
  if (session && session->blocked) on_.blocked_clients.RunAgain(*session, {});
  on_.pause.LetWrites(Pause::Cause::kMigration);
}

void Migration::WaitCancelled(uint64_t, WaitEnd) {
  client_.reset();
  link_.Close();
  on_.pause.LetWrites(Pause::Cause::kMigration);
}

}  // namespace sluice
