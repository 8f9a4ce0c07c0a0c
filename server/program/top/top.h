// `sluice top [HOST:PORT]`: how a running server is, who holds its locks and who waits for them, in
// a terminal, and again every second; or once, as a page of text, where there is no terminal.
//
// A server that goes away is looked for again; what was seen last stays, faint, with the reason.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "server/config/tls_words.h"

namespace sluice {

struct TopOrder {
  std::string server;  // host:port, or unix:/path
  std::string user;
  std::string password;  // empty: none
  TlsWords tls;
  int64_t database = 0;
  int64_t every_ms = 1000;
  bool once = false;
};

// The exit status: 0 when it was left, or the page is printed; 1 and a sentence on `errors` when
// nothing could be learned at the start.
int Top(const TopOrder& order, std::FILE* out, std::FILE* errors);

}  // namespace sluice
