// The table of a database's entries.
#include "storage/keyspace/segment_table.h"

#include "storage/keyspace/segment_table_impl.h"

namespace sluice {

template class SegmentTableOf<Entry>;

}  // namespace sluice
