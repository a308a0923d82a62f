//! Text to the ids of its tokens: plain text by the quick rule, all other by the tokenizers crate.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokenizers::normalizers::{Lowercase, NormalizerWrapper, Sequence};
use tokenizers::{PaddingParams, TruncationParams};

use crate::EmbedderError;
use crate::folder::{damaged, read};
use crate::wordpiece::WordPiece;

/// The tokenizer of a model.
pub(crate) struct Tokenizer {
    path: PathBuf,
    lowercase: bool,
    rows: usize,
    quick: Option<WordPiece>,
    whole: OnceLock<tokenizers::Tokenizer>,
}

/// Tokens that are put around every text: one before, one behind.
const FRAME: usize = 2;

impl Tokenizer {
    /// Opens tokenizer.json; its ids must be below `rows`.
    pub fn open(path: &Path, lowercase: bool, rows: usize) -> Result<Self, EmbedderError> {
        let json = read(path)?;
        let quick = WordPiece::read(&json);
        let quick = if lowercase { quick.map(WordPiece::lowercased) } else { quick };
        let whole = OnceLock::new();
        let opened = Self { path: path.to_owned(), lowercase, rows, quick, whole };
        match &opened.quick {
            Some(quick) => opened.check(quick.largest())?,
            None => _ = opened.whole.set(opened.load(&json)?),
        }
        Ok(opened)
    }

    /// The ids of a text, those that begin and end every text included. They may be more than a
    /// model has positions for.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, EmbedderError> {
        if let Some(ids) = self.quick.as_ref().and_then(|quick| quick.ids(text)) {
            return Ok(ids);
        }
        let found = self.whole()?.encode_fast(text, true);
        Ok(found.map_err(|error| damaged(&self.path, error))?.get_ids().to_vec())
    }

    /// The ids of a text, cut behind so that there are `window` at most. The end token stays.
    pub fn ids_within(&self, text: &str, window: usize) -> Result<Vec<u32>, EmbedderError> {
        let mut ids = self.ids(text)?;
        if ids.len() > window {
            let last = ids[ids.len() - 1];
            ids.truncate(window);
            ids[window - 1] = last;
        }
        Ok(ids)
    }

    /// The crate's tokenizer, loaded when the first text asks for it.
    fn whole(&self) -> Result<&tokenizers::Tokenizer, EmbedderError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let loaded = self.load(&read(&self.path)?)?;
        Ok(self.whole.get_or_init(|| loaded))
    }

    fn load(&self, json: &[u8]) -> Result<tokenizers::Tokenizer, EmbedderError> {
        let mut whole =
            tokenizers::Tokenizer::from_bytes(json).map_err(|error| damaged(&self.path, error))?;
        // A file may ask for padding and cutting at other lengths than the model's.
        whole.with_padding(None::<PaddingParams>);
        whole
            .with_truncation(None::<TruncationParams>)
            .map_err(|error| damaged(&self.path, error))?;
        if self.lowercase {
            let mut steps = vec![NormalizerWrapper::Lowercase(Lowercase)];
            steps.extend(whole.get_normalizer().cloned());
            whole
                .with_normalizer(Some(Sequence::new(steps)))
                .map_err(|error| damaged(&self.path, error))?;
        }
        let largest = whole.get_vocab(true).into_values().max().unwrap_or(0);
        self.check(largest)?;
        let empty = whole.encode_fast("", true).map_err(|error| damaged(&self.path, error))?;
        if empty.len() != FRAME {
            return Err(EmbedderError::Unsupported {
                reason: format!(
                    "`{}` puts {} tokens around a text, but one before and one behind are known",
                    self.path.display(),
                    empty.len()
                ),
            });
        }
        Ok(whole)
    }

    fn check(&self, token: u32) -> Result<(), EmbedderError> {
        if token as usize >= self.rows {
            return Err(EmbedderError::VocabularyTooLarge { token, rows: self.rows });
        }
        Ok(())
    }
}
