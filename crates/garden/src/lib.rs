//! What makes an API server a garden, and gardens to test on.
//!
//! | room | what is in it |
//! |---|---|
//! | [`embedded`] | Gardener's API in this process, and a landscape of such servers that is ready at once |
//! | [`gardenlet`] | a stand-in for the gardenlet: it drives Shoots through their life, on any garden |
//! | [`landscape`] | a garden, a control plane and shoot API servers, started together |

pub mod embedded;
pub mod gardenlet;
pub mod landscape;
