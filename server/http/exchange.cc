// See exchange.h.
#include "server/http/exchange.h"

#include "protocol/text/concat.h"

namespace sluice {
namespace {

struct Reason {
  int status;
  std::string_view words;
};
constexpr Reason kReasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {503, "Service Unavailable"},
};

}  // namespace

std::string_view HttpReason(int status) {
  for (const Reason& reason : kReasons) {
    if (reason.status == status) return reason.words;
  }
  return "Other";
}

HttpAnswer HttpSentence(int status, std::string_view sentence) {
  return {.status = status, .body = Concat(sentence, '\n'), .headers = {}};
}

}  // namespace sluice
