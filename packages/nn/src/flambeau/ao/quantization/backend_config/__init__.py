"""What a runtime computes in integers, for graph mode."""
from flambeau.ao.quantization.backend_config.configs import (
    BackendConfig,
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
)
from flambeau.ao.quantization.backend_config.native import (
    get_fbgemm_backend_config,
    get_native_backend_config,
    get_onednn_backend_config,
    get_qnnpack_backend_config,
    get_x86_backend_config,
)

__all__ = ["BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints",
           "ObservationType", "get_fbgemm_backend_config", "get_native_backend_config",
           "get_onednn_backend_config", "get_qnnpack_backend_config", "get_x86_backend_config"]
