// FigureSources: where figures are read from. These are the parts, and what costs more than a
// counter: the system's figures, sums over all clients. It asks for such a thing once, when the
// first figure wants it, and so lives for one INFO or one scrape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "server/clients/process_services.h"
#include "server/core/parts.h"
#include "server/limits/limit_statistics.h"

namespace sluice {

// Sums and maxima over all clients.
struct ClientSums {
  size_t input_max = 0;  // bytes
  size_t output_max = 0;
  size_t paused = 0;
};

class FigureSources {
 public:
  explicit FigureSources(const Parts& parts) : parts_(parts) {}

  const Parts& parts() const { return parts_; }
  template <typename Part>
  Part& Get() const {
    return parts_.Get<Part>();
  }
  int64_t uptime_ms() const;
  uint64_t dataset() const;  // bytes of keys and values
  const ProcessUsage& usage();
  const AllocatorUsage& allocator();
  uint64_t used_memory();  // bytes; O(clients), as sums()
  uint64_t peak_memory();
  const ClientSums& sums();
  const LimitStatistics::Decided& decided();  // by all algorithms

 private:
  const Parts& parts_;
  std::optional<ProcessUsage> usage_;
  std::optional<AllocatorUsage> allocator_;
  std::optional<uint64_t> used_memory_;
  std::optional<ClientSums> sums_;
  std::optional<LimitStatistics::Decided> decided_;
};

}  // namespace sluice
