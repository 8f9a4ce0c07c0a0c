// See map_file.h. Replicas are joined to their masters at the end, as they may stand before them.
#include "server/cluster/map_file.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"

namespace sluice {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kHostBytesMax = 255;

std::string_view NextWord(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::optional<int64_t> NumberUpTo(std::string_view text, int64_t max) {
  const std::optional<int64_t> number = ParseInt64(text);
  return number && *number >= 0 && *number <= max ? number : std::nullopt;
}

struct Address {
  std::string_view host;
  uint16_t port = 0;
};

bool IsHostByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':' || c == '%';
}

// host:port, [host]:port; of nodes.conf also host:port@bus and more behind a comma.
std::optional<Address> ReadAddress(std::string_view word) {
  word = word.substr(0, word.find_first_of("@,"));
  const size_t colon = word.rfind(':');
  if (colon == word.npos) return std::nullopt;
  const std::optional<int64_t> port = NumberUpTo(word.substr(colon + 1), UINT16_MAX);
  std::string_view host = word.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (!port || host.size() > kHostBytesMax) return std::nullopt;
  if (!std::ranges::all_of(host, IsHostByte)) return std::nullopt;
  return Address{host, static_cast<uint16_t>(*port)};
}

// "17" or "0-8191".
std::optional<SlotRange> ReadRange(std::string_view word) {
  const size_t dash = word.find('-');
  const std::optional<int64_t> first = NumberUpTo(word.substr(0, dash), kKeySlots - 1);
  const std::optional<int64_t> last =
      dash == word.npos ? first : NumberUpTo(word.substr(dash + 1), kKeySlots - 1);
  if (!first || !last || *first > *last) return std::nullopt;
  return SlotRange{static_cast<KeySlot>(*first), static_cast<KeySlot>(*last)};
}

class MapReader {
 public:
  MapReader(std::string_view text, bool needs_hosts) : text_(text), needs_hosts_(needs_hosts) {}

