//! `model.safetensors`, mapped into memory: named tensors whose sizes have been checked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use half::{bf16, f16};
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

use crate::EmbedderError;
use crate::folder::{damaged, unreadable};

/// The map and where each tensor lies in it.
pub(crate) struct Weights {
    map: Mmap,
    tensors: HashMap<String, Tensor>,
    prefix: &'static str,
}

/// A tensor of floating-point numbers: its place in the file, its type and shape.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    bytes: Range<usize>,
    kind: Kind,
    shape: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    F32,
    F16,
    Bf16,
}

/// What stands before the names when a model was saved with its training head.
const PREFIXES: [&str; 3] = ["", "bert.", "roberta."];
const PROBE: &str = "embeddings.word_embeddings.weight";

impl Weights {
    /// Maps the file. A length that is not the one its header tells is refused here: reading
    /// behind the end of a map would end the process.
    pub fn open(path: &Path) -> Result<Self, EmbedderError> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        // SAFETY: the file must not be cut while it is mapped. Nobody here ever writes to weights:
        // a model is replaced by another file, which leaves this map as it is.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| unreadable(path, error))?;
        let found = SafeTensors::deserialize(&map).map_err(|error| damaged(path, error))?;
        let start = map.as_ptr() as usize;
        let mut tensors = HashMap::new();
        for (name, view) in found.iter() {
            let kind = match view.dtype() {
                Dtype::F32 => Kind::F32,
                Dtype::F16 => Kind::F16,
                Dtype::BF16 => Kind::Bf16,
                _ => continue, // position ids and the like; a needed one is missed below by name
            };
            let from = view.data().as_ptr() as usize - start;
            let bytes = from..from + view.data().len();
            tensors.insert(name.to_owned(), Tensor { bytes, kind, shape: view.shape().to_vec() });
        }
        let prefix = PREFIXES
            .into_iter()
            .find(|prefix| tensors.contains_key(&format!("{prefix}{PROBE}")))
            .ok_or_else(|| EmbedderError::TensorMissing { name: PROBE.to_owned() })?;
        Ok(Self { map, tensors, prefix })
    }

    /// The tensor of this name, which must have this shape.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, EmbedderError> {
        let name = format!("{}{name}", self.prefix);
        match self.tensors.get(&name) {
            None => Err(EmbedderError::TensorMissing { name }),
            Some(tensor) if tensor.shape != shape => Err(EmbedderError::TensorShape {
                name,
                found: tensor.shape.clone(),
                expected: shape.to_vec(),
            }),
            Some(tensor) => Ok(tensor.clone()),
        }
    }

    /// The numbers of a small tensor, copied.
    pub fn vector(&self, name: &str, width: usize) -> Result<Vec<f32>, EmbedderError> {
        Ok(self.numbers(&self.tensor(name, &[width])?).into_owned())
    }

    /// All numbers of a tensor: where they lie, if they lie as the processor wants them.
    pub fn numbers(&self, tensor: &Tensor) -> Cow<'_, [f32]> {
        decoded(&self.map[tensor.bytes.clone()], tensor.kind)
    }

    /// One row of a matrix.
    pub fn row(&self, tensor: &Tensor, row: usize) -> Cow<'_, [f32]> {
        let bytes = &self.map[tensor.bytes.clone()];
        let row_bytes = bytes.len() / tensor.shape[0];
        decoded(&bytes[row * row_bytes..][..row_bytes], tensor.kind)
    }
}

fn decoded(bytes: &[u8], kind: Kind) -> Cow<'_, [f32]> {
    let pairs = || bytes.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    match kind {
        Kind::F16 => pairs().map(|pair| f16::from_le_bytes(pair).to_f32()).collect(),
        Kind::Bf16 => pairs().map(|pair| bf16::from_le_bytes(pair).to_f32()).collect(),
        Kind::F32 => {
            // SAFETY: any four bytes are an f32.
            let (before, numbers, _) = unsafe { bytes.align_to::<f32>() };
            if cfg!(target_endian = "little") && before.is_empty() {
                return Cow::Borrowed(numbers);
            }
            let four = bytes.chunks_exact(4);
            four.map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
        }
    }
}
