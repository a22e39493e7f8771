//! What proves Tollgate right: an exact oracle, generated traces, and one suite for every store.
//!
//! - [`oracle::Oracle`] answers from the definitions of the algorithms, slowly.
//! - [`trace`] generates what is asked when, on clocks that stop and go back.
//! - [`compare()`] runs a trace on anything that answers for a key, and on the oracle.
//! - [`table()`] runs a table that can be followed by hand.
//! - [`ledger::Ledger`] says whether more was admitted than a quota allows.
//! - `store_conformance!`, with the feature `store`, is the suite that every store passes.
//!
//! This crate is for tests: it panics where a test should fail.

pub mod compare;
#[cfg(feature = "store")]
pub mod conformance;
pub mod forall;
pub mod ledger;
pub mod oracle;
pub mod subject;
pub mod table;
pub mod trace;

pub use crate::compare::{compare, run, run_on_clock};
pub use crate::forall::forall;
pub use crate::ledger::Ledger;
pub use crate::oracle::Oracle;
pub use crate::subject::{CoreKey, Subject};
pub use crate::table::{table, table_from, table_on};
