"""Loops over arrays with primitive arguments; knows nothing of psoup."""
