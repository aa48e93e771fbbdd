"""Which code made a result: the version of this package and of those its numbers rest on."""

from __future__ import annotations

DISTRIBUTION = "acmetrace-pipeline"
UNKNOWN = "0+unknown"
RECORDED = ("numpy", "pandas", "pyarrow", "dask", "prefect", "numba")


def code_version() -> str:
    """The installed version of this package; `0+unknown` where it runs from a bare folder."""
    return _version(DISTRIBUTION) or UNKNOWN


def package_versions() -> dict[str, str]:
    """The installed versions of the packages in `RECORDED`; those not installed are left out."""
    found = {name: _version(name) for name in RECORDED}
    return {name: text for name, text in found.items() if text}


def _version(name: str) -> str | None:
    # Here, because the command line imports this module and seldom asks it anything.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
