// PageCall: what a page is made from: a request, who sends it, and the parts of the server.
#pragma once

#include <string>
#include <string_view>

#include "server/core/parts.h"
#include "server/http/exchange.h"
#include "server/http/figures.h"
#include "server/http/visitor.h"

namespace sluice {

class Engine;
class FrontPage;
class History;

struct PageCall {
  const HttpRequest& request;
  Engine& engine;
  const Parts& parts;  // the engine's
  const HttpFigures& figures;
  const History& history;
  const FrontPage& front_page;
  std::string_view host_name;  // of the machine
  Standing standing;
  // A request that changes something has to show it; empty: this visitor may change nothing.
  std::string token;
};

}  // namespace sluice
