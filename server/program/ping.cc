// See ping.h. A server that is not there yet, or loads its data, is asked again; one that answers
// anything else (a wrong password) would give the same answer for ever.
#include "server/program/ping.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "protocol/text/concat.h"
#include "server/net/redis_link.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPause{2};
// One that is asked once answers within so long; one that is waited for has the rest of the time.
constexpr milliseconds kPatience{5'000};

struct Answer {
  std::string fault;  // empty: PONG
  bool may_change = false;
};

Answer Ask(RedisLink& link, std::initializer_list<std::string_view> words) {
  const std::optional<Reply> reply = link.Call(words);
  if (!reply) return {link.fault(), true};
  if (reply->kind != Reply::Kind::kError) return {};
  return {reply->text, reply->text.starts_with("LOADING")};
}

Answer AskOnce(const PingOrder& order, milliseconds patience) {
  RedisLink link(order.tls, patience);
  if (std::string fault = link.Connect(order.server); !fault.empty())
    return {fault.substr(order.server.size() + 2), true};
  if (!order.password.empty()) {
    const Answer answer = order.user.empty() ? Ask(link, {"AUTH", order.password})
                                             : Ask(link, {"AUTH", order.user, order.password});
    if (!answer.fault.empty()) return answer;
  }
  return Ask(link, {"PING"});
}

}  // namespace

int Ping(const PingOrder& order, std::FILE* out, std::FILE* errors) {
  const Clock::time_point end = Clock::now() + milliseconds(order.wait_ms);
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const Answer answer =
        AskOnce(order, order.wait_ms == 0 ? kPatience : std::max(left, milliseconds(1)));
    if (answer.fault.empty()) {
      std::fputs("PONG\n", out);
      return 0;
    }
    if (!answer.may_change || Clock::now() + kPause >= end) {
      const std::string fault = HarmlessLine(answer.fault, TextOfTerminal());
      std::fprintf(errors, "sluice: %s: %s\n", order.server.c_str(), fault.c_str());
      return 1;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace sluice
