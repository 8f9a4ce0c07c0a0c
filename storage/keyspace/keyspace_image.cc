// See keyspace_image.h. The walk is Keyspace's.
#include "storage/keyspace/keyspace_image.h"

namespace sluice {

void KeyspaceImage::Give(Entry& entry) {
  if (entry.mark() == mark_) return;
  entry.set_mark(mark_);
  if (saver_ != nullptr) saver_->Save(indexes_[entry.database_id_], entry);
}

bool KeyspaceImage::IsMarkSound(const Entry& entry) const {
  return taken_ || entry.mark() == mark_;
}

}  // namespace sluice
