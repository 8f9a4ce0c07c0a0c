// See role_report.h.
#include "server/http/role_report.h"

#include <optional>
#include <string>
#include <vector>

#include "protocol/text/concat.h"
#include "server/following/following.h"
#include "server/http/answers.h"
#include "server/http/readiness_report.h"

namespace sluice {
namespace {

std::string WhyNoMaster(const Following& following) {
  if (!following.is_on()) return {};
  return Concat("it is a replica of ", following.link().host(), ":", following.link().port());
}

// Data of which no age is known are too old for any bound.
std::string WhyNoReplica(const Following& following, std::optional<int64_t> lag_ms_max) {
  if (!following.is_on()) return "it is a master";
  if (following.link().state() != LinkState::kConnected)
    return "the link to its master is down, or all data are coming";
  const std::optional<int64_t> lag_ms = following.lag_ms();
  if (!lag_ms_max || (lag_ms && *lag_ms <= *lag_ms_max)) return {};
  if (!lag_ms) return "its master has said nothing since its data came";
  return Concat("its data are ", *lag_ms, " ms old");
}

// As a sentence of /readyz, with the reason of the role before all others.
HttpAnswer AnswerRole(const PageCall& call, std::string_view role, std::string why_not) {
  std::vector<std::string> reasons = ReasonsNotReady(call.parts);
  if (!why_not.empty()) reasons.insert(reasons.begin(), std::move(why_not));
  if (reasons.empty()) return HttpSentence(200, role);
  std::string text = Concat("no ", role);
  for (const std::string& reason : reasons) ConcatTo(text, "\n- ", reason);
  return HttpSentence(503, text);
}

}  // namespace

HttpAnswer AnswerLeader(const PageCall& call) {
  return AnswerRole(call, "leader", WhyNoMaster(call.parts.Get<Following>()));
}

HttpAnswer AnswerReplica(const PageCall& call) {
  ApiQuery query;
  HttpAnswer fault;
  if (!ReadQuery(call, query, fault)) return fault;
  return AnswerRole(call, "replica", WhyNoReplica(call.parts.Get<Following>(), query.max_lag_ms));
}

}  // namespace sluice
