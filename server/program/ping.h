// `sluice --ping [HOST:PORT] [--wait SECONDS]`: whether a server serves, for scripts that start one
// and programs that look after one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "server/config/tls_words.h"

namespace sluice {

struct PingOrder {
  std::string server;  // host:port
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
  int64_t wait_ms = 0;  // 0: it is asked once
};

// The exit status: 0 and PONG on `out`, or 1 and a sentence on `errors`.
int Ping(const PingOrder& order, std::FILE* out, std::FILE* errors);

}  // namespace sluice
