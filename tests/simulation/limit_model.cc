// See limit_model.h.
#include "tests/simulation/limit_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

using enum LimitNumbers::Algorithm;

__int128 Gcd(__int128 a, __int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

// For what is not negative.
int64_t DividedUp(__int128 a, __int128 b) { return static_cast<int64_t>((a + b - 1) / b); }

// The first n >= 0 for which `holds`, which stays true once it is.
template <typename Holds>
int64_t FirstThat(Holds holds) {
  int64_t high = 1;
  while (!holds(high)) high *= 2;
  int64_t low = -1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

bool Drips(const LimitNumbers& numbers) {
  return numbers.algorithm == kRolling || numbers.algorithm == kGcra;
}
bool Logs(const LimitNumbers& numbers) {
  return numbers.algorithm == kLog || numbers.algorithm == kLeaky;
}
__int128 PriceOf(int64_t units, const LimitNumbers& numbers) {
  return static_cast<__int128>(units) * numbers.period_ms * 1000;
}

}  // namespace

// --- Fraction

Fraction::Fraction(__int128 top, __int128 bottom) {
  const __int128 shared = Gcd(top, bottom);
  top_ = shared == 0 ? 0 : top / shared;
  bottom_ = shared == 0 ? 1 : bottom / shared;
}
Fraction Fraction::operator+(const Fraction& other) const {
  return {top_ * other.bottom_ + other.top_ * bottom_, bottom_ * other.bottom_};
}
Fraction Fraction::operator-(const Fraction& other) const {
  return {top_ * other.bottom_ - other.top_ * bottom_, bottom_ * other.bottom_};
}
Fraction Fraction::operator*(const Fraction& other) const {
  return {top_ * other.top_, bottom_ * other.bottom_};
}
int64_t Fraction::Floor() const { return static_cast<int64_t>(top_ / bottom_); }

// --- asking

LimitSaid LimitModel::Peek(const LimitNumbers& asked, int64_t cost, Moment now) const {
  const bool there = Exists(now);
  const int64_t ban_left_ms =
      there ? std::max<int64_t>(
                  0, DividedUp(std::max<int64_t>(0, banned_until_ms_ * 1000 - now.us), 1000))
            : 0;
  LimitSaid said{};
  said.limit = asked.capacity();
  said.remaining = there ? RemainingAt(asked, now.us) : said.limit;
  if (ban_left_ms > 0) said.remaining = 0;
  said.allowed = ban_left_ms == 0 && cost <= said.remaining;
  if (cost > said.limit) {
    said.retry_ms = -1;
  } else if (!said.allowed) {
    const int64_t fits_in_ms =
        FirstThat([&](int64_t ms) { return RemainingAt(asked, now.us + ms * 1000) >= cost; });
    said.retry_ms = std::max(fits_in_ms, ban_left_ms);
  }
  const int64_t whole_at_us = there ? WholeAtUs(now.us) : now.us;
  said.reset_ms = std::max(DividedUp(whole_at_us - now.us, 1000), ban_left_ms);
  const int64_t whole_at_ms =
      std::max(DividedUp(whole_at_us, 1000), ban_left_ms > 0 ? banned_until_ms_ : 0);
  said.reset_at_ms = (said.reset_ms == 0 ? now.ms() : whole_at_ms) + now.unix_offset_ms;
  return said;
}

LimitSaid LimitModel::Take(const LimitNumbers& asked, int64_t cost, int64_t ban_ms, Moment now) {
  if (!Exists(now)) Forget();
  if (!numbers_) {
    numbers_ = asked;
    ends_ms_ = now.ms();  // until something is taken there is no key
  }
  const LimitSaid seen = Peek(asked, cost, now);
  if (seen.allowed) {
    ChangeTo(asked, now.us);
    Consume(cost, now.us);
  } else if (ban_ms > 0 && banned_until_ms_ <= now.ms()) {
    banned_until_ms_ = now.ms() + ban_ms;
  } else {
    return seen;
  }
  SetEnd(now);
  LimitSaid said = Peek(asked, cost, now);
  said.allowed = seen.allowed;
  if (said.allowed) said.retry_ms = 0;
  return said;
}

std::optional<int64_t> LimitModel::Refund(int64_t units, Moment now) {
  if (!Exists(now)) return std::nullopt;
  SettleTo(now.us);
  GiveBack(units);
  SetEnd(now);
  const bool banned = banned_until_ms_ > now.ms();
  return banned ? 0 : Remaining(now.us);
}

int64_t LimitModel::RemainingAt(const LimitNumbers& asked, int64_t at_us) const {
  LimitModel then = *this;
  then.ChangeTo(asked, at_us);
  return then.Remaining(at_us);
}

// Of a limiter that is settled to this moment.
int64_t LimitModel::Remaining(int64_t at_us) const {
  const Fraction whole(1);
  Fraction used;
  if (numbers_->algorithm == kWindow) return std::max<int64_t>(0, numbers_->max - window_used_);
  if (Drips(*numbers_)) {
    const __int128 left = PriceOf(numbers_->capacity(), *numbers_) - owed_;
    return static_cast<int64_t>(left / PriceOf(1, *numbers_));
  }
  for (const Came& came : log_) used = used + came.share;
  if (numbers_->algorithm == kSliding) {
    const int64_t left_ms = numbers_->period_ms - (at_us / 1000 - start_ms_);
    used = current_ + previous_ * Fraction(left_ms, numbers_->period_ms);
  }
  return whole < used ? 0 : ((whole - used) * Fraction(numbers_->max)).Floor();
}

bool LimitModel::IsWholeAt(int64_t at_us) const {
  LimitModel then = *this;
  then.SettleTo(at_us);
  return !then.window_end_ms_ && then.owed_ == 0 && then.log_.empty() && then.previous_.IsZero() &&
         then.current_.IsZero();
}

int64_t LimitModel::WholeAtUs(int64_t now_us) const {
  return now_us + FirstThat([&](int64_t us) { return IsWholeAt(now_us + us); });
}

// --- what time does

void LimitModel::SettleTo(int64_t at_us) {
  const int64_t tick = at_us / 1000;
  if (window_end_ms_ && tick >= *window_end_ms_) {
    window_end_ms_.reset();
    window_used_ = 0;
  }
  if (Drips(*numbers_)) {
    const __int128 dripped = static_cast<__int128>(at_us - owed_at_us_) * numbers_->max;
    owed_ = std::max<__int128>(0, owed_ - dripped);
    owed_at_us_ = at_us;
  }
  std::erase_if(log_, [&](const Came& came) { return tick - came.tick >= numbers_->period_ms; });
  if (!previous_.IsZero() || !current_.IsZero()) SettleWindows(tick);
}

// They follow each other without a gap, until one ends in which nothing came.
void LimitModel::SettleWindows(int64_t tick) {
  while (tick - start_ms_ >= numbers_->period_ms && !(previous_.IsZero() && current_.IsZero())) {
    previous_ = std::exchange(current_, Fraction());
    start_ms_ += numbers_->period_ms;
    if (previous_.IsZero()) return;
  }
}

// --- what requests do

void LimitModel::ChangeTo(const LimitNumbers& to, int64_t at_us) {
  SettleTo(at_us);
  const LimitNumbers from = *std::exchange(numbers_, to);
  if (from == to) return;
  const int64_t tick = at_us / 1000;
  const auto moved = [&](int64_t then) {
    return then >= tick ? then : tick - (tick - then) * to.period_ms / from.period_ms;
  };
  owed_ = DividedUp(owed_ * PriceOf(to.capacity(), to), PriceOf(from.capacity(), from));
  start_ms_ = moved(start_ms_);
  for (Came& came : log_) came.tick = moved(came.tick);
}

void LimitModel::Consume(int64_t cost, int64_t at_us) {
  const int64_t tick = at_us / 1000;
  const Fraction share(cost, numbers_->max);
  if (numbers_->algorithm == kWindow) {
    if (!window_end_ms_) window_end_ms_ = tick + numbers_->period_ms;
    window_used_ += cost;
  } else if (Drips(*numbers_)) {
    owed_ += PriceOf(cost, *numbers_);
  } else if (Logs(*numbers_)) {
    log_.push_back({DividedUp(at_us, 1000), share});
  } else {
    if (previous_.IsZero() && current_.IsZero()) start_ms_ = tick;
    current_ = current_ + share;
  }
}

// The newest first, never beyond an unused limiter.
void LimitModel::GiveBack(int64_t units) {
  Fraction share(units, numbers_->max);
  const auto take_from = [&share](Fraction& held) {
    const Fraction back = share < held ? share : held;
    held = held - back;
    share = share - back;
  };
  window_used_ -= std::min(window_used_, units);
  owed_ -= std::min(owed_, PriceOf(units, *numbers_));
  take_from(current_);
  take_from(previous_);
  for (auto came = log_.rbegin(); came != log_.rend(); ++came) take_from(came->share);
  std::erase_if(log_, [](const Came& came) { return came.share.IsZero(); });
}

void LimitModel::SetEnd(Moment now) {
  const int64_t whole_at_ms = IsWholeAt(now.us) ? now.ms() : DividedUp(WholeAtUs(now.us), 1000);
  ends_ms_ = std::max(whole_at_ms, banned_until_ms_);
}

}  // namespace sluice
