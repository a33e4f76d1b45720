//! One live read for all who ask for it at once.

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
};
use tokio::sync::Mutex;

/// The last answer, and who it is good for: everybody who asked before it was read.
#[derive(Debug)]
pub struct SharedRead<T> {
    asked: AtomicU64,
    answered: Mutex<(u64, Option<T>)>,
}

impl<T> Default for SharedRead<T> {
    fn default() -> Self {
        Self { asked: AtomicU64::new(0), answered: Mutex::new((0, None)) }
    }
}

impl<T: Copy> SharedRead<T> {
    /// An answer that was read after this call began.
    ///
    /// # Errors
    ///
    /// If it cannot be read; the next in line tries again.
    pub async fn get<E, F>(&self, read: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let ticket = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut answered = self.answered.lock().await;
        if let (good_for, Some(answer)) = *answered
            && good_for >= ticket
        {
            return Ok(answer);
        }
        let good_for = self.asked.load(Ordering::SeqCst);
        let answer = read().await?;
        *answered = (good_for, Some(answer));
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{convert::Infallible, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_share_one_read_and_nobody_gets_an_older_one() {
        let (shared, reads) = (SharedRead::default(), AtomicU64::new(0));
        let ask = async || {
            let read = || async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<u64, Infallible>(reads.fetch_add(1, Ordering::SeqCst) + 1)
            };
            shared.get(read).await.unwrap()
        };
        assert_eq!(ask().await, 1);
        let late = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            futures::join!(ask(), ask(), ask())
        };
        // The second read is under way when the three ask: they share the third.
        assert_eq!(futures::join!(ask(), late), (2, (3, 3, 3)));
        assert_eq!(ask().await, 4);
    }
}
