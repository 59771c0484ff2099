"""The version of the package, which the build reads from here: no installed metadata is looked up."""

__version__ = "1.0.0"
