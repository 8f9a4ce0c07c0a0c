// The packed forms of LimiterState; see limiter_state.h. Both are the same four fields: a time and
// up to three counts, of which SLIDING uses the last for its second counter and the others for
// their burst (SLIDING has none). The wide form adds what is rarely there: a ban, SLIDING's shares.
// LOG and LEAKY have their shares as the time, and the run of their requests behind the narrow
// form.
#include <cstring>

#include "absl/base/macros.h"
#include "storage/keyspace/entry.h"
#include "storage/limits/limiter_state.h"

namespace sluice {
namespace {

// The fields that differ between the algorithms, under names that suit them all.
struct Fields {
  int64_t time = 0;    // end, theoretical arrival or start
  int64_t count = 0;   // used, part or previous
  int64_t second = 0;  // SLIDING's current
  int64_t whole = 0;   // and its shares, if they are not its max
};

template <typename Number>
struct [[gnu::packed]] Packed {
  Number max;
  Number period_ms;
  Number burst_or_second;
  Number count;
  int64_t time;
  LimitAlgorithm algorithm;
};

struct [[gnu::packed]] Wide64 {
  Packed<int64_t> limiter;
  int64_t banned_until_ms;
  int64_t whole;  // SLIDING's shares; 0 for the others
};

static_assert(sizeof(Packed<uint32_t>) == kNarrowLimiterBytes);
static_assert(sizeof(Wide64) == kWideLimiterBytes);

static_assert(kPackedLimiterMax <= Entry::kInlineBytesMax);
// So the length tells what it is.
static_assert(kNarrowLimiterBytes + TickRun::kBytesMin > kWideLimiterBytes);

// --- fields

Fields FieldsOf(const LimiterState& state) {
  switch (state.config.algorithm) {
    case LimitAlgorithm::kWindow:
    case LimitAlgorithm::kCalendar:
      return {state.window.end_ms, state.window.used};
    case LimitAlgorithm::kSliding:
      return {state.sliding.start_ms, state.sliding.previous, state.sliding.current,
              state.sliding.whole};
    default:
      return {state.gcra.tat_us, state.gcra.tat_part};
  }
}

// Whether 32 bits are enough for all but the time.
bool IsNarrow(const LimiterState& state, const Fields& fields) {
  const LimitConfig& config = state.config;
  // None is negative, so the bits of all of them tell.
  return ((config.max | config.period_ms | config.burst | fields.count | fields.second) >> 32) ==
             0 &&
         (state.banned_until_ms | fields.whole) == 0;
}

template <typename Number>
Packed<Number> Pack(const LimiterState& state, const Fields& fields) {
  const LimitConfig& config = state.config;
  return {static_cast<Number>(config.max),
          static_cast<Number>(config.period_ms),
          static_cast<Number>(config.burst + fields.second),  // one of them is 0
          static_cast<Number>(fields.count),
          fields.time,
          config.algorithm};
}

// The algorithm says what the shared fields mean.
template <typename Number>
LimiterState Unpack(const Packed<Number>& packed) {
  const bool sliding = packed.algorithm == LimitAlgorithm::kSliding;
  const auto last = static_cast<int64_t>(packed.burst_or_second);
  const auto count = static_cast<int64_t>(packed.count);
  LimiterState state({packed.algorithm, static_cast<int64_t>(packed.max),
                      static_cast<int64_t>(packed.period_ms), sliding ? 0 : last});
  if (sliding) {
    state.sliding = {packed.time, count, last, 0};
  } else if (HasWindow(packed.algorithm)) {
    state.window = {packed.time, count};
  } else if (!NeedsLog(packed.algorithm)) {
    state.gcra = {packed.time, count};
  }
  return state;
}

// LOG and LEAKY: the narrow form and a TickRun behind it. 0 when the numbers are wide, a ban is on,
// or the requests are too many: then it has to be an object.
size_t PackWithLog(const LimiterState& state, const RequestLog& log, char* out, size_t old_bytes) {
  const Fields fields{log.packed_whole()};
  TickRun run(old_bytes > kNarrowLimiterBytes ? old_bytes - kNarrowLimiterBytes : 0);
  if (!IsNarrow(state, fields) || !log.CopyTo(run)) return 0;
  const auto packed = Pack<uint32_t>(state, fields);
  std::memcpy(out, &packed, sizeof(packed));
  const std::string_view bytes = run.bytes();
  std::memcpy(out + sizeof(packed), bytes.data(), bytes.size());
  return sizeof(packed) + bytes.size();
}

}  // namespace

// --- the two forms

// Lengths tell the forms apart, so no byte of an entry says which one it is.
size_t PackLimiter(const LimiterState& state, const RequestLog* log, char* out, size_t old_bytes) {
  assert(NeedsLog(state.config.algorithm) == (log != nullptr));
  if (log != nullptr) [[unlikely]]
    return PackWithLog(state, *log, out, old_bytes);
  const Fields fields = FieldsOf(state);
  if (IsNarrow(state, fields)) {
    const auto packed = Pack<uint32_t>(state, fields);
    std::memcpy(out, &packed, sizeof(packed));
    return sizeof(packed);
  }
  const Wide64 packed{Pack<int64_t>(state, fields), state.banned_until_ms, fields.whole};
  std::memcpy(out, &packed, sizeof(packed));
  return sizeof(packed);
}

// The wide form has a length of its own; every other length is the narrow form, with or without a
// run.
LimiterState UnpackLimiter(std::string_view bytes) {
  ABSL_HARDENING_ASSERT(bytes.size() >= kNarrowLimiterBytes);
  if (bytes.size() != kWideLimiterBytes) {
    Packed<uint32_t> packed;
    std::memcpy(&packed, bytes.data(), sizeof(packed));
    return Unpack(packed);
  }
  Wide64 packed;
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  LimiterState state = Unpack(packed.limiter);
  state.banned_until_ms = packed.banned_until_ms;
  if (state.config.algorithm == LimitAlgorithm::kSliding) state.sliding.whole = packed.whole;
  return state;
}

RequestLog UnpackLog(std::string_view bytes) {
  Packed<uint32_t> packed;
  ABSL_HARDENING_ASSERT(bytes.size() > sizeof(packed));
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  return {TickRun(bytes.substr(sizeof(packed))), packed.time};
}

}  // namespace sluice
