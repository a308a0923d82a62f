//! A model folder in the layout of sentence-transformers: which steps it names, in which files.
//!
//! Source: `modules.json` and the folders it names as sentence-transformers 2 to 6 write them
//! (sbert.net, "Creating Custom Models", and the files of the models themselves).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::EmbedderError;

/// How the vectors of the tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first token.
    First,
}

/// What the folder says about the way from text to vector.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Where config.json, tokenizer.json and the weights are.
    pub transformer: PathBuf,
    /// The step from token vectors to a text's vector.
    pub pooling: Pooling,
    /// Whether it is brought to length 1 at last.
    pub normalise: bool,
    /// Tokens that are used at most, where a file says so.
    pub tokens_max: Option<usize>,
    /// Whether text is lowercased before the tokenizer sees it.
    pub lowercase: bool,
    /// Numbers in a vector, where the pooling says so.
    pub dims: Option<usize>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Limits {
    max_seq_length: Option<f64>,
    do_lower_case: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerLimits {
    model_max_length: Option<f64>,
}

impl Folder {
    /// Reads the small files of the folder.
    pub fn read(root: &Path) -> Result<Self, EmbedderError> {
        let path = root.join("modules.json");
        let modules: Vec<Module> = read_json(&path)?;
        let mut kinds = modules.iter().map(|module| module.kind.rsplit('.').next().unwrap_or(""));
        let steps = (kinds.next(), kinds.next(), kinds.next(), kinds.next());
        let normalise = match steps {
            (Some("Transformer"), Some("Pooling"), None, None) => false,
            (Some("Transformer"), Some("Pooling"), Some("Normalize"), None) => true,
            _ => {
                let found: Vec<&str> = modules.iter().map(|module| module.kind.as_str()).collect();
                return Err(EmbedderError::Unsupported {
                    reason: format!(
                        "modules.json names the steps {found:?}, but Transformer, Pooling and, \
                         if wanted, Normalize are known"
                    ),
                });
            }
        };
        let transformer = root.join(inside(&path, &modules[0].path)?);
        let (pooling, dims) = pooling(&root.join(inside(&path, &modules[1].path)?))?;
        let limits: Limits =
            read_json_if_there(&transformer.join("sentence_bert_config.json"))?.unwrap_or_default();
        let tokenizer: TokenizerLimits =
            read_json_if_there(&transformer.join("tokenizer_config.json"))?.unwrap_or_default();
        // "No limit" is written as a number like 1e30; the cast then gives the largest `usize`.
        let tokens_max = limits.max_seq_length.or(tokenizer.model_max_length).map(|n| n as usize);
        Ok(Self {
            transformer,
            pooling,
            normalise,
            tokens_max,
            lowercase: limits.do_lower_case,
            dims,
        })
    }
}

/// A path that stays inside the folder, whatever a file says.
fn inside<'a>(file: &Path, path: &'a str) -> Result<&'a Path, EmbedderError> {
    let plain = |part| matches!(part, std::path::Component::Normal(_));
    if Path::new(path).components().all(plain) {
        Ok(Path::new(path))
    } else {
        Err(damaged(file, format!("the path {path:?} leaves the folder")))
    }
}

/// Reads the pooling's `config.json`: one flag a mode, or since version 6 the modes by name.
fn pooling(folder: &Path) -> Result<(Pooling, Option<usize>), EmbedderError> {
    let path = folder.join("config.json");
    let config: serde_json::Map<String, Value> = read_json(&path)?;
    let mut modes: Vec<String> = match config.get("pooling_mode") {
        Some(Value::String(mode)) => vec![mode.clone()],
        Some(Value::Array(modes)) => {
            modes.iter().map(|mode| mode.as_str().unwrap_or("?").to_owned()).collect()
        }
        _ => config
            .iter()
            .filter(|(_, value)| **value == Value::Bool(true))
            .filter_map(|(key, _)| key.strip_prefix("pooling_mode_").map(str::to_owned))
            .collect(),
    };
    let mode = modes.pop().filter(|_| modes.is_empty());
    let pooling = match mode.as_deref() {
        Some("mean" | "mean_tokens") => Pooling::Mean,
        Some("cls" | "cls_token") => Pooling::First,
        _ => {
            return Err(EmbedderError::Unsupported {
                reason: format!("`{}` asks for another pooling than mean or CLS", path.display()),
            });
        }
    };
    if config.get("include_prompt") == Some(&Value::Bool(false)) {
        return Err(EmbedderError::Unsupported {
            reason: format!("`{}` leaves prompts out of the pooling", path.display()),
        });
    }
    let dims = ["word_embedding_dimension", "embedding_dimension"]
        .into_iter()
        .find_map(|key| config.get(key)?.as_u64())
        .map(|dims| dims as usize);
    Ok((pooling, dims))
}

pub(crate) fn damaged(path: &Path, reason: impl ToString) -> EmbedderError {
    EmbedderError::FileDamaged { path: path.to_owned(), reason: reason.to_string() }
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, EmbedderError> {
    fs::read(path).map_err(|source| unreadable(path, source))
}

pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> EmbedderError {
    match source.kind() {
        ErrorKind::NotFound => EmbedderError::FileMissing { path: path.to_owned() },
        _ => EmbedderError::FileUnreadable { path: path.to_owned(), source },
    }
}

/// A file of JSON.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, EmbedderError> {
    serde_json::from_slice(&read(path)?).map_err(|error| damaged(path, error))
}

fn read_json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EmbedderError> {
    match read_json(path) {
        Ok(found) => Ok(Some(found)),
        Err(EmbedderError::FileMissing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
