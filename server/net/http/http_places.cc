// See http_places.h.
#include "server/net/http/http_places.h"

namespace sluice {

std::optional<size_t> WhoGoes(std::span<const HttpPlace> places, HttpKind kind) {
  const auto goes_before = [](const HttpPlace& one, const HttpPlace& other) {
    return one.is_over != other.is_over ? one.is_over : one.progressed_ns < other.progressed_ns;
  };
  size_t taken = 0;
  std::optional<size_t> first;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].kind != kind) continue;
    ++taken;
    if (!first || goes_before(places[i], places[*first])) first = i;
  }
  return taken < HttpPlacesOf(kind) ? std::nullopt : first;
}

}  // namespace sluice
