// See space_table.h. The difficulty: engines run inside one another, where a slow script lets
// others be served. So a space is dropped, reset or copied onto only when its engine runs nothing,
// and clients move when no engine runs.
#include "server/spaces/space_table.h"

#include <algorithm>

#include "protocol/request_writer.h"
#include "protocol/text/concat.h"
#include "server/clients/current_client.h"
#include "server/engine/random_state.h"
#include "server/locks/lock_service.h"
#include "server/notify/pubsub.h"
#include "server/snapshots/snapshots.h"
#include "server/waiting/blocked_clients.h"

namespace sluice {
namespace {

// The boot id of every space, and the file on its disk that holds it.
constexpr std::string_view kBootIdFile = "/proc/sys/kernel/random/boot_id";
constexpr std::string_view kBootId = "00000000-0000-0000-0000-000000000000";

constexpr std::string_view kTooMany = "ERR there are too many spaces; SLUICE.SPACE DEL ends one";
constexpr std::string_view kBusy = "ERR a command runs in that space; try again when it has ended";

std::string RequestOf(Args args) {
  std::string request;
  AppendRequest(request, args);
  return request;
}

// One number for a name: what makes the choices of a space its own.
uint64_t NumberOf(std::string_view name) {
  uint64_t number = 14695981039346656037u;  // FNV-1a
  for (const char c : name) {
    number = (number ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return number;
}

}  // namespace

struct SpaceTable::View final : Spaces {
  View(SpaceTable& all, Space& own, std::string_view called, PrivateSpace* whose)
      : table(all), space(own), space_name(called), private_space(whose) {}
  std::string_view name() const override { return space_name; }
  Fault Enter(CommandCall& call, std::string_view to) override {
    return table.Enter(*this, call, to);
  }
  std::vector<Info> List() override { return table.List(); }
  bool Delete(std::string_view called) override { return table.Delete(called); }
  Fault Copy(std::string_view from, std::string_view to) override { return table.Copy(from, to); }
  int Listen(std::string_view called, std::string& fault) override {
    return table.Listen(called, fault);
  }
  Fault Reset(CommandCall& call) override { return table.Reset(*this, call); }

  SpaceTable& table;
  Space& space;
  const std::string space_name;
  PrivateSpace* const private_space;  // null: the server's first space
};

struct SpaceTable::PrivateSpace {
  PrivateSpace(SpaceTable& table, std::string_view called)
      : name(called),
        origin(called),
        clock(table.on_.clock),
        space(table.on_.owner, table.at_once_),
        view(table, space, called, this) {}

  const std::string name;
  std::string origin;  // the space whose random choices it makes: its own, or that it is a copy of
  RamDisk disk;
  MovableClock clock;
  std::unique_ptr<Config> config;
  Space space;
  View view;
  std::unique_ptr<SpacePort> port;  // null: it has none of its own
  bool is_due = false;
  uint64_t visits = 0;  // commands by which clients came to this engine, or left it
  // Nothing has happened in it but that.
  bool is_as_made() const { return space.engine().statistics().commands <= visits; }
  int64_t wake_us = TimerWheel::kNever;
};

SpaceTable::SpaceTable(const Uses& uses)
    : on_(uses),
      first_view_(std::make_unique<View>(*this, uses.first, Spaces::kDefault, nullptr)) {}

SpaceTable::~SpaceTable() = default;

Spaces& SpaceTable::ViewOfFirst() { return *first_view_; }

// --- finding and making them

SpaceTable::PrivateSpace* SpaceTable::Find(std::string_view name) const {
  const auto found = spaces_.find(name);
  return found == spaces_.end() ? nullptr : found->second.get();
}

Space* SpaceTable::FindSpace(std::string_view name) {
  if (name == Spaces::kDefault) return &on_.first;
  PrivateSpace* const space = Find(name);
  if (!space) return nullptr;
  NeedEngine(*space);
  return &space->space;
}

SpaceTable::PrivateSpace* SpaceTable::PrivateOf(const Space& space) {
  return static_cast<const View&>(space.engine().part<Spaces>()).private_space;
}

SpaceTable::PrivateSpace& SpaceTable::FindOrMake(std::string_view name) {
  if (PrivateSpace* const space = Find(name)) return *space;
  auto made = std::make_unique<PrivateSpace>(*this, name);
  return *spaces_.emplace(std::string(name), std::move(made)).first->second;
}

EngineOptions SpaceTable::OptionsOf(PrivateSpace& space) const {
  EngineOptions options = on_.options;
  options.movable_clock = &space.clock;
  options.spaces = &space.view;
  if (space.origin == Spaces::kDefault) return options;
  options.seed ^= NumberOf(space.origin);
  if (options.hash_key) options.hash_key->low ^= NumberOf(space.origin);
  return options;
}

void SpaceTable::NeedEngine(PrivateSpace& space) {
  if (!space.space.has_engine()) MakeEngine(space);
}

// Its files are its own: what the server's options say of the disk is not for it.
void SpaceTable::MakeEngine(PrivateSpace& space) {
  auto config = std::make_unique<Config>(on_.config, space.disk);
  config->Preset("save", {""});
  config->Preset("appendonly", {"no"});
  config->Preset("fence-mark-file", {""});
  config->Preset("aclfile", {""});
  space.disk.Replace(std::string(kBootIdFile), kBootId);
  space.space.MakeEngine(*config, space.clock, on_.commands, OptionsOf(space));
  space.config = std::move(config);
  space.visits = 0;
}

bool SpaceTable::IsBusy(const Space& space) const {
  if (!space.has_engine()) return false;
  const CurrentClient& current_client = space.engine().part<CurrentClient>();
  return current_client.current() || current_client.caller();
}

// --- what handlers ask for

Fault SpaceTable::Enter(View& view, CommandCall& call, std::string_view name) {
  if (!call.may_wait()) return "ERR a client cannot change its space in a transaction or a script";
  if (name != Spaces::kDefault && !Find(name) && spaces_.size() >= Spaces::kCountMax)
    return std::string(kTooMany);
  if (!call.part<BlockedClients>().Block(call, {})) return {};
  wants_.push_back({&view.space, call.client.id, std::string(name), RequestOf(call.args)});
  return {};
}

Fault SpaceTable::Reset(View& view, CommandCall& call) {
  if (!call.may_wait()) return "ERR a space cannot be reset in a transaction or a script";
  if (call.settings.appendonly)
    return "ERR a space with an append-only log cannot be reset (appendonly no)";
  if (!call.part<BlockedClients>().Block(call, {})) return {};
  wants_.push_back({&view.space, call.client.id, {}, {}});
  return {};
}

std::vector<Spaces::Info> SpaceTable::List() {
  const auto tell = [](std::string_view name, const Space& space, int port) {
    Spaces::Info info{.name = std::string(name), .port = port};
    if (!space.has_engine()) return info;
    Keyspace& keyspace = space.engine().keyspace();
    for (int db = 0; db < keyspace.databases(); ++db) {
      if (keyspace.made(db)) info.keys += keyspace.db(db).size();
    }
    info.clients = space.engine().session_count();
    return info;
  };
  std::vector<Spaces::Info> all;
  all.push_back(tell(Spaces::kDefault, on_.first, 0));
  for (const auto& [name, space] : spaces_) {
    all.push_back(tell(name, space->space, space->port ? space->port->number() : 0));
  }
  return all;
}

void SpaceTable::End(Space& space) {
  if (PrivateSpace* const own = PrivateOf(space)) Delete(own->name);
}

bool SpaceTable::Delete(std::string_view name) {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return false;
  PrivateSpace& space = *found->second;
  Sleep(space);
  occupied_.erase(&space);
  listening_.erase(&space);
  if (space.is_due) std::erase(due_, &space);
  std::erase_if(wants_, [&](const Want& want) { return want.from == &space.space; });
  space.port.reset();
  space.space.GiveUp();
  given_up_.push_back(std::move(found->second));
  spaces_.erase(found);
  return true;
}

int SpaceTable::Listen(std::string_view name, std::string& fault) {
  if (name == Spaces::kDefault) {
    fault = "ERR the default space is served on the server's own port";
    return -1;
  }
  if (!Find(name) && spaces_.size() >= Spaces::kCountMax) {
    fault = kTooMany;
    return -1;
  }
  PrivateSpace& space = FindOrMake(name);
  if (!space.port) {
    auto port = on_.listen(
        [this, &space](boost::intrusive_ptr<ClientConnection> connection, Peer peer) {
          NeedEngine(space);
          space.space.Admit(std::move(connection), std::move(peer));
          Due(space.space);
        },
        fault);
    if (!fault.empty()) {
      fault = Concat("ERR no port can be had: ", fault);
      return -1;
    }
    space.port = std::move(port);
    listening_.insert(&space);
  }
  return space.port->number();
}

bool SpaceTable::AcceptConnections() {
  bool more = false;
  for (PrivateSpace* const space : listening_) more |= space->port->AcceptConnections();
  return more;
}

// --- copies

namespace {

class StringSink final : public ByteSink {
 public:
  bool Write(std::string_view bytes) override {
    text.append(bytes);
    return true;
  }
  std::string text;
};

}  // namespace

// An image of the one is what the other starts from, on a clock that shows the same, and with the
// same random choices to come.
Fault SpaceTable::Copy(std::string_view from, std::string_view to) {
  Space* const source = FindSpace(from);
  if (!source) return "ERR there is no such space";
  // A script of it is slow: half of what it does is no image of one moment.
  if (source->engine().part<CurrentClient>().caller()) return std::string(kBusy);
  if (PrivateSpace* const old = Find(to); old && IsBusy(old->space)) return std::string(kBusy);
  if (!Find(to) && spaces_.size() >= Spaces::kCountMax) return std::string(kTooMany);
  StringSink image;
  if (!source->engine().part<Snapshots>().WriteTo(image, kBootId))
    return "ERR a snapshot is being written there; try again when it has ended";

  PrivateSpace& target = FindOrMake(to);
  NeedEngine(target);
  std::vector<MigratingClient> clients = LeaveAll(target.space, std::nullopt);
  const PrivateSpace* const private_source = PrivateOf(*source);
  target.clock = private_source ? private_source->clock : on_.first_clock;
  const std::string file = target.config->settings().dbfilename;  // that configuration goes
  target.origin = private_source ? private_source->origin : Spaces::kDefault;
  target.disk.Clear();
  target.disk.Replace(file, image.text);
  MakeEngine(target);
  Engine& engine = target.space.engine();
  const std::string fault = engine.StartLog();
  while (engine.loading() && !target.space.given_up()) engine.RunTurn();
  if (target.space.given_up()) return "ERR the copy cannot be loaded; the log says why";
  target.disk.Remove(file);
  engine.RestoreRandom(source->engine().SaveRandom());
  // The last token, too, is of the image, even where no lock remembers it.
  engine.part<LockService>().tokens().JumpPast(
      source->engine().part<LockService>().tokens().last());
  for (MigratingClient& client : clients) Enter(target.space, std::move(client));
  return fault.empty() ? fault : Concat("ERR the copy cannot be loaded: ", fault);
}

// --- clients that move

// The requests that it sent before are to be run there.
void SpaceTable::Enter(Space& space, MigratingClient client) {
  if (Arrive(space, std::move(client))) Due(space);
}

// False: what it was answered before has not left yet.
bool SpaceTable::Move(const Want& want) {
  Session* const session = want.from->engine().Find(want.session);
  if (!session || !session->blocked) return true;  // it has left, or was unblocked
  if (!session->output.empty()) return false;
  if (want.to != Spaces::kDefault) FindOrMake(want.to);
  Space& to = *FindSpace(want.to);
  MigratingClient client = Leave(*want.from, *session);
  if (PrivateSpace* const left = PrivateOf(*want.from)) ++left->visits;
  client.db = 0;
  client.bytes.insert(0, want.request);
  if (PrivateSpace* const entered = PrivateOf(to)) ++entered->visits;
  Enter(to, std::move(client));
  Due(*want.from);  // what it leaves behind may be others'
  return true;
}

void SpaceTable::ResetSpace(Space& space, SessionId caller) {
  std::vector<MigratingClient> clients = LeaveAll(space, caller);
  if (PrivateSpace* const own = PrivateOf(space)) {
    own->origin = own->name;
    own->disk.Clear();
    own->clock = MovableClock(on_.clock);
    MakeEngine(*own);
  } else {
    on_.first_clock = MovableClock(on_.clock);
    space.MakeEngineAnew();
    if (const Fault fault = space.engine().StartLog()) {
      // The data of its start cannot be had again: without them this is another server.
      space.Log(LogLevel::kWarning, Concat("the server cannot begin anew: ", fault.sentence()));
      on_.owner.ShutdownOf(space, 1);
    }
  }
  for (MigratingClient& client : clients) Enter(space, std::move(client));
}

bool SpaceTable::Arrange(bool nested) {
  if (!nested)
    std::erase_if(given_up_, [this](const auto& space) { return !IsBusy(space->space); });
  if (wants_.empty()) [[likely]]
    return false;
  for (Want& want : std::exchange(wants_, {})) {
    if (!want.to.empty()) {
      if (!Move(want)) wants_.push_back(std::move(want));
    } else if (IsBusy(*want.from)) {
      wants_.push_back(std::move(want));
    } else if (const Session* session = want.from->engine().Find(want.session);
               session && session->blocked) {
      ResetSpace(*want.from, want.session);
    }
  }
  return true;
}

// --- turns

void SpaceTable::Due(Space& space) {
  PrivateSpace* const own = PrivateOf(space);
  if (!own || own->is_due || space.given_up()) return;
  own->is_due = true;
  due_.push_back(own);
}

void SpaceTable::RunTurns() {
  // One at a time: a slow command runs turns inside its own, which take the rest then.
  for (size_t left = due_.size(); left > 0 && !due_.empty(); --left) {
    PrivateSpace* const space = due_.front();
    due_.pop_front();
    space->is_due = false;
    if (space->space.given_up() || !space->space.has_engine()) continue;
    const bool more = space->space.engine().RunTurn();
    space->space.DropBroken();
    if (space->space.given_up()) continue;
    if (more && space->space.engine().session_count() > 0) {
      Due(space->space);
    } else {
      Wake(*space);
    }
  }
}

// Where it has nothing to do, or no client to do it for, or its time stands still, nothing is set.
void SpaceTable::Wake(PrivateSpace& space) {
  Sleep(space);
  Engine& engine = space.space.engine();
  if (engine.session_count() == 0) {
    occupied_.erase(&space);
    if (space.is_as_made()) {
      space.space.DropEngine();
      space.config.reset();
    }
    return;
  }
  occupied_.insert(&space);
  const int64_t next_ms = engine.NextWork();
  if (next_ms == TimerWheel::kNever) return;
  const int64_t in_us = next_ms * 1000 - space.clock.Sample().steady_us;
  if (in_us > 0 && space.clock.frozen()) return;
  space.wake_us = on_.clock.Sample().steady_us + std::max<int64_t>(in_us, 0);
  wakes_.emplace(space.wake_us, &space);
}

void SpaceTable::Sleep(PrivateSpace& space) {
  if (space.wake_us == TimerWheel::kNever) return;
  wakes_.erase({space.wake_us, &space});
  space.wake_us = TimerWheel::kNever;
}

int64_t SpaceTable::NextWakeUs() const {
  return wakes_.empty() ? TimerWheel::kNever : wakes_.begin()->first;
}

void SpaceTable::WakeUntil(int64_t now_us) {
  while (!wakes_.empty() && wakes_.begin()->first <= now_us) {
    PrivateSpace& space = *wakes_.begin()->second;
    Sleep(space);
    Due(space.space);
  }
}

void SpaceTable::Housekeep() {
  for (PrivateSpace* const space : occupied_) {
    space->space.engine().Housekeep();
    Due(space->space);
  }
}

size_t SpaceTable::clients() const {
  size_t count = 0;
  for (const PrivateSpace* const space : occupied_) count += space->space.engine().session_count();
  return count;
}

}  // namespace sluice
