//! Gardener's kinds, narrow: only the fields that we read or write. What we do not name stays untouched, since we write
//! by server-side apply.
