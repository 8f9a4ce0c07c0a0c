// Options as programs write them that are compiled with -Wextra -Werror: those that are meant, and
// no others. Compiled by strict.py, never run.
#include <sluice/database.h>
#include <sluice/server.h>
#include <sluice/shared_database.h>
#include <sluice/testing.h>

using namespace std::chrono_literals;

namespace {

class Orders : public sluice::ServerTest {};
TEST_F(Orders, AreTested) { Advance(1s); }

void OneOptionEach(sluice::TimeSource* time, std::string& fault) {
  sluice::Database::Open({.time = time}, fault);
  sluice::Database::Open({.directory = "data"}, fault);
  sluice::Database::Open({.settings = {{"appendfsync", "always"}}}, fault);
  sluice::Database::Open({.seed = 1}, fault);
  sluice::Database::Open({.log = [](std::string_view) {}}, fault);
}

void OfLocks(sluice::Database& db) {
  db.Acquire("door", "me", {.lease = 30s});
  db.Acquire("door", "me", {.shared = true});
  db.Acquire("door", "me", {.permits = 1, .of = 2});
  db.Acquire("door", "me", {.label = "cleaning"});
}

void OfSharedLocks(sluice::SharedDatabase& db) {
  db.Acquire("door", "me", {.lease = 30s}, 5s);
  db.With([](sluice::Database& inside) { inside.Run({"PING"}); });
}

bool OfLimits(sluice::Database& db) {
  const sluice::Verdict made_up{.allowed = true};
  return made_up && db.Take("a", sluice::Rolling{.max = 1, .period = 1s}) &&
         db.Take("b", sluice::Gcra{.max = 1, .period = 1s}) &&
         db.Take("c", sluice::Window{.max = 1, .period = 1s}) &&
         db.Take("d", sluice::Policy{.name = "free"});
}

void OfServers(sluice::Server& server) {
  server.Start({.settings = {{"test-double", "yes"}}});
  server.Start({.file = "sluice.conf"});
  server.Start({.text = "port 0"});
  server.Start({.log = [](std::string_view) {}});
  server.Start({.on_configured = [] { return std::string(); }});
  server.Start({.on_ready = [](const std::string&, int) {}});
  server.Start({.on_end = [](const std::string&) {}});
  server.Start({.loop = sluice::ServerOptions::Loop::kHost});
  server.Start({.command = {"sluice"}});
  server.Start({.command_folder = "/"});
  server.Start({.on_handed_over = [] {}});
}

}  // namespace

int main(int count, char**) {
  sluice::ManualTime time;
  std::string fault;
  OneOptionEach(&time, fault);
  sluice::Database db;
  OfLocks(db);
  sluice::SharedDatabase shared;
  OfSharedLocks(shared);
  sluice::Server server;
  OfServers(server);
  return OfLimits(db) ? count : 0;
}
