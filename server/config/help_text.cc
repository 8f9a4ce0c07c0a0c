// What the program says of itself: `sluice --help` and `--version`. See commandline.h.
#include "protocol/text/concat.h"
#include "server/config/commandline.h"
#include "server/config/version.h"

namespace sluice {
namespace {

constexpr std::string_view kHelp =
    R"(Usage: sluice [/path/to/redis.conf] [-] [--option value ...]
       sluice -h or --help
       sluice -v or --version
       sluice --check-aof DIR [--fix]
       sluice --check-rdb FILE
       sluice --check-config [/path/to/redis.conf] [-] [--option value ...]
       sluice --import FILE|DIR [--into DIR] [--keep-expired] [--option value ...]
       sluice --import HOST:PORT [--into DIR] [--keep-expired] [ACCESS] [--option value ...]
       sluice --export-redis FILE|DIR FILE [--option value ...]
       sluice --export-redis HOST:PORT FILE [ACCESS]
       sluice --backup HOST:PORT FILE [ACCESS]
       sluice --print-config
       sluice --print-info
       sluice --ping [HOST:PORT] [--wait SECONDS] [ACCESS]
       sluice --cluster-check HOST:PORT [HOST:PORT ...] [ACCESS]
       sluice top [HOST:PORT] [--once] [--every SECONDS] [--db N] [ACCESS]
ACCESS: [--user NAME] [--pass WORD]
        [--tls [--cacert FILE | --cacertdir DIR] [--cert FILE --key FILE] [--sni NAME] [--insecure]]

Options are those of redis.conf; what stands later counts. '-' reads configuration from standard
input. Options of Redis that Sluice does not serve are refused or warned about when it starts.
--check-config says all that a start would refuse or warn of, also of Redis's file; nothing starts.
--check-rdb lists what is in an RDB file, by type, and names the first fault with its offset.
--import makes what a server starts from out of an RDB file, a log, or the folder of one, of Redis,
Valkey or Sluice: dump.rdb in DIR (here, if none is named), or with '--appendonly yes' a log. Keys
whose time is over are left out and counted; '--keep-expired' keeps them, without a deadline. A
running server is asked for its data as a replica asks (PSYNC); it goes on as it was.
--export-redis makes the second FILE, an RDB file that redis-server 7.0 loads, out of the data of a
stopped Sluice (its folder, a snapshot, a log's folder) or of a running server, and says what it
left out.
--backup has the server save a snapshot and copies it to FILE, also to another machine.
--print-config prints a configuration with every option, its range and its default, in comments.
--print-info prints what each field of INFO is, as a page of Markdown.
--ping asks a server (127.0.0.1:6379, if none is named) whether it serves, and with '--wait' until
it does: SECONDS may have a fraction.
--cluster-check says whether servers of a cluster have the same map, and serve all slots; where one
is named the others are those of its map.
top shows in a terminal how a running server is, who holds its locks and who waits for them. Arrows
or j and k scroll, / searches, b breaks the selected lock after a question, ? shows all keys, and q
quits. With '--once', and where there is no terminal, it prints one page. (./top is a file of that
name.)
HOST:PORT may also be a host, a port, unix:/PATH, redis://USER:WORD@HOST:PORT or rediss://... (TLS);
for top with /DB behind it.
The words of ACCESS are redis-cli's, but the server's certificate must be for HOST, or for the NAME
of '--sni'; '--insecure' takes any. The password may also stand in REDISCLI_AUTH.

For the program that starts a server: '--port any' takes a free port. '--port-file FILE' holds the
port while it is served. '--ready-line yes' says 'ready on 127.0.0.1:PORT' on standard output when
it is, and nothing else: the log is on standard error then ('--port any' does so by itself);
'--ready-fd N' says it on that descriptor. '--exit-with-parent yes' and '--idle-exit SECONDS' end
a server that nobody needs. '--seed N' makes what is random the same in each run.

Exit status of a server: 0 when it was told to end (SHUTDOWN, SIGTERM, SIGINT, the two options
above) and has kept what was to be kept; 1 when it could not start, or could not save its data: the
sentence on standard error, or in the log, says why. Of all other forms: 0 when all is well, 1 when
a file is damaged, cannot be read or written, or the server does not do what is asked (the sentence
says which and where), 2 when their words are wrong.

Examples:
       sluice                          on 127.0.0.1:6379, saves ./dump.rdb as Redis does,
                                       and reserves tokens of locks in ./fence.mark
       sluice --appendonly yes         what changes is kept in ./appendonlydir
       sluice --port 7000 --bind 0.0.0.0 --requirepass secret
       sluice /etc/redis/redis.conf --loglevel verbose
       sluice --unixsocket /run/sluice.sock --port 0
       echo 'maxclients 500' | sluice - --port 7000
       sluice --port any --save '' --exit-with-parent yes          for a test
)";

}  // namespace

std::string_view HelpText() { return kHelp; }

std::string VersionText() {
  return Concat("Sluice as Redis server v=", kRedisVersion, " bits=", sizeof(void*) * 8,
                " (Sluice ", kSluiceVersion, ")");
}

}  // namespace sluice
