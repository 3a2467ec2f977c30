// The fast build: what the checking build does with these calls (runtime_check.h) is nothing.
#pragma once

namespace {

inline void check_setup(const Buffer*) {}
inline void check_image(uintptr_t) {}
inline void check_slots(char*, uint64_t, uint32_t) {}
inline void check_find_shared(char*, char*) {}
// Calls `action` for the declared shared arrays in [begin, end): here for all that lies there.
template <class Action>
void for_declared_arrays(char* begin, char* end, Action action) {
  action(begin, end);
}
inline void check_launch_begins(uint64_t, uint64_t) {}
inline void check_launch_ends(bool) {}
inline void check_outputs(const Buffer*) {}
inline void check_block_begins() {}
inline void check_barrier() {}
inline void check_warp_synced(int, uint32_t) {}
inline void check_inactive_lane(int, int) {}
inline void check_copy_begins(char*, const char*, unsigned, unsigned, int) {}
inline void check_copy_lands(char*, unsigned, int) {}
inline bool check_before_fork() { return true; }
inline void check_worker_begins() {}
inline void check_worker_ends() {}
inline void check_merge_workers() {}

}  // namespace
