// Signs that two servers give each other while one takes the other's place: single bytes on a pair
// of sockets, whose end tells of a process that has ended.
//
//   old                               new
//   starts it, serves on              reads its configuration, takes the sockets
//                        <- kChecked
//   puts its data down, stands still
//                        kGo ->       loads
//                        <- kLoading  now and then
//                        <- kReady    waits
//                        kYours ->    serves
//   ends
//
// Until kYours the old one can go on, and does when the new one ends or is silent: it kills that,
// sees it dead, and only then takes its data up again. So there is one at a time who may write.
#pragma once

namespace sluice {

inline constexpr char kChecked = 'c', kGo = 'g', kLoading = 'l', kReady = 'r', kYours = 'y';

// The descriptor, in the environment of the new one.
inline constexpr char kHandOverVariable[] = "SLUICE_HAND_OVER";

}  // namespace sluice
