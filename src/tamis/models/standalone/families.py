"""The functions that give the probabilities of each family."""

from tamis.models.standalone.centers import estimate_centers, estimate_panel, estimate_primal_dual
from tamis.models.standalone.datumwise import estimate_datumwise
from tamis.models.standalone.landmarks import estimate_ensemble, estimate_landmarks

__all__ = ["ESTIMATE"]

#: By the name of the model, without its ending "CV".
ESTIMATE = {
    "DatumWiseClassifier": estimate_datumwise,
    "LandmarkClassifier": estimate_landmarks,
    "LandmarkSearch": estimate_ensemble,
    "PanelClassifier": estimate_panel,
    "PrimalDualClassifier": estimate_primal_dual,
    "SparseCenterClassifier": estimate_centers,
}
