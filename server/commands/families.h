// The families of commands, one a file of the folders beside this one. The engine is handed a table
// of them; a family does not register itself.
//
// A new family: write its file, declare its function here, and add it in families.cc. The order
// decides how COMMAND lists the commands, nothing else.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/config/config.h"
#include "server/dispatch/command.h"
#include "server/dispatch/command_table.h"

namespace sluice {

class CommandTable;

CommandFamily AclFamily();
CommandFamily BitFieldFamily();
CommandFamily BitsFamily();
CommandFamily RedisCellFamily();
CommandFamily ClientFamily();
CommandFamily ClusterFamily();
CommandFamily CommandInfoFamily();
CommandFamily CompareAndSetFamily();
CommandFamily ConfigFamily();
CommandFamily ConnectionFamily();
CommandFamily CountersFamily();
CommandFamily DatabasesFamily();
CommandFamily DebugFamily();
CommandFamily DumpFamily();
CommandFamily MigrateFamily();
CommandFamily ExpiryFamily();
CommandFamily FencedFamily();
CommandFamily FunctionsFamily();
CommandFamily GeoFamily();
CommandFamily GeoSearchFamily();
CommandFamily HashExpiryFamily();
CommandFamily HashFieldsFamily();
CommandFamily HashScanFamily();
CommandFamily HashesFamily();
CommandFamily HyperLogLogsFamily();
CommandFamily IncrExFamily();
CommandFamily InfoFamily();
CommandFamily KeyScanFamily();
CommandFamily KeysFamily();
CommandFamily LatencyFamily();
CommandFamily LcsFamily();
CommandFamily LeakyBucketsFamily();
CommandFamily LimitAllFamily();
CommandFamily LimitsFamily();
CommandFamily LimitPoliciesFamily();
CommandFamily LimitViewsFamily();
CommandFamily ListItemsFamily();
CommandFamily ListMovesFamily();
CommandFamily ListMovesManyFamily();
CommandFamily ListWaitsFamily();
CommandFamily ListsFamily();
CommandFamily RequestRememberFamily();
CommandFamily LockAcquireFamily();
CommandFamily LockModesFamily();
CommandFamily LockReleaseFamily();
CommandFamily LockRestoreFamily();
CommandFamily LockViewsFamily();
CommandFamily MemoryFamily();
CommandFamily ModulesFamily();
CommandFamily ObjectFamily();
CommandFamily PersistenceFamily();
CommandFamily PubSubFamily();
CommandFamily ReplicationFamily();
CommandFamily ScriptsFamily();
CommandFamily ServerFamily();
CommandFamily SlowLogFamily();
CommandFamily SortFamily();
CommandFamily SortedSetAlgebraFamily();
CommandFamily SortedSetPopsFamily();
CommandFamily SortedSetRangesFamily();
CommandFamily SortedSetScanFamily();
CommandFamily SortedSetsFamily();
CommandFamily StreamClaimsFamily();
CommandFamily StreamDeletionsFamily();
CommandFamily StreamGroupsFamily();
CommandFamily StreamInfoFamily();
CommandFamily StreamNacksFamily();
CommandFamily StreamPendingFamily();
CommandFamily StreamReadFamily();
CommandFamily StreamsFamily();
CommandFamily SetAlgebraFamily();
CommandFamily SetsFamily();
CommandFamily StringsFamily();
CommandFamily StringsManyFamily();
CommandFamily SyncFamily();
CommandFamily SubstringsFamily();
CommandFamily TransactionsFamily();

// All of them, in the order of COMMAND's answer.
std::span<const CommandFamily> AllFamilies();
// And those of a test double behind them.
std::span<const CommandFamily> FamiliesOfTestDouble();
// The same as tables, made on the first call: every engine of the process uses them.
const CommandTable& AllCommands();
const CommandTable& CommandsOfTestDouble();
// A server's own table, where its configuration renames commands or turns some off; else null. A
// line that cannot be carried out is passed over, and a sentence about it put into `faults`.
std::unique_ptr<const CommandTable> OwnCommands(const Config& config,
                                                std::vector<std::string>& faults);

}  // namespace sluice
