// See handshake.h.
#include "server/following/handshake.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "protocol/text/info_field.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "storage/log/held_clock.h"

namespace sluice {
namespace {

constexpr size_t kReadingWords = 4;  // of ReadingText
constexpr char kTimeLetter = 'T';

void Say(std::string& out, std::initializer_list<std::string_view> words) {
  AppendRequest(out, Args(words.begin(), words.size()));
}

// "a b c" without the word that it begins with, which goes to `word`.
std::string_view CutWord(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// The first `count` words, and those behind them.
std::pair<std::string_view, std::string_view> CutWords(std::string_view text, size_t count) {
  size_t end = 0;
  for (size_t i = 0; i < count && end < text.size(); ++i)
    end = std::min(text.find(' ', end + (i > 0 ? 1 : 0)), text.size());
  return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

// "5000:1700000000000"
std::optional<Agreement::Time> ReadTime(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::optional<int64_t> engine_ms = ParseInt64(text.substr(0, colon));
  const std::optional<int64_t> offset_ms =
      ParseInt64(text.substr(std::min(colon + 1, text.size())));
  const auto is_moment = [](const std::optional<int64_t>& ms) {
    return ms && *ms >= -kLogMomentMsMax && *ms <= kLogMomentMsMax;
  };
  if (!is_moment(engine_ms) || !is_moment(offset_ms)) return std::nullopt;
  return Agreement::Time{*engine_ms, *offset_ms};
}

// Words of the master for the log.
std::string Shown(std::string_view line) {
  constexpr size_t kShownBytesMax = 256;
  return EscapedText(line, kShownBytesMax);
}

// Redis takes these for a server that wants to know who asks first.
bool AllowsMore(std::string_view answer) {
  return answer.starts_with('+') || answer.starts_with("-NOAUTH") ||
         answer.starts_with("-NOPERM") || answer.starts_with("-ERR operation not permitted");
}

}  // namespace

Handshake::Handshake(Introduction introduction, Log log)
    : introduction_(std::move(introduction)), log_(std::move(log)) {}

void Handshake::Begin(std::string& out) {
  Say(out, {"PING"});
  awaited_ = {Awaited::kPing};
}

size_t Handshake::Take(std::string_view bytes, std::string& out) {
  size_t taken = 0;
  while (agreement_.kind == Agreement::Kind::kNone && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    if (info_bytes_) {
      if (rest.size() < *info_bytes_ + 2) break;
      taken += *info_bytes_ + 2;
      ReadInfo(rest.substr(0, *std::exchange(info_bytes_, std::nullopt)));
      SayPsync(out);
      continue;
    }
    const size_t end = rest.find('\n');
    if (std::min(end, rest.size()) > kLineBytesMax) {
      End(Agreement::Kind::kLater, "an answer of the master is longer than any that makes sense");
      break;
    }
    if (end == rest.npos) break;
    taken += end + 1;
    const std::string_view line = rest.substr(0, end > 0 && rest[end - 1] == '\r' ? end - 1 : end);
    if (!line.empty()) Answer(line, out);  // an empty one keeps the link awake
  }
  return taken;
}

void Handshake::Answer(std::string_view line, std::string& out) {
  const Awaited awaited = awaited_.back();
  awaited_.pop_back();
  const bool is_error = line.starts_with('-');
  const auto not_critical = [&](std::string_view what) {
    if (is_error) {
      log_(LogLevel::kNotice,
           Concat("(Non critical) Master does not understand REPLCONF ", what, ": ", Shown(line)));
    }
  };
  switch (awaited) {
    case Awaited::kPing:
      return PingAnswered(line, out);
    case Awaited::kAuth:
      if (is_error) End(Agreement::Kind::kLater, Concat("Unable to AUTH to MASTER: ", Shown(line)));
      return;
    case Awaited::kPort:
      return not_critical("listening-port");
    case Awaited::kAddress:
      return not_critical("ip-address");
    case Awaited::kAbilities:
      return not_critical("capa");
    case Awaited::kOrigin:
      return OriginAnswered(line, out);
    case Awaited::kInfo: {
      const std::optional<int64_t> bytes =
          line.starts_with('$') ? ParseInt64(line.substr(1)) : std::nullopt;
      if (!bytes || *bytes < 0) return SayPsync(out);  // it may not be asked
      if (*bytes > static_cast<int64_t>(kInfoBytesMax))
        return End(Agreement::Kind::kLater,
                   "the master's INFO is longer than any that makes sense");
      info_bytes_ = static_cast<size_t>(*bytes);
      return;
    }
    case Awaited::kSync:
      return SyncAnswered(line, out);
  }
}

void Handshake::PingAnswered(std::string_view line, std::string& out) {
  if (!AllowsMore(line))
    return End(Agreement::Kind::kLater,
               Concat("Error reply to PING from master: '", Shown(line), "'"));
  log_(LogLevel::kNotice, "Master replied to PING, replication can continue...");
  SayAll(out);
}

// All that needs no answer before the next.
void Handshake::SayAll(std::string& out) {
  const auto say = [&](Awaited awaited, std::initializer_list<std::string_view> words) {
    Say(out, words);
    awaited_.insert(awaited_.begin(), awaited);
  };
  const std::string port = Int64Text(introduction_.port);
  if (!introduction_.password.empty() && introduction_.user.empty())
    say(Awaited::kAuth, {"AUTH", introduction_.password});
  if (!introduction_.password.empty() && !introduction_.user.empty())
    say(Awaited::kAuth, {"AUTH", introduction_.user, introduction_.password});
  say(Awaited::kPort, {"REPLCONF", "listening-port", port});
  if (!introduction_.address.empty())
    say(Awaited::kAddress, {"REPLCONF", "ip-address", introduction_.address});
  say(Awaited::kAbilities, {"REPLCONF", "capa", "eof", "capa", "psync2", "capa", "sluice"});
  const std::string& link_id = introduction_.link_id;
  say(Awaited::kOrigin, {"REPLCONF", "sluice-stream", link_id.empty() ? "?" : link_id});
}

// "+sluice 17 <run id>": what the Sluice of that run makes or relays from the byte 17 on. "+none 0
// <run id>": it has no stream now; by its role, which may change meanwhile, it must not be judged.
void Handshake::OriginAnswered(std::string_view line, std::string& out) {
  const size_t run_id_at = std::min(line.rfind(' '), line.size());
  const bool names_run = line.substr(0, run_id_at).find(' ') != line.npos;
  const std::string_view origin = names_run ? line.substr(0, run_id_at) : line;
  if (names_run && line.substr(run_id_at + 1) == introduction_.run_id) {
    return End(Agreement::Kind::kLater,
               "the MASTER is this server itself: it follows nobody until REPLICAOF names another "
               "one");
  }
  const bool is_status = line.starts_with('+');
  origin_ = is_status ? ReadOrigin(origin.substr(1)) : std::nullopt;
  is_with_sluice_ = origin_ || (is_status && names_run);
  if (is_with_sluice_ && names_run) master_run_id_ = line.substr(run_id_at + 1);
  if (is_with_sluice_) return SayPsync(out);
  Say(out, {"INFO", "replication"});
  awaited_ = {Awaited::kInfo};
}

// A redis-server that was promoted makes its own stream since then; one that follows relays what
// comes.
void Handshake::ReadInfo(std::string_view text) {
  if (InfoField(text, "role") != "master") return;
  const std::optional<int64_t> since = ParseInt64(InfoField(text, "second_repl_offset"));
  origin_ = {StreamKind::kOfRedis, std::max<int64_t>(since.value_or(0), 0)};
}

void Handshake::SayPsync(std::string& out) {
  awaited_ = {Awaited::kSync};
  if (!introduction_.place) {
    log_(LogLevel::kNotice, "Partial resynchronization not possible (no cached master)");
    return Say(out, {"PSYNC", "?", "-1"});
  }
  const std::string& id = introduction_.place->id;
  const std::string next = Int64Text(introduction_.place->offset + 1);
  log_(LogLevel::kNotice,
       Concat("Trying a partial resynchronization (request ", id, ":", next, ")."));
  if (introduction_.takes_over) return Say(out, {"PSYNC", id, next, "FAILOVER"});
  Say(out, {"PSYNC", id, next});
}

void Handshake::SyncAnswered(std::string_view line, std::string& out) {
  std::string_view words = line;
  const std::string_view word = CutWord(words);
  if (word == "+FULLRESYNC") return ReadFullSync(words);
  if (word == "+CONTINUE") return ReadContinue(words);
  if (introduction_.takes_over)
    return End(Agreement::Kind::kUseless, "Failover target rejected psync request");
  if (line.starts_with("-NOMASTERLINK") || line.starts_with("-LOADING")) {
    return End(
        Agreement::Kind::kLater,
        Concat("Master is currently unable to PSYNC but should be in the future: ", Shown(line)));
  }
  if (line.starts_with("-ERR")) {
    log_(LogLevel::kNotice,
         Concat("Master does not support PSYNC or is in error state (reply: ", Shown(line), ")"));
  } else {
    log_(LogLevel::kWarning, Concat("Unexpected reply to PSYNC from master: ", Shown(line)));
  }
  log_(LogLevel::kNotice, "Retrying with SYNC...");
  Say(out, {"SYNC"});
  agreement_.is_silent = true;
  End(Agreement::Kind::kFullSync);
}

// A Sluice says more than Redis.
void Handshake::ReadFullSync(std::string_view words) {
  const std::string_view id = CutWord(words);
  const std::optional<int64_t> offset = ParseInt64(CutWord(words));
  if (!ReplicationId::Of(id) || !offset || *offset < 0 || *offset > kStreamOffsetMax)
    return End(Agreement::Kind::kLater, "Master replied with wrong +FULLRESYNC syntax.");
  agreement_.id = id;
  agreement_.offset = *offset;
  const auto [reading, reserved] = CutWords(words, kReadingWords);
  agreement_.reading = ReadReading(reading);
  agreement_.reserved = ReadReservedText(reserved);
  log_(LogLevel::kNotice, Concat("Full resync from master: ", id, ":", *offset));
  End(Agreement::Kind::kFullSync);
}

void Handshake::ReadContinue(std::string_view words) {
  const std::string_view id = CutWord(words);
  if (!introduction_.place)
    return End(Agreement::Kind::kLater, "the master goes on where nothing has begun (+CONTINUE)");
  if (!id.empty() && !ReplicationId::Of(id))
    return End(Agreement::Kind::kLater, "the master's +CONTINUE names an id that is none");
  agreement_.id = id;
  if (words.starts_with(kTimeLetter)) agreement_.time = ReadTime(CutWord(words).substr(1));
  agreement_.reserved = ReadReservedText(words);
  log_(LogLevel::kNotice, "Successful partial resynchronization with master.");
  End(Agreement::Kind::kContinue);
}

void Handshake::End(Agreement::Kind kind, std::string why_not) {
  agreement_.kind = kind;
  agreement_.why_not = std::move(why_not);
}

}  // namespace sluice
