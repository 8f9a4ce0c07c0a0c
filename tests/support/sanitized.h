// Whether this build looks for faults of memory, and so takes ten times as long.
#pragma once

namespace sluice {

#if defined(__SANITIZE_ADDRESS__)  // g++
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)  // clang
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace sluice
