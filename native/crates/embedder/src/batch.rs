//! Many texts on several threads: cut into chunks without padding, results in the given order.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::EmbedderError;
use crate::layer::Scratch;
use crate::model::Model;

/// Tokens of a chunk: enough rows for the weights to be worth reading, few enough for what is
/// computed on the way to stay in a core's second cache.
const CHUNK_TOKENS: usize = 256;
/// A smaller chunk than this is not worth another thread.
const CHUNK_TOKENS_MIN: usize = 64;

/// Chunks of positions in `texts`, the longest texts first: small chunks come last, so that all
/// threads end at nearly the same time.
fn chunks(texts: &[Vec<u32>], threads: usize) -> Vec<Vec<usize>> {
    let total: usize = texts.iter().map(Vec::len).sum();
    let aim = total.div_ceil(threads).clamp(CHUNK_TOKENS_MIN, CHUNK_TOKENS);
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(texts[at].len()));
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut tokens = usize::MAX;
    for at in order {
        if tokens.saturating_add(texts[at].len()) > aim {
            chunks.push(Vec::new());
            tokens = 0;
        }
        tokens += texts[at].len();
        chunks.last_mut().expect("one was pushed first").push(at);
    }
    chunks
}

/// Embeds texts given as ids. `observe` is called on this thread with the texts done so far and
/// ends the work by returning false. `threads` 0 means one a core.
///
/// Threads are started for this call only: a lasting pool would not survive a `fork`.
pub(crate) fn embed(
    model: &Model,
    texts: &[Vec<u32>],
    threads: usize,
    observe: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<f32>, EmbedderError> {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { cores() } else { threads };
    let work = Work {
        model,
        texts,
        chunks: chunks(texts, threads),
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        found: Mutex::new(vec![0.0; texts.len() * model.dims()]),
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(work.chunks.len()))
            .map(|_| scope.spawn(|| work.run(&mut |_| true)))
            .collect();
        work.run(observe);
        for other in others {
            other.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    let done = work.done.into_inner();
    if work.stopped.into_inner() {
        return Err(EmbedderError::Interrupted { done, total: texts.len() });
    }
    let found = work.found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match found.chunks_exact(model.dims()).position(|vector| !model.is_direction(vector)) {
        Some(index) => Err(EmbedderError::VectorNotFinite { index }),
        None => Ok(found),
    }
}

/// What the threads of a call share.
struct Work<'a> {
    model: &'a Model,
    texts: &'a [Vec<u32>],
    chunks: Vec<Vec<usize>>,
    next: AtomicUsize,
    done: AtomicUsize,
    stopped: AtomicBool,
    found: Mutex<Vec<f32>>,
}

impl Work<'_> {
    /// Takes chunk after chunk until none is left or someone stopped the work.
    fn run(&self, observe: &mut dyn FnMut(usize) -> bool) {
        // A panic of this thread stops the others, so that the caller hears of it soon.
        let guard = StopOnPanic(&self.stopped);
        let mut scratch = Scratch::default();
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(chunk) = self.chunks.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let texts: Vec<&[u32]> = chunk.iter().map(|&at| &*self.texts[at]).collect();
            self.keep(chunk, &self.model.embed(&texts, &mut scratch));
            let done = self.done.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
            if !observe(done) {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
        drop(guard);
    }

    fn keep(&self, chunk: &[usize], vectors: &[f32]) {
        let dims = self.model.dims();
        let mut found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (&at, vector) in chunk.iter().zip(vectors.chunks_exact(dims)) {
            found[at * dims..][..dims].copy_from_slice(vector);
        }
    }
}

struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
