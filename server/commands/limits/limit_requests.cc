// See limit_requests.h.
#include "server/commands/limits/limit_requests.h"

#include <algorithm>
#include <array>

#include "server/commands/shared/option_table.h"
#include "storage/types/digest.h"

namespace sluice {
namespace {

// -1, "never", stays.
int64_t LeftOf(int64_t span_ms, int64_t passed_ms) {
  return span_ms <= 0 ? span_ms : std::max<int64_t>(0, span_ms - passed_ms);
}

// Makes one number of two that hangs on every bit of them.
uint64_t Mixed(uint64_t a, uint64_t b) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xd6e8feb86659fd93);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr OptionRow<RequestName> kRequestNameOptions[] = {
    {"ID", [](ArgReader& args, RequestName& name) { name.id = ReadRequestId(args); }},
    {"FOR", [](ArgReader& args, RequestName& name) { name.for_ms = ReadRequestFor(args); }},
};

}  // namespace

RequestName ReadRequestName(ArgReader& args) {
  RequestName name;
  ReadOptionsOnce(args, kRequestNameOptions, name);
  if (name.for_ms > 0 && name.id.empty()) args.Fail("ERR FOR needs an ID");
  return name;
}

uint64_t AddToFingerprint(uint64_t before, Asks what, int db, std::string_view key,
                          LimitAlgorithm algorithm, int64_t cost) {
  const uint64_t kind = static_cast<uint64_t>(db) << 16 | static_cast<uint64_t>(algorithm) << 8 |
                        static_cast<uint64_t>(what);
  return ChainedDigest(Mixed(Mixed(before, kind), static_cast<uint64_t>(cost)), key);
}

RequestIds::Asked AskedTake(const CommandCall& call, const TakeOptions& options,
                            const RequestId& id) {
  const LimitConfig& config = options.request.config;
  const uint64_t fingerprint =
      AddToFingerprint(0, options.shadow ? Asks::kShadow : Asks::kTake, call.db.index(),
                       call.args[1], config.algorithm, options.request.cost);
  return {id, fingerprint, RequestForMs(options.for_ms, config.period_ms),
          call.part<RequestIds>().HashOf(id)};
}

int64_t RequestForMs(int64_t given_ms, int64_t period_ms) {
  return given_ms > 0 ? given_ms : std::min(period_ms, kRequestForMs);
}

bool IsAnswered(CommandCall& call, const RequestIds::Asked& asked,
                absl::FunctionRef<void(const RequestMemory::Answer& answer)> reply) {
  const RequestIds::Found found = call.part<RequestIds>().Recall(asked, call.now);
  if (found.recalled == RequestIds::Recalled::kNew) return false;
  if (found.recalled == RequestIds::Recalled::kOther) {
    call.reply.Error(kOtherRequest);
  } else {
    reply(found.answer);
  }
  return true;
}

std::array<int64_t, 5> NumbersOf(const LimitVerdict& verdict) {
  return {verdict.allowed, verdict.limit, verdict.remaining, verdict.retry_ms, verdict.reset_ms};
}

LimitVerdict VerdictAt(const RequestMemory::Answer& answer, size_t at, const Now& now) {
  if (answer.values.size() < at + 5) return {};  // a log that tells less
  const int64_t* const values = answer.values.data() + at;
  const int64_t passed_ms = now.ms() - answer.at_ms;
  LimitVerdict verdict{.allowed = values[0] != 0, .limit = values[1], .remaining = values[2]};
  verdict.retry_ms = LeftOf(values[3], passed_ms);
  verdict.reset_ms = LeftOf(values[4], passed_ms);
  verdict.reset_at_ms = now.unix_ms() + verdict.reset_ms;
  return verdict;
}

}  // namespace sluice
