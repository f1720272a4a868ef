"""tamis: few features that classify your data.

Public names are loaded on first use, so ``import tamis`` stays quick.
"""

from tamis._lazy import load_lazily

TYPE_CHECKING = False  # type checkers take it for True; importing typing takes 10 ms
if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.centers import (
        SparseCenterClassifier,
        SparseCenterClassifierCV,
        rank_features_by_class,
    )
    from tamis.comparison.comparing import compare
    from tamis.datumwise import DatumWiseClassifier, DatumWiseClassifierCV
    from tamis.landmarks import LandmarkClassifier, LandmarkSearchCV, LandmarkTransformer
    from tamis.models import load_model, save_model
    from tamis.panel import PanelClassifier, PanelClassifierCV
    from tamis.primal_dual import PrimalDualClassifier, PrimalDualClassifierCV
    from tamis.tables import TableClassifier, read_chunks, read_table

__version__ = "0.1.0"

_MODULE_OF_NAME = {
    "DatumWiseClassifier": "tamis.datumwise",
    "DatumWiseClassifierCV": "tamis.datumwise",
    "LandmarkClassifier": "tamis.landmarks",
    "LandmarkSearchCV": "tamis.landmarks",
    "LandmarkTransformer": "tamis.landmarks",
    "PanelClassifier": "tamis.panel",
    "PanelClassifierCV": "tamis.panel",
    "PrimalDualClassifier": "tamis.primal_dual",
    "PrimalDualClassifierCV": "tamis.primal_dual",
    "SparseCenterClassifier": "tamis.centers",
    "SparseCenterClassifierCV": "tamis.centers",
    "TableClassifier": "tamis.tables",
    "compare": "tamis.comparison.comparing",
    "load_model": "tamis.models",
    "rank_features_by_class": "tamis.centers",
    "read_chunks": "tamis.tables",
    "read_table": "tamis.tables",
    "save_model": "tamis.models",
}

__all__ = [
    "DatumWiseClassifier",
    "DatumWiseClassifierCV",
    "LandmarkClassifier",
    "LandmarkSearchCV",
    "LandmarkTransformer",
    "PanelClassifier",
    "PanelClassifierCV",
    "PrimalDualClassifier",
    "PrimalDualClassifierCV",
    "SparseCenterClassifier",
    "SparseCenterClassifierCV",
    "TableClassifier",
    "__version__",
    "compare",
    "load_model",
    "rank_features_by_class",
    "read_chunks",
    "read_table",
    "save_model",
]

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
