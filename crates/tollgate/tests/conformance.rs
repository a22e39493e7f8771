//! The store in memory passes the suite that every store passes.

use tollgate::{Clock, MemoryStore};

tollgate_testing::store_conformance!(|clock| {
    MemoryStore::builder().clock(Clock::manual(clock)).build()
});
