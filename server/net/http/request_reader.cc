// See request_reader.h.
#include "server/net/http/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace sluice {
namespace {

namespace http = boost::beast::http;

std::string Text(boost::beast::string_view text) { return {text.data(), text.size()}; }

int StatusOf(const boost::system::error_code& fault) {
  if (fault == http::error::header_limit) return 431;
  return fault == http::error::body_limit ? 413 : 400;
}

// Two lines of one name would be two answers to one question.
bool IsOnce(const http::fields& fields, http::field name) { return fields.count(name) <= 1; }
bool IsOnce(const http::fields& fields, boost::beast::string_view name) {
  return fields.count(name) <= 1;
}

}  // namespace

struct RequestReader::Parser : http::request_parser<http::string_body> {
  Parser() {
    eager(true);
    header_limit(kHeadBytesMax);
    body_limit(kBodyBytesMax);
  }
};

RequestReader::RequestReader() = default;
RequestReader::~RequestReader() = default;

RequestReader::Found RequestReader::Next(HttpRequest& request) {
  if (fault_ != 0) return Found::kFault;
  // Empty lines before a request are none of it.
  if (!is_inside_) bytes_.erase(0, std::min(bytes_.find_first_not_of("\r\n"), bytes_.size()));
  if (bytes_.empty()) return Found::kNothingYet;
  if (!parser_) parser_ = std::make_unique<Parser>();
  boost::system::error_code fault;
  // It takes a head as a whole, or nothing of it.
  const size_t taken = parser_->put(boost::asio::buffer(bytes_), fault);
  bytes_.erase(0, taken);
  is_inside_ = true;
  if (fault && fault != http::error::need_more) {
    fault_ = StatusOf(fault);
    return Found::kFault;
  }
  if (!parser_->is_done()) {
    if (bytes_.size() < kWaitingBytesMax) return Found::kNothingYet;
    fault_ = 431;
    return Found::kFault;
  }
  Take(request);
  return fault_ == 0 ? Found::kRequest : Found::kFault;
}

void RequestReader::Take(HttpRequest& request) {
  auto message = parser_->release();
  parser_.reset();
  is_inside_ = false;
  wants_close_ = !message.keep_alive();
  is_old_ = message.version() < 11;
  const std::string target = Text(message.target());
  const bool is_plain =
      target.starts_with('/') && IsOnce(message, http::field::host) &&
      IsOnce(message, http::field::authorization) && IsOnce(message, http::field::origin) &&
      IsOnce(message, http::field::content_type) && IsOnce(message, "Sec-Fetch-Site") &&
      IsOnce(message, "X-Sluice-Token") && message.count(http::field::host) == 1;
  if (!is_plain) {
    fault_ = 400;
    return;
  }
  const size_t mark = target.find('?');
  request.method = Text(message.method_string());
  request.path = target.substr(0, mark);
  request.query = mark == target.npos ? std::string() : target.substr(mark + 1);
  request.host = Text(message[http::field::host]);
  request.authorization = Text(message[http::field::authorization]);
  request.accept = Text(message[http::field::accept]);
  request.origin = Text(message[http::field::origin]);
  request.fetch_site = Text(message["Sec-Fetch-Site"]);
  request.page_token = Text(message["X-Sluice-Token"]);
  request.content_type = Text(message[http::field::content_type]);
  request.body = std::move(message.body());
}

}  // namespace sluice
