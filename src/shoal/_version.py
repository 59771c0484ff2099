"""The version of the package, which the build reads from here: no installed metadata is looked up."""

__all__ = ["__version__"]

__version__ = "1.0.0"
