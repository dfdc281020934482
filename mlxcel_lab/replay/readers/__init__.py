"""Readers: a file of any known format in, a `Trace` out."""

from .reading import FORMATS as FORMATS
from .reading import read_trace as read_trace
from .reading import sniff as sniff
