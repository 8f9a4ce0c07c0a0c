// `sluice --cluster-check HOST:PORT [HOST:PORT ...]`: whether the servers of a cluster have one
// map. Each is asked for the epoch and the digest of its map, and whether it serves all slots.
// Where one server is named the others are those of its map.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "server/config/tls_words.h"

namespace sluice {

struct ClusterCheckOrder {
  std::vector<std::string> servers;  // host:port, at least one
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
};

// A line for each server on `out`. The exit status: 0 where all have the same map and serve all
// slots; else 1, and a sentence for each fault on `errors`.
int ClusterCheck(const ClusterCheckOrder& order, std::FILE* out, std::FILE* errors);

}  // namespace sluice
