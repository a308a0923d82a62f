//! The embedding engine.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;
use satchel_embedder::EmbedderError;

create_exception!(
    satchel_native._core,
    ModelError,
    PyException,
    "A model folder is damaged or of an unknown kind; `code` is a word for programs."
);

/// A model with its tokenizer: texts in, vectors out, on any thread.
#[pyclass(frozen, module = "satchel_native._core")]
pub struct Embedder(satchel_embedder::Embedder);

#[pymethods]
impl Embedder {
    /// Open a folder in the layout of sentence-transformers.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| guarded(|| satchel_embedder::Embedder::open(&folder)))?;
        opened.map(Self).map_err(|error| raised(py, &error))
    }

    /// Numbers in a vector.
    #[getter]
    fn dims(&self) -> usize {
        self.0.dims()
    }

    /// Tokens that one vector covers.
    #[getter]
    fn window(&self) -> usize {
        self.0.window()
    }

    /// The instruction set in use.
    #[getter]
    fn kernel(&self) -> &'static str {
        self.0.kernel()
    }

    /// The ids of the tokens of a text, those around every text included.
    fn tokens(&self, py: Python<'_>, text: PyBackedStr) -> PyResult<Vec<u32>> {
        let found = py.detach(|| guarded(|| self.0.tokens(&text)))?;
        found.map_err(|error| raised(py, &error))
    }

    /// How many tokens a text has, those around every text included.
    fn count_tokens(&self, py: Python<'_>, text: PyBackedStr) -> PyResult<usize> {
        self.tokens(py, text).map(|ids| ids.len())
    }

    /// The vectors of the texts, one behind the other: `dims` little-endian float32 numbers each.
    ///
    /// `threads` 0 means one a core. `progress` is called with (done, total) between slices of the
    /// work; an exception that it raises, or a signal's handler, ends the work.
    #[pyo3(signature = (texts, threads = 0, progress = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut raised_meanwhile = None;
        let mut observe = |done: usize, total: usize| {
            let heard = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map(|call| call.call1(py, (done, total))).transpose()
            });
            heard.map_err(|error| raised_meanwhile = Some(error)).is_ok()
        };
        let found = py.detach(|| guarded(|| self.0.encode(&texts, threads, &mut observe)))?;
        match (found, raised_meanwhile) {
            (_, Some(error)) => Err(error),
            (Ok(numbers), None) => {
                let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
                Ok(PyBytes::new(py, &bytes))
            }
            (Err(error), None) => Err(raised(py, &error)),
        }
    }
}

/// A panic of the engine is a mistake in it; Python gets it as an exception it can catch.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        PyRuntimeError::new_err(format!("the embedding engine failed: {}", said(&*panic)))
    })
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

fn raised(py: Python<'_>, error: &EmbedderError) -> PyErr {
    let made = ModelError::new_err(error.to_string());
    match made.value(py).setattr("code", error.code()) {
        Ok(()) => made,
        Err(other) => other,
    }
}
