"""The snapshot store: numpy and the standard library only (polars where a frame is asked for)."""
