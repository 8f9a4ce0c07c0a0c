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
//
// What goes along: the listening sockets, and what is on disk. That is the data, and beside a log
// the mark of tokens, the lease horizon and whether the log is to be trusted.
//
// Connections stay with the old one. When the data are down it sends the answers that waited for
// that, and when it ends its sockets close. Programs connect anew; locks that they held by their
// connections are kept for them for session-grace-ms.
//
// Links between servers are connections, too: the socket to a replica or a master closes and is
// opened anew. What lets the two go on where they were goes along by the disk, put down with the
// data before kGo: the id of the stream, its offset, and its last bytes (backlog_file.h). The new
// one uses them only with the data of that very offset, and removes them; then it goes on under the
// same id, and a replica is sent what it lacks, and not everything.
#pragma once

namespace sluice {

inline constexpr char kChecked = 'c', kGo = 'g', kLoading = 'l', kReady = 'r', kYours = 'y';

// The descriptor, in the environment of the new one.
inline constexpr char kHandOverVariable[] = "SLUICE_HAND_OVER";

}  // namespace sluice
