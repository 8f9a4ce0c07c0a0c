// HttpPlaces: who goes when another connection to the HTTP port wants a place. A connection is of
// one of three kinds, each with places of its own, so that none can take another's:
//
//   kNew     has asked for nothing yet: its handshake goes on, or its first request
//   kProbe   has asked whether the server lives, or is ready (HttpPages::IsProbe), last
//   kPage    has asked for anything else
//
// Where all places of a kind are taken the one goes that has made no progress for the longest: no
// step of its handshake, no byte of a request, no byte of an answer that it took. So a stranger who
// is silent, or does not read, keeps a place only until it is wanted. A new connection always has
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

enum class HttpKind : uint8_t { kNew, kProbe, kPage };

struct HttpPlace {
  HttpKind kind = HttpKind::kNew;
  bool is_over = false;  // it is closing, or closed
  int64_t progressed_ns = 0;
};

// How many of a kind there may be.
constexpr size_t HttpPlacesOf(HttpKind kind) { return kind == HttpKind::kProbe ? 16 : 64; }

// The index of who goes, so that one more of that kind has a place; none: there is room.
std::optional<size_t> WhoGoes(std::span<const HttpPlace> places, HttpKind kind);

}  // namespace sluice
