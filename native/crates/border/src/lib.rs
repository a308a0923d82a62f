//! The border to Python: converts values, releases the GIL, maps errors. No rule lives here.

mod buffer;
mod embedder;
mod ranking;
mod scan;

use pyo3::prelude::*;

/// Raised when a signature or the meaning of a function changes; `satchel.ranking` refuses others.
const CONTRACT: u32 = 2;

#[pymodule(name = "_core")]
mod core {
    use super::{CONTRACT, PyModule, PyModuleMethods, PyResult};
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::embedder::{Embedder, ModelError};
    #[pymodule_export]
    use super::ranking::{fuse, keyword, select};
    #[pymodule_export]
    use super::scan::{cosine_top_k, scan_halves, to_codes, to_halves};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CONTRACT", CONTRACT)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
