//! `config.json`: the family of the model and its sizes, refused where they make no sense.
//!
//! Source: the configurations `BertConfig` and `XLMRobertaConfig` of transformers, with their
//! defaults.

use std::path::Path;

use serde::Deserialize;

use crate::EmbedderError;
use crate::folder::{damaged, read_json};

/// Two families with the same layers; they count positions in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Positions count from 0.
    Bert,
    /// Positions count from the padding token's id + 1, as fairseq numbered them.
    XlmRoberta,
}

/// Sizes that every other part may rely on.
#[derive(Debug)]
pub(crate) struct Config {
    pub family: Family,
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub inner_width: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub token_types: usize,
    pub padding_token: u32,
    pub epsilon: f32,
}

#[derive(Deserialize)]
struct File {
    model_type: String,
    #[serde(default = "gelu")]
    hidden_act: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    pad_token_id: Option<u32>,
    #[serde(default = "bert_epsilon")]
    layer_norm_eps: f32,
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn two() -> usize {
    2
}

fn bert_epsilon() -> f32 {
    1e-12
}

/// No size of a real model comes near; with it no product of sizes can overflow.
const SIZE_MAX: usize = 1 << 24;

impl Config {
    /// Reads and checks the file.
    pub fn read(path: &Path) -> Result<Self, EmbedderError> {
        let file: File = read_json(path)?;
        let family = file.family()?;
        let named = [
            ("hidden_size", file.hidden_size),
            ("intermediate_size", file.intermediate_size),
            ("num_attention_heads", file.num_attention_heads),
            ("num_hidden_layers", file.num_hidden_layers),
            ("vocab_size", file.vocab_size),
            ("max_position_embeddings", file.max_position_embeddings),
            ("type_vocab_size", file.type_vocab_size),
        ];
        for (name, size) in named {
            if !(1..=SIZE_MAX).contains(&size) {
                return Err(damaged(path, format!("`{name}` is {size}")));
            }
        }
        if !file.hidden_size.is_multiple_of(file.num_attention_heads) {
            return Err(damaged(
                path,
                format!(
                    "a `hidden_size` of {} can't be shared among {} heads",
                    file.hidden_size, file.num_attention_heads
                ),
            ));
        }
        if !(file.layer_norm_eps > 0.0 && file.layer_norm_eps < 1.0) {
            return Err(damaged(path, format!("`layer_norm_eps` is {}", file.layer_norm_eps)));
        }
        let config = Self {
            family,
            layers: file.num_hidden_layers,
            width: file.hidden_size,
            heads: file.num_attention_heads,
            inner_width: file.intermediate_size,
            vocabulary: file.vocab_size,
            positions: file.max_position_embeddings,
            token_types: file.type_vocab_size,
            padding_token: file.pad_token_id.unwrap_or(match family {
                Family::Bert => 0,
                Family::XlmRoberta => 1,
            }),
            epsilon: file.layer_norm_eps,
        };
        if config.tokens_max() < 3 {
            let positions = config.positions;
            return Err(damaged(path, format!("`max_position_embeddings` is {positions}")));
        }
        Ok(config)
    }

    /// Tokens that there are positions for.
    pub fn tokens_max(&self) -> usize {
        self.positions.saturating_sub(self.first_position())
    }

    /// Whether a padding token in the middle of a text has a position of its own.
    pub fn counts_no_padding(&self) -> bool {
        self.family == Family::XlmRoberta
    }

    /// The position of a text's first token.
    pub fn first_position(&self) -> usize {
        match self.family {
            Family::Bert => 0,
            Family::XlmRoberta => self.padding_token as usize + 1,
        }
    }
}

impl File {
    fn family(&self) -> Result<Family, EmbedderError> {
        let unsupported = |reason| Err(EmbedderError::Unsupported { reason });
        let positions = self.position_embedding_type.as_deref().unwrap_or("absolute");
        if self.hidden_act != "gelu" {
            return unsupported(format!("config.json: hidden_act {:?}, not gelu", self.hidden_act));
        }
        if positions != "absolute" {
            return unsupported(format!("config.json: position_embedding_type {positions:?}"));
        }
        if self.is_decoder {
            return unsupported("config.json: a decoder".to_owned());
        }
        match self.model_type.as_str() {
            "bert" => Ok(Family::Bert),
            "xlm-roberta" => Ok(Family::XlmRoberta),
            other => unsupported(format!(
                "config.json: model_type {other:?}; bert and xlm-roberta are known"
            )),
        }
    }
}