  Fault ReadLines() {
    while (!text_.empty()) {
      ++line_number_;
      const size_t end = std::min(text_.find('\n'), text_.size());
      const Fault fault = ReadLine(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (fault) return Concat("line ", line_number_, ": ", fault.sentence());
    }
    return JoinReplicas();
  }

  Fault CheckWhole() const {
    for (int slot = 0; slot < kKeySlots; ++slot) {
      if (!builder_.map().OwnerOf(static_cast<KeySlot>(slot)))
        return Concat("slot ", slot, " is of no server");
    }
    return {};
  }

  MapFile Finish() {
    // Lines that name no epoch are as new as the map.
    const uint64_t epoch = builder_.map().epoch();
    has_epoch_.resize(builder_.map().nodes().size());
    for (size_t node = 0; node < has_epoch_.size(); ++node) {
      const Fault fault = has_epoch_[node] ? Fault() : builder_.SetLineEpoch(node, epoch);
      assert(!fault);
    }
    return {builder_.Finish(), me_, std::move(moves_)};
  }

 private:
  struct Following {
    size_t line;
    size_t replica;
    std::string_view master;  // an id or an address
  };

  bool IsReachable(const Address& address) const {
    return !needs_hosts_ || (!address.host.empty() && address.port != 0);
  }
  Fault ReadLine(std::string_view line);
  Fault ReadServer(std::string_view line);
  Fault ReadMove(std::string_view line, std::map<KeySlot, std::string>& moves);
  Fault ReadNode(std::string_view& line, size_t& node, std::string_view* behind = nullptr);
  Fault ReadLineEpoch(std::string_view word, size_t node);
  Fault ReadNodeOfRedis(std::string_view id, std::string_view line);
  Fault ReadVariablesOfRedis(std::string_view line);
  Fault JoinReplicas();

  std::string_view text_;
  const bool needs_hosts_;
  size_t line_number_ = 0;
  SlotMapBuilder builder_;
  std::vector<Following> followings_;
  std::vector<bool> has_epoch_;  // nodes, by their numbers
  std::string_view me_name_;
  SlotMoves moves_;
  std::optional<size_t> me_;
};

Fault MapReader::ReadLine(std::string_view line) {
  const std::string_view first = NextWord(line);
  if (first.empty() || first.front() == '#') return {};
  if (IsNodeId(first)) return ReadNodeOfRedis(first, line);
  if (first == "vars") return ReadVariablesOfRedis(line);
  if (first == "epoch") {
    const std::optional<int64_t> epoch = NumberUpTo(NextWord(line), INT64_MAX);
    if (!epoch || !NextWord(line).empty()) return "an epoch is one number: \"epoch 7\"";
    return builder_.SetEpoch(static_cast<uint64_t>(*epoch));
  }
  if (first == "me") {
    if (!me_name_.empty()) return "there is a line with \"me\" already";
    me_name_ = NextWord(line);
    return {};
  }
  if (first == "server") return ReadServer(line);
  if (first == "migrating") return ReadMove(line, moves_.to);
  if (first == "importing") return ReadMove(line, moves_.from);
  size_t node = 0;
  if (first == "replica-of") {
    const std::string_view master = NextWord(line);
    if (const Fault fault = ReadNode(line, node)) return fault;
    followings_.push_back({line_number_, node, master});
    return {};
  }
  const std::optional<SlotRange> range = ReadRange(first);
  if (!range)
    return Concat("it begins with none of: first-last (slots 0 to ", kKeySlots - 1,
                  "), server, replica-of, epoch, #");
  if (const Fault fault = ReadNode(line, node)) return fault;
  return builder_.Give(*range, node);
}

// host:port [id] [epoch], and the line ends.
Fault MapReader::ReadServer(std::string_view line) {
  size_t node = 0;
  std::string_view epoch;
  if (const Fault fault = ReadNode(line, node, &epoch)) return fault;
  return epoch.empty() ? Fault() : ReadLineEpoch(epoch, node);
}

// <slot> <id>
Fault MapReader::ReadMove(std::string_view line, std::map<KeySlot, std::string>& moves) {
  const std::optional<int64_t> slot = NumberUpTo(NextWord(line), kKeySlots - 1);
  const std::string_view id = NextWord(line);
  if (!slot || !IsNodeId(id) || !NextWord(line).empty())
    return "a slot on its way is: migrating (or importing), the slot, an id";
  moves[static_cast<KeySlot>(*slot)] = id;
  return {};
}

Fault MapReader::ReadLineEpoch(std::string_view word, size_t node) {
  const std::optional<int64_t> epoch = NumberUpTo(word, INT64_MAX);
  if (!epoch) return Concat("'", word.substr(0, 20), "' is no epoch");
  has_epoch_.resize(builder_.map().nodes().size());
  has_epoch_[node] = true;
  return builder_.SetLineEpoch(node, static_cast<uint64_t>(*epoch));
}

// host:port [id], and the line ends; or a word follows, where that may be.
Fault MapReader::ReadNode(std::string_view& line, size_t& node, std::string_view* behind) {
  const std::optional<Address> address = ReadAddress(NextWord(line));
  if (!address || !IsReachable(*address)) return "a server is host:port";
  const std::string_view id = NextWord(line);
  if (!id.empty() && !IsNodeId(id)) return "an id has 40 hexadecimal digits";
  if (behind) *behind = NextWord(line);
  if (!NextWord(line).empty()) return "there is too much behind the server";
  return builder_.AddNode(address->host, address->port, id, node);
}

// <id> <address> <flags> <master or -> <ping> <pong> <epoch> <link> <slots …>
Fault MapReader::ReadNodeOfRedis(std::string_view id, std::string_view line) {
  const std::optional<Address> address = ReadAddress(NextWord(line));
  const std::string_view flags = NextWord(line);
  const std::string_view master = NextWord(line);
  std::string_view words[4];  // the ping, the pong, the epoch, the link
  for (std::string_view& word : words) {
    word = NextWord(line);
    if (word.empty()) return "a line of nodes.conf has at least eight words";
  }
  if (flags.find("noaddr") != flags.npos || flags.find("handshake") != flags.npos) return {};
  if (!address || !IsReachable(*address)) return "a server is host:port";
  size_t node = 0;
  if (const Fault fault = builder_.AddNode(address->host, address->port, id, node)) return fault;
  if (const Fault fault = ReadLineEpoch(words[2], node)) return fault;
  if (flags.find("myself") != flags.npos) me_name_ = id;
  if (master != "-") followings_.push_back({line_number_, node, master});
  for (std::string_view word = NextWord(line); !word.empty(); word = NextWord(line)) {
    if (word.front() == '[') continue;  // a slot that is on its way
    const std::optional<SlotRange> range = ReadRange(word);
    if (!range) return Concat("'", word.substr(0, 20), "' is no range of slots");
    if (const Fault fault = builder_.Give(*range, node)) return fault;
  }
  return {};
}

// currentEpoch <n> lastVoteEpoch <n>
Fault MapReader::ReadVariablesOfRedis(std::string_view line) {
  for (std::string_view name = NextWord(line); !name.empty(); name = NextWord(line)) {
    const std::optional<int64_t> number = NumberUpTo(NextWord(line), INT64_MAX);
    if (!number) return "a variable of nodes.conf is a number";
    if (name != "currentEpoch") continue;
    if (const Fault fault = builder_.SetEpoch(static_cast<uint64_t>(*number))) return fault;
  }
  return {};
}

Fault MapReader::JoinReplicas() {
  for (const auto& [line, replica, name] : followings_) {
    const std::optional<size_t> master = FindNode(builder_.map(), name);
    if (!master)
      return Concat("line ", line, ": no server of the map is the master '", name.substr(0, 64),
                    "'");
    if (const Fault fault = builder_.Follow(replica, *master))
      return Concat("line ", line, ": ", fault.sentence());
  }
  if (me_name_.empty()) return {};
  me_ = FindNode(builder_.map(), me_name_);
  if (me_) return {};
  return Concat("no server of the map is \"me\": '", me_name_.substr(0, 64), "'");
}

}  // namespace

std::string AddressText(const ClusterNode& node) {
  const bool is_ipv6 = node.host.find(':') != node.host.npos;
  return is_ipv6 ? Concat("[", node.host, "]:", node.port) : Concat(node.host, ":", node.port);
}

std::optional<size_t> FindNode(const SlotMap& map, std::string_view name) {
  if (IsNodeId(name)) return map.FindId(name);
  const std::optional<Address> address = ReadAddress(name);
  return address ? map.FindAddress(address->host, address->port) : std::nullopt;
}

std::variant<MapFile, Fault> ReadMapFile(std::string_view text, MapRules rules) {
  MapReader reader(text, rules.needs_hosts);
  if (Fault fault = reader.ReadLines()) return fault;
  if (rules.needs_all_slots) {
    if (Fault fault = reader.CheckWhole()) return fault;
  }
  return reader.Finish();
}

namespace {

// The lines of a map but for its epoch, which is the first one.
std::vector<std::string> LinesOf(const SlotMap& map) {
  std::vector<std::string> lines;
  const auto server = [&map](size_t node) {
    return Concat(AddressText(map.nodes()[node]), " ", map.nodes()[node].id);
  };
  std::vector<bool> is_named(map.nodes().size());
  for (const auto& [range, owner] : map.Ranges()) {
    lines.push_back(Concat(range.first, "-", range.last, " ", server(owner)));
    is_named[owner] = true;
  }
  for (size_t node = 0; node < is_named.size(); ++node) {
    const auto& [id, host, port, master, epoch] = map.nodes()[node];
    if (master) lines.push_back(Concat("replica-of ", map.nodes()[*master].id, " ", server(node)));
    is_named[node] = is_named[node] || master;
    if (!is_named[node] || epoch != map.epoch())
      lines.push_back(Concat("server ", server(node), " ", epoch));
  }
  return lines;
}

}  // namespace

std::string MapFileText(const MapFile& file) {
  std::string text = Concat("epoch ", file.map.epoch(), "\n");
  for (const std::string& line : LinesOf(file.map)) ConcatTo(text, line, "\n");
  if (file.me) ConcatTo(text, "me ", file.map.nodes()[*file.me].id, "\n");
  for (const auto& [slot, id] : file.moves.to) ConcatTo(text, "migrating ", slot, " ", id, "\n");
  for (const auto& [slot, id] : file.moves.from) ConcatTo(text, "importing ", slot, " ", id, "\n");
  return text;
}

std::string DigestOf(const SlotMap& map) {
  constexpr size_t kDigits = 16;
  std::vector<std::string> lines = LinesOf(map);
  std::ranges::sort(lines);
  std::string text = Concat("epoch ", map.epoch(), "\n");
  for (const std::string& line : lines) ConcatTo(text, line, "\n");
  return NodeIdOf(text, static_cast<uint16_t>(0)).substr(0, kDigits);
}

}  // namespace sluice
