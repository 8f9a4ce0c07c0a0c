// See request_ids.h.
#include "server/limits/request_ids.h"

#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "storage/types/digest.h"

namespace sluice {

uint64_t FingerprintOf(std::string_view request) { return ValueDigest(request); }

RequestId ReadRequestId(ArgReader& args) {
  const std::string_view id = args.Bytes();
  if (id.empty() && !args.failed()) args.Fail("ERR the ID is empty");
  if (id.size() > kRequestIdGivenMax) args.Fail("ERR the ID is longer than 1024 bytes");
  return args.failed() ? RequestId() : RequestId(id);
}

int64_t ReadRequestFor(ArgReader& args) { return args.IntIn({"FOR", 1, kRequestForMsMax, "ms"}); }

RequestIds::Found RequestIds::Recall(const Asked& asked, const Now& now) {
  std::optional<RequestMemory::Answer> answer = memory_.Find(Hashed(asked), now);
  if (!answer) return {};
  if (answer->fingerprint != asked.fingerprint) return {.recalled = Recalled::kOther};
  ++repeated_;
  return {Recalled::kSame, *std::move(answer)};
}

void RequestIds::Remember(const ChangeRecorder& changes, const Asked& asked,
                          std::span<const int64_t> values, const Now& now) {
  const RequestMemory::AnswerView answer{asked.fingerprint, now.ms(), asked.for_ms, values};
  memory_.Remember(Hashed(asked), answer, now);
  if (!changes.wants_effects()) return;
  const std::vector<std::string> words = RememberWords(asked.id, answer, now);
  const std::vector<std::string_view> views(words.begin(), words.end());
  changes.Add(0, views);
}

std::vector<std::string> RememberWords(std::string_view id, const RequestMemory::AnswerView& answer,
                                       const Now& now) {
  std::vector<std::string> words = {"REQUEST.REMEMBER", std::string(id), Concat(answer.fingerprint),
                                    Int64Text(answer.at_ms + now.unix_offset_ms),
                                    Int64Text(answer.for_ms)};
  for (const int64_t value : answer.values) words.push_back(Int64Text(value));
  return words;
}

}  // namespace sluice
