//! The encoder: ids of tokens in, one vector a text out.

use std::path::Path;

use crate::EmbedderError;
use crate::config::Config;
use crate::folder::Pooling;
use crate::kernel::Kernel;
use crate::layer::{Layer, Norm, Scratch};
use crate::weights::{Tensor, Weights};

/// All weights of a model, with what decides how they are used.
pub(crate) struct Model {
    config: Config,
    weights: Weights,
    kernel: &'static Kernel,
    words: Tensor,
    positions: Tensor,
    token_type: Vec<f32>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
    pooling: Pooling,
    normalise: bool,
}

impl Model {
    /// Maps the weights and finds every tensor that will be needed.
    pub fn open(
        path: &Path,
        config: Config,
        (pooling, normalise): (Pooling, bool),
        kernel: &'static Kernel,
    ) -> Result<Self, EmbedderError> {
        let weights = Weights::open(path)?;
        let width = config.width;
        let name = |part: &str| format!("embeddings.{part}");
        let words = weights.tensor(&name("word_embeddings.weight"), &[config.vocabulary, width])?;
        let positions =
            weights.tensor(&name("position_embeddings.weight"), &[config.positions, width])?;
        let types =
            weights.tensor(&name("token_type_embeddings.weight"), &[config.token_types, width])?;
        // A text alone is of type 0 throughout.
        let token_type = weights.row(&types, 0).into_owned();
        let embedding_norm = Norm::open(&weights, &name("LayerNorm"), &config)?;
        let layers = (0..config.layers)
            .map(|number| Layer::open(&weights, number, &config))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            config,
            weights,
            kernel,
            words,
            positions,
            token_type,
            embedding_norm,
            layers,
            pooling,
            normalise,
        })
    }

    /// Numbers in a vector.
    pub fn dims(&self) -> usize {
        self.config.width
    }

    /// The name of the kernel in use.
    pub fn kernel_name(&self) -> &'static str {
        self.kernel.name
    }

    /// Whether a vector can be one of a text: finite, and of length 1 where that is promised.
    pub fn is_direction(&self, vector: &[f32]) -> bool {
        let finite = vector.iter().all(|number| number.is_finite());
        finite && (!self.normalise || vector.iter().any(|number| *number != 0.0))
    }

    /// The vectors of texts, one behind the other.
    pub fn embed(&self, texts: &[&[u32]], scratch: &mut Scratch) -> Vec<f32> {
        let lengths: Vec<usize> = texts.iter().map(|ids| ids.len()).collect();
        let mut states = Vec::with_capacity(lengths.iter().sum::<usize>() * self.dims());
        for ids in texts {
            self.push_states(ids, &mut states);
        }
        self.embedding_norm.apply(self.kernel, &mut states);
        for layer in &self.layers {
            let with = (&self.weights, self.kernel);
            layer.apply(with, self.config.heads, &lengths, &mut states, scratch);
        }
        self.pool(&lengths, &states)
    }

    /// The vector of each token before the first layer: of its word, its position and its type.
    fn push_states(&self, ids: &[u32], states: &mut Vec<f32>) {
        let mut next = self.config.first_position();
        for &id in ids {
            let mut position = next;
            next += 1;
            if self.config.counts_no_padding() && id == self.config.padding_token {
                (position, next) = (id as usize, position);
            }
            let word = self.weights.row(&self.words, id as usize);
            let place = self.weights.row(&self.positions, position);
            let parts = word.iter().zip(&*place).zip(&self.token_type);
            // Added in the order of transformers' BertEmbeddings.
            states.extend(parts.map(|((word, place), kind)| word + kind + place));
        }
    }

    fn pool(&self, lengths: &[usize], states: &[f32]) -> Vec<f32> {
        let width = self.dims();
        let mut vectors = Vec::with_capacity(lengths.len() * width);
        let mut rest = states;
        for &length in lengths {
            let (tokens, behind) = rest.split_at(length * width);
            rest = behind;
            let mut vector = tokens[..width].to_vec();
            if self.pooling == Pooling::Mean {
                for token in tokens.chunks_exact(width).skip(1) {
                    vector.iter_mut().zip(token).for_each(|(sum, number)| *sum += number);
                }
                vector.iter_mut().for_each(|sum| *sum /= length as f32);
            }
            if self.normalise {
                to_unit_length(&mut vector);
            }
            vectors.extend(vector);
        }
        vectors
    }
}

/// Divides by the Euclidean length, as torch's `normalize` does: by 1e-12 where it is less.
fn to_unit_length(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    let length = squares.sqrt().max(1e-12) as f32;
    vector.iter_mut().for_each(|number| *number /= length);
}
