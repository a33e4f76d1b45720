//! What makes an API server a garden.
